# SPDX-License-Identifier: BSD-3-Clause
"""Hot spot: one busy node and more and more others that send to it."""

import reframe  # noqa: F401  (ReFrame loads only files that import it)

from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric, curve, point
from fabric_checks.parsers import fabric, hot_spot
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import Sweep

TIME = "Time in which one root rank sends to n ranks at once, or collects from them"


@check()
class HotSpot(Sweep):
    """Time for one root rank to send to n ranks, and to collect from n ranks, n from 1 to all.

    Source: Liu et al., Micro-Benchmark Level Performance Comparison of High-Speed Interconnects (2003).
    """

    descr = "Hot spot: one root, more and more ranks that send to it or receive from it"
    ranks_between_nodes = "node"
    layout = layouts("several", ranks=ranks_between_nodes)
    own_program = "hot_spot"
    needs_whole_fabric = True
    tags = {"fabric"}
    family = families.STRESS
    levels = Levels(nightly=True, procurement=True)
    range_B = (8, 65536)
    powers_only = False

    def steps_B(self, first_B, last_B):
        return fabric.multiples(first_B, last_B, factor=8)

    @property
    def slaves(self):
        """The numbers of slaves that are measured."""
        return hot_spot.slave_counts(self.current_layout.tasks)

    def metrics(self):
        times = [
            metric
            for operation in hot_spot.OPERATIONS
            for slaves in self.slaves
            for metric in curve(
                f"{operation}_time_to_{slaves}",
                "us",
                "smaller",
                self.sizes_B,
                about=TIME,
            )
        ]
        growth = [
            Metric(
                f"{operation}_growth",
                "1",
                "smaller",
                about="Time with all ranks over that with one, at the smallest message",
            )
            for operation in hot_spot.OPERATIONS
        ]
        return [*growth, *times]

    def measure(self, text):
        output = hot_spot.parse(text, self.sizes_B, self.slaves)
        values = {}
        for operation in hot_spot.OPERATIONS:
            for size in self.sizes_B:
                times = output.times_us(operation, size_B=size)
                values |= {
                    point(f"{operation}_time_to_{slaves}", size): time
                    for slaves, time in times.items()
                }
            # How much longer all slaves take than one, at the smallest message: 1 would be a fabric without a
            # hot spot.
            times = output.times_us(operation, size_B=self.sizes_B[0])
            values[f"{operation}_growth"] = (
                times[self.slaves[-1]] / times[self.slaves[0]]
            )
        return values
