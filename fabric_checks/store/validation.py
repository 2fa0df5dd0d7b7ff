# SPDX-License-Identifier: BSD-3-Clause
"""What makes a record sound, and the types of its columns.

A raw table has the columns of records as their files have them: :func:`raw_schema`. All checks are of whole columns.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from fabric_checks.metrics import UNITS
from fabric_checks.store.schema import COLUMNS, MEASUREMENT, NESTED

#: Fields that every record has.
REQUIRED = ("format", "session", "time", "system", "partition", "environ", "check", "test")
#: Fields that are looked at whatever is asked for.
ALWAYS = tuple(dict.fromkeys((*REQUIRED, *MEASUREMENT)))

_NAMES = ("session", "system", "partition", "environ", "check", "test", "metric", "unit")
#: ISO 8601 with seconds, their fraction if any, and an offset or Z.
_TIME = "%Y-%m-%dT%H:%M:%S%.f%#z"


def raw_schema(columns: Collection[str]) -> dict[str, pl.DataType]:
    """Return the types in which the columns ``columns`` and those of :data:`ALWAYS` are read: time still as text."""
    raw = {name: kind for name, kind in COLUMNS.items() if name in columns or name in ALWAYS}
    return raw | {"time": pl.String()}


def checked(raw: pl.DataFrame, *, any_unit: bool = False) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Give columns their types, and tell sound records from others.

    :param raw: columns of the types of :func:`raw_schema`, ``line``, and any others, which stay as they are.
    :param any_unit: whether units that this collection does not use are accepted, as of checks that are not ours.
    :returns: the sound records; and of each of the others its ``line`` and what is wrong with it.
    """
    timed = raw.with_columns(_moment(raw["time"]).alias("moment"))
    causes: list[tuple[int, str]] = []
    if not _is_sound(timed, any_unit):
        rules = _rules(raw.columns, any_unit)
        wrong = timed.select(pl.any_horizontal(is_wrong for is_wrong, _ in rules).fill_null(value=False)).to_series()
        # The texts are made for the few rows that need them.
        cause = pl.coalesce(*(pl.when(is_wrong).then(text) for is_wrong, text in rules))
        causes += timed.filter(wrong).select("line", cause.alias("cause")).iter_rows()
        timed = timed.filter(~wrong)
    return timed.with_columns(pl.col("moment").alias("time")).drop("moment"), causes


def _moment(text: pl.Series) -> pl.Series:
    """Return date-times in UTC; null where the text is none."""
    if text.str.ends_with("+00:00").all():
        short = text.str.head(-6).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
        if not short.null_count():
            return short.dt.replace_time_zone("UTC")  # the same, in a third of the time
    return text.str.to_datetime(_TIME, time_unit="us", time_zone="UTC", strict=False)


def _is_sound(timed: pl.DataFrame, any_unit: bool) -> bool:
    """Tell whether all rows are sound for certain: the rules once more, in terms that are cheap for many rows."""
    if any(timed[name].null_count() for name in (*REQUIRED, "moment")) or not (timed["format"] == 1).all():
        return False
    figures, units = timed["metric"].is_not_null(), timed["unit"]
    if (figures != timed["value"].is_not_null()).any() or not (any_unit or units.is_not_null().eq(figures).all()):
        return False
    if not any_unit and not set(units.unique().drop_nulls()) <= set(UNITS):
        return False
    if any(_is_nested(timed[name]).any() for name in _NAMES):
        return False
    return all(_is_nested(timed[name]).all() for name in NESTED if name in timed.columns)


def _is_nested(text: pl.Series) -> pl.Series:
    return text.str.starts_with("{") | text.str.starts_with("[")


def _rules(columns: Collection[str], any_unit: bool) -> list[tuple[pl.Expr, pl.Expr]]:
    """Return what can be wrong with a row, and what to say then, the first first."""
    figure = pl.col("metric").is_not_null()
    rules = [(pl.col(name).is_null(), pl.lit(f"the record has no '{name}'")) for name in REQUIRED]
    rules += [
        (
            pl.col("format") != 1,
            _shown("format {} is of another release; read it with that release", pl.col("format").cast(pl.String)),
        ),
        (
            pl.col("moment").is_null(),
            _shown("the time {} is not of the form 2026-01-31T12:00:00+00:00", pl.col("time")),
        ),
        (figure & pl.col("value").is_null(), pl.lit("the record has a metric and no value")),
        (~figure & pl.col("value").is_not_null(), pl.lit("the record has a value and no metric")),
    ]
    if not any_unit:
        rules += [
            (figure & pl.col("unit").is_null(), pl.lit("the record has no 'unit'")),
            (~pl.col("unit").is_in(UNITS), _shown("unknown unit {}; known are " + ", ".join(UNITS), pl.col("unit"))),
        ]
    rules += [
        (pl.col(name).str.head(1).is_in(["{", "["]), _shown(f"'{name}' is {{}} where a name has to be", pl.col(name)))
        for name in _NAMES
    ]
    rules += [
        (
            ~pl.col(name).str.head(1).is_in(["{", "["]),
            _shown(f"'{name}' is {{}} where a list or an object has to be", pl.col(name)),
        )
        for name in NESTED
        if name in columns
    ]
    return rules


def _shown(text: str, value: pl.Expr) -> pl.Expr:
    """Put an untrusted value into a text, in quotes and short."""
    return pl.format(text, pl.format("'{}'", value.str.head(60)))
