# SPDX-License-Identifier: BSD-3-Clause
"""Checks whose buffers are in the memory of GPUs: where they run, and in which layouts."""

from reframe.core.builtins import parameter, run_after
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.reframe_ext.mixins.layout import (
    all_layouts_of,
    gpus_of,
    offered,
    partitions,
    within,
)

HOST = "host"
#: The kinds of devices, which are features of partitions.
CUDA, ROCM = "cuda", "rocm"


def kinds_here():
    """Return the kinds of devices that some partition of the current system has."""
    features = {feature for partition in partitions() for feature in partition.features}
    return [kind for kind in (CUDA, ROCM) if kind in features]


class DeviceMemory(RegressionTestPlugin):
    """Run with buffers in the memory of a device, where the check has a parameter ``device``: ``cuda`` or
    ``rocm``.

    The partition needs the feature of that name, and the environment what ``needs_of`` names.
    """

    @property
    def memory(self):
        """The memory of the buffers: the host's, or the kind of device of the variant with such buffers."""
        return getattr(self, "device", HOST)

    @run_after("init")
    def ask_for_device(self):
        """Run with buffers on a device only on partitions that have it."""
        if self.memory != HOST:
            self.run_only_on(lambda partition: self.memory in partition.features)
            self.tags = {*self.tags, self.memory}

    def require_memory(self, memory):
        """Raise :class:`OutputError` unless the buffers were in the memory that was asked for."""
        if memory != self.memory:
            raise OutputError(
                f"buffers in {self.memory} memory were asked for, but these are in {memory} memory"
            )


class ProcessPerGpu(RegressionTestPlugin):
    """One process a GPU: it runs only on partitions whose nodes have as many as the layout needs."""

    only_on = (CUDA, ROCM)

    @run_after("init")
    def ask_for_gpus(self):
        """Leave out the partitions with fewer GPUs a node, or with other ones."""
        kinds, least = set(self.only_on), self.current_layout.ppn
        self.run_only_on(
            lambda partition: (
                gpus_of(partition) >= least and kinds & set(partition.features)
            )
        )


def gpu_layouts(needs, *, alone=False, most=None):
    """Return the parameter ``layout``: a process a GPU, on one, two and all nodes; and one GPU on each of two
    nodes.

    A warning names a partition whose layouts have no process for each GPU.

    :param needs: by kind of GPU, a feature of partitions, the feature that an environment has to have.
    :param most: processes, see :func:`fabric_checks.reframe_ext.mixins.layout.within`.
    :param alone: whether the program can run as one process: it does where a partition has a single GPU.
    """
    able = {kind for kind, feature in needs.items() if offered(feature)}
    found = {
        layout
        for partition in partitions()
        if able & set(partition.features) and gpus_of(partition)
        for layout in _of_gpus(partition, most, alone)
    }
    return parameter(map(str, sorted(found)), type=str)


def _of_gpus(partition, most, alone):
    """Return the layouts of :func:`gpu_layouts` in one partition."""
    gpus, fit = gpus_of(partition), all_layouts_of(partition)
    of_all = within(most, [each for each in fit if each.ppn == gpus], partition)
    whole = [each for each in of_all if each.nodes in (1, 2, of_all[-1].nodes)]
    if not whole:
        getlogger().warning(
            f"{partition.fullname} has {gpus} GPUs a node, and no layout with as many processes: nothing"
            f" is measured between GPUs; add {gpus} to extras['ppn']",
            cache=True,
        )
    if whole == [Layout(1, 1)]:
        return whole if alone else []
    pair = Layout(2, 1)
    return [each for each in fit if each.tasks > 1 and each in (*whole, pair)]
