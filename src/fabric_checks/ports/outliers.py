# SPDX-License-Identifier: BSD-3-Clause
"""Findings, and the usual value among nodes, from which an outlier differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from fabric_checks.core.text import names_text

Value = TypeVar("Value")
#: The largest number of names in a message.
MOST_SHOWN = 4


def finding(kind: str, hosts: Sequence[str], text: str, *, confirmed: bool = True, **more: Any) -> dict[str, Any]:
    """Return a finding as a record has it.

    :param kind: ``port``, ``rail``, ``host`` or ``wire``. :param hosts: the nodes that are to blame, or are involved.
    :param confirmed: whether it is certain enough for somebody to look at it.
    """
    return {"kind": kind, "hosts": list(hosts), "confirmed": confirmed, "fault": confirmed, "text": text} | more


def usual(values: Mapping[str, Value]) -> Value | None:
    """Return the value of more than half of the nodes; None if there is none, or fewer than three have values."""
    if len(values) < 3:
        return None
    value, count = Counter(values.values()).most_common(1)[0]
    return value if 2 * count > len(values) else None


def unlike(hosts: Mapping[str, Mapping[int, Value]]) -> Iterator[tuple[str, dict[int, tuple[Value, Value]]]]:
    """Yield each host some of whose parts differ from the part of the same number on most hosts.

    :param hosts: the known values by host and number of the part.
    :returns: the host, and by number the value there and on most hosts.
    """
    numbers = sorted({number for of in hosts.values() for number in of})
    expected = {number: usual({host: of[number] for host, of in hosts.items() if number in of}) for number in numbers}
    for host, of in sorted(hosts.items()):
        other = {}
        for number in sorted(of):
            most = expected[number]
            if most is not None and of[number] != most:
                other[number] = (of[number], most)
        if other:
            yield host, other


def nodes_text(names: Sequence[str]) -> str:
    """Return the subject of a sentence: ``node n1``, ``nodes n1, n2``."""
    return f"node{'s' if len(names) > 1 else ''} {names_text(names, MOST_SHOWN)}"
