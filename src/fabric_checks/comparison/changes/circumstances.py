# SPDX-License-Identifier: BSD-3-Clause
"""What else changed when a metric did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from fabric_checks.comparison.changes.model import Circumstance

#: The fields of records that are looked at, in the order in which they are listed.
FIELDS = (
    "mpi",
    "compiler",
    "program",
    "program_version",
    "stack",
    "spec_hash",
    "spack",
    "binding",
    "collection",
    "reframe",
    "reference",
    "nodelist",
    "placement",
)

#: So many runs on each side are looked at: further away, too much else has changed.
_WINDOW = 5


#: Noise moves the place of a change by as many runs; then as many are looked at on each side at least.
_OFFSETS = (0, -1, 1, -2, 2)
_FEWEST = 2


def between(columns: Mapping[str, Sequence[object]], start: int, middle: int, end: int) -> tuple[Circumstance, ...]:
    """Return the fields that have no value in common just before and just after a change.

    :param columns: the fields of a series' records, of each a list in the order of time; some may be missing.
    :param start: where the level before begins; :param middle: the first run after; :param end: where its level ends.
    """
    found = []
    for field in FIELDS:
        for offset in _OFFSETS if field in columns else ():
            place = middle + offset
            before = columns[field][max(start, place - _WINDOW) : place]
            after = columns[field][place : min(end, place + _WINDOW)]
            enough = offset == 0 or min(place - start, end - place) >= _FEWEST
            if enough and (circumstance := _difference(field, before, after, offset)):
                found.append(circumstance)
                break
    return tuple(found)


def _difference(field: str, before: Sequence[object], after: Sequence[object], offset: int) -> Circumstance | None:
    if field == "nodelist":
        return _nodes(before, after, offset)
    if field == "placement":
        field, before, after = "CPUs", [_cpus(value) for value in before], [_cpus(value) for value in after]
    return None if set(before) & set(after) else Circumstance(field, _texts(before), _texts(after), offset)


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys("none" if value is None else str(value) for value in values))


def _nodes(before: Iterable[object], after: Iterable[object], offset: int) -> Circumstance | None:
    """Return the nodes that each run of one side used and no run of the other; batch systems move jobs around."""
    old, new = [_items(value) for value in before], [_items(value) for value in after]
    if not old or not new:
        return None
    gone = set.intersection(*old) - {node for nodes in new for node in nodes}
    come = set.intersection(*new) - {node for nodes in old for node in nodes}
    return Circumstance("nodes", tuple(sorted(gone)), tuple(sorted(come)), offset) if gone or come else None


def _items(value: object) -> set[str]:
    listed = json.loads(value) if isinstance(value, str) else value
    return {str(item) for item in listed} if isinstance(listed, list) else set()


def _cpus(value: object) -> str | None:
    """Return the CPUs of each rank in a placement such as ``["n1:0-1", "n2:0-1"]``, without the names of nodes."""
    listed = json.loads(value) if isinstance(value, str) else value
    return " | ".join(str(place).rsplit(":", 1)[-1] for place in listed) if isinstance(listed, list) else None
