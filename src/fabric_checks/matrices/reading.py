# SPDX-License-Identifier: BSD-3-Clause
"""What several formats of pair tables share: JSON documents, numbered tasks of hosts, several message sizes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row, of_rows
from fabric_checks.parsers import plain

#: The beginning of a line without the label that some launchers put before each, such as the rank.
_UNLABELLED = re.compile(r"^(?!\s*\d+: |\s*$)", re.MULTILINE)


class Measurement(NamedTuple):
    """One value of a program that measures several message sizes; ``kind`` is the test, ``metric`` as in a table."""

    kind: str
    metric: str
    size_B: int
    row: Row


def cleaned(text: str) -> str:
    """Return an output without what :func:`plain.cleaned` removes.

    :raises OutputError: as that, and if each line has a label before it.
    """
    text = plain.cleaned(text)
    if text.strip() and not _UNLABELLED.search(text):
        label = quoted(text.lstrip().partition(" ")[0] + " ")
        raise OutputError(f"each line comes after {label}: the launcher must print lines unchanged, without rank")
    return text


def of_sizes(
    format_name: str, measured: Sequence[Measurement], *, both_ways: bool = False, cannot_tell: Sequence[str] = ()
) -> list[PairTable]:
    """Return a table for each kind and metric, of one size: the largest of all pairs, but the smallest for latencies.

    :param both_ways: whether a value is that of both directions, which it is for a kind called bidirectional anyway.
    :raises OutputError: if no size is common to all pairs, or as :func:`of_rows`.
    """
    tables = []
    for kind, metric in dict.fromkeys(each[:2] for each in measured):
        sizes: dict[int, set[tuple[End, End]]] = {}
        for each in measured:
            if each[:2] == (kind, metric):
                sizes.setdefault(each.size_B, set()).add(each.row[:2])
        pairs = set[tuple[End, End]]().union(*sizes.values())
        common = [size for size, of_size in sizes.items() if of_size == pairs]
        if not common:
            raise OutputError(f"no message size was measured between all {len(pairs)} pairs: give a file for each size")
        size = max(common) if metric == BANDWIDTH else min(common)
        rows = [each.row for each in measured if each[:3] == (kind, metric, size)]
        both = both_ways or "Bidirectional" in kind
        of = of_rows(format_name, metric, rows, alone=None, both_ways=both, cannot_tell=cannot_tell)
        tables.append(replace(of, title=f"{kind} {size_title(size)}".lstrip()))
    return tables or [of_rows(format_name, BANDWIDTH, (), alone=None)]


def size_title(size_B: int) -> str:
    """Return a message size with its unit, such as ``8 MiB``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_B >= factor and size_B % factor == 0:
            return f"{size_B // factor} {unit}"
    return f"{size_B} B"


def task_ends(hosts: Sequence[str]) -> list[End]:
    """Return the end of each task, given their hosts: with its number on that host if any host has several."""
    several, seen = len(set(hosts)) < len(hosts), Counter[str]()
    ends = []
    for host in hosts:
        ends.append(End(host, f"task {seen[host]}" if several else ""))
        seen[host] += 1
    return ends


def json_documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects that follow each other in a text.

    :raises OutputError: for anything else, and for an object with the same key twice.
    """
    text, decoder, at = cleaned(text), json.JSONDecoder(object_pairs_hook=_object), 0
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
