# SPDX-License-Identifier: BSD-3-Clause
"""Layouts as a parameter of a check: every one that fits a partition of the current system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from reframe.core.builtins import parameter, run_after, variable
from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin
from reframe.core.runtime import runtime
from reframe.core.systems import SystemPartition

from fabric_checks.core.errors import FabricError
from fabric_checks.core.layouts import Layout, corners, fitting, of_shape
from fabric_checks.core.levels import SMOKE_NODES
from fabric_checks.reframe_ext.internals import parameter_values
from fabric_checks.software.stacks import selected_stack


def _layouts_of(partition: SystemPartition) -> list[Layout]:
    """Return every layout that fits a partition: its extras ``nodes``, ``cores`` and ``ppn``, or those in ``layouts``.

    Without ``nodes`` it has one, without ``cores`` its detected topology counts.
    """
    if "layouts" in partition.extras:
        try:
            return sorted(Layout.of(text) for text in partition.extras["layouts"])
        except ValueError as error:
            raise ConfigError(f"{partition.fullname}: extras: layouts: {error}") from None
    cores = partition.extras.get("cores") or partition.processor.num_cores
    if not cores:
        raise ConfigError(
            f"{partition.fullname}: the number of cores is unknown; give the partition 'processor' or extras['cores']"
        )
    try:
        return fitting(int(partition.extras.get("nodes", 1)), int(cores), partition.extras.get("ppn"))
    except FabricError as error:
        raise ConfigError(f"{partition.fullname}: extras: {error}") from None


def layouts(shape: str, *, scan: bool = True, where: Callable[[Layout], bool] = lambda _: True) -> Any:
    """Return a check's parameter ``layout``: the layouts of a shape that fit the current system.

    :param scan: as :func:`layouts_of` takes it. :param where: which of them.
    """
    return parameter([str(layout) for layout in layouts_of(shape, scan=scan) if where(layout)], type=str)


def layouts_of(shape: str, *, scan: bool = True) -> list[Layout]:
    """Return the layouts of a shape (see :data:`fabric_checks.core.layouts.SHAPES`) that fit the current system.

    A partition that is too small for any says so.

    :param scan: all of them; otherwise their :func:`~fabric_checks.core.layouts.corners`, for checks of which there are
        many, so that their number does not grow with the system.
    """
    found: set[Layout] = set()
    _require_environments()
    for partition in runtime().system.partitions:
        fit = of_shape(shape, _layouts_of(partition))
        if not fit:
            getlogger().warning(
                f"{partition.fullname} is too small for any check that needs {shape!r} processes", cache=True
            )
        found.update(fit if scan else corners(fit))
    return sorted(found)


def whole_partitions() -> list[Layout]:
    """Return the layouts on all nodes of a partition: values of ``layout`` for a check that goes through the nodes."""
    found: set[Layout] = set()
    for partition in runtime().system.partitions:
        fit = _layouts_of(partition)
        found.update(layout for layout in fit if layout.nodes == fit[-1].nodes)
    return sorted(found)


def _require_environments() -> None:
    """End the session if no check can run: no partition of the current system has an environment."""
    system = runtime().system
    if not any(partition.environs for partition in system.partitions):
        stack = selected_stack()
        what = f"no environment of the stack {stack!r}" if stack else "no environment (FABRIC_MPI is 'none')"
        # ReFrame goes on after errors of a test file, or prints where in Python it was; this is the user's to fix.
        raise SystemExit(
            f"error: the system {system.name} has {what}; list one in the `environs` of its partitions "
            "(config/templates shows how), or choose another --stack, --mpi or --system"
        )


class LayoutMixin(RegressionTestPlugin):
    """Turn the parameter ``layout`` into numbers of tasks, on the partitions that it fits, and into levels.

    Needs: the parameter ``layout`` from the start.
    """

    #: Features that a partition has to have for this check.
    #:
    #: :type: :class:`List[str]`
    #: :default: ``[]``
    partition_features = variable(list, value=[])

    #: Whether the check is one of those that a night has time for; and whether bids are compared by it.
    short = False
    for_procurement = False

    #: The launch that the check speaks of at the moment, if it has several: see :class:`LaunchesMixin`.
    launched: Layout | None = None

    @property
    def current_layout(self) -> Layout:
        """The layout of the launch that the check speaks of: that of the case, if it has one launch."""
        return self.launched or Layout.of(self.layout)

    @property
    def launches(self) -> list[Layout]:
        """The layouts that the program is launched in, one after the other."""
        return [self.current_layout]

    @contextmanager
    def launched_in(self, layout: Layout) -> Iterator[None]:
        """Let the check speak of one of its launches; of one alone it does anyway."""
        yield

    def outputs(self, last: str) -> dict[Layout, str]:
        """Return what each launch printed, given the output of the last."""
        return {self.current_layout: last}

    @run_after("init")
    def apply_layout(self):
        """Ask for room for each of the launches, and only on partitions that have it."""
        self.num_tasks_per_node = max(layout.ppn for layout in self.launches)
        self.num_tasks = max(layout.nodes for layout in self.launches) * self.num_tasks_per_node
        self.valid_systems = [
            partition.fullname
            for partition in runtime().system.partitions
            if set(self.launches) <= set(_layouts_of(partition))
            and set(self.partition_features) <= set(partition.features)
        ]

    @run_after("init", always_last=True)
    def tag_levels(self):
        """Give the case the tags of its levels (:mod:`fabric_checks.core.levels`).

        Of a check that is ``short``, the corners of the layouts are in ``nightly``, and the corners of those on few
        nodes in ``smoke`` as well.
        """
        levels = {"acceptance"} | ({"procurement"} if self.for_procurement else set())
        if self.short:
            own = {Layout.of(layout) for layout in parameter_values(type(self))["layout"]}
            fitting = [own & set(_layouts_of(partition)) for partition in runtime().system.partitions]
            on_few = [{layout for layout in fit if layout.nodes <= SMOKE_NODES} for fit in fitting]
            if any(self.current_layout in corners(fit) for fit in on_few):
                levels |= {"smoke", "nightly"}
            if any(self.current_layout in corners(fit) for fit in fitting):
                levels |= {"nightly"}
        self.tags = {*self.tags} | levels
