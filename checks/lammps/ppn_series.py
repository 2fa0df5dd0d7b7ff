# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS with one process a node against more, from one node to all of them."""

from reframe.core.builtins import parameter

from fabric_checks.analysis import ppn_series
from fabric_checks.core.layouts import Layout
from fabric_checks.reframe_ext.mixins import LaunchesMixin, layouts_of, whole_partitions

from ..registration import check
from .base import PROBLEMS, LammpsCheck

#: On all nodes of a partition, with more than one process on each.
LARGEST = [str(layout) for layout in whole_partitions() if layout.ppn > 1]
#: With one node, a problem that grows with them is the one that is fixed.
SCALINGS = (
    ["fixed", "scaled"]
    if any(layout.nodes > 1 for layout in layouts_of("several"))
    else ["fixed"]
)


@check(compare=False)
class LammpsPpnSeries(LaunchesMixin, LammpsCheck):
    """Run time and efficiency with one process a node and with more, over 1, 2, 4 ... nodes, in one
    allocation.

    ``fixed`` is 32,000 atoms in all, ``scaled`` 32,000 atoms on each node. Source: SAND2005-5199 (An Analysis
    of the PathScale Inc. InfiniBand HCA, InfiniPath), section 6, Figures 15 and 16: whether the gap between
    the two stays as nodes are added, or grows.
    """

    descr = "LAMMPS bench, by processes a node, over the nodes"
    problem = parameter(PROBLEMS, type=str)
    scaling = parameter(SCALINGS, type=str)
    layout = parameter(LARGEST, type=str)
    tags = {"lammps", "applications", "ppn-ratio"}

    @property
    def scaled(self):
        """Whether the problem grows with the nodes."""
        return self.scaling == "scaled"

    @property
    def launches(self):
        """One process a node and more, on 1, 2, 4 ... and on all nodes."""
        return ppn_series.launches(Layout.of(self.layout))

    def metrics(self):
        return ppn_series.metrics(Layout.of(self.layout))

    def measure(self, text):
        times_s = {}
        for layout, output in self.outputs(text).items():
            with self.reading(layout):
                times_s[layout] = self.read(output).loop_time_s
        # The two run times behind each gap, which the report shows with it.
        for metric, compared in ppn_series.compared(times_s).items():
            self.facts.metrics[metric].compared = {
                "metric": "loop_time",
                "quantity": "loop_time",
                "unit": "s",
                "values": compared,
            }
        return ppn_series.values(times_s, scaled=self.scaled)
