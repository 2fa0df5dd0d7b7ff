# SPDX-License-Identifier: BSD-3-Clause
"""Findings, and the usual value among nodes, from which an outlier differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fabric_checks.core.text import names_text

Value = TypeVar("Value")


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


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names in a sentence.

    >>> listed(["n1", "n2", "n3"]), listed(["n1", "n2", "n3", "n4", "n5", "n6"])
    ('n1, n2 and n3', 'n1, n2, n3 and 3 more')
    """
    if len(names) > most:
        return names_text(names, most - 1)
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def nodes_text(names: Sequence[str]) -> str:
    """Return the subject of a sentence: ``node n1``, ``nodes n1 and n2``."""
    return f"node{'s' if len(names) > 1 else ''} {listed(names)}"
