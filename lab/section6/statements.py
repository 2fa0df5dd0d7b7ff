# SPDX-License-Identifier: BSD-3-Clause
"""What SAND2005-5199 says in section 6, against the recorded run times; rhodo stands for the report's stouch.

The report's figures are not public, and their transcription does not say what the two curves have in common.
So both readings are tried: two processes a node against one on as many nodes, and with as many processes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from statistics import linear_regression

from lab.section6 import gaps

NO_MEMORY = (
    "computation takes what it took traced, on however many processors of a node: no description can say"
    " otherwise"
)
ONE_BUS = (
    "two processes share the adapter, whose bus has one rate for both ways: without it, 8.6 % of 16 processes"
    " are 2.4"
)
WITHIN = (
    "two messages at once within a node share 1318 MB/s: with ten times all rates, 9.4 % of 16 processes"
    " are 0.3"
)
ADAPTER = "two processes share the adapter: with ten times its rate, 2.5 % of 16 processes are 0.1"
MORE_MESSAGES = (
    "what two processes of a node share weighs more as more of the time goes to "
    "messages, on every twin"
)
NODES, PROCESSES = False, True


@dataclass(frozen=True)
class Statement:
    """A statement on the gap between two processes a node and one; ``why_not`` says why a twin contradicts
    it.

    :param holds: takes the gaps in %, by the number of nodes, or of processes with ``ranks_alike``.
    """

    problem: str
    twin: str
    words: str
    holds: Callable[[dict[int, float]], bool]
    ranks_alike: bool
    why_not: str | None = None

    def __str__(self):
        """Return the statement with what the two curves have in common."""
        return (
            f"{self.problem} on {self.twin}, as many {'processes' if self.ranks_alike else 'nodes'}:"
            f" {self.words}"
        )

    def is_as_expected(self, run_times, speed):
        """Return whether the run times agree, or contradict the statement where a reason is known."""
        values = gaps(run_times[self.problem][speed][self.twin], self.ranks_alike)
        return self.holds(values) == (self.why_not is None)


def growth(values):
    """Return by how many percentage points a gap grows each time the nodes, or the processes, double."""
    return linear_regression(
        [log2(count) for count in values], list(values.values())
    ).slope


def better(problem, twin, processes, ranks_alike, why_not=None):
    """Return the statement that one process a node, or two, are better wherever both were run."""
    sign = -1 if processes == 2 else 1
    words = f"{processes} a node are better"
    return Statement(
        problem,
        twin,
        words,
        lambda values: all(sign * gap > 0 for gap in values.values()),
        ranks_alike,
        why_not,
    )


STATEMENTS = [
    better("lj", "red-squall", 2, NODES),
    better("lj", "cbc", 2, NODES),
    better("lj", "red-squall", 2, PROCESSES, ONE_BUS),
    better("lj", "cbc", 2, PROCESSES, ADAPTER),
    better("rhodo", "red-squall", 2, NODES),
    better("rhodo", "cbc", 1, NODES, NO_MEMORY),
    better("rhodo", "escher", 1, NODES, NO_MEMORY),
    better("rhodo", "red-squall", 2, PROCESSES, WITHIN),
    better("rhodo", "cbc", 1, PROCESSES),
    better("rhodo", "escher", 1, PROCESSES),
    *(
        Statement(
            "rhodo",
            "cbc",
            "the gap grows",
            lambda values: growth(values) > 0.2,
            ranks_alike,
        )
        for ranks_alike in (NODES, PROCESSES)
    ),
    *(
        Statement(
            "rhodo",
            twin,
            "the gap is constant",
            lambda values: abs(growth(values)) <= 0.2,
            alike,
            MORE_MESSAGES,
        )
        for twin in ("red-squall", "escher")
        for alike in (NODES, PROCESSES)
    ),
]
