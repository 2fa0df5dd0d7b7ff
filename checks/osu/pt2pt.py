# SPDX-License-Identifier: BSD-3-Clause
"""OSU point-to-point benchmarks."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.levels import Levels
from fabric_checks.ports import expected_bytes
from fabric_checks.reframe_ext.mixins import layouts

from .. import screen
from ..registration import check
from ..tables import MESSAGE_RATE
from .base import BANDWIDTH, ONE_WAY, OsuCheck, Window


class OsuPointToPoint(OsuCheck):
    """Messages between pairs of processes."""

    family = families.PAIRS
    folder = "pt2pt"
    tags = {"osu", "pt2pt"}
    device_buffers = "D D"


class OsuWindows(Window, OsuPointToPoint):
    """Bandwidth of windows of messages: the same iterations in all programs, so that the bytes moved are
    known.

    The bandwidth of ``bibw`` programs is that of both directions.
    """

    has_zero = False

    @property
    def curves(self):
        """The bandwidth."""
        return (BANDWIDTH if self.both_ways else ONE_WAY,)

    @property
    def both_ways(self):
        """Whether the program sends both ways."""
        return self.benchmark.startswith("bibw")

    def moved_B(self, text):
        given = {
            name: self.changed.get(name) for name in ("window", "iterations", "warmup")
        }
        return expected_bytes.osu_bandwidth_B(
            self.sizes_B, pairs=self.num_tasks // 2, both_ways=self.both_ways, **given
        )


@check()
class OsuLatency(OsuPointToPoint):
    """Ping-pong latency between two processes: half the round trip."""

    descr = "OSU latency"
    benchmark = "latency"
    layout = layouts("pair")
    levels = Levels(nightly=True, procurement=True)
    headlines = (screen.pair("latency", "latency"),)


@check()
class OsuMultiLatency(OsuPointToPoint):
    """Ping-pong latency of many pairs at once, averaged over the pairs."""

    descr = "OSU latency of many pairs at once"
    benchmark = "multi_lat"
    layout = layouts("pairs")


@check()
class OsuBandwidth(OsuWindows):
    """Bandwidth between two processes with a window of messages in flight, one way (bw) and both ways
    (bibw)."""

    descr = "OSU bandwidth"
    benchmark = parameter(["bw", "bibw"], type=str)
    layout = layouts("pair")
    levels = Levels(nightly=True, procurement=True)
    headlines = (
        screen.pair("bandwidth", "bandwidth", benchmark="bw"),
        screen.pair("both ways", "bandwidth", benchmark="bibw"),
    )

    def measure(self, text):
        # mpi4py's port of bibw counts the bytes of one direction, OSU's own program those of both.
        factor = 2 if self.benchmark == "bibw" and self.is_port else 1
        return {name: factor * value for name, value in super().measure(text).items()}


@check()
class OsuMessageRate(OsuWindows):
    """Bandwidth and message rate of many pairs at once, one way, summed over the pairs."""

    descr = "OSU bandwidth and message rate of many pairs at once"
    benchmark = "mbw_mr"
    needs = ("osu_c",)
    layout = layouts("pairs")
    levels = Levels(procurement=True)
    headlines = (screen.pair("message rate", "message_rate", rank=1),)
    curves = (ONE_WAY, MESSAGE_RATE)

    def read(self, text):
        output = super().read(text)
        pairs, asked = output.header.get("pairs"), str(self.num_tasks // 2)
        if pairs != asked:
            raise OutputError(
                f"{asked} pairs of processes were asked for, but the output names {pairs}"
            )
        return output


@check()
class OsuConcurrentLatency(OsuPointToPoint):
    """Ping-pong latency with two threads on the receiver.

    That is the program's default; more on the sender print torn titles. The threads need an MPI with
    MPI_THREAD_MULTIPLE, and a core each.
    """

    descr = "OSU latency with many threads on a side"
    benchmark = "latency_mt"
    needs = ("osu_c",)
    layout = layouts("pair")

    def measure(self, text):
        cores = [len(rank.cores) for rank in self.ranks if rank.rank == 1]
        if cores == [1]:
            why = (
                "rank 1 is bound to one core, on which two threads took turns: the values measure that, not"
                " the network; bind ranks to more cores"
            )
            self._add_findings(
                Finding(kind="binding", severity=Severity.SUSPECT, text=why)
            )
        return super().measure(text)


@check()
class OsuPersistentLatency(OsuPointToPoint):
    """Ping-pong latency between two processes with persistent requests."""

    descr = "OSU latency with persistent requests"
    benchmark, folder = "latency_persistent", "pt2pt/persistent"
    needs = ("osu_c", "osu_7_3")
    layout = layouts("pair")
    has_zero = False


@check()
class OsuPersistentBandwidth(OsuWindows):
    """Bandwidth between two processes with persistent requests, one way and both ways."""

    descr = "OSU bandwidth with persistent requests"
    benchmark = parameter(["bw_persistent", "bibw_persistent"], type=str)
    folder = "pt2pt/persistent"
    needs = ("osu_c", "osu_7_3")
    layout = layouts("pair")
