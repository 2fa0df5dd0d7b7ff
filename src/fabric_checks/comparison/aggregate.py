# SPDX-License-Identifier: BSD-3-Clause
"""Aggregate thousands of compared values into few rows: values that agree are one row."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from fabric_checks.comparison.verdicts import BETTER, VERDICTS, WORSE

_CASE = ("side", "where_baseline", "where_side", "check", "test", "layout")


def select(frame: pl.DataFrame, verdicts: Collection[str] = ()) -> pl.DataFrame:
    """Return the rows with one of some verdicts, the worst first.

    :param frame: :attr:`fabric_checks.comparison.compare.Comparison.frame`.
    :param verdicts: those that are wanted; none: all.
    """
    if verdicts:
        frame = frame.filter(pl.col("verdict").is_in(list(verdicts)))
    rank = pl.col("verdict").replace_strict(
        dict(zip(VERDICTS, range(len(VERDICTS)), strict=True)), return_dtype=pl.Int8
    )
    names = [pl.col(name) for name in ("check", "test", "layout", "quantity", "size_B", "metric")]
    return frame.sort([rank, -pl.col("at_least").abs(), *names], nulls_last=True, maintain_order=True)


def aggregate(frame: pl.DataFrame, *, every_point: bool = False) -> pl.DataFrame:
    """Return a row for all metrics of a quantity that are better or worse, and one for all others of a case.

    :param frame: as :func:`select` returns it; the order of the first rows is kept.
    :param every_point: whether each metric has a row of its own, in the same form.
    :returns: the columns of a case and its ``parameters``; ``verdict``, ``why`` and ``note``; ``unit`` and
        ``quantity``, null if there are several; ``values``, how many; lists of ``metrics`` and of ``sizes_B``;
        ``change_unit``, null for per cent; ``simulated``, whether values of a simulation are among them; and of the
        columns of numbers the least and the greatest, with ``_min`` and ``_max`` appended to the name.
    """
    differs = pl.col("verdict").is_in([WORSE, BETTER])
    which = pl.int_range(pl.len()) if every_point else pl.when(differs).then(pl.col("quantity"))
    measure = (
        pl.when(pl.col("by_difference") & pl.col("change").is_not_null()).then(pl.col("unit")).alias("change_unit")
    )
    key = [*_CASE, "verdict", "why", "note", "which", "change_unit"]
    numbers: tuple[str, ...] = ("change", "change_low", "change_high", "detectable")
    numbers += tuple(f"{name}_{side}" for name in ("n", "median", "low", "high") for side in ("baseline", "side"))
    one_unit = pl.col("unit").n_unique() == 1
    return (
        frame.with_columns(measure, which=which)
        .group_by(key, maintain_order=True)
        .agg(
            pl.len().alias("values"),
            pl.col("parameters").first(),
            pl.col("metric").alias("metrics"),
            pl.when(pl.col("quantity").n_unique() == 1).then(pl.col("quantity").first()).alias("quantity"),
            pl.when(one_unit).then(pl.col("unit").first()).alias("unit"),
            pl.col("size_B").drop_nulls().unique().sort().alias("sizes_B"),
            pl.any_horizontal(pl.col("evidence_baseline", "evidence_side") != "measured").any().alias("simulated"),
            *(pl.col(name).min().alias(f"{name}_min") for name in numbers),
            *(pl.col(name).max().alias(f"{name}_max") for name in numbers),
        )
    )
