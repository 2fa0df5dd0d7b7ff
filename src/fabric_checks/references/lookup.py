# SPDX-License-Identifier: BSD-3-Clause
"""The keys of a reference file: those of a series, by ReFrame's own rules, and orphans, which no case looks
up.

A run knows the attributes that its system determines, and its own case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core.errors import ReferenceError, quoted

#: From a check down to a reference.
Keys = tuple[Any, ...]

#: The most existing values that a message lists.
_MOST = 12
#: The fields of every record for items of ``$index`` that are no parameters of the check.
_OF_RECORD = {"$environ": "environ", "$system": "system", "layout": "layout"}


@dataclass(frozen=True)
class Slot:
    """Locate an existing or new reference.

    :param check: the entry; :param index: its ``$index``; :param keys: a key for each item of it, of the type
        in the file; :param metric: the last key.
    :param reference: the list in the file, or None.
    """

    check: str
    index: tuple[str, ...]
    keys: tuple[Any, ...]
    metric: str
    reference: Any = field(default=None, compare=False, hash=False)


def _parameters(record: Mapping[str, Any]) -> dict[str, str | int]:
    own: dict[str, str | int] = json.loads(record["parameters"] or "{}")
    return own


def attribute(item: str, record: Mapping[str, Any]) -> str | int:
    """Return the value of an item of ``$index`` for the test of a record.

    :param record: a row of a table of records.
    :raises ReferenceError: if the record has none.
    """
    own = _parameters(record)
    if item in own:
        return own[item]
    if item == "$partition":
        return f"{record['system']}:{record['partition']}"
    if item in _OF_RECORD:
        return str(record[_OF_RECORD[item]])
    raise ReferenceError(
        f"the $index of {record['check']} names {item!r}, but no record has its value"
    )


def new_index(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ``$index`` of an entry for the check of a record: partition, environment, its parameters,
    layout."""
    return ("$partition", "$environ", *_parameters(record), "layout")


def slot(entries: Mapping[str, Mapping[Any, Any]], record: Mapping[str, Any]) -> Slot:
    """Return the slot of the reference for the metric of a record, existing or new.

    Existing keys are found as ReFrame finds them: one that is equal, or else the first that matches as a
    regular expression.

    :param entries: the entries of a file by check.
    :raises ReferenceError: if the ``$index`` of the entry names what no record has.
    """
    entry = entries.get(record["check"])
    index = tuple(entry["$index"]) if entry else new_index(record)
    values = {item: attribute(item, record) for item in index}
    found, level = descend(entry or {"$index": index}, values.get)
    keys = [
        _new_key(values[item]) if key is None else key
        for item, key in zip(index, found, strict=True)
    ]
    metric = str(record["metric"])
    return Slot(record["check"], index, tuple(keys), metric, level.get(metric))


def descend(
    entry: Mapping[Any, Any], value_of: Callable[[str], Any]
) -> tuple[list[Any], Mapping[Any, Any]]:
    """Return the keys of one case in the entry of its check, and the references below them by metric.

    :param value_of: returns the case's value of an item of ``$index``, or None.
    :returns: of keys None from the first on that has none; there are no references then.
    """
    level: Any = {key: value for key, value in entry.items() if key != "$index"}
    keys: list[Any] = []
    for item in entry.get("$index", ()):
        value = value_of(item)
        keys.append(None if value is None else key_of(level, str(value)))
        level = {} if keys[-1] is None else level[keys[-1]]
    return keys, level


def key_of(level: Mapping[Any, Any], value: str) -> Any:
    """Return the key of a level that ReFrame would use, or None."""
    equal = next((key for key in level if str(key) == value), None)
    if equal is not None:
        return equal
    return next(
        (key for key in level if isinstance(key, str) and _matches(key, value)), None
    )


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:
        return False


def _new_key(value: str | int) -> str | int:
    """Return a key that stands for one value only: ReFrame takes a text for a regular expression."""
    return (
        value
        if not isinstance(value, str) or _matches(value, value)
        else re.escape(value)
    )


def paths(check: str, entry: Mapping[Any, Any]) -> list[Keys]:
    """Return the keys of the references of an entry: the check, and one for each item of $index."""
    own = {key: value for key, value in entry.items() if key != "$index"}
    levels: list[tuple[Keys, Mapping[Any, Any]]] = [((check,), own)]
    for _ in entry["$index"]:
        levels = [
            ((*keys, key), below)
            for keys, level in levels
            for key, below in level.items()
        ]
    return [keys for keys, _ in levels]


def why_no_check(check: str, checks: Collection[str]) -> str | None:
    """Return a fault if an entry is not of one of ``checks``, the names of all check classes; None
    otherwise."""
    return (
        None
        if check in checks
        else f"orphan entry {quoted(check)}: no check class has that name; fix or delete it"
    )


def why_no_key(
    items: Sequence[str], keys: Keys, known: Mapping[str, Collection[str]]
) -> str | None:
    """Return a fault for the first key that is not a value of its attribute; None if all are.

    :param items: the entry's $index; :param keys: of :func:`paths`.
    :param known: all values of attributes; keys of other attributes are ignored.
    """
    for item, key in zip(items, keys[1:], strict=True):
        values = known.get(item)
        if values is not None and not any(
            key_of({key: None}, value) is not None for value in values
        ):
            there = ", ".join([*values][:_MOST])
            return (
                f"orphan: {where(keys)}: there is no such {item.lstrip('$')} here (there is {there}); fix or"
                " delete it"
            )
    return None


def no_metric(keys: Keys) -> str:
    """Return the fault of a reference for a metric that its check does not declare."""
    return f"orphan: {where(keys)}: the check declares no such metric there; fix or delete it"


def where(keys: Keys) -> str:
    """Return keys as text for messages."""
    return ": ".join(map(str, keys))
