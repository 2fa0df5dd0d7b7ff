# SPDX-License-Identifier: BSD-3-Clause
"""Readers that several formats share: matrices, JSON documents, numbered tasks of hosts, several message
sizes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text, size_text
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row
from fabric_checks.parsers.table import number

#: Rows by test, metric and message size in bytes.
BySize = Mapping[tuple[str, str, int], Sequence[Row]]


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
    line = None
    for at, (line, title, cells) in enumerate(rows):
        expected = titles[at] if at < len(titles) else None
        if title != expected or len(cells) != len(titles):
            wanted = (
                "no further row" if expected is None else f"row {quoted(expected)} with {len(titles)} values"
            )
            raise OutputError(f"{wanted} was expected, found {quoted(title)} with {len(cells)}", line)
    if len(rows) < len(titles):
        raise OutputError(f"the matrix has {len(rows)} of {len(titles)} rows: the file is cut", line)
    found = [
        Row(sender, receiver, number(cell, line), line)
        for sender, (line, _, cells) in zip(ends, rows, strict=True)
        for receiver, cell in zip(ends, cells, strict=True)
        if cell.lower() not in missing
    ]
    return [row for row in found if row.sender != row.receiver]


def of_sizes(
    name: str,
    measured: BySize,
    cannot_tell: Sequence[str],
    *,
    alone: bool | None = None,
    both_ways: bool = False,
) -> list[PairTable]:
    """Return a table for each test and metric, of the size of most pairs: the largest, but the smallest for
    latencies.

    :param both_ways: whether a value is that of both directions, which it is for a bidirectional test anyway.
    """
    tables = []
    for kind, metric in dict.fromkeys(key[:2] for key in measured):
        pairs = {
            key: {row[:2] for row in rows} for key, rows in measured.items() if key[:2] == (kind, metric)
        }
        key = max(pairs, key=lambda key: (len(pairs[key]), key[2] if key[1] == BANDWIDTH else -key[2]))
        left = len(set().union(*pairs.values()) - pairs[key])
        without = f"{count_text(left, 'pair')}, with messages of {size_text(key[2])} bytes"
        unsaid = [*cannot_tell, *([without] if left else ())]
        both, rows = both_ways or kind.endswith(" -b"), tuple(measured[key])
        tables.append(PairTable(name, metric, rows, alone, both, tuple(unsaid), kind, key[2]))
    return tables or [PairTable(name, BANDWIDTH, (), alone)]


def task_ends(hosts: Sequence[str]) -> list[End]:
    """Return the end of each task, given their hosts: with its number on that host if any host has
    several."""
    several = len(set(hosts)) < len(hosts)
    return [End(host, f"task {hosts[:at].count(host)}" if several else "") for at, host in enumerate(hosts)]


def json_documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that follow each other in a text.

    :raises OutputError: for anything else, and for an object with the same key twice, which would leave one
        value.
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
    if len(found := dict(pairs)) < len(pairs):
        raise OutputError("a JSON object has the same key twice")
    return found
