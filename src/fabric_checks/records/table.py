# SPDX-License-Identifier: BSD-3-Clause
"""Turn records into rows of tables, and rows into records.

A column has the type of its field, lists and objects are JSON text, and times are in UTC. The placement is
folded as in the lines of cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl

from fabric_checks.records.folding import Ranks, unfolded_ranks
from fabric_checks.records.record import FIELDS, TYPES

#: The placement of a case as lines and tables have it.
PLACEMENT = tuple[str | Ranks, ...]

#: Is called with the number of a line or row, and its fault.
Report = Callable[[int, str], None]

_KINDS: dict[type, pl.DataType] = {
    bool: pl.Boolean(),
    int: pl.Int64(),
    float: pl.Float64(),
    str: pl.String(),
}

#: Fields whose values are lists or objects. Their columns are JSON text.
NESTED = tuple(name for name, kind in TYPES.items() if kind not in _KINDS)

#: Text, or a time, that a case shares with no other.
_OF_ITS_OWN = ("jobid", "time", "job_began", "output")

#: The type of each field's column, in the order of :data:`fabric_checks.records.record.FIELDS`.
COLUMNS: dict[str, pl.DataType] = {
    name: _KINDS.get(kind, pl.String()) for name, kind in TYPES.items()
} | {"time": pl.Datetime("us", "UTC")}

#: Text that a table repeats in many rows. In a ``compact`` table these columns are categories: each text is
#: kept once, and a row has a number of four bytes.
REPEATED = (
    "parameters",
    *(name for name in COLUMNS if TYPES[name] is str and name not in _OF_ITS_OWN),
)


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a row; its fields are in the order of
    :data:`fabric_checks.records.record.FIELDS`, None where the row has none."""
    record: dict[str, Any] = {name: row.get(name) for name in FIELDS}
    for name in NESTED:
        if record[name] is not None:
            record[name] = _parsed(record[name], is_placement=name == "placement")
    if record["time"] is not None:
        record["time"] = record["time"].isoformat()
    return record


@lru_cache(maxsize=256)
def _parsed(text: str, *, is_placement: bool) -> Any:
    """Return what JSON text has; all values of a case share it."""
    if is_placement:
        return unfolded_ranks(msgspec.json.decode(text, type=PLACEMENT))
    return json.loads(text)
