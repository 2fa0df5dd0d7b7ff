# SPDX-License-Identifier: BSD-3-Clause
"""The cost of fresh buffers."""

import reframe  # noqa: F401  (ReFrame loads only files that import it)

from fabric_checks.analysis.curves import bandwidth_MBps
from fabric_checks.core import families
from fabric_checks.core.metrics import Metric, curve, points
from fabric_checks.parsers import buffer_reuse, fabric
from fabric_checks.reframe_ext.mixins import layouts, optional

from ..registration import check
from .base import Sweep

LATENCY = "Half the round trip with that share of reused buffers"
BANDWIDTH = "Bandwidth of streaming with that share of reused buffers"


@check()
class BufferReuse(Sweep):
    """Latency and bandwidth when a share of the messages comes from and goes to memory never used before.

    A network that has to register memory pays for every new buffer. Source: Liu et al., Micro-Benchmark Level
    Performance Comparison of High-Speed Interconnects (2003).
    """

    descr = "Buffer reuse: latency and bandwidth by the share of reused buffers"
    layout = layouts("pair")
    own_program = "buffer_reuse"
    tags = {"fabric", "pt2pt"}
    family = families.STRESS
    #: New buffers of a sample (``--iterations``), a multiple of 4.
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    iterations = optional(int)

    settings = {"iterations": "--iterations"}
    range_B = (1024, 4 * 1024**2)
    powers_only = False
    seconds_per_point = 0.1

    def steps_B(self, first_B, last_B):
        return fabric.multiples(first_B, last_B, factor=4)

    def unfit(self):
        yield from super().unfit()
        if self.iterations and self.iterations % 4:
            yield (
                "iterations",
                "give a multiple of 4: a share of the buffers is in quarters",
            )

    def metrics(self):
        return [
            Metric(
                "fresh_buffer_latency_ratio",
                "1",
                "smaller",
                about="Latency with new buffers over that with one buffer, the worst size",
            ),
            Metric(
                "fresh_buffer_bandwidth_ratio",
                "1",
                "larger",
                about="Bandwidth with new buffers over that with one buffer, the worst size",
            ),
            *(
                metric
                for percent in buffer_reuse.PERCENTS
                for metric in (
                    *curve(
                        f"latency_reuse_{percent}",
                        "us",
                        "smaller",
                        self.sizes_B,
                        about=LATENCY,
                    ),
                    *curve(
                        f"bandwidth_reuse_{percent}",
                        "MB/s",
                        "larger",
                        self.sizes_B,
                        one_way=True,
                        about=BANDWIDTH,
                    ),
                )
            ),
        ]

    def measure(self, text):
        output = buffer_reuse.parse(text, self.sizes_B)
        latency, bandwidth, values = {}, {}, {}
        for percent in buffer_reuse.PERCENTS:
            times_us = output.times_us("stream", reuse_percent=percent)
            bandwidth[percent] = bandwidth_MBps(times_us)
            latency[percent] = output.times_us("latency", reuse_percent=percent)
            values |= points(f"latency_reuse_{percent}", latency[percent])
            values |= points(f"bandwidth_reuse_{percent}", bandwidth[percent])
        # The worst over the sizes: buffers that are all new against one that is used again and again.
        values["fresh_buffer_latency_ratio"] = max(
            latency[0][s] / latency[100][s] for s in self.sizes_B
        )
        values["fresh_buffer_bandwidth_ratio"] = min(
            bandwidth[0][s] / bandwidth[100][s] for s in self.sizes_B
        )
        return values
