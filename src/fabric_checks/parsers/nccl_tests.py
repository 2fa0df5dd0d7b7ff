# SPDX-License-Identifier: BSD-3-Clause
"""Text of nccl-tests and rccl-tests, releases 2.0 to 2.19: one run of one collective over all ranks.

Bus bandwidth is algorithm bandwidth times a factor that makes it comparable with the rate of links, whatever
the number of ranks: nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import (
    Span,
    number,
    only,
    printed,
    require,
    require_intact,
    rounded,
    whole,
)

#: The share of the bytes of a collective that a rank sends, given the number of ranks.
BUS_FACTOR: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "sendrecv": lambda ranks: 1.0,
}

_RELEASE = re.compile(r"(?ma)^(?:# nccl-tests version|rccl-tests: Version) (\S+)")
_DEVICES = re.compile(r"(?ma)^# Using devices")
_RANK = re.compile(
    r"(?ma)^# +Rank +(\d{1,9}) (?: *Group +(\d{1,9}) )?Pid +\d+ on +([\w.-]+) device +(\d{1,9}) \[\S*?\](?:"
    r" \S.*?)? *$",
)
_TIMED = (
    r" +(?:cpu)?time +algbw +busbw +(?:#wrong|error)(?: +i_min +i_max +i_p99 +i_cv%)?"
)
_TITLES = re.compile(
    rf"(?ma)^# +(size +count +type(?: +redop)?(?: +root)?(?:{_TIMED}){{2}}(?: +timestamp)?) *$",
)
#: A row; damaged ones still have bandwidths with two decimals.
_ROW = re.compile(r"(?ma)^ *(?:\d+ +\d+ +[a-z].*|\d\S* .* \d+\.\d\d +\d+\.\d\d .*)")
#: The fewest numbers in a row: two groups of time and bandwidths.
_ROW_NUMBERS = 6
_BOUNDS = re.compile(r"(?ma)^# Out of bounds values *: (\S+) (\w+)")
_MEAN = re.compile(r"(?ma)^# Avg bus bandwidth *: (\S+)")
#: What the table of a run has once, in order.
_OF_TABLE = {
    "of titles 'size count type ...'": _TITLES,
    "'# Out of bounds values'": _BOUNDS,
    "'# Avg bus bandwidth'": _MEAN,
}
#: The list of devices with the number of a task before each line, as ``srun -l`` has it.
_LABELLED = re.compile(r"(?ma)^ *\d+: ?# Using devices")
#: A bandwidth whose last digit is a larger share of it, as 0.00 or 1e+06 GB/s, is taken from size and time,
#: if that has more digits.
_FEW_DIGITS = 0.01
#: A bandwidth is computed from the time before it is rounded; floating point adds this share.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Device:
    """Where a rank ran: its host, and the number of its GPU there."""

    host: str
    number: int


@dataclass(frozen=True)
class Timing:
    """One size, out of place or in place: time, and bandwidths in MB/s (10^6 bytes a second)."""

    time_us: float
    algorithm_MBps: float
    bus_MBps: float


class SizeRow(NamedTuple):
    """One row of the table: its line, its size, and what was measured out of place and in place."""

    line: int
    size_B: int
    out_of_place: Timing
    in_place: Timing


@dataclass(frozen=True)
class NcclOutput:
    """One run.

    :param version: of nccl-tests, or the commit of rccl-tests; empty where the release does not print it.
    :param out_of_place: by the size in bytes that was asked for.
    :param in_place: likewise.
    """

    version: str
    out_of_place: Mapping[int, Timing]
    in_place: Mapping[int, Timing]


def parse(text: str, benchmark: str, sizes_B: Sequence[int], ranks: int) -> NcclOutput:
    """Read the output of ``<benchmark>_perf``.

    :param benchmark: a key of :data:`BUS_FACTOR`; :param sizes_B: those that were asked for; :param ranks:
        likewise.
    :raises OutputError: if the output is not whole or of another run, data were wrong, or values contradict
        each other.
    """
    text = plain.cleaned(text)
    if _LABELLED.search(text):
        text = re.sub(r"(?m)^ *\d+: ?", "", text)
    listed = len(devices(text))
    require(
        listed == ranks,
        f"{ranks} ranks were asked for, but '# Using devices' lists {listed}",
    )
    found = rows(text, BUS_FACTOR[benchmark](ranks))
    require(
        len(found) == len(sizes_B),
        f"{count_text(len(sizes_B), 'size')} were asked for, but {count_text(len(found), 'row')} found",
    )
    by_size = dict(zip(sizes_B, found, strict=True))
    for asked_B, row in by_size.items():
        # Each rank has the same number of whole 16 bytes, so the size may be a little less.
        require(
            asked_B - 16 * ranks < row.size_B <= asked_B,
            f"the row of {asked_B} B was expected, found that of {row.size_B} B",
            row.line,
        )
    release = _RELEASE.search(text)
    return NcclOutput(
        release[1] if release else "",
        {size_B: row.out_of_place for size_B, row in by_size.items()},
        {size_B: row.in_place for size_B, row in by_size.items()},
    )


def devices(text: str, first: int | None = None) -> tuple[Device, ...]:
    """Return the devices of the ranks of one run.

    :param first: the number of the first line, for messages.
    :raises OutputError: if there is not one whole list of one group of ranks.
    """
    lists = len(_DEVICES.findall(text))
    found = _RANK.findall(text)
    numbers = [int(rank) for rank, *_ in found]
    # Each process of a build without MPI runs by itself.
    require(
        lists <= 1 or any(numbers),
        f"{lists} processes ran by themselves, each as rank 0: the build has no MPI; build it with MPI=1",
        first,
    )
    require(
        lists == 1,
        f"one list '# Using devices' of hosts was expected, found {lists}: the program did not start, or"
        " several programs printed this",
        first,
    )
    require(
        len(found) == len(re.findall(r"(?m)^#\s+Rank ", text)),
        "a line '#  Rank ... on HOST device' is damaged: which hosts ran is not known",
        first,
    )
    groups = {group for _, group, *_ in found}
    require(
        numbers == list(range(len(found))) and len(groups) <= 1,
        f"the list of {len(found)} ranks has gaps, or several groups, which have one value",
        first,
    )
    return tuple(Device(host, int(at)) for _, _, host, at in found)


def rows(text: str, factor: float | None = None, first: int = 1) -> list[SizeRow]:
    """Read the table of one run, between its list of devices and its average.

    :param factor: of bus bandwidth to algorithm bandwidth, if it is known (:data:`BUS_FACTOR`).
    :param first: the number of the first line, for messages.
    :raises OutputError: if the table is not whole, data were wrong, or values contradict each other.
    """
    why = "the program did not get so far, or it is damaged"
    titles, bounds, last = (
        only(list(pattern.finditer(text)), f"whole line {what}", why)
        for what, pattern in _OF_TABLE.items()
    )
    require(
        bounds.groups() == ("0", "OK"),
        f"wrong data arrived: {quoted(bounds[1])} values are out of bounds ({quoted(bounds[2])})",
        first,
    )
    begin, end = titles.end(), bounds.start()
    below = any(pattern.search(text, begin) for pattern in (_DEVICES, _RANK))
    outside = _ROW.search(text[:begin]) or _ROW.search(text, end)
    require(
        begin < end < last.start() and not below and not outside,
        "ranks, titles, rows and '# Avg bus bandwidth' are not in this order",
        first,
    )
    names = titles[1].split()
    table, total, most = [], Span(0, 0), 0.0
    lines = text[begin:end].splitlines()
    for line, row in enumerate(lines, first + text.count("\n", 0, begin)):
        if not _ROW.match(row):
            _require_no_row(row, line)
            continue
        size_B, groups = _cells(row, names, line)
        out, of_out = _timing(groups[0], size_B, factor, line)
        within, of_within = _timing(groups[1], size_B, factor, line)
        table.append(SizeRow(line, size_B, out, within))
        total += of_out + of_within
        most = max(most, of_out.high, of_within.high)
    count = 2 * len(table)
    mean = number(last[1], None)
    # Each is rounded to six digits, or to two decimals.
    slack = 1e-3 + 1e-3 * most
    require(
        count and (total * (1 / count)).meets(rounded(mean, slack)),
        f"the average bus bandwidth, {mean:g} GB/s, is not that of the {count} values",
        first,
    )
    return table


def _cells(row: str, names: Sequence[str], line: int) -> tuple[int, list[list[str]]]:
    """Return the size of a row in bytes, and the cells of its two groups, which begin with a time."""
    cells = row.split()
    # A time stamp is a date and a time; before 2.10 a collective without an operation has a blank for its
    # name.
    missing = len(names) + names.count("timestamp") - len(cells)
    if (
        missing not in (0, 1)
        or (missing and "root" in names)
        or not re.match(r" *\d+ +\d+ +[a-z]", row)
    ):
        raise OutputError(
            f"a row of {len(names)} columns was expected, found {quoted(row)}", line
        )
    starts = [
        at - missing for at, name in enumerate(names) if name in ("time", "cputime")
    ]
    return whole(cells[0], line, "a message size"), [
        cells[at : at + 4] for at in starts
    ]


def _require_no_row(line: str, line_number: int) -> None:
    """Raise :class:`OutputError` if a line has as many numbers as a row, unless it is one of a log."""
    numbers = sum(cell.replace(".", "", 1).isdigit() for cell in line.split())
    is_of_others = line.lstrip().startswith("#") or " NCCL " in line
    require(
        numbers < _ROW_NUMBERS or is_of_others,
        f"a row of the table is damaged: {quoted(line)}",
        line_number,
    )


def _timing(
    cells: Sequence[str], size_B: int, factor: float | None, line: int
) -> tuple[Timing, Span]:
    """Return the values of one group, and the bus bandwidth in GB/s; time and both bandwidths say the same,
    within their last digits.

    :param cells: time in us, algorithm and bus bandwidth in GB/s, and the number of wrong values, N/A if not
        counted; before 2.10 the largest error, which the line of out-of-bounds values judges.
    """
    of_time, of_algorithm, of_bus = (printed(cell, line) for cell in cells[:3])
    time_us, algorithm, bus = map(float, cells[:3])
    wrong = 0 if cells[3] == "N/A" else number(cells[3], line)
    require(
        wrong < 1 and time_us > 0,
        f"{wrong:g} wrong values at {size_B} B, in {time_us:g} us",
        line,
    )
    bytes_ = Span(1 - _ROUNDING, 1 + _ROUNDING) * size_B
    require_intact(
        (bytes_ / of_time * 1e-3).meets(of_algorithm),
        f"{size_B} B in {time_us:g} us are not {algorithm:g} GB/s",
        line,
    )
    if factor is not None:
        slack = Span(-_ROUNDING, _ROUNDING) * bus
        require_intact(
            (of_algorithm * factor + slack).meets(of_bus),
            f"a bus bandwidth of {bus:g} GB/s is not {factor:.4g} times {algorithm:g} GB/s",
            line,
        )
    if (
        of_algorithm.high - algorithm
        > max(_FEW_DIGITS, of_time.high / time_us - 1) * algorithm
    ):
        algorithm = size_B / time_us / 1e3
        bus = bus if factor is None else factor * algorithm
    return Timing(time_us, 1e3 * algorithm, 1e3 * bus), of_bus
