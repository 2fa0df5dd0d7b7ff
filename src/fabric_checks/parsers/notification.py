# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``notification``: the cost of learning that a message has arrived."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.points import PointOutput, PointTable

#: How a receive is completed: MPI_Test in a loop, or MPI_Wait. The points are half of the round trip.
WAYS = ("test", "wait")

_TABLE = PointTable("notification", WAYS, repeats=dict.fromkeys(WAYS, (2, "")))
#: The header's lines about the CPU and sleep, which have some counts twice; a simulation knows none of them.
_LINES = ("cpu while waiting", "sleeps while waiting", "blocking wait")
_WAITS = re.compile(
    r"test (?P<test_cpu>[0-9]{1,6}) % wait (?P<wait_cpu>[0-9]{1,6}) %\n"
    r"test (?P<test>[0-9]{1,15}) in (?P<test_slept>[0-9]{1,7}) of (?P<waits>[0-9]{1,7}) waits, "
    r"wait (?P<wait>[0-9]{1,15}) in (?P<wait_slept>[0-9]{1,7}) of (?P=waits) waits\n"
    r"(?P<verdict>\w+): (?P<reason>MPI_Wait slept in (?P=wait_slept) of (?P=waits) waits of [0-9.e+]+ ms, "
    r"(?P<each>\S+) times a wait, and used (?P=wait_cpu) % of a CPU)"
)
_UNKNOWN = re.compile(r"unknown\nunknown\nunknown: (?P<reason>.+)")


@dataclass(frozen=True)
class Sleeps:
    """Counts of the waits in which the thread slept.

    :param count: its voluntary context switches in all waits.
    :param slept: in how many waits there were any.
    :param waits: how many waits there were.
    """

    count: int
    slept: int
    waits: int

    @property
    def verdict(self) -> str:
        """Whether such a wait counts as one that sleeps, in the words of ``notification --help``."""
        if self.slept == 0:
            return "absent"
        return "offered" if 2 * self.slept >= self.waits else "unknown"


@dataclass(frozen=True)
class NotificationOutput(PointOutput):
    """One run of ``notification``.

    :param cpu_percent: the share of a CPU that waiting takes, by way; None where it is unknown (a simulation).
    :param sleeps: how often the waiting thread slept, by way; None where it is unknown.
    :param blocking_wait: ``offered``, ``absent`` or ``unknown``: whether MPI_Wait sleeps.
    :param reason: the reason for that, in words.
    """

    cpu_percent: Mapping[str, float] | None
    sleeps: Mapping[str, Sleeps] | None
    blocking_wait: str
    reason: str


def parse(text: str, sizes_B: Sequence[int]) -> NotificationOutput:
    """Read the output of ``notification``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = _TABLE.parse(text, [(size,) for size in sizes_B])
    text = "\n".join(output.header.get(key, "") for key in _LINES)
    if unknown := _UNKNOWN.fullmatch(text):
        return NotificationOutput(output.header, output.rows, None, None, "unknown", unknown["reason"])
    found = _WAITS.fullmatch(text)
    if found is None:
        raise OutputError(f"the header's lines {', '.join(map(repr, _LINES))} do not fit each other: {quoted(text)}")
    waits = fabric.number_of(fabric.options(output.header), "waits", at_least=1)
    sleeps = {way: Sleeps(*(int(found[key]) for key in (way, f"{way}_slept", "waits"))) for way in WAYS}
    wait = sleeps["wait"]
    if any(each.slept > min(waits, each.count) or (each.count > 0) != (each.slept > 0) for each in sleeps.values()) or (
        wait.waits,
        wait.verdict,
        f"{wait.count / waits:.3g}",
    ) != (waits, found["verdict"], found["each"]):
        raise OutputError(f"the header's counts of sleeps contradict each other: {quoted(text)}")
    cpu_percent = {way: float(found[f"{way}_cpu"]) for way in WAYS}
    return NotificationOutput(output.header, output.rows, cpu_percent, sleeps, wait.verdict, found["reason"])
