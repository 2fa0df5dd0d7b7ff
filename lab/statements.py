# SPDX-License-Identifier: BSD-3-Clause
"""Statements of the documents without a number that compare clusters: direction and rough factor, on their
twins.

    . ci/env.sh
    python -m lab.statements        # which of them hold; minutes

Statements about one cluster are references of its twin (`statements` in config/twins). The tests try a few.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from fabric_checks.parsers import hot_spot, notification, overlap
from fabric_twins.smpirun import FEWEST
from tests.twins.simulation import SOURCES, Simulator, shipped

COLLECTIVES = Path(__file__).with_name("collectives.c")

SIZES_B = (8, 1024, 4096, 16384, 32768, 65536)
LONG_B = (*SIZES_B, 262144, 1048576)


class Twins:
    """The values that statements compare; each is simulated once."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.collectives, self.at_size = cache(self._collectives), cache(self._at_size)

    def _collectives(self, name, ppn):
        """Return the times of collectives on 16 nodes, in us, by name and size."""
        text = self.simulator.output(shipped(name), 16, ppn, COLLECTIVES)
        rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
        return {(what, int(size)): float(us) for what, size, us in rows}

    def advantage(self, collective, ppn=1):
        """Return how many times longer red-squall takes than cbc, for each size (SAND 4.2, 4.3.3)."""
        slow, fast = (self.collectives(name, ppn) for name in ("red-squall", "cbc"))
        return {
            size: slow[collective, size] / fast[collective, size] for size in SIZES_B
        }

    def exchange_MBps(self, name):
        """Return what a rank moves to and from two neighbours, by size (SAND Figure 4)."""
        return {
            size: 4 * size / self.collectives(name, 1)["exchange", size]
            for size in LONG_B
        }

    def _at_size(self, name, program, size_B, nodes=2):
        sizes = ("--min-size", str(size_B), "--max-size", str(size_B))
        return self.simulator.output(
            shipped(name), nodes, 1, SOURCES / f"{program}.c", *sizes, *FEWEST
        )

    def send_overhead_us(self, name):
        """Return the effective latency of MPI_Isend at 8 B (SAND section 5; OSU03, host overhead)."""
        return overlap.parse(self.at_size(name, "overlap", 8), [8]).values(
            "isend_overhead_us"
        )[8]

    def availability_percent(self, name):
        """Return the availability of the host while MPI_Isend moves 64 KiB."""
        return overlap.parse(self.at_size(name, "overlap", 65536), [65536]).values(
            "isend_availability_percent"
        )[65536]

    def polling_us(self, name):
        """Return the ping-pong latency at 8 B of a host that polls (OSU03, notification)."""
        return notification.parse(self.at_size(name, "notification", 8), [8]).times_us(
            "test"
        )[8]

    def hot_spot_growth(self, name):
        """Return how many times longer seven slaves take than one, collecting 8 B from each (OSU03, hot
        spot)."""
        slaves = hot_spot.slave_counts(8)
        output = hot_spot.parse(self.at_size(name, "hot_spot", 8, nodes=8), [8], slaves)
        times = output.times_us("send_receive", size_B=8)
        return times[slaves[-1]] / times[slaves[0]]


SAND = ("cbc", "red-squall", "escher", "spirit")
OSU = ("osu-ib", "osu-myrinet", "osu-quadrics")


def alike(one, two):
    return abs(one - two) <= 0.25 * two


def falling(values):
    return all(one > two for one, two in pairwise(values))


@dataclass(frozen=True)
class Statement:
    """A statement with what has to hold; where a twin contradicts it, ``why_not`` is the reason."""

    words: str
    holds: Callable[[Twins], bool]
    why_not: str | None = None

    def is_as_expected(self, twins: Twins) -> bool:
        """Return whether the twins agree, or contradict the statement where a reason is known."""
        return self.holds(twins) == (self.why_not is None)


STATEMENTS = [
    Statement(
        "alltoall of 8 B is about ten times better on cbc",
        lambda of: 5 < of.advantage("alltoall")[8] < 20,
        "what a call costs each twin is that of its point-to-point messages; the report does not say what"
        " cost Elan4 more",
    ),
    Statement(
        "the advantage at alltoall shrinks with the size",
        lambda of: of.advantage("alltoall")[8] > of.advantage("alltoall")[16384],
        "the advantage at small messages is not there, so it does not shrink either",
    ),
    Statement(
        "alltoall is never worse on cbc",
        lambda of: min(of.advantage("alltoall").values()) > 1,
    ),
    Statement(
        "bcast of 8 B is about three times better on cbc",
        lambda of: 2 < of.advantage("bcast")[8] < 4.5,
    ),
    Statement(
        "bcast is alike at a kilobyte",
        lambda of: alike(of.advantage("bcast")[1024], 1),
        "red-squall was fitted to a N1/2 of 3393 B, so at 1 KB its messages still cost more than those"
        " of cbc",
    ),
    Statement(
        "allreduce is slightly better on cbc at every size",
        lambda of: all(1 < ratio < 1.5 for ratio in of.advantage("allreduce").values()),
    ),
    Statement(
        "allreduce with two processes a node is about equal",
        lambda of: all(
            0.75 < ratio < 1.33 for ratio in of.advantage("allreduce", 2).values()
        ),
    ),
    Statement(
        "allreduce with two processes a node is slightly better on red-squall from 4 KB on",
        lambda of: all(
            of.advantage("allreduce", 2)[size] < 1 for size in (4096, 16384, 32768)
        ),
        "at 8 B only: red-squall was fitted to a N1/2 of 3393 B, and its longer messages cost more than those"
        " of cbc",
    ),
    Statement(
        "exchange on red-squall saturates its bus at 32 KB",
        lambda of: (
            falling(list(of.exchange_MBps("red-squall").values())[::-1])
            and of.exchange_MBps("red-squall")[4096]
            < 0.9 * of.exchange_MBps("red-squall")[1048576]
            and of.exchange_MBps("red-squall")[32768]
            > 0.95 * of.exchange_MBps("red-squall")[1048576]
        ),
    ),
    Statement(
        "exchange on cbc grows up to 64 KB",
        lambda of: falling(
            [of.exchange_MBps("cbc")[size] for size in reversed(SIZES_B)]
        ),
    ),
    Statement(
        "exchange on cbc falls beyond 64 KB",
        lambda of: of.exchange_MBps("cbc")[262144] < of.exchange_MBps("cbc")[65536],
        "within its calls a processor moves long messages both ways as fast as the adapter; what its copies"
        " cost beyond that is not published",
    ),
    Statement(
        "the effective send latency is lowest on cbc",
        lambda of: min(SAND, key=of.send_overhead_us) == "cbc",
    ),
    Statement(
        "the effective send latency is highest on red-squall",
        lambda of: max(SAND, key=of.send_overhead_us) == "red-squall",
        "escher was fitted to 2.23 us between streamed messages (SAND Table 2), red-squall to 1.07, which"
        " processors spend",
    ),
    Statement(
        "the effective send latencies of escher and spirit are alike",
        lambda of: alike(of.send_overhead_us("escher"), of.send_overhead_us("spirit")),
    ),
    Statement(
        "host overhead is least on Myrinet and most on InfiniBand",
        lambda of: falling(
            map(of.send_overhead_us, ("osu-ib", "osu-quadrics", "osu-myrinet"))
        ),
        "what the processors have of the latency is assumed, a quarter each, on InfiniBand and on Myrinet,"
        " and follows from the hot spot on Quadrics",
    ),
    Statement(
        "in bandwidth tests all three leave most of the host",
        lambda of: all(of.availability_percent(name) > 75 for name in OSU),
    ),
    Statement(
        "polling costs least on Quadrics and most on Myrinet",
        lambda of: falling(
            map(of.polling_us, ("osu-myrinet", "osu-ib", "osu-quadrics"))
        ),
        "a simulated MPI_Test costs the same on each, so what is left is the latency; and nothing waits for"
        " an interrupt, so what is said of that cannot be tried",
    ),
    Statement(
        "the hot spot grows on InfiniBand and on Myrinet",
        lambda of: (
            of.hot_spot_growth("osu-ib") > 1.3
            and of.hot_spot_growth("osu-myrinet") > 1.3
        ),
    ),
    Statement(
        "the hot spot grows less on Quadrics",
        lambda of: (
            of.hot_spot_growth("osu-quadrics")
            < 0.8 * min(map(of.hot_spot_growth, ("osu-ib", "osu-myrinet")))
        ),
    ),
    Statement(
        "the hot spot is worst on Myrinet",
        lambda of: (
            of.hot_spot_growth("osu-myrinet") > 1.1 * of.hot_spot_growth("osu-ib")
        ),
    ),
]


def main():
    """Print each statement and whether the twins agree; return 1 if one is not as expected."""
    is_right = True
    with tempfile.TemporaryDirectory() as folder:
        twins = Twins(Simulator(Path(folder)))
        for each in STATEMENTS:
            is_expected = each.is_as_expected(twins)
            is_right &= is_expected
            words = "holds" if each.holds(twins) else "does not hold"
            print(
                f"{words}: {each.words}{'' if is_expected else '; that is not what was expected'}",
                flush=True,
            )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
