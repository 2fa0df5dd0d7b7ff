# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``notification``: the cost of learning that a message has arrived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from fabric_checks.core.errors import quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import number, require

#: How a receive is completed: MPI_Test in a loop, or MPI_Wait. The points are half of the round trip.
WAYS = ("test", "wait")
TABLE = fabric.of_points("notification", WAYS)
VERDICTS = ("offered", "absent", "unknown")


@dataclass(frozen=True)
class NotificationOutput(fabric.Output):
    """One run of ``notification``.

    :param cpu_percent: the share of a CPU that waiting takes, by way; None where it is unknown (a
        simulation).
    :param blocking_wait: ``offered``, ``absent`` or ``unknown``: whether MPI_Wait sleeps.
    :param reason: the reason for that, in words.
    """

    cpu_percent: Mapping[str, float] | None
    blocking_wait: str
    reason: str


def parse(text: str, sizes_B: Sequence[int]) -> NotificationOutput:
    """Read the output of ``notification``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = fabric.read(text, TABLE, product(sizes_B))
    verdict, _, reason = output.header.get("blocking wait", "").partition(": ")
    require(
        verdict in VERDICTS,
        f"'blocking wait' is {quoted(verdict)}, expected one of {', '.join(VERDICTS)}",
    )
    percent = output.header.get("cpu percent while waiting", "")
    cpu_percent = None
    if percent != "unknown":
        cpu_percent = {
            way: number(fabric.pairs(percent).get(way, ""), None) for way in WAYS
        }
    return NotificationOutput(
        output.header, output.keys, output.columns, cpu_percent, verdict, reason
    )
