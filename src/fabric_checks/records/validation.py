# SPDX-License-Identifier: BSD-3-Clause
"""What makes a record sound, and the types of its columns.

A raw table has the columns of records as their files have them: :func:`raw_schema`. All checks are of whole columns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timezone

import polars as pl
import polars.selectors as cs

from fabric_checks.core.metrics import UNITS
from fabric_checks.records import shapes
from fabric_checks.records.record import FORMAT
from fabric_checks.records.schema import COLUMNS, MEASUREMENT, NESTED

#: Fields that every record has.
REQUIRED = ("format", "session", "time", "system", "partition", "environ", "check", "test")
#: Fields that are looked at whatever is asked for.
ALWAYS = tuple(dict.fromkeys((*REQUIRED, *MEASUREMENT)))

_NAMES = ("session", "system", "partition", "environ", "check", "test", "metric", "unit")
#: The longest text of a field, in bytes. The name of a system is part of that of a folder, there three times as long.
_LONGEST_B = (
    dict.fromkeys((name for name, kind in COLUMNS.items() if kind == pl.String()), 2**20)
    | dict.fromkeys(NESTED, 16 * 2**20)
    | dict.fromkeys(_NAMES, 1000)
    | {"system": 80}
)
#: Times before and after these are of a clock that was never set, and beyond what calendars of programs hold.
_FIRST, _END = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1970, 2201))
#: No value is larger; beyond it, sums and squares are no numbers any more.
_LARGEST = 1e30
_NUMBERS = tuple(name for name, kind in COLUMNS.items() if kind == pl.Float64())
#: What is counted, or lasts, is not negative.
_COUNTS = ("nodes", "ppn", "tasks", "size_B", "node_traffic_B", "disk_B", "elapsed_s", "link_MBps")
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
    if not (_is_whole(timed, any_unit) and _has_sound_values(timed, "moment")):
        timed, causes = _apart(timed, [*_whole_rules(timed.columns, any_unit), *_rules(timed, "moment")])
    return timed.with_columns(pl.col("moment").alias("time")).drop("moment"), causes


def is_sound(frame: pl.DataFrame, kinds: pl.DataFrame | None = None) -> bool:
    """Tell whether all rows of an archive are sound, as far as the columns tell that were read.

    :param kinds: what there is in some of the columns, each at least once, if that is known: then it is looked at
        instead of these columns, which is cheaper.
    """
    if not _is_whole(frame, any_unit=True):
        return False
    if kinds is None:
        return _has_sound_values(frame, "time")
    return _has_sound_values(frame.drop(kinds.columns), "time") and _has_sound_values(kinds, "time")


def sound(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Tell sound rows of an archive from others, as far as the columns tell that were read.

    :param frame: some columns of records, and ``line``.
    :returns: as :func:`checked`.
    """
    texts = frame.with_columns(cs.categorical().cast(pl.String))
    good, causes = _apart(texts, [*_whole_rules(texts.columns, any_unit=True), *_rules(texts, "time")])
    return good.cast(frame.collect_schema()), causes


def _apart(frame: pl.DataFrame, rules: Sequence[tuple[pl.Expr, pl.Expr]]) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Part the rows that break no rule from the others, and say what each of these breaks first."""
    wrong = frame.select(pl.any_horizontal(is_wrong for is_wrong, _ in rules).fill_null(value=False)).to_series()
    # The texts are made for the few rows that need them.
    cause = pl.coalesce(*(pl.when(is_wrong).then(text) for is_wrong, text in rules))
    causes = list(frame.filter(wrong).select("line", cause.alias("cause")).iter_rows())
    return frame.filter(~wrong), causes


def _moment(text: pl.Series) -> pl.Series:
    """Return date-times in UTC; null where the text is none."""
    if text.str.ends_with("+00:00").all():
        short = text.str.head(-6).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
        if not short.null_count():
            return short.dt.replace_time_zone("UTC")  # the same, in a third of the time
    return text.str.to_datetime(_TIME, time_unit="us", time_zone="UTC", strict=False)


def _is_whole(frame: pl.DataFrame, any_unit: bool) -> bool:
    """Tell whether all rows have what makes a record: :func:`_whole_rules` in terms that are cheap for many rows."""
    there = set(frame.columns)
    if any(frame[name].null_count() for name in (*REQUIRED, "moment") if name in there):
        return False
    if "format" in there and not (frame["format"] == FORMAT).all():
        return False
    if {"metric", "value"} <= there and (frame["metric"].is_null() != frame["value"].is_null()).any():
        return False
    if any_unit:
        return True
    values, units = frame["metric"].is_not_null(), frame["unit"]
    return bool(units.is_not_null().eq(values).all()) and set(units.unique().drop_nulls()) <= set(UNITS)


def _has_sound_values(frame: pl.DataFrame, time: str) -> bool:
    """Tell whether all values are sound for certain: :func:`_rules` in terms that are cheap for many rows."""
    there = frame.columns
    if time in there and not frame[time].is_between(_FIRST, _END, closed="left").all():
        return False
    for name in (name for name in _LONGEST_B if name in there):
        if _longest_B(_texts(frame[name])) > _LONGEST_B[name]:
            return False
    for name in (name for name in _NUMBERS if name in there):
        if not (frame[name].abs() <= _LARGEST).all():  # nor of NaN
            return False
    if any((frame[name] < 0).any() for name in _COUNTS if name in there):
        return False
    if any(_is_nested(_texts(frame[name])).any() for name in _NAMES if name in there):
        return False
    return not any(_misshapen(frame[name]) for name in shapes.NAMES if name in there)


def _texts(column: pl.Series) -> pl.Series:
    """Return the texts of a column; of categories, each once."""
    return column.unique().cast(pl.String) if column.dtype == pl.Categorical else column


def _longest_B(text: pl.Series) -> int:
    longest = text.str.len_bytes().max()
    return longest if isinstance(longest, int) else 0


def _misshapen(text: pl.Series) -> dict[str, str]:
    """Return the texts of a nested column that are not what they should be, and what that is."""
    found = {each: shapes.wanted(text.name, each) for each in text.unique().drop_nulls()}
    return {each: wanted for each, wanted in found.items() if wanted}


def _is_nested(text: pl.Series) -> pl.Series:
    return text.str.starts_with("{") | text.str.starts_with("[")


def _whole_rules(there: Collection[str], any_unit: bool) -> list[tuple[pl.Expr, pl.Expr]]:
    """Return what a record may lack, as far as the columns tell, and what to say then, the first first."""
    measured = pl.col("metric").is_not_null()
    rules = [(pl.col(name).is_null(), pl.lit(f"the record has no '{name}'")) for name in REQUIRED if name in there]
    if "format" in there:
        text = _shown(
            "format {} belongs to a different release; read it with that release", pl.col("format").cast(pl.String)
        )
        rules.append((pl.col("format") != FORMAT, text))
    if "moment" in there:
        text = _shown("the time {} is not of the form 2026-01-31T12:00:00+00:00", pl.col("time"))
        rules.append((pl.col("moment").is_null(), text))
    if {"metric", "value"} <= set(there):
        rules += [
            (measured & pl.col("value").is_null(), pl.lit("the record has a metric but no value")),
            (~measured & pl.col("value").is_not_null(), pl.lit("the record has a value but no metric")),
        ]
    if not any_unit:
        rules += [
            (measured & pl.col("unit").is_null(), pl.lit("the record has no 'unit'")),
            (
                ~pl.col("unit").is_in(UNITS),
                _shown("unknown unit {}; known units are " + ", ".join(UNITS), pl.col("unit")),
            ),
        ]
    return rules


def _rules(frame: pl.DataFrame, time: str) -> list[tuple[pl.Expr, pl.Expr]]:
    """Return what can be wrong with values, and what to say then, the first first.

    :param time: the column with the date-times.
    """
    rules: list[tuple[pl.Expr, pl.Expr]] = []
    if time in frame.columns:
        years = "the time is not in the years 1970 to 2200"
        rules.append((~pl.col(time).is_between(_FIRST, _END, closed="left"), pl.lit(years)))
    for name in (name for name in _NAMES if name in frame.columns):
        nested = pl.col(name).str.head(1).is_in(["{", "["])
        rules.append((nested, _shown(f"'{name}' is {{}} where a name is expected", pl.col(name))))
    for name, longest_B in _LONGEST_B.items():
        if name in frame.columns:
            text = _shown(f"'{name}' is longer than {longest_B} bytes: {{}}", pl.col(name))
            rules.append((pl.col(name).str.len_bytes() > longest_B, text))
    for name in (name for name in _COUNTS if name in frame.columns):
        text = _shown(f"'{name}' is {{}}, below zero", pl.col(name).cast(pl.String))
        rules.append((pl.col(name) < 0, text))
    for name in (name for name in _NUMBERS if name in frame.columns):
        text = _shown(f"'{name}' is {{}}, not a number up to {_LARGEST:g}", pl.col(name).cast(pl.String))
        rules.append((~(pl.col(name).abs() <= _LARGEST), text))
    for name in (name for name in shapes.NAMES if name in frame.columns):
        if found := _misshapen(frame[name]):
            wanted = pl.col(name).replace_strict(list(found), list(found.values()), default=None)
            text = pl.format("{} where {} is expected", _shown(f"'{name}' is {{}}", pl.col(name)), wanted)
            rules.append((wanted.is_not_null(), text))
    return rules


def _shown(text: str, value: pl.Expr) -> pl.Expr:
    """Put an untrusted value into a text, in quotes and short."""
    return pl.format(text, pl.format("'{}'", value.str.head(60)))
