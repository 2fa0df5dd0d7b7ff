# SPDX-License-Identifier: BSD-3-Clause
"""Layouts as a parameter of a check: every one that fits a partition of the current system."""

from __future__ import annotations

from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime
from reframe.core.systems import SystemPartition

from fabric_checks.layouts import Layout, fitting, of_shape


def _layouts_of(partition: SystemPartition) -> list[Layout]:
    """Return every layout that fits a partition: its extras ``nodes`` and ``cores``, or its detected topology."""
    cores = partition.extras.get("cores") or partition.processor.num_cores
    if not cores:
        raise ConfigError(
            f"{partition.fullname}: the number of cores is not known; give the partition 'processor' or extras['cores']"
        )
    return fitting(int(partition.extras.get("nodes", 1)), int(cores))


def layouts(shape: str) -> list[str]:
    """Return the layouts of a shape (see :data:`fabric_checks.layouts.SHAPES`) that fit the current system.

    To be used as the values of a check's parameter ``layout``. A partition that is too small for any says so.
    """
    found: set[Layout] = set()
    for partition in runtime().system.partitions:
        fit = of_shape(shape, _layouts_of(partition))
        if not fit:
            getlogger().warning(
                f"{partition.fullname} is too small for any check that needs {shape!r} processes", cache=True
            )
        found.update(fit)
    return [str(layout) for layout in sorted(found)]


class LayoutMixin(RegressionTestPlugin):
    """Turn the parameter ``layout`` into numbers of tasks, on the partitions that it fits.

    Needs: the parameter ``layout`` from the start.
    """

    #: Features that a partition has to have for this check.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    partition_features = variable(list, value=[])

    @property
    def place(self) -> Layout:
        """The layout as numbers."""
        return Layout.of(self.layout)

    @run_after("init")
    def apply_layout(self):
        """Ask for the layout's processes, and only on partitions that have room for them."""
        self.num_tasks = self.place.tasks
        self.num_tasks_per_node = self.place.ppn
        self.valid_systems = [
            partition.fullname
            for partition in runtime().system.partitions
            if self.place in _layouts_of(partition) and set(self.partition_features) <= set(partition.features)
        ]
