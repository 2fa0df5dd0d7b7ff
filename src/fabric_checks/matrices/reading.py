# SPDX-License-Identifier: BSD-3-Clause
"""Readings that several formats share: matrices, JSON documents, numbered tasks of hosts, several message sizes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row

#: Rows by test, metric and message size in bytes.
BySize = Mapping[tuple[str, str, int], Sequence[Row]]


def cells_of(
    titles: Sequence[str], rows: Iterable[tuple[int, str, Sequence[str]]]
) -> Iterator[tuple[int, int, int, str]]:
    """Yield line, row, column and text of each cell of a matrix.

    :param titles: of the columns; :param rows: the line of each, its title and its cells.
    :raises OutputError: unless there is a row for each column, in the same order, with a cell for each column.
    """
    count, line = 0, None
    for count, (line, title, cells) in enumerate(rows, 1):
        expected = titles[count - 1] if count <= len(titles) else None
        if title != expected or len(cells) != len(titles):
            wanted = "no further row" if expected is None else f"row {quoted(expected)} with {len(titles)} values"
            raise OutputError(f"{wanted} was expected, found {quoted(title)} with {len(cells)}", line)
        yield from ((line, count - 1, at, cell) for at, cell in enumerate(cells))
    if count < len(titles):
        raise OutputError(f"the matrix has {count} of {len(titles)} rows: the file is cut", line)


def of_sizes(
    name: str, measured: BySize, *, both_ways: bool = False, cannot_tell: Sequence[str] = ()
) -> list[PairTable]:
    """Return a table for each test and metric, of one size: the largest of all pairs, but the smallest for latencies.

    :param both_ways: whether a value is that of both directions, which it is for a bidirectional test anyway.
    :raises OutputError: if no size is common to all pairs, and as :class:`PairTable`.
    """
    tables = []
    for test in dict.fromkeys(key[:2] for key in measured):
        kind, metric = test
        pairs = {size: {row[:2] for row in rows} for (*key, size), rows in measured.items() if tuple(key) == test}
        everyone = set().union(*pairs.values())
        common = [size for size, of_size in pairs.items() if of_size == everyone]
        if not common:
            raise OutputError(
                f"no message size was measured between all {len(everyone)} pairs: give a file for each size"
            )
        size_B = max(common) if metric == BANDWIDTH else min(common)
        rows, both = tuple(measured[kind, metric, size_B]), both_ways or kind.endswith(" -b")
        tables.append(PairTable(name, metric, rows, None, both, tuple(cannot_tell), kind, size_B))
    return tables or [PairTable(name, BANDWIDTH, (), None)]


def task_ends(hosts: Sequence[str]) -> list[End]:
    """Return the end of each task, given their hosts: with its number on that host if any host has several."""
    several, seen, ends = len(set(hosts)) < len(hosts), Counter[str](), []
    for host in hosts:
        ends.append(End(host, f"task {seen[host]}" if several else ""))
        seen[host] += 1
    return ends


def json_documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that follow each other in a text.

    :raises OutputError: for anything else, and for an object with the same key twice.
    """
    decoder, at = json.JSONDecoder(object_pairs_hook=_object), 0
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise OutputError("the JSON that begins here is damaged or cut off", text.count("\n", 0, at) + 1)
        yield document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key that is there twice would leave one of two values."""
    if len(found := dict(pairs)) < len(pairs):
        raise OutputError("a JSON object has the same key twice")
    return found
