# SPDX-License-Identifier: BSD-3-Clause
"""A record as a row of an archive, and back, without loss.

The columns hold what they can. What they cannot is in ``extra``, a JSON object, null for most records: ``other``, the
fields whose value is not what their column says, such as one that this release does not know, a time with another
offset, or an integer where the column has a float; and ``absent``, the fields that the record did not have.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fabric_checks.records.record import FIELDS
from fabric_checks.records.schema import COLUMNS, NESTED


def extra_of(record: Mapping[str, Any], row: Mapping[str, Any]) -> str | None:
    """Return what of a record its row does not say.

    :param row: the values of the columns: ``time`` is a date-time, nested values are JSON text.
    """
    absent = [name for name in FIELDS if name not in record]
    other = {
        name: value
        for name, value in record.items()
        if name not in COLUMNS or not _same(value, _value_of(name, row[name]))
    }
    extra: dict[str, Any] = {"absent": absent} if absent else {}
    if other:
        extra |= {"other": other}
    return json.dumps(extra) if extra else None


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a row; its fields are in the order of :data:`fabric_checks.records.record.FIELDS`."""
    extra = json.loads(row["extra"]) if row.get("extra") else {}
    absent = set(extra.get("absent", ()))
    record = {name: _value_of(name, row.get(name)) for name in FIELDS if name not in absent}
    return {**record, **extra.get("other", {})}


def _value_of(name: str, cell: Any) -> Any:
    if cell is None:
        return None
    if name == "time":
        return datetime.isoformat(cell)
    return json.loads(cell) if name in NESTED else cell


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values of JSON are the same also in kind: 1 is not 1.0, and 0.0 not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return bool(one == other) and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
