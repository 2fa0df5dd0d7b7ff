# SPDX-License-Identifier: BSD-3-Clause
"""Readers that several formats share: parts, matrices, numbered tasks of hosts, several message sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import count_text, size_text
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row
from fabric_checks.parsers.table import number

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
    wanted = [(title, len(titles)) for title in titles]
    found = [(title, len(cells)) for _, title, cells in rows]
    if found != wanted:
        whole = next((at for at, row in enumerate(found) if [row] != wanted[at : at + 1]), len(found))
        raise OutputError(
            f"{len(titles)} rows in the order of the columns were expected, each with as many values, but "
            f"only the first {whole} are so: the matrix is cut or damaged",
            rows[min(whole, len(rows) - 1)][0] if rows else None,
        )
    cells = [
        Row(sender, receiver, number(cell, line), line)
        for sender, (line, _, cells) in zip(ends, rows, strict=True)
        for receiver, cell in zip(ends, cells, strict=True)
        if cell.lower() not in missing
    ]
    return [row for row in cells if row.sender != row.receiver]


def of_sizes(
    name: str,
    measured: BySize,
    cannot_tell: Sequence[str],
    *,
    both_ways: bool = False,
) -> list[PairTable]:
    """Return a table for each test and metric, of the size of most pairs: the largest, but the smallest for
    latencies.

    :param both_ways: whether a value is that of both directions, which it is for a bidirectional test anyway.
    """
    tables = []
    for test in dict.fromkeys(key[:2] for key in measured):
        kind, metric = test
        pairs = {key[2]: {row[:2] for row in rows} for key, rows in measured.items() if key[:2] == test}
        sign = 1 if metric == BANDWIDTH else -1
        size_B = abs(max((len(found), sign * size_B) for size_B, found in pairs.items())[1])
        unsaid = list(cannot_tell)
        if left := set().union(*pairs.values()) - pairs[size_B]:
            unsaid.append(f"{count_text(len(left), 'pair')}, with messages of {size_text(size_B)} bytes")
        rows, both = tuple(measured[kind, metric, size_B]), both_ways or kind.endswith(" -b")
        tables.append(PairTable(name, metric, rows, None, both, tuple(unsaid), kind, size_B))
    return tables or [PairTable(name, BANDWIDTH, (), None)]


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
