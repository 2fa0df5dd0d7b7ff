# SPDX-License-Identifier: BSD-3-Clause
"""Validate records: the types of their fields, those of lists and objects in them, and the columns of
tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict

import msgspec
import polars as pl
import polars.selectors as cs
from msgspec import Meta

from fabric_checks.core.errors import quoted
from fabric_checks.core.finding import Severity
from fabric_checks.core.metrics import Unit
from fabric_checks.records.record import FORMAT, HINTS, MEASUREMENT, Number
from fabric_checks.records.table import NESTED

#: Fields that every case has, and those that every value has.
REQUIRED = ("format", "case", "session", "time", "system", "partition", "environ", "check", "test")
OF_VALUE = ("case", "metric", "value", "unit")
#: Fields that are checked whatever is asked for.
ALWAYS = tuple(dict.fromkeys((*REQUIRED, *OF_VALUE, *MEASUREMENT)))

#: Earlier times are of a clock that was never set; later ones exceed the calendars of some programs.
_FIRST, _END = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1970, 2201))
_NO_TIME = "the time is not in the years 1970 to 2200"
#: The name of a system is part of that of a folder, where a byte takes three.
_LONGEST_SYSTEM_B = 80


class _NamedHeadline(TypedDict):
    title: str
    quantity: str
    section: str
    order: Number


class _Headline(_NamedHeadline, total=False):
    short: str
    point: str
    layouts: str
    rank: Number
    least_tasks: Number


class _NamedFinding(TypedDict):
    kind: str
    severity: Severity
    text: str


class _Finding(_NamedFinding, total=False):
    part: str
    hosts: list[str]
    details: list[str]
    size: Number
    size_unit: str
    key: str
    advice: str
    data: dict[str, Any]


class _Compared(TypedDict):
    metric: str
    quantity: str
    unit: str
    values: Annotated[dict[str, Number], Meta(min_length=1)]


class _Port(TypedDict, total=False):
    sent_B: float | None
    received_B: float | None
    rate_MBps: float | None
    errors: dict[str, float]


class _Nodes(TypedDict):
    nodes: dict[str, dict[str, _Port]]


class _Ports(_Nodes, total=False):
    carried_B: dict[str, float]


#: Lists and objects whose items have known members, and may have more.
MEMBERS: dict[str, Any] = {
    "headline": _Headline,
    "findings": list[_Finding],
    "compared": _Compared,
    "ports": _Ports,
    "parameters": dict[str, str | int | float],
}
#: The types of fields in full.
TYPES: dict[str, Any] = {
    **HINTS,
    "format": Annotated[int, Meta(ge=FORMAT, le=FORMAT)],
    "unit": Unit,
}


def require(name: str, value: Any) -> None:
    """Require that a list or an object has the members that its field has.

    :raises ValueError: with the name and the fault.
    """
    if value is None or name not in MEMBERS:
        return
    try:
        msgspec.convert(value, MEMBERS[name])
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(cause_of(error, field=name)) from None


def require_case(time: datetime, system: str) -> None:
    """Require a time that a clock can have had, and a name of a system that can be that of a folder.

    :raises ValueError: with the fault.
    """
    if not _FIRST <= time < _END:
        raise ValueError(_NO_TIME)
    if len(system.encode()) > _LONGEST_SYSTEM_B:
        raise ValueError(f"'system' is longer than {_LONGEST_SYSTEM_B} bytes")


def cause_of(error: Exception, record: Mapping[str, Any] | None = None, field: str = "") -> str:
    """Return the cause of an error of msgspec, the field first.

    :param record: the line that it is about; :param field: or the field that was looked at.
    """
    if record and "format" in record and record["format"] != FORMAT:
        return (
            f"format {quoted(str(record['format'])[:60])} belongs to a different release; read it with that"
            " release"
        )
    if isinstance(error, RecursionError):
        return "not a JSON object (nested too deeply)"
    text, _, path = str(error).partition(" - at `$")
    name = (field + path.rstrip("`")).lstrip(".")
    return f"'{name}': {text[0].lower()}{text[1:]}" if name else f"{text[0].lower()}{text[1:]}"


def orphans(count: int) -> str:
    """Return the cause why values are left out whose case is unknown."""
    many = "this value is" if count == 1 else f"{count} values from here on are"
    return f"{many} of a case whose own line is not in this file, or is not valid"


def duplicates(count: int) -> str:
    """Return the cause why lines are left out that are there already."""
    many = "this record is" if count == 1 else f"{count} records from here on are"
    return f"{many} already in this file or in another; each is used once: delete the duplicates"


def is_sound(frame: pl.DataFrame, required: Sequence[str]) -> bool:
    """Tell whether all rows of a table are valid, as far as the columns show that were read.

    :param required: the columns without nulls.
    """
    return not _unsound(frame, required) and not _halves(frame).any()


def checked(frame: pl.DataFrame, required: Sequence[str]) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Part the valid rows of a table from the others.

    :param frame: some columns of records, and ``line``; :param required: as for :func:`is_sound`.
    :returns: the valid rows; and of each of the others its ``line`` and the cause.
    """
    bad = _unsound(frame, required)
    causes = dict.fromkeys(
        frame.filter(_halves(frame))["line"], "the record has a metric or a value without the other"
    )
    if "time" in bad:
        bad.remove("time")  # Python has no such dates
        never = ~frame["time"].is_between(_FIRST, _END, closed="left").fill_null(value=False)
        causes |= dict.fromkeys(frame.filter(never)["line"], _NO_TIME)
    for row in (
        frame.select("line", *bad).with_columns(cs.categorical().cast(pl.String)).iter_rows(named=True)
    ):
        cause = next((why for name in bad if (why := _fault(name, row[name], required))), None)
        if cause:
            causes[row["line"]] = cause
    return frame.filter(~pl.col("line").is_in(list(causes))), sorted(causes.items())


def _unsound(frame: pl.DataFrame, required: Sequence[str]) -> list[str]:
    """Return the columns that have a value that is not valid."""
    columns = [frame[name] for name in frame.columns if name in TYPES]
    return [column.name for column in columns if not _is_sound(column, required)]


def _is_sound(column: pl.Series, required: Sequence[str]) -> bool:
    if column.null_count() and column.name in required:
        return False
    if column.dtype == pl.Boolean:
        return True
    if column.dtype.is_temporal():
        return _is_of_a_clock(column)
    if column.dtype.is_numeric():
        # Of the smallest and the largest value, which are never NaN.
        return bool(column.is_finite().all()) and not any(
            _fault(column.name, each, ()) for each in (column.min(), column.max())
        )
    return not any(_fault(column.name, each, ()) for each in column.unique().cast(pl.String))


def _is_of_a_clock(times: pl.Series) -> bool:
    return bool(times.is_between(_FIRST, _END, closed="left").all())


def _halves(frame: pl.DataFrame) -> pl.Series:
    """Return where a row has a metric or a value without the other."""
    if not {"metric", "value"} <= {*frame.columns}:
        return pl.repeat(value=False, n=frame.height, dtype=pl.Boolean, eager=True)
    return frame["metric"].is_null() != frame["value"].is_null()


def _fault(name: str, cell: Any, required: Sequence[str]) -> str | None:
    """Return the fault of a cell of a table; None if it is valid."""
    if cell is None:
        return f"the record has no '{name}'" if name in required else None
    try:
        value = json.loads(cell) if name in NESTED else cell
        msgspec.convert(value, TYPES[name])
        require(name, value)
        if name == "system":
            require_case(_FIRST, value)
    except msgspec.ValidationError as error:
        return cause_of(error, field=name)
    except (ValueError, RecursionError) as error:
        return re.sub(r"\s+", " ", f"'{name}': {error}")
    return None
