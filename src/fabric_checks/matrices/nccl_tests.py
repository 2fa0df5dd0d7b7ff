# SPDX-License-Identifier: BSD-3-Clause
"""Text of nccl-tests and rccl-tests (``sendrecv_perf`` and others) between two hosts, or two GPUs, at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, End, PairTable, Row
from fabric_checks.matrices.reading import Measurement, cleaned, of_sizes
from fabric_checks.parsers.table import number, whole

NAME = "nccl-tests"
NEXT = "mpirun -np 2 -H {sender}:1,{receiver}:1 sendrecv_perf -b 1G -e 1G -N 5"

#: The largest message whose time is taken for a latency, in bytes.
MOST_LATENCY_B = 1024

_ASCII_LINES = re.MULTILINE | re.ASCII
_DEVICES = re.compile(r"^# Using devices", _ASCII_LINES)
_RANK = re.compile(
    r"^# +Rank +(\d{1,9})(?: Group +(\d{1,9}))? Pid +\d+ on +([\w.-]+) device +(\d{1,9}) \[", _ASCII_LINES
)
_TIMED = r" +(?:cpu)?time +algbw +busbw +(?:#wrong|error)(?: +i_min +i_max +i_p99 +i_cv%)?"
_TITLES = re.compile(
    rf"^# +(size +count +type(?: +redop)?(?: +root)?(?:{_TIMED}){{1,2}}(?: +timestamp)?) *$", _ASCII_LINES
)
_WRONG = re.compile(r"^# Out of bounds values *: [1-9].*", _ASCII_LINES)
_MEAN = re.compile(r"^# Avg bus bandwidth *: (\S+)", _ASCII_LINES)
_PROGRAM = re.compile(r"^# Collective test concluded: (\w+)", _ASCII_LINES)
_SIZES = re.compile(r"^# nThread.* minBytes ([1-9]\d*) maxBytes (\d+) step: (\d+)\((factor|bytes)\)", _ASCII_LINES)
#: A row; damaged ones still have bandwidths with two decimals.
_ROW = re.compile(r"^ *(?:\d+ +\d+ +[a-z].*|\d\S* .* \d+\.\d\d +\d+\.\d\d .*)", _ASCII_LINES)


class Timing(NamedTuple):
    """Out-of-place results of one size: its time in us and its bandwidths in GB/s (10^9 B/s)."""

    size_B: int
    time_us: float
    algbw: float
    busbw: float
    line: int | None = None


def recognizes(text: str) -> bool:
    """Return whether a text is of nccl-tests or rccl-tests."""
    return "# Using devices" in text or bool(_TITLES.search(text))


def parse(text: str) -> list[PairTable]:
    """Read one or more runs: the bus bandwidth of the largest size, and the time of the smallest up to 1 KiB.

    :raises OutputError: if a run is not whole, contradicts itself, moved wrong data, or had more than two ends.
    """
    text = cleaned(text)
    first = "# nThread" if "# nThread" in text else "# Using devices"
    measured: list[Measurement] = []
    failed = []
    for start, end in pairwise([0, *[match.start() for match in re.finditer(f"^{first}", text, re.M)][1:], len(text)]):
        part, line = text[start:end], text.count("\n", 0, start) + 1
        if len(_DEVICES.findall(part)) != 1:
            raise OutputError("one list '# Using devices' was expected in each run: it says which hosts ran", line)
        ranks = [(int(rank), group, host, int(gpu)) for rank, group, host, gpu in _RANK.findall(part)]
        if len(ranks) != len(re.findall(r"^# +Rank ", part, re.MULTILINE)):
            raise OutputError("a line '#  Rank ... on HOST device' is damaged: which hosts ran is not known", line)
        pair = pair_of(ranks, line)
        if _MEAN.search(part):
            measured += measurements("".join(_PROGRAM.findall(part)), pair, list(_timings(part, line)))
        else:
            failed.append(quoted(f"{pair[0]} and {pair[1]}"))
    unended = f"{names_text(failed)}: the run has no '# Avg bus bandwidth', so it did not end"
    if not measured:
        raise OutputError(unended)
    return of_sizes(NAME, measured, both_ways=True, cannot_tell=[unended] if failed else ())


def pair_of(ranks: Sequence[tuple[int, object, str, int]], line: int | None = None) -> tuple[End, End]:
    """Return the two ends of a run: two ranks, or two hosts with all their ranks.

    :param ranks: of each rank its number, group, host and device.
    :raises OutputError: if there are others, or several groups of ranks, or a rank is missing.
    """
    hosts = list(dict.fromkeys(host for _, _, host, _ in ranks))
    if [rank[0] for rank in ranks] != list(range(len(ranks))) or len({rank[1] for rank in ranks}) > 1:
        raise OutputError("the list of ranks has gaps or several groups, which have one value: run a pair a time", line)
    if len(ranks) == 2:
        return End(ranks[0][2], f"gpu {ranks[0][3]}"), End(ranks[1][2], f"gpu {ranks[1][3]}")
    if len(hosts) != 2:
        took = f"{len(ranks)} ranks on {len(hosts)} hosts took part in one run"
        raise OutputError(f"{took}, which has one value for all: run sendrecv_perf between two hosts at a time", line)
    return End(hosts[0]), End(hosts[1])


def measurements(program: str, pair: tuple[End, End], timings: Sequence[Timing]) -> Iterator[Measurement]:
    """Yield the measurements of a run between two ends.

    :raises OutputError: if a time and a bandwidth contradict each other.
    """
    for size, time, algbw, busbw, line in timings:
        # From 10 s on, a time is printed with two digits.
        if time <= 0 or abs(algbw - size / time / 1e3) > 0.006 + (0.01 if time < 1e7 else 0.06) * algbw:
            raise OutputError(f"{size} B in {time:g} us are not {algbw:g} GB/s", line)
        yield Measurement(program, BANDWIDTH, size, Row(*pair, busbw * 1e3, line))
        if 0 < size <= MOST_LATENCY_B:
            yield Measurement(program, LATENCY, size, Row(*pair, time, line))


def _timings(part: str, first: int) -> Iterator[Timing]:
    """Yield the rows of one run, held to what precedes and follows them."""
    titles, means, rows, count = list(_TITLES.finditer(part)), list(_MEAN.finditer(part)), list(_ROW.finditer(part)), 0
    order = [match.start() for match in (*_DEVICES.finditer(part), *_RANK.finditer(part), *titles, *rows, *means)]
    if len(titles) != 1 or len(means) != 1 or not rows or order != sorted(order):
        raise OutputError("ranks, one table and '# Avg bus bandwidth' were expected in this order", first)
    if wrong := _WRONG.search(part):
        raise OutputError(f"wrong data arrived, so that no time counts: {quoted(wrong[0])}", first)
    if (asked := _SIZES.search(part)) and "Reducing maxBytes" not in part:
        low, high, step = (whole(text, first, "a number of bytes") for text in asked.groups()[:3])
        if asked[4] == "bytes":
            count = (high - low) // max(step, 1) + 1
        elif step > 1:
            count = int(math.log(max(high, low) / low, step) + 1e-9) + 1
    if count and len(rows) % count:
        raise OutputError(f"{count} sizes were asked for, but {len(rows)} rows are there", first)
    names, bandwidths, sizes = titles[0][1].split(), [], []
    for row in rows:
        line, cells = first + part.count("\n", 0, row.start()), row[0].split()
        if len(cells) != len(names) + names.count("timestamp") or not re.match(r" *\d+ +\d+ +[a-z]", row[0]):
            raise OutputError(
                f"a row of {len(names)} columns was expected, found {quoted(row[0])}: run without NCCL_DEBUG", line
            )
        bandwidths += [number(cell, line) for cell, name in zip(cells, names, strict=False) if name == "busbw"]
        at = names.index("algbw")
        sizes.append(whole(cells[0], line, "a message size"))
        time, algbw, busbw = (number(cell, line) for cell in cells[at - 1 : at + 2])
        yield Timing(sizes[-1], time, algbw, busbw, line)
    if len(rows) == count and sizes != sorted(sizes):
        raise OutputError("the sizes of a run do not grow from row to row", first)
    if abs(sum(bandwidths) / len(bandwidths) - number(means[0][1], first)) > 0.006 + 0.001 * max(bandwidths):
        raise OutputError(f"the average {quoted(means[0][1])} is not that of the {len(bandwidths)} values", first)
