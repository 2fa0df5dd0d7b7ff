# SPDX-License-Identifier: BSD-3-Clause
"""Turn records into rows of tables, and rows into records.

A column has the type of its field, lists and objects are JSON text, and times are in UTC.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from fabric_checks.core.errors import quoted
from fabric_checks.records.record import FIELDS, TYPES

#: Is called with the number of a line or row, and its fault.
Report = Callable[[int, str], None]

_KINDS: dict[type, pl.DataType] = {bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64(), str: pl.String()}
_WANTED = {pl.Boolean: "true or false", pl.Int64: "an integer", pl.Float64: "a finite number"}

#: Fields whose values are lists or objects. Their columns are valid JSON text; equal values may differ in text, 1 or
#: 1.0.
NESTED = tuple(name for name, kind in TYPES.items() if kind not in _KINDS)

#: The type of each field's column, in the order of :data:`fabric_checks.records.record.FIELDS`.
COLUMNS: dict[str, pl.DataType] = {name: _KINDS.get(kind, pl.String()) for name, kind in TYPES.items()} | {
    "time": pl.Datetime("us", "UTC")
}

#: Text that a table repeats in many rows. In a ``compact`` table these columns are categories: each text is kept once,
#: and a row has a number of four bytes.
REPEATED = (
    *("session", "collection", "reframe", "system", "partition", "about", "environ", "check", "test", "parameters"),
    *("layout", "metric", "quantity", "unit", "better", "no_reference", "evidence", "reference_source", "result"),
    *("case_result", "program", "program_version", "stack", "spec_hash", "spack", "mpi", "compiler", "binding"),
    *("fail_reason", "container", "image", "image_digest"),
)


def frame_of(
    records: Iterable[tuple[int, Mapping[str, Any]]], schema: Mapping[str, pl.DataType], report: Report
) -> pl.DataFrame:
    """Return a table of records, a row each, with a column ``line`` more; what a record does not have is null.

    :param records: each with its number; :param schema: which columns, of which types.
    :param report: is called for each record with a value that its column cannot hold; it is left out.
    """
    columns: dict[str, list[Any]] = {name: [] for name in (*schema, "line")}
    for number, record in records:
        try:
            row = [cell(name, kind, record.get(name)) for name, kind in schema.items()]
        except ValueError as error:
            report(number, str(error))
            continue
        for name, value in zip(columns, (*row, number), strict=True):
            columns[name].append(value)
    return pl.DataFrame(columns, schema={**schema, "line": pl.Int64()})


def cell(name: str, kind: pl.DataType, value: Any) -> Any:
    """Return a value as its column has it.

    :raises ValueError: if the column cannot hold it.
    """
    if value is None:
        return None
    if kind == pl.String():
        if not isinstance(value, str):
            value = json.dumps(value, ensure_ascii=False)
        return value.encode(errors="replace").decode()  # half a surrogate pair is no text
    if isinstance(value, bool):
        if kind == pl.Boolean():
            return value
    elif isinstance(value, int | float):
        if kind == pl.Int64() and isinstance(value, int) and abs(value) < 2**63:
            return value
        if kind == pl.Float64() and abs(value) <= sys.float_info.max:  # false for NaN
            return float(value)
    raise ValueError(f"'{name}' is {quoted(str(value), 40)}, not {_WANTED[type(kind)]}")


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a row; its fields are in the order of :data:`fabric_checks.records.record.FIELDS`."""
    return {name: _value_of(name, row.get(name)) for name in FIELDS}


def _value_of(name: str, cell: Any) -> Any:
    if cell is None:
        return None
    if name == "time":
        return datetime.isoformat(cell)
    return json.loads(cell) if name in NESTED else cell
