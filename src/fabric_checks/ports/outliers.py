# SPDX-License-Identifier: BSD-3-Clause
"""Findings, and the usual value among nodes, from which an outlier differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import names_text, plural_text

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)
#: The largest number of names in a message.
MOST_SHOWN = 4
#: Growth of a counter is chance if so few healthy counters have it.
CHANCE = 1e-6


def is_chance(count: float, expected: float) -> bool:
    """Tell whether chance explains that so many events were counted where fewer are expected.

    By Chernoff's bound on a Poisson number (Mitzenmacher and Upfal, Probability and Computing, theorem 5.4):
    at least x of m come with a probability of at most e^(x - m) (m / x)^x.
    """
    if count < 1 or count <= expected:
        return True
    if expected == 0:
        return False
    return count - expected - count * math.log(count / expected) >= math.log(CHANCE)


def finding(
    kind: str,
    hosts: Sequence[str],
    text: str,
    about: str = "",
    *,
    severity: Severity = Severity.FAULT,
    **data: Any,
) -> Finding:
    """Return a finding about hosts.

    :param kind: ``port``, ``rail``, ``host``, ``gpu`` or ``wire``. :param hosts: those that are to blame, or
        involved.
    :param about: what distinguishes it from others of its kind there, such as a port and its counter.
    """
    key = " ".join(filter(None, (kind, *sorted(hosts), about)))
    part = nodes_text(hosts) if len(hosts) == 1 else ""
    return Finding(
        kind=kind,
        severity=severity,
        text=text,
        part=part,
        hosts=tuple(hosts),
        key=key,
        data=data,
    )


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return the hosts, or other things, of each key, in their order, from pairs of both."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def usual(values: Mapping[str, Value]) -> Value | None:
    """Return the value of more than half of the nodes; None if there is none, or fewer than three have
    values."""
    if len(values) < 3:
        return None
    value, count = Counter(values.values()).most_common(1)[0]
    return value if 2 * count > len(values) else None


def nodes_text(names: Sequence[str]) -> str:
    """Return the subject of a sentence: ``node n1``, ``nodes n1, n2``."""
    return f"{plural_text(len(names), 'node')} {names_text(names, MOST_SHOWN)}"
