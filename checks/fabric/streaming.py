# SPDX-License-Identifier: BSD-3-Clause
"""Streaming against ping-pong, one way and both ways."""

from reframe.core.builtins import parameter, variable

from fabric_checks.analysis import curves
from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric, curve, half_octaves, points
from fabric_checks.parsers import streaming
from fabric_checks.reframe_ext.mixins import SIZES, layouts

from .. import screen
from ..registration import check
from .base import Sweep

MiB = 1024**2
#: What the time of each mode is.
TIMES = {
    "ping_pong": "Half the round trip, median",
    "streaming": "Time per message with many in flight, median",
    "bidirectional_ping_pong": "Time in which two ranks exchange a message each, median",
    "bidirectional_streaming": "Time per pair of messages, one each way, with many in flight, median",
}

PEAK = Metric(
    "peak_bandwidth_streaming",
    "MB/s",
    "larger",
    one_way=True,
    about="Highest bandwidth of streaming one way over the sizes",
)
PEAK_BOTH_WAYS = Metric(
    "peak_bandwidth_bidirectional",
    "MB/s",
    "larger",
    about="Highest bandwidth of streaming both ways, bytes of both directions counted",
)


class StreamingCheck(Sweep):
    """One run of our program ``streaming`` in both directions, all message sizes in one launch.

    Subclasses declare ``queue_depth``, 0 for none, ``modes``, whose times by message size are metrics, and
    the other ``of_curves`` they give.
    """

    family = families.STREAMING
    own_program = "streaming"
    #: Messages in flight, in each direction (``--window``).
    #:
    #: :type: :class:`int`
    #: :default: ``64``
    window = variable(int, value=64)

    settings = {"window": "--window"}
    least_B = 0
    range_B = (0, 4 * MiB)
    seconds_per_point = 0.15

    def steps_B(self, first_B, last_B):
        return half_octaves(first_B, last_B)

    def unfit(self):
        yield from super().unfit()
        half = self.queue_depth // 2
        if half and (self.window % half or self.window < self.queue_depth):
            yield (
                "window",
                f"give a multiple of {half}, half of the queue, from {self.queue_depth} on",
            )

    def arguments(self):
        return [
            *super().arguments(),
            "--directions",
            "both",
            "--queue-depth",
            str(self.queue_depth),
        ]

    def metrics(self):
        times = [
            metric
            for mode in self.modes
            for metric in curve(
                f"{mode}_time", "us", "smaller", self.sizes_B, about=TIMES[mode]
            )
        ]
        return [*self.of_whole_curves, *times]

    @property
    def of_whole_curves(self):
        """The values of a curve as a whole: none if ``-S`` changed its sizes."""
        return () if SIZES.keys() & self.changed else self.of_curves

    def measure(self, text):
        output = streaming.parse(
            text, self.sizes_B, directions="both", queue_depth=self.queue_depth
        )
        values = {}
        for mode in self.modes:
            values |= points(f"{mode}_time", output.times_us(mode))
        if not self.of_whole_curves:
            return values
        found = curves.streaming_values(
            output.times_us("ping_pong"), output.times_us("streaming")
        )
        found |= curves.bidirectional_values(
            *(output.times_us(mode) for mode in streaming.MODES["both"][1:])
        )
        return values | {metric.name: found[metric.name] for metric in self.of_curves}


@check()
class Streaming(StreamingCheck):
    """How much faster messages go when many are in flight than when each waits for an answer, one way and
    both ways.

    Sources: SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath), section 4.1, Tables
    2 to 5; both ways: Liu et al., Micro-Benchmark Level Performance Comparison of High-Speed Interconnects
    (2003).
    """

    descr = "Streaming against ping-pong"
    layout = layouts("pair")
    tags = {"fabric", "pt2pt"}
    levels = Levels(nightly=True, procurement=True)
    headlines = (
        screen.pair("latency", "ping_pong_time", rank=2),
        screen.pair("bandwidth", "peak_bandwidth_streaming", rank=1),
        screen.pair("both ways", "peak_bandwidth_exchange", rank=1),
        screen.pair("message rate", "message_rate_8B"),
    )
    queue_depth = 0
    modes = streaming.MODES["both"]
    of_curves = (
        Metric(
            "zero_byte_latency_ping_pong",
            "us",
            "smaller",
            about="Half the round trip of an empty message",
        ),
        Metric(
            "zero_byte_latency_streaming",
            "us",
            "smaller",
            about="Time per empty message with many in flight",
        ),
        Metric(
            "zero_byte_latency_reduction",
            "%",
            "larger",
            about="How much shorter streaming makes the zero-byte time than ping-pong",
        ),
        Metric(
            "message_rate_8B",
            "Mmsg/s",
            "larger",
            about="Messages of 8 bytes a second, streaming",
        ),
        Metric(
            "peak_bandwidth_ping_pong",
            "MB/s",
            "larger",
            one_way=True,
            about="Highest bandwidth of ping-pong over the sizes",
        ),
        PEAK,
        Metric(
            "half_peak_size_ping_pong",
            "B",
            "smaller",
            about="N1/2 of ping-pong: the message size at half of its peak bandwidth",
        ),
        Metric(
            "half_peak_size_streaming",
            "B",
            "smaller",
            about="N1/2 of streaming: the message size at half of its peak bandwidth",
        ),
        Metric(
            "half_peak_size_increase",
            "%",
            "larger",
            about="N1/2 of ping-pong over that of streaming",
        ),
        Metric(
            "bidirectional_latency",
            "us",
            "smaller",
            about="Time in which two ranks exchange an empty message each",
        ),
        Metric(
            "peak_bandwidth_exchange",
            "MB/s",
            "larger",
            about="Highest bandwidth of exchanges, bytes of both directions counted",
        ),
        PEAK_BOTH_WAYS,
        Metric(
            "bidirectional_gain",
            "1",
            "larger",
            about="Peak bandwidth of both directions at once over that of one",
        ),
    )


@check()
class StreamingQueue(StreamingCheck):
    """Rates with a bounded queue: between half of it and all of it in flight, one way and both ways.

    Source: Liu et al., Micro-Benchmark Level Performance Comparison of High-Speed Interconnects (2003), which
    has queue depths of 8, 16 and 32.
    """

    descr = "Streaming with a bounded queue"
    layout = layouts("pair")
    queue_depth = parameter([8, 16, 32], type=int)
    tags = {"fabric", "pt2pt"}
    seconds_per_point = 0.05
    modes = ("streaming", "bidirectional_streaming")
    of_curves = (PEAK, PEAK_BOTH_WAYS)
