# SPDX-License-Identifier: BSD-3-Clause
"""Text of nccl-tests and rccl-tests, releases 2.0 to 2.19: one run of one collective over all ranks.

Bus bandwidth is algorithm bandwidth times a factor that makes it comparable with the rate of links, whatever the number
of ranks: nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import number, only, whole

#: The share of the bytes of a collective that a rank sends, given the number of ranks.
BUS_FACTOR: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "sendrecv": lambda ranks: 1.0,
}

_RELEASE = re.compile(r"^# nccl-tests version (\S+) nccl-headers=\d+ nccl-library=(\d+)", re.MULTILINE)
_RCCL = re.compile(r"^rccl-tests: Version (\S+)", re.MULTILINE)
_LIBRARY = re.compile(r"\b(?:NCCL|RCCL) version\s*:?\s*(\d+\.\d+[\w.+:-]*)")
_RANK = re.compile(
    r"^#\s+Rank\s+(\d+) (?:Group\s+\d+ )?Pid\s+\d+ on\s+(\S+) device\s+(\d+) \[([^\]\n]*)\] (\S[^\n]*?)\s*$", re.M
)
_TITLES = re.compile(r"^#?\s*(size\s+count\s+type\s.*\balgbw\s+busbw\b.*)$", re.MULTILINE)
_ROW = re.compile(r"^\s*\d+\s+\d+\s+(?:u?int\d+|float\d*|half|double|b?fl?oat16|f(?:p|loat)8\w*)\s.*$", re.MULTILINE)
_BOUNDS = re.compile(r"^# Out of bounds values\s*: (\S+) (\w+)", re.MULTILINE)
_MEAN = re.compile(r"^# Avg bus bandwidth\s*: (\S+)", re.MULTILINE)
#: The list of devices with the number of a task before each line, as ``srun -l`` has it.
_LABELLED = re.compile(r"^ *\d+: ?# Using devices", re.MULTILINE)
#: A bandwidth is computed from the time before it is rounded; floating point adds this share.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Device:
    """Where a rank ran: its host, the number of its GPU there, that one's address on the PCI bus, and its model."""

    rank: int
    host: str
    number: int
    bus: str
    model: str


@dataclass(frozen=True)
class Timing:
    """One size, out of place or in place: time, and bandwidths in MB/s (10^6 bytes a second)."""

    time_us: float
    algorithm_MBps: float
    bus_MBps: float


@dataclass(frozen=True)
class NcclOutput:
    """One run.

    :param version: of nccl-tests, or the commit of rccl-tests; empty where the release does not print it.
    :param library: the version of NCCL or RCCL, likewise.
    :param devices: by rank.
    :param out_of_place: by the size in bytes that was asked for.
    :param in_place: likewise.
    """

    version: str
    library: str
    devices: tuple[Device, ...]
    out_of_place: Mapping[int, Timing]
    in_place: Mapping[int, Timing]


def parse(text: str, benchmark: str, sizes_B: Sequence[int], ranks: int) -> NcclOutput:
    """Read the output of ``<benchmark>_perf``.

    :param benchmark: a key of :data:`BUS_FACTOR`; :param sizes_B: those that were asked for; :param ranks: likewise.
    :raises OutputError: if the output is not whole or of another run, data were wrong, or values contradict each other.
    """
    text = plain.cleaned(text)
    if _LABELLED.search(text):
        text = re.sub(r"(?m)^ *\d+: ?", "", text)
    devices = _devices(text, ranks)
    titles = only(_TITLES.findall(text), "line of titles 'size count type ...'", "the program did not get so far")
    groups = _columns(titles.split())
    cut = "the output is cut off"
    wrong, verdict = only(_BOUNDS.findall(text), "line '# Out of bounds values'", cut)
    mean = number(only(_MEAN.findall(text), "line '# Avg bus bandwidth'", cut), None)
    if (wrong, verdict) != ("0", "OK"):
        raise OutputError(f"wrong data arrived: {quoted(wrong)} values are out of bounds ({quoted(verdict)})")
    factor = BUS_FACTOR[benchmark](ranks)
    found: tuple[dict[int, Timing], dict[int, Timing]] = ({}, {})
    rows, width, printed = list(_ROW.finditer(text)), len(titles.split()), []
    if len(rows) != len(sizes_B):
        raise OutputError(
            f"{count_text(len(sizes_B), 'size')} were asked for, but {count_text(len(rows), 'row')} found"
        )
    for asked_B, row in zip(sizes_B, rows, strict=True):
        line, cells = text.count("\n", 0, row.start()) + 1, row[0].split()
        # A time stamp is a date and a time; before 2.10 a collective without an operation has a blank for its name.
        missing = width + titles.split().count("timestamp") - len(cells)
        if missing not in (0, 1) or (missing and "root" in titles):
            raise OutputError(f"a row of {width} columns was expected, found {quoted(row[0])}", line)
        size_B = whole(cells[0], line, "a message size")
        # Each rank has the same number of whole 16 bytes, so the size may be a little less.
        if not asked_B - 16 * ranks < size_B <= asked_B:
            raise OutputError(f"the row of {asked_B} B was expected, found that of {size_B} B", line)
        for table, at in zip(found, groups, strict=True):
            table[asked_B] = _timing(cells[at - missing : at - missing + 4], size_B, factor, line)
            printed.append(table[asked_B].bus_MBps)
    if not printed or abs(sum(printed) / len(printed) - 1e3 * mean) > 6 + 1e-3 * max(printed):
        raise OutputError(f"the average bus bandwidth, {mean:g} GB/s, is not that of the {len(printed)} values")
    release, library = _RELEASE.search(text), _LIBRARY.search(text)
    rccl = _RCCL.search(text)
    version = release[1] if release else rccl[1] if rccl else ""
    number_of_library = library[1] if library else _release(release[2]) if release else ""
    return NcclOutput(version, number_of_library, devices, *found)


def _devices(text: str, ranks: int) -> tuple[Device, ...]:
    """Return the devices of the ranks; each process of a build without MPI runs by itself."""
    found = [Device(int(rank), host, int(at), bus, model) for rank, host, at, bus, model in _RANK.findall(text)]
    lists = text.count("# Using devices")
    if lists > 1 and all(each.rank == 0 for each in found):
        raise OutputError(
            f"{lists} processes ran by themselves, each as rank 0: the build has no MPI; build it with MPI=1"
        )
    if lists != 1:
        why = "several programs printed this" if lists else "the program did not start"
        raise OutputError(f"one list '# Using devices' was expected, found {lists}: {why}")
    if sorted(each.rank for each in found) != list(range(ranks)):
        raise OutputError(f"{ranks} ranks were asked for, but '# Using devices' lists {len(found)}")
    return tuple(sorted(found, key=lambda each: each.rank))


def _columns(titles: Sequence[str]) -> list[int]:
    """Return the position of each group of columns, out of place and in place; a group begins with a time."""
    starts = [at for at, title in enumerate(titles) if title in ("time", "cputime")]
    groups = [(*titles[start + 1 : start + 3], *titles[start + 3 : start + 4]) for start in starts]
    if len(starts) != 2 or {*groups} - {("algbw", "busbw", last) for last in ("#wrong", "error")}:
        what = "two groups of columns time, algbw, busbw and #wrong, out of place and in place,"
        raise OutputError(f"{what} were expected, found {quoted(' '.join(titles))}")
    return starts


def _timing(cells: Sequence[str], size_B: int, factor: float, line: int) -> Timing:
    """Return the values of one group; time and both bandwidths say the same, within their last digits.

    :param cells: time in us, algorithm and bus bandwidth in GB/s, and the number of wrong values, N/A if not counted;
        before 2.10 the largest error, which the line of out-of-bounds values judges.
    """
    time_us, algorithm, bus = (number(cell, line) for cell in cells[:3])
    if cells[3] != "N/A" and number(cells[3], line) >= 1:
        raise OutputError(f"{cells[3]} wrong values at {size_B} B", line)
    halves = [_half_digit(cell) for cell in cells[:3]]
    if time_us <= 0:
        raise OutputError(f"a time of {time_us:g} us at {size_B} B", line)
    rate = size_B / time_us / 1e3
    slack = halves[1] + rate * halves[0] / max(time_us - halves[0], halves[0]) + _ROUNDING * rate
    if abs(algorithm - rate) > slack:
        raise OutputError(f"{size_B} B in {cells[0]} us are not {cells[1]} GB/s", line)
    if abs(bus - factor * algorithm) > halves[2] + factor * halves[1] + _ROUNDING * bus:
        raise OutputError(f"a bus bandwidth of {cells[2]} GB/s is not {factor:.4g} times {cells[1]} GB/s", line)
    return Timing(time_us, 1e3 * algorithm, 1e3 * bus)


def _half_digit(text: str) -> float:
    """Return half of the last digit of a printed number.

    >>> _half_digit("28.15"), _half_digit("375880"), _half_digit("1.9e+05")
    (0.005, 0.5, 5000.0)
    """
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def _release(code: str) -> str:
    """Return the version of NCCL that a number of its headers stands for: 22304 is 2.23.4, and 2708 is 2.7.8.

    >>> _release("22304"), _release("2708")
    ('2.23.4', '2.7.8')
    """
    value = int(code)
    major, rest = (value // 10000, value % 10000) if value >= 10000 else (value // 1000, value % 1000)
    return f"{major}.{rest // 100}.{rest % 100}"
