# SPDX-License-Identifier: BSD-3-Clause
"""References that nothing looks up: of a check, a key or a metric that does not exist. A run and the audit ask here.

A run knows what its system decides, and its own case; the audit knows all cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.references import lookup

#: From a check down to a reference.
Keys = tuple[Any, ...]

#: So many of the values that there are stand in a message.
_MOST = 12


def references(check: str, entry: Mapping[Any, Any]) -> Iterator[tuple[Keys, Any]]:
    """Yield the references of a check's entry by their keys: the check, one for each item of $index, the metric."""

    def walk(level: Mapping[Any, Any], depth: int, before: Keys) -> Iterator[tuple[Keys, Any]]:
        for key, value in level.items():
            if key != "$index":
                keys = (*before, key)
                yield from walk(value, depth - 1, keys) if depth else [(keys, value)]

    yield from walk(entry, len(entry["$index"]), (check,))


def paths(check: str, entry: Mapping[Any, Any]) -> list[Keys]:
    """Return the keys of the references of an entry without those of their metrics, each once."""
    return list(dict.fromkeys(keys[:-1] for keys, _ in references(check, entry)))


def why_no_check(check: str, checks: Collection[str]) -> str | None:
    """Say that an entry is of no check; None if it is of one of ``checks``, the names of all check classes."""
    return None if check in checks else f"orphan entry {quoted(check)}: no check class has that name; fix or delete it"


def why_no_key(items: Sequence[str], keys: Keys, known: Mapping[str, Collection[str]]) -> str | None:
    """Say which key is not a value of its attribute; None if there is none.

    :param items: the entry's $index; :param keys: of :func:`paths`.
    :param known: all values of attributes; keys of other attributes are not looked at.
    """
    for item, key in zip(items, keys[1:], strict=True):
        values = known.get(item)
        if values is not None and not any(lookup.key_of({key: None}, value) is not None for value in values):
            there = ", ".join([*values][:_MOST])
            return (
                f"orphan: {where(keys)}: there is no such {item.lstrip('$')} here (there is {there}); fix or delete it"
            )
    return None


def no_metric(keys: Keys) -> str:
    """Say that a reference is of no metric that its check declares.

    :param keys: of :func:`references`.
    """
    return f"orphan: {where(keys)}: the check declares no such metric there; fix or delete it"


def where(keys: Keys) -> str:
    """Return keys in words."""
    return ": ".join(map(str, keys))
