# SPDX-License-Identifier: BSD-3-Clause
"""OSU point-to-point benchmarks."""

from reframe.core.builtins import parameter

from fabric_checks.core.errors import OutputError
from fabric_checks.ports import expected_bytes
from fabric_checks.reframe_ext.mixins import layouts

from ..offers import devices
from ..registration import check
from .base import BANDWIDTH, HOST, LATENCY, MESSAGE_RATE, MiB, OsuCheck


class OsuPointToPoint(OsuCheck):
    """Messages between pairs of processes."""

    folder = "pt2pt"
    largest_B = 4 * MiB
    device_buffers = ("D", "D")


class OsuWindows(OsuPointToPoint):
    """Windows of messages: the same repetitions in all programs, so that what was moved is known."""

    def moved_B(self, text):
        both_ways = self.benchmark.startswith("bibw")
        return expected_bytes.osu_bandwidth_B(self.sizes_B, pairs=self.num_tasks // 2, both_ways=both_ways)


@check()
class OsuLatency(OsuPointToPoint):
    """Ping-pong latency between two processes: half the round trip."""

    descr = "OSU latency"
    benchmark = "latency"
    layout = layouts("pair")
    tags = {"osu", "pt2pt"}
    short = True
    for_procurement = True


@check()
class OsuMultiLatency(OsuPointToPoint):
    """Ping-pong latency of many pairs at once, averaged over the pairs."""

    descr = "OSU latency of many pairs at once"
    benchmark = "multi_lat"
    layout = layouts("pairs")
    tags = {"osu", "pt2pt"}


@check()
class OsuBandwidth(OsuWindows):
    """Bandwidth between two processes with a window of messages in flight, one way (bw) and both ways (bibw)."""

    descr = "OSU bandwidth"
    benchmark = parameter(["bw", "bibw"], type=str)
    layout = layouts("pair")
    tags = {"osu", "pt2pt"}
    short = True
    for_procurement = True
    has_zero = False
    curves = (BANDWIDTH,)

    def measure(self, text):
        # mpi4py's port of bibw counts the bytes of one direction, OSU's own program those of both.
        factor = 2 if (self.benchmark, self.program["program"]) == ("bibw", "osu-py") else 1
        return {name: factor * value for name, value in super().measure(text).items()}


@check("osu_c")
class OsuMessageRate(OsuWindows):
    """Bandwidth and message rate of many pairs at once, one way, summed over the pairs."""

    descr = "OSU bandwidth and message rate of many pairs at once"
    benchmark = "mbw_mr"
    needs = ("osu_c",)
    layout = layouts("pairs")
    tags = {"osu", "pt2pt"}
    for_procurement = True
    has_zero = False
    curves = (BANDWIDTH, MESSAGE_RATE)

    def read(self, text):
        output = super().read(text)
        pairs, asked = output.header.get("pairs"), str(self.num_tasks // 2)
        if pairs != asked:
            raise OutputError(f"{asked} pairs of processes were asked for, but the output says {pairs}")
        return output


@check("osu_c")
class OsuConcurrentLatency(OsuPointToPoint):
    """Ping-pong latency with two threads on the receiver (latency_mt) or two forked processes a side (latency_mp).

    Those are the programs' defaults; more threads on the sender print torn titles. The threads need an MPI with
    MPI_THREAD_MULTIPLE.
    """

    descr = "OSU latency with many threads or processes on a side"
    benchmark = parameter(["latency_mt", "latency_mp"], type=str)
    if devices():
        # A forked process has no device.
        memory = parameter([HOST], type=str)
    needs = ("osu_c",)
    layout = layouts("pair")
    tags = {"osu", "pt2pt"}
    curves = (LATENCY,)


@check("osu_c", "osu_7_3")
class OsuPersistentLatency(OsuPointToPoint):
    """Ping-pong latency between two processes with persistent requests."""

    descr = "OSU latency with persistent requests"
    benchmark, folder = "latency_persistent", "pt2pt/persistent"
    needs = ("osu_c", "osu_7_3")
    layout = layouts("pair")
    tags = {"osu", "pt2pt"}
    has_zero = False
    curves = (LATENCY,)


@check("osu_c", "osu_7_3")
class OsuPersistentBandwidth(OsuWindows):
    """Bandwidth between two processes with persistent requests, one way and both ways."""

    descr = "OSU bandwidth with persistent requests"
    benchmark = parameter(["bw_persistent", "bibw_persistent"], type=str)
    folder = "pt2pt/persistent"
    needs = ("osu_c", "osu_7_3")
    layout = layouts("pair")
    tags = {"osu", "pt2pt"}
    has_zero = False
    curves = (BANDWIDTH,)
