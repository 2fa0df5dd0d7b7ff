# SPDX-License-Identifier: BSD-3-Clause
"""The cost of completing a receive: polling or waiting."""

from reframe.core.builtins import parameter, run_after

from fabric_checks.core import families
from fabric_checks.core.extras import EnvironExtras
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.metrics import Metric, curve, points
from fabric_checks.parsers import notification
from fabric_checks.reframe_ext.mixins import layouts, optional

from ..registration import check
from .base import Sweep

TIME = "Half the round trip with receives completed that way"


@check()
class Notification(Sweep):
    """Ping-pong time when receives are completed by MPI_Test in a loop and by MPI_Wait, and the CPU that
    waiting takes.

    ``wait=blocking`` is for environments that know how their MPI sleeps in a wait (feature ``blocking_wait``,
    the variables under ``extras['blocking_wait']``); whether it did, by the kernel's count and not by the
    share of the CPU, is among the findings. Source: Liu et al., Micro-Benchmark Level Performance Comparison
    of High-Speed Interconnects (2003).
    """

    descr = "Notification: polling, waiting, and the CPU it takes"
    wait = parameter(["default", "blocking"])
    layout = layouts("pair")
    own_program = "notification"
    tags = {"fabric", "pt2pt"}
    family = families.STRESS
    needs_of = {"wait": {"blocking": ("blocking_wait",)}}
    #: Waits over which the CPU time is summed (``--waits``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    waits = optional(int)

    settings = {"waits": "--waits"}
    least_B = 0
    range_B = (0, 65536)

    @run_after("setup")
    def wait_by_blocking(self):
        """Take the variables from the environment's description."""
        if self.wait == "blocking":
            self.env_vars |= EnvironExtras.of(self.current_environ).blocking_wait

    @property
    def has_cpu_time(self):
        """Whether CPU time means anything: a simulated rank has none."""
        return "simulated" not in self.current_partition.features

    def metrics(self):
        about = "Share of a CPU that the process uses while it waits"
        ways = notification.WAYS
        shares = ways if self.has_cpu_time else ()
        return [
            *(
                Metric(f"{way}_cpu_share", "%", "smaller", about=about)
                for way in shares
            ),
            *(
                metric
                for way in ways
                for metric in curve(
                    f"{way}_time", "us", "smaller", self.sizes_B, about=TIME
                )
            ),
        ]

    def measure(self, text):
        self.output = notification.parse(text, self.sizes_B)
        verdict = f"blocking wait {self.output.blocking_wait}: {self.output.reason}"
        self._add_findings(
            Finding(kind="blocking wait", severity=Severity.NOTE, text=verdict)
        )
        shares = self.output.cpu_percent or {}
        values = {f"{way}_cpu_share": share for way, share in shares.items()}
        for way in notification.WAYS:
            values |= points(f"{way}_time", self.output.times_us(way))
        return values
