# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``notification``: the cost of learning that a message has arrived."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.points import Point, columns, point, require_keys
from fabric_checks.parsers.table import message_size

#: How a receive is completed: MPI_Test in a loop, or MPI_Wait.
WAYS = ("test", "wait")

_SHARES = re.compile(r"test (?P<test>[0-9]{1,6}) % wait (?P<wait>[0-9]{1,6}) %")
_COUNTS = r"{0} (?P<{0}>[0-9]{{1,15}}) in (?P<{0}_slept>[0-9]{{1,7}}) of (?P<{0}_waits>[0-9]{{1,7}}) waits"
_SLEEPS = re.compile(", ".join(_COUNTS.format(way) for way in WAYS))
_VERDICT = re.compile(r"(?P<verdict>offered|absent|unknown): (?P<reason>.+)")


@dataclass(frozen=True)
class Sleeps:
    """How often the thread that waits slept.

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
class NotificationRow:
    """One message size.

    :param line: its line number in the output, counted from 1.
    :param size_B: the message size in bytes.
    :param points: half of the round trip, by the way in which receives are completed.
    """

    line: int
    size_B: int
    points: dict[str, Point]


@dataclass(frozen=True)
class NotificationOutput:
    """One run of ``notification``.

    :param header: the header lines by key.
    :param rows: the times by message size.
    :param cpu_percent: the share of a CPU that waiting takes, by way; None where it cannot be told (a simulation).
    :param sleeps: how often the thread that waits slept, by way; None where that cannot be told.
    :param blocking_wait: ``offered``, ``absent`` or ``unknown``: whether MPI_Wait sleeps.
    :param reason: the reason for that, in words.
    """

    header: dict[str, str]
    rows: tuple[NotificationRow, ...]
    cpu_percent: dict[str, float] | None
    sleeps: dict[str, Sleeps] | None
    blocking_wait: str
    reason: str

    def times_us(self, way: str) -> dict[int, float]:
        """Return the median time by message size; ``way`` is ``test`` or ``wait``."""
        return {row.size_B: row.points[way].median_us for row in self.rows}


def parse(text: str, sizes_B: Sequence[int]) -> NotificationOutput:
    """Read the output of ``notification``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = fabric.parse(text, "notification", ("size_B", *columns(*WAYS)))
    rows = tuple(
        NotificationRow(line, message_size(cells["size_B"], line), {name: point(cells, name, line) for name in WAYS})
        for line, cells in output.rows
    )
    require_keys([(row.line, (row.size_B,)) for row in rows], [(size,) for size in sizes_B], ("size_B",))
    header = dict(output.header)
    cpu_percent = _cpu_percent(header)
    sleeps = _sleeps(header)
    if (cpu_percent is None) != (sleeps is None):
        raise OutputError("the header has only one of CPU times and sleeps")
    verdict, reason = _blocking_wait(header)
    counted = "unknown" if sleeps is None else sleeps["wait"].verdict
    if verdict != counted:
        raise OutputError(f"the header calls a blocking wait {verdict}, but its own counts make it {counted}")
    return NotificationOutput(header, rows, cpu_percent, sleeps, verdict, reason)


def _cpu_percent(header: Mapping[str, str]) -> dict[str, float] | None:
    line = header.get("cpu while waiting", "")
    if line == "unknown":
        return None
    shares = _SHARES.fullmatch(line)
    if shares is None:
        raise OutputError(f"the header's line 'cpu while waiting' has no shares: {quoted(line)}")
    return {way: float(shares[way]) for way in WAYS}


def _sleeps(header: Mapping[str, str]) -> dict[str, Sleeps] | None:
    line = header.get("sleeps while waiting", "")
    if line == "unknown":
        return None
    counts = _SLEEPS.fullmatch(line)
    if counts is None:
        raise OutputError(f"the header's line 'sleeps while waiting' has no counts: {quoted(line)}")
    found = {way: Sleeps(*(int(counts[f"{way}{part}"]) for part in ("", "_slept", "_waits"))) for way in WAYS}
    for way, sleeps in found.items():
        if not (sleeps.slept <= sleeps.waits and sleeps.slept <= sleeps.count) or (sleeps.count > 0) != (
            sleeps.slept > 0
        ):
            raise OutputError(f"the header's counts of sleeps contradict each other: {way} in {quoted(line)}")
    return found


def _blocking_wait(header: Mapping[str, str]) -> tuple[str, str]:
    line = header.get("blocking wait", "")
    match = _VERDICT.fullmatch(line)
    if match is None:
        raise OutputError(f"the header's line 'blocking wait' has no verdict: {quoted(line)}")
    return match["verdict"], match["reason"]
