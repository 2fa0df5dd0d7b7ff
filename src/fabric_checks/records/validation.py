# SPDX-License-Identifier: BSD-3-Clause
"""Check records: one list of rules for the columns of a table, and one schema for the lists and objects in them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

import polars as pl
import polars.selectors as cs

from fabric_checks.core.metrics import UNITS
from fabric_checks.records.record import FIELDS, FORMAT, MEASUREMENT
from fabric_checks.records.table import COLUMNS, NESTED, Report, frame_of, record_of

#: Fields that every record has.
REQUIRED = ("format", "session", "time", "system", "partition", "environ", "check", "test")
#: Fields that are checked whatever is asked for.
ALWAYS = tuple(dict.fromkeys((*REQUIRED, *MEASUREMENT)))

_NAMES = ("session", "system", "partition", "environ", "check", "test", "metric", "unit")
#: The longest text of a field, in bytes. The name of a system is part of that of a folder, there three times as long.
_LONGEST_B = (
    dict.fromkeys((name for name, kind in COLUMNS.items() if kind == pl.String()), 2**20)
    | dict.fromkeys(NESTED, 16 * 2**20)
    | dict.fromkeys(_NAMES, 1000)
    | {"system": 80}
)
#: Earlier times are of a clock that was never set; later ones exceed the calendars of some programs.
_FIRST, _END = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1970, 2201))
#: No value is larger: sums and squares of larger ones overflow.
_LARGEST = 1e30
_NUMBERS = tuple(name for name, kind in COLUMNS.items() if kind == pl.Float64())
#: Counts and durations are not negative.
_COUNTS = (
    *("nodes", "ppn", "tasks", "size_B", "elapsed_s", "link_MBps"),
    *("host_cores", "load_1min_before", "load_1min_after", "runnable_processes_before", "runnable_processes_after"),
)
#: ISO 8601 with seconds, their fraction if any, and an offset or Z.
_TIME = "%Y-%m-%dT%H:%M:%S%.f%#z"

#: Keys of a schema of objects: every member, or the same and at least one.
_EACH, _SOME = "*", "+"
_NUMBER = float
#: The form of each list or object: in words, and as a schema. A type stands for itself, ``float`` for any number; a
#: tuple for any of several schemas; a list for a list of items; an object for one with these members, optional with ?.
_SHAPES: dict[str, tuple[str, Any]] = {
    "nodelist": ("a list of strings", [str]),
    "placement": ("a list of strings", [str]),
    "sizes_B": ("a list of message sizes", [_NUMBER]),
    "not_offered": ("an object of strings", {_EACH: str}),
    "node_faults": ("an object of strings", {_EACH: str}),
    "parameters": ("an object with a string or a number for each parameter", {_EACH: (str, _NUMBER)}),
    "headline": (
        "an object with title, quantity, section and order",
        {
            **dict.fromkeys(("title", "quantity", "section", "short?", "point?", "layouts?"), str),
            **dict.fromkeys(("order", "rank?", "least_tasks?"), _NUMBER),
        },
    ),
    "findings": (
        "a list of objects with kind, severity and text, and perhaps part, hosts, size, key, advice and details",
        [
            dict.fromkeys(("text", "kind?", "severity?", "size_unit?", "key?", "advice?"), str)
            | {"part?": (None, str), "hosts?": (None, [str]), "details?": [str], "size?": _NUMBER}
        ],
    ),
    "limits": ("an object with a number or null for each part", {_EACH: (None, _NUMBER)}),
    "compared": (
        "an object with metric, quantity, unit and values by layout",
        {"metric": str, "quantity": str, "unit": str, "values": {_SOME: _NUMBER}},
    ),
    "ports": (
        "an object with nodes, which have ports with bytes, rate and errors",
        {
            "nodes": {
                _EACH: {
                    _EACH: {
                        **dict.fromkeys(("sent_B?", "received_B?", "rate_MBps?"), (None, _NUMBER)),
                        "errors?": {_EACH: _NUMBER},
                    }
                }
            },
            "carried_B?": {_EACH: _NUMBER},
        },
    ),
}


@dataclass(frozen=True)
class _Rule:
    """A rule that valid rows fulfil.

    :param columns: those that ``is_wrong`` depends on; :param text: names the fault of a row where it is true.
    """

    columns: tuple[str, ...]
    is_wrong: pl.Expr
    text: pl.Expr


def raw_schema(columns: Collection[str]) -> dict[str, pl.DataType]:
    """Return the types in which the columns ``columns`` and those of :data:`ALWAYS` are read: time still as text."""
    raw = {name: kind for name, kind in COLUMNS.items() if name in columns or name in ALWAYS}
    return raw | {"time": pl.String()}


def checked(raw: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Parse times, and part the valid records from the others.

    :param raw: columns of the types of :func:`raw_schema`, ``line``, and any others, which stay as they are.
    :returns: the valid records; and of each of the others its ``line`` and the cause.
    """
    timed = raw.with_columns(_moment(raw["time"]).alias("moment"))
    good, causes = _parted(timed, "moment")
    return good.with_columns(pl.col("moment").alias("time")).drop("moment"), causes


def checked_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Part the valid rows of an archive from the others, as far as the columns show that were read.

    :param frame: some columns of records, and ``line``.
    :returns: as :func:`checked`.
    """
    good, causes = _parted(frame.with_columns(cs.categorical().cast(pl.String)), "time")
    return good.cast(frame.collect_schema()), causes


def checked_records(records: Sequence[tuple[int, dict[str, Any]]], report: Report) -> list[dict[str, Any]]:
    """Return the valid ones of some records, each field of the type of its column; fields of later releases are kept.

    :param records: each with a number of its own.
    :param report: is called with the number of each other, and the cause.
    """
    good, causes = checked(frame_of(records, raw_schema(FIELDS), report))
    for number, cause in causes:
        report(number, cause)
    given = dict(records)
    return [{**given[row["line"]], **record_of(row)} for row in good.iter_rows(named=True)]


def is_sound(frame: pl.DataFrame) -> bool:
    """Tell whether all rows of an archive are valid, as far as the columns show that were read."""
    return not any(_broken(frame, _rules(frame.columns, "time"))) and not any(
        _misshapen(_values(frame[name])) for name in _SHAPES if name in frame.columns
    )


def _moment(text: pl.Series) -> pl.Series:
    """Return date-times in UTC; null where the text is none."""
    if text.str.ends_with("+00:00").all():
        short = text.str.head(-6).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
        if not short.null_count():
            return short.dt.replace_time_zone("UTC")  # the same, in a third of the time
    return text.str.to_datetime(_TIME, time_unit="us", time_zone="UTC", strict=False)


def _parted(frame: pl.DataFrame, time: str) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Part the rows that break no rule from the others, and say which rule each of these breaks first."""
    broken = list(_broken(frame, _rules(frame.columns, time)))
    for name in (name for name in _SHAPES if name in frame.columns):
        if found := _misshapen(frame[name]):
            wanted = pl.col(name).replace_strict(list(found), list(found.values()), default=None)
            text = pl.format("{} where {} is expected", _shown(f"'{name}' is {{}}", pl.col(name)), wanted)
            broken.append(_Rule((name,), wanted.is_not_null(), text))
    if not broken:
        return frame, []
    wrong = frame.select(pl.any_horizontal(rule.is_wrong for rule in broken).fill_null(value=False)).to_series()
    cause = pl.coalesce(*(pl.when(rule.is_wrong).then(rule.text) for rule in broken))
    causes = list(frame.filter(wrong).select("line", cause.alias("cause")).iter_rows())
    return frame.filter(~wrong), causes


def _broken(frame: pl.DataFrame, rules: Sequence[_Rule]) -> Iterator[_Rule]:
    """Yield the rules that some row breaks."""
    for rule in rules:
        columns = frame.select(rule.columns)
        if len(rule.columns) == 1:
            columns = _values(columns.to_series()).to_frame()
        if columns.select(rule.is_wrong.any()).item():
            yield rule


def _values(column: pl.Series) -> pl.Series:
    """Return the values of a column; of categories, each once, as text."""
    return column.unique().cast(pl.String) if column.dtype == pl.Categorical else column


def _rules(there: Collection[str], time: str) -> list[_Rule]:
    """Return the rules for a table; of those that a row breaks the first counts.

    :param there: its columns; :param time: the one with the date-times.
    """
    rules: list[_Rule] = []

    def rule(columns: str, is_wrong: pl.Expr, text: str | pl.Expr) -> None:
        names = tuple(columns.split())
        if set(names) <= set(there):
            rules.append(_Rule(names, is_wrong, pl.lit(text) if isinstance(text, str) else text))

    measured = pl.col("metric").is_not_null()
    for name in REQUIRED:
        rule(name, pl.col(name).is_null(), f"the record has no '{name}'")
    other = _shown("format {} belongs to a different release; read it with that release", _as_text("format"))
    rule("format", pl.col("format") != FORMAT, other)
    other = _shown("the time {} is not of the form 2026-01-31T12:00:00+00:00", pl.col("time"))
    rule("moment", pl.col("moment").is_null(), other)
    rule("metric value", measured & pl.col("value").is_null(), "the record has a metric but no value")
    rule("metric value", ~measured & pl.col("value").is_not_null(), "the record has a value but no metric")
    rule("metric unit", measured & pl.col("unit").is_null(), "the record has no 'unit'")
    other = _shown(f"unknown unit {{}}; known units are {', '.join(UNITS)}", pl.col("unit"))
    rule("unit", ~pl.col("unit").is_in(UNITS), other)
    rule(time, ~pl.col(time).is_between(_FIRST, _END, closed="left"), "the time is not in the years 1970 to 2200")
    for name in _NAMES:
        nested = pl.col(name).str.starts_with("{") | pl.col(name).str.starts_with("[")
        rule(name, nested, _shown(f"'{name}' is {{}} where a name is expected", pl.col(name)))
    for name, longest_B in _LONGEST_B.items():
        other = _shown(f"'{name}' is longer than {longest_B} bytes: {{}}", pl.col(name))
        rule(name, pl.col(name).str.len_bytes() > longest_B, other)
    for name in _COUNTS:
        rule(name, pl.col(name) < 0, _shown(f"'{name}' is {{}}, below zero", _as_text(name)))
    for name in _NUMBERS:
        other = _shown(f"'{name}' is {{}}, not a number up to {_LARGEST:g}", _as_text(name))
        rule(name, ~(pl.col(name).abs() <= _LARGEST), other)  # NaN is larger than any
    return rules


def _as_text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String)


def _shown(text: str, value: pl.Expr) -> pl.Expr:
    """Put an untrusted value into a text, in quotes and short."""
    return pl.format(text, pl.format("'{}'", value.str.head(60)))


def _misshapen(texts: pl.Series) -> dict[str, str]:
    """Return the texts of a column of lists or objects that do not fit its schema, with the expected form."""
    found = {text: _expected(texts.name, text) for text in texts.unique().drop_nulls()}
    return {text: expected for text, expected in found.items() if expected}


@lru_cache(maxsize=512)
def _expected(name: str, text: str) -> str | None:
    """Return the expected form of a field in words if its JSON text differs; None if it fits."""
    words, schema = _SHAPES[name]
    try:
        return None if _fits(json.loads(text), schema) else words
    except (ValueError, RecursionError, OverflowError):
        return "a list or an object"


def _fits(value: Any, schema: Any) -> bool:
    if isinstance(schema, tuple):
        return any(_fits(value, each) for each in schema)
    if isinstance(schema, list):
        return isinstance(value, list) and all(_fits(each, schema[0]) for each in value)
    if isinstance(schema, dict):
        return isinstance(value, dict) and _has_members(value, schema)
    if schema is None:
        return value is None
    if schema is _NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return isinstance(value, schema)


def _has_members(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    for name, of in schema.items():
        if name in (_EACH, _SOME):
            if not all(_fits(each, of) for each in value.values()) or (name == _SOME and not value):
                return False
        elif (key := name.removesuffix("?")) in value:
            if not _fits(value[key], of):
                return False
        elif key == name:
            return False
    return True
