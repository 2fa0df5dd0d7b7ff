# SPDX-License-Identifier: BSD-3-Clause
"""Series: the same metric, measured again and again."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from fabric_checks.records.faults import one_line
from fabric_checks.records.record import case_name
from fabric_checks.records.schema import SERIES

#: What :func:`series` keeps of the latest record of a series, as far as the frame has it.
LATEST = ("parameters", "quantity", "size_B", "better", "can_be_zero", "evidence", "program", "program_version")


def series(frame: pl.DataFrame, by: Sequence[str] = ("side", *SERIES)) -> pl.DataFrame:
    """Gather records into series.

    :param frame: records from :func:`fabric_checks.records.reading.load`, with at least the columns ``by``,
        ``time`` and ``value``.
    :param by: records that agree in these are of one series; null equals null.
    :returns: one row a series, in the order of the first of each: the columns ``by``; ``values``, a list of numbers in
        the order of ``times``, the list beside it; ``n``, how many; ``first_time`` and ``last_time``; and of
        :data:`LATEST` the columns that the frame has, from the latest record. Text is ``pl.String``, also if the frame
        is compact. Records without a value, those of failed cases, are in none.
    """
    measured = _in_order(frame.filter(pl.col("value").is_not_null()) if frame["value"].null_count() else frame)
    latest = [name for name in LATEST if name in frame.columns and name not in by]
    return grouped(
        measured,
        by,
        pl.col("value").alias("values"),
        pl.col("time").alias("times"),
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("time").first().alias("first_time"),
        pl.col("time").last().alias("last_time"),
        *(pl.col(name).last() for name in latest),
    )


def grouped(frame: pl.DataFrame, by: Sequence[str], *aggregations: pl.Expr) -> pl.DataFrame:
    """Do as ``frame.group_by(by, maintain_order=True).agg(aggregations)``, in half the memory for millions of rows.

    :returns: the columns ``by`` and those of the aggregations; what was a category is text.
    """
    # Rows are grouped by one number instead of many columns, and another number, of 64 bits too, makes sure of it.
    keys = varying(frame, by) or by[:1]
    numbers = [frame.select(keys).hash_rows(seed=seed).alias(f"_hash{seed}") for seed in (1, 2)]
    unsure = (pl.col("_hash2").min() != pl.col("_hash2").max()).alias("_unsure")
    firsts = [pl.col(name).first().alias(f"_key_{name}") for name in keys]
    # Columns that are not asked for cost as much as others.
    needed = dict.fromkeys([*keys, *(name for each in aggregations for name in each.meta.root_names())])
    rows = frame.select(*needed, *numbers)
    out = rows.group_by("_hash1", maintain_order=True).agg(*firsts, *aggregations, unsure)
    if out["_unsure"].any():
        out = frame.group_by(by, maintain_order=True).agg(*aggregations)
    else:
        same = (pl.lit(frame[name].first(), frame.schema[name]).alias(name) for name in by if name not in keys)
        out = out.rename({f"_key_{name}": name for name in keys}).with_columns(same)
        out = out.select(*by, pl.exclude(*by, "_hash1", "_unsure"))
    return out.with_columns(cs.categorical().cast(pl.String))


def varying(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return those of some columns that do not have the same in all rows."""
    alike = frame.select(pl.col(name).eq_missing(pl.col(name).first()).all() for name in names)
    return [name for name in names if not alike[name].item()]


def folded(frame: pl.DataFrame) -> pl.DataFrame:
    """Make one row of records that differ in ``time`` and ``value`` only.

    :param frame: records in the order of time.
    :returns: a row for each kind of record, in the order of the first of each: the columns but ``time`` and ``value``;
        ``values``, the list of them; ``n``, how many records; ``first_time`` and ``last_time``; and ``last``, the
        number of the last record's row, from 0. Text is ``pl.String``.
    """
    return grouped(
        frame.with_row_index("_row"),
        [name for name in frame.columns if name not in ("time", "value")],
        pl.col("value").alias("values"),
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("time").first().alias("first_time"),
        pl.col("time").last().alias("last_time"),
        pl.col("_row").last().cast(pl.Int64).alias("last"),
    )


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records in the order of time within each side; sorting millions that are in order would cost seconds."""
    back = pl.col("time") < pl.col("time").shift()
    if "side" in frame.columns:
        back &= pl.col("side") == pl.col("side").shift()
    return frame.sort("time", maintain_order=True) if frame.select(back.any()).item() else frame


def mixed_units(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return a line for each metric that a set of results has in several units: each unit is a series of its own.

    :param frame: records; without the columns of :data:`fabric_checks.records.schema.SERIES` nothing is said.
    """
    if not {*SERIES, "side"} <= set(frame.columns):
        return ()
    metric = ["side", *(name for name in SERIES if name != "unit")]
    units = frame.filter(pl.col("metric").is_not_null()).select(*metric, "unit").unique(maintain_order=True)
    mixed = units.group_by(metric, maintain_order=True).agg("unit", pl.len().alias("n")).filter(pl.col("n") > 1)
    return tuple(
        one_line(
            f"{row['side']}: {row['metric']} of {case_name(row)} is in several units: "
            f"{', '.join(str(unit) for unit in row['unit'])}; each becomes a separate series"
        )
        for row in mixed.iter_rows(named=True)
    )
