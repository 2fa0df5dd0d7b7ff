# SPDX-License-Identifier: BSD-3-Clause
"""What the lists and objects of a record have to be, so that whoever reads one need not ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _texts(value: Any) -> str | None:
    return None if isinstance(value, list) and all(map(_is_text, value)) else "a list of strings"


def _sizes(value: Any) -> str | None:
    right = isinstance(value, list) and all(_is_number(each) for each in value)
    return None if right else "a list of message sizes"


def _reasons(value: Any) -> str | None:
    right = isinstance(value, dict) and all(map(_is_text, value.values()))
    return None if right else "an object of strings"


def _parameters(value: Any) -> str | None:
    right = isinstance(value, dict) and all(_is_text(each) or _is_number(each) for each in value.values())
    return None if right else "an object with a string or a number for each parameter"


def _findings(value: Any) -> str | None:
    for each in value if isinstance(value, list) else (None,):
        if not isinstance(each, dict) or not _is_text(each.get("text")) or not _is_text(each.get("kind", "")):
            return "a list of objects with kind and text"
        if each.get("hosts") is not None and _texts(each["hosts"]):
            return "a list of objects whose hosts are strings"
        if not isinstance(each.get("fault", False), bool):
            return "a list of objects whose fault is true or false"
    return None


def _compared(value: Any) -> str | None:
    right = isinstance(value, dict) and all(_is_text(value.get(name)) for name in ("metric", "quantity", "unit"))
    values = value.get("values") if right else None
    if isinstance(values, dict) and values and all(map(_is_number, values.values())):
        return None
    return "an object with metric, quantity, unit and values by layout"


def _ports(value: Any) -> str | None:
    nodes = value.get("nodes") if isinstance(value, dict) else None
    if isinstance(nodes, dict) and all(isinstance(ports, dict) for ports in nodes.values()):
        counts = (port for ports in nodes.values() for port in ports.values())
        carried = value.get("carried_B", {})
        if all(map(_is_port, counts)) and isinstance(carried, dict) and all(map(_is_number, carried.values())):
            return None
    return "an object with nodes, which have ports with bytes, rate and errors"


def _is_port(value: Any) -> bool:
    known = ("sent_B", "received_B", "rate_MBps")
    right = isinstance(value, dict) and all(value.get(name) is None or _is_number(value[name]) for name in known)
    errors = value.get("errors", {}) if right else None
    return isinstance(errors, dict) and all(map(_is_number, errors.values()))


def _extra(value: Any) -> str | None:
    right = isinstance(value, dict) and isinstance(value.get("other", {}), dict)
    return (
        None
        if right and not _texts(value.get("absent", []))
        else "an object with the list 'absent' and the object 'other'"
    )


_RULES: dict[str, Callable[[Any], str | None]] = {
    "compared": _compared,
    "not_offered": _reasons,
    "node_faults": _reasons,
    "parameters": _parameters,
    "sizes_B": _sizes,
    "findings": _findings,
    "nodelist": _texts,
    "placement": _texts,
    "ports": _ports,
    "extra": _extra,  # of the rows of an archive, see fabric_checks.records.rows
}
NAMES = tuple(_RULES)


@lru_cache(maxsize=512)
def wanted(name: str, text: str) -> str | None:
    """Return what has to be in a field, in words, if its JSON text is something else; None if it is right.

    :param name: one of :data:`NAMES`.
    """
    try:
        return _RULES[name](json.loads(text))
    except (ValueError, RecursionError, OverflowError):
        return "a list or an object"
