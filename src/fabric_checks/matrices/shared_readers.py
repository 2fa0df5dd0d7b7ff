# SPDX-License-Identifier: BSD-3-Clause
"""Readers that several formats share: parts, matrices, numbered tasks of hosts, several message sizes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from fabric_checks.core.text import count_text, size_text
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row
from fabric_checks.parsers.table import number, require

#: Rows by test, metric and message size in bytes.
BySize = Mapping[tuple[str, str, int], Sequence[Row]]


def parts(text: str, starts: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield the parts of a text that begin at some positions, each with the number of its first line.

    :param starts: the positions in ascending order, of which the first is 0.
    """
    line = 1
    for start, end in pairwise([*starts, len(text)]):
        yield text[start:end], line
        line += text.count("\n", start, end)


def matrix(
    titles: Sequence[str],
    rows: Sequence[tuple[int, str, Sequence[str]]],
    ends: Sequence[End],
    missing: Collection[str] = (),
) -> list[Row]:
    """Return the cells of a matrix with senders down, but for its diagonal.

    :param titles: of the columns; :param rows: the line of each, its title and its cells; :param ends: of
        both.
    :param missing: cells of pairs that were not measured, which are left out.
    :raises OutputError: unless there is a row for each column, in the same order, with a number for each
        column.
    """
    wanted = (
        f"the matrix is cut or damaged: {len(titles)} rows of as many values were "
        f"expected, in the order of"
    )
    line = None
    for title, (line, own, values) in zip(titles, rows, strict=False):
        require(
            title == own and len(values) == len(titles),
            f"{wanted} the columns, but not this one",
            line,
        )
    require(len(titles) == len(rows), f"{wanted} the columns, found {len(rows)}", line)
    cells = [
        Row(sender, receiver, number(cell, line), line)
        for sender, (line, _, cells) in zip(ends, rows, strict=True)
        for receiver, cell in zip(ends, cells, strict=True)
        if cell.lower() not in missing
    ]
    return [row for row in cells if row.sender != row.receiver]


def of_sizes(
    name: str, measured: BySize, cannot_tell: Sequence[str], *, both_ways: bool
) -> list[PairTable]:
    """Return a table for each test and metric, of the size of most pairs: the largest, but the smallest for
    latencies.

    :param both_ways: whether a value is that of both directions, which it is for a bidirectional test anyway.
    """
    tests = defaultdict[tuple[str, str], dict[int, tuple[Row, ...]]](dict)
    for (*test, size_B), rows in measured.items():
        tests[test[0], test[1]][size_B] = tuple(rows)
    tables = []
    for (kind, metric), by_size in tests.items():
        size_B, left = _size_of_most(by_size, 1 if metric == BANDWIDTH else -1)
        without = (
            f"{count_text(left, 'pair')}, with messages of {size_text(size_B)} bytes"
        )
        unsaid = (*cannot_tell, without) if left else tuple(cannot_tell)
        both = both_ways or kind.endswith(" -b")
        tables.append(
            PairTable(name, metric, by_size[size_B], None, both, unsaid, kind, size_B)
        )
    return tables or [PairTable(name, BANDWIDTH, (), None)]


def _size_of_most(by_size: Mapping[int, Sequence[Row]], sign: int) -> tuple[int, int]:
    """Return the size of most pairs, of several the largest or (-1) the smallest; how many others lack it."""
    pairs = {size_B: {row[:2] for row in rows} for size_B, rows in by_size.items()}
    size_B = max(pairs, key=lambda size_B: (len(pairs[size_B]), sign * size_B))
    return size_B, len(set().union(*pairs.values())) - len(pairs[size_B])


def task_ends(hosts: Sequence[str]) -> list[End]:
    """Return the end of each task, given their hosts: with its number on that host if any host has
    several."""
    if len(set(hosts)) == len(hosts):
        return [End(host) for host in hosts]
    ends, tasks = [], Counter[str]()
    for host in hosts:
        ends.append(End(host, f"task {tasks[host]}"))
        tasks[host] += 1
    return ends
