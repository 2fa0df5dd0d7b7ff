# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``notification``: the cost of learning that a message has arrived."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers.points import PointOutput, PointTable

#: How a receive is completed: MPI_Test in a loop, or MPI_Wait. The points are half of the round trip.
WAYS = ("test", "wait")

_TABLE = PointTable("notification", WAYS, repeats=dict.fromkeys(WAYS, (2, "")))
_SHARES = re.compile(r"unknown|test (?P<test>[0-9]{1,6}) % wait (?P<wait>[0-9]{1,6}) %")
_COUNTS = r"{0} (?P<{0}>[0-9]{{1,15}}) in (?P<{0}_slept>[0-9]{{1,7}}) of (?P<{0}_waits>[0-9]{{1,7}}) waits"
_SLEEPS = re.compile("unknown|" + ", ".join(_COUNTS.format(way) for way in WAYS))
#: The counts once more, where the reason has them.
_REASON = re.compile(r"\D* (\S+) of (\S+) waits of \S+ ms, (\S+) times a wait, and used (\S+) % of a CPU")
_VERDICT = re.compile(r"(?P<verdict>offered|absent|unknown): (?P<reason>.+)")


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
    shares = _matched(output.header, "cpu while waiting", _SHARES, "shares")
    cpu_percent = None if shares[0] == "unknown" else {way: float(shares[way]) for way in WAYS}
    sleeps = _sleeps(output.header)
    if (cpu_percent is None) != (sleeps is None):
        raise OutputError("the header has only one of CPU times and sleeps")
    blocking = _matched(output.header, "blocking wait", _VERDICT, "verdict")
    counted = "unknown" if sleeps is None else sleeps["wait"].verdict
    if blocking["verdict"] != counted:
        raise OutputError(
            f"the header calls a blocking wait {blocking['verdict']}, but its own counts make it {counted}"
        )
    if (reason := _REASON.fullmatch(blocking["reason"])) and sleeps is not None and cpu_percent is not None:
        wait = sleeps["wait"]
        numbers = (wait.slept, wait.waits, f"{wait.count / max(wait.waits, 1):.3g}", f"{cpu_percent['wait']:.0f}")
        if reason.groups() != tuple(map(str, numbers)):
            raise OutputError(f"the header's reason does not fit its counts: {quoted(blocking['reason'])}")
    return NotificationOutput(output.header, output.rows, cpu_percent, sleeps, counted, blocking["reason"])


def _matched(header: Mapping[str, str], key: str, pattern: re.Pattern[str], what: str) -> re.Match[str]:
    match = pattern.fullmatch(header.get(key, ""))
    if match is None:
        raise OutputError(f"the header's line {key!r} has no {what}: {quoted(header.get(key, ''))}")
    return match


def _sleeps(header: Mapping[str, str]) -> dict[str, Sleeps] | None:
    counts = _matched(header, "sleeps while waiting", _SLEEPS, "counts")
    if counts[0] == "unknown":
        return None
    found = {way: Sleeps(*(int(counts[f"{way}{part}"]) for part in ("", "_slept", "_waits"))) for way in WAYS}
    for way, sleeps in found.items():
        if not sleeps.slept <= min(sleeps.waits, sleeps.count) or (sleeps.count > 0) != (sleeps.slept > 0):
            raise OutputError(f"the header's counts of sleeps contradict each other: {way} in {quoted(counts[0])}")
    return found
