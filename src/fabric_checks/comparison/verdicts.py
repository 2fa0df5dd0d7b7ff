# SPDX-License-Identifier: BSD-3-Clause
"""Judge pairs of series: better, worse, no difference, or too few runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from fabric_checks.analysis.statistics import bootstrap

BETTER = "better"
WORSE = "worse"
NO_DIFFERENCE = "no difference"
TOO_FEW = "too few runs"
NOT_COMPARABLE = "not comparable"
MISSING = "missing"

#: All verdicts, in the order in which a reader wants to see them: what can be compared comes first.
VERDICTS = (WORSE, BETTER, TOO_FEW, NO_DIFFERENCE, NOT_COMPARABLE, MISSING)

#: The most values that are judged in one table, unless a single pair has more: bounds the memory for copies.
_TOGETHER = 4_000_000

#: Fewer runs on a side show no spread.
MIN_RUNS = 5
#: Of the intervals.
CONFIDENCE = 0.95


def by_difference(can_be_zero: pl.Expr, least: pl.Expr) -> pl.Expr:
    """Return the condition that values are compared by their difference: those that can be 0 have no useful
    ratio.

    :param can_be_zero: as the records say, or null: see
        :attr:`fabric_checks.core.metrics.Metric.can_be_zero`.
    :param least: their least value: of 0 or less there is no ratio, whatever was declared.
    """
    return (can_be_zero | (least <= 0)).fill_null(False)


def judged(pairs: pl.DataFrame) -> pl.DataFrame:
    """Compare series in numbers.

    Of a metric that is always positive the medians' ratio is taken, and the change is in per cent of the
    baseline; of one that can be 0 or negative (``by_difference``) their difference, in its unit.

    :param pairs: a row a pair, with ``values_baseline`` and ``values_side``, lists or null where a side has
        none; ``better``, ``unit``, ``by_difference``, and ``comparable``.
    :returns: the rows with, of each side, ``median``, ``low`` and ``high``; ``change``, ``change_low`` and
        ``change_high``; ``at_least``, by how much it is certainly worse (negative: not), in per cent of the
        baseline (of a metric that can be 0: of the larger median; of shares in per cent: in points);
        ``detectable``, the smallest change that could have been detected; ``bootstrapped``, whether there is
        an interval; and ``verdict``, null where there is no ``comparable`` pair.
    """
    both = [pairs["values_baseline"], pairs["values_side"]]
    known = [values.list.len().fill_null(0) >= MIN_RUNS for values in both]
    enough = pairs["comparable"] & known[0] & known[1]
    columns: dict[str, pl.Series] = {"bootstrapped": enough}
    for side, values, which in zip(("baseline", "side"), both, known, strict=True):
        low, high = _intervals([values], which, bootstrap.median)
        columns |= {
            f"median_{side}": values.list.median(),
            f"low_{side}": low,
            f"high_{side}": high,
        }
    by_difference = pairs["by_difference"]
    differences = _intervals(both, enough & by_difference, bootstrap.difference)
    ratios = _intervals(both, enough & ~by_difference, bootstrap.ratio)
    for name, difference, ratio in zip(
        ("low", "high"), differences, ratios, strict=True
    ):
        columns[f"change_{name}"] = difference.fill_null(100 * (ratio - 1))
    return _judged(pairs.with_columns(**columns))


def _judged(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return pairs with medians and intervals as :func:`judged` does."""
    first, second = pl.col("median_baseline"), pl.col("median_side")
    is_difference = pl.col("by_difference")
    size = pl.max_horizontal(first.abs(), second.abs())
    change = _either(is_difference, second - first, 100 * second / first - 100)
    low, high = pl.col("change_low"), pl.col("change_high")
    pairs = pairs.with_columns(
        change=pl.when("comparable").then(change), detectable=(high - low) / 2
    )
    is_smaller = (pl.col("better") == "smaller").fill_null(value=False)
    worse_low, worse_high = (
        _either(is_smaller, low, -high),
        _either(is_smaller, high, -low),
    )
    # Percentages are compared in points: 2 % against 1 % are a point, not twice as much.
    by_size = is_difference & (pl.col("unit").fill_null("") != "%") & (size > 0)
    verdict = (
        pl.when(worse_low.is_null())
        .then(pl.lit(TOO_FEW))
        .when(worse_low > 0)
        .then(pl.lit(WORSE))
        .when(worse_high < 0)
        .then(pl.lit(BETTER))
        .otherwise(pl.lit(NO_DIFFERENCE))
    )
    return pairs.with_columns(
        at_least=_either(by_size, 100 * worse_low / size, worse_low),
        verdict=pl.when("comparable").then(verdict),
    )


def _either(condition: pl.Expr, one: pl.Expr, other: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(one).otherwise(other)


def _intervals(
    values: Sequence[pl.Series],
    chosen: pl.Series,
    method: Callable[..., bootstrap.Intervals],
) -> tuple[pl.Series, pl.Series]:
    """Return the ends of the intervals of some rows, null for others.

    :param values: lists of values, of which those of equal lengths are taken together.
    """
    ends = np.full((2, len(chosen)), np.nan)
    lengths = pl.DataFrame(
        [each.list.len().alias(str(at)) for at, each in enumerate(values)]
    )
    rows = lengths.with_row_index("row").filter(chosen)
    for key, alike in rows.group_by(lengths.columns, maintain_order=True):
        for part in alike.iter_slices(max(1, _TOGETHER // sum(key))):
            which = part["row"]
            tables = [
                each.gather(which)
                .explode(empty_as_null=False)
                .to_numpy()
                .reshape(len(which), -1)
                for each in values
            ]
            found = method(*tables, CONFIDENCE)
            ends[:, which.to_numpy()] = found.low, found.high
    low, high = (pl.Series(each).fill_nan(None) for each in ends)
    return low, high
