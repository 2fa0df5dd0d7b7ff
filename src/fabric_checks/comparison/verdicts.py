# SPDX-License-Identifier: BSD-3-Clause
"""Judge pairs of series: better, worse, no difference, or too few runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import polars as pl

from fabric_checks.analysis.statistics import bootstrap
from fabric_checks.analysis.statistics.bootstrap import Floats

Masks = npt.NDArray[np.bool_]

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


def by_difference(can_be_zero: pl.Expr, least: pl.Expr) -> pl.Expr:
    """Return the condition that values are compared by their difference: those that can be 0 have no useful
    ratio.

    :param can_be_zero: as the records say, or null: see
        :attr:`fabric_checks.core.metrics.Metric.can_be_zero`.
    :param least: their least value: of 0 or less there is no ratio, whatever was declared.
    """
    return (can_be_zero | (least <= 0)).fill_null(False)


def judged(pairs: pl.DataFrame, confidence: float, repeatable: float | None) -> pl.DataFrame:
    """Compare series in numbers.

    Of a metric that is always positive the medians' ratio is taken, and the change is in per cent of the
    baseline; of one that can be 0 or negative (``by_difference``) their difference, in its unit.

    :param pairs: a row a pair, with ``values_baseline`` and ``values_side``, lists or null where a side has
        none; ``better``, ``unit``, ``by_difference``, and ``comparable``.
    :param confidence: such as 0.95.
    :param repeatable: the share to which values are known to repeat; with it, pairs with few runs are judged
        too.
    :returns: the rows with, of each side, ``median``, ``low`` and ``high``; ``change``, ``change_low`` and
        ``change_high``; ``at_least``, by how much it is certainly worse (negative: not), in per cent of the
        baseline (of a metric that can be 0: of the larger median; of shares in per cent: in points);
        ``detectable``, the smallest change that could have been detected; ``bootstrapped``, whether an
        interval comes from the bootstrap and not from ``repeatable``; and ``verdict``, null where there is no
        ``comparable`` pair.
    """
    sides = [_Side(pairs[f"values_{name}"]) for name in ("baseline", "side")]
    by_difference = pairs["by_difference"].to_numpy().astype(bool)
    comparable = pairs["comparable"].to_numpy().astype(bool)
    enough = comparable & (sides[0].n >= MIN_RUNS) & (sides[1].n >= MIN_RUNS)
    columns: dict[str, Floats] = {}
    for side, name in zip(sides, ("baseline", "side"), strict=True):
        middle, low, high = side.medians(confidence)
        columns |= {f"median_{name}": middle, f"low_{name}": low, f"high_{name}": high}
    first, second = columns["median_baseline"], columns["median_side"]
    size = np.fmax(np.abs(first), np.abs(second))
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(by_difference, second - first, 100 * (second / first - 1))
    low, high = _intervals(sides, enough, by_difference, confidence)
    if repeatable is not None:
        few = comparable & ~enough
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = second / first
        lowest = np.where(by_difference, change - repeatable * size, 100 * (ratio / (1 + repeatable) - 1))
        highest = np.where(by_difference, change + repeatable * size, 100 * (ratio * (1 + repeatable) - 1))
        low, high = np.where(few, lowest, low), np.where(few, highest, high)
    smaller = (pairs["better"].fill_null("") == "smaller").to_numpy()
    worse_low, worse_high = np.where(smaller, low, -high), np.where(smaller, high, -low)
    # Percentages are compared in points: 2 % against 1 % are a point, not twice as much.
    by_size = by_difference & (pairs["unit"].fill_null("") != "%").to_numpy() & (size > 0)
    scale = np.where(by_size, size / 100, 1)
    verdicts = _verdicts(comparable, worse_low, worse_high)
    return pairs.with_columns(
        *(pl.Series(name, column).fill_nan(None) for name, column in columns.items()),
        pl.Series("change", np.where(comparable, change, np.nan)).fill_nan(None),
        pl.Series("change_low", low).fill_nan(None),
        pl.Series("change_high", high).fill_nan(None),
        pl.Series("at_least", worse_low / scale).fill_nan(None),
        pl.Series("detectable", (high - low) / 2).fill_nan(None),
        pl.Series("bootstrapped", enough),
        pl.Series("verdict", verdicts, dtype=pl.String()),
    )


def _verdicts(comparable: Masks, worse_low: Floats, worse_high: Floats) -> list[str | None]:
    out = np.full(len(comparable), None, dtype=object)
    out[comparable] = TOO_FEW
    known = comparable & np.isfinite(worse_low)
    out[known] = NO_DIFFERENCE
    out[known & (worse_low > 0)] = WORSE
    out[known & (worse_high < 0)] = BETTER
    return list(out)


class _Side:
    """The values of one side of pairs, a list for each pair; null where there are none."""

    def __init__(self, values: pl.Series) -> None:
        self._values = values
        self.n: npt.NDArray[np.intp] = values.list.len().fill_null(0).to_numpy().astype(np.intp)

    def rows(self, which: npt.NDArray[np.intp]) -> Floats:
        """Return the values of pairs that have equally many, as a table."""
        flat: Floats = self._values.gather(which).explode(empty_as_null=False).to_numpy()
        return flat.reshape(len(which), -1)

    def medians(self, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return the median of each row and, of those with enough runs, the ends of its interval; else
        NaN."""
        middle, low, high = (np.full(len(self.n), np.nan) for _ in range(3))
        for which in _alike([self.n]):
            rows = self.rows(which)
            if rows.shape[1] < MIN_RUNS:
                middle[which] = np.median(rows, axis=1)
                continue
            found = bootstrap.median(rows, confidence)
            middle[which], low[which], high[which] = found.estimate, found.low, found.high
        return middle, low, high


def _intervals(
    sides: list[_Side], enough: Masks, by_difference: Masks, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of each change, NaN where there are too few runs."""
    low, high = np.full(len(enough), np.nan), np.full(len(enough), np.nan)
    counts = [side.n for side in sides]
    for which in _alike(counts, enough & by_difference):
        found = bootstrap.difference(sides[0].rows(which), sides[1].rows(which), confidence)
        low[which], high[which] = found.low, found.high
    for which in _alike(counts, enough & ~by_difference):
        found = bootstrap.ratio(sides[0].rows(which), sides[1].rows(which), confidence)
        low[which], high[which] = 100 * (found.low - 1), 100 * (found.high - 1)
    return low, high


def _alike(counts: list[npt.NDArray[np.intp]], chosen: Masks | None = None) -> Iterator[npt.NDArray[np.intp]]:
    """Yield the indices of rows that have equal counts, of those chosen, without those that have none; in
    pieces."""
    rows = np.flatnonzero(
        np.logical_and.reduce([n > 0 for n in counts] + ([] if chosen is None else [chosen]))
    )
    if not len(rows):
        return
    _, group = np.unique(np.stack([n[rows] for n in counts]), axis=1, return_inverse=True)
    order = np.argsort(group, kind="stable")
    for alike in np.split(rows[order], np.flatnonzero(np.diff(group[order])) + 1):
        step = max(1, _TOGETHER // sum(int(n[alike[0]]) for n in counts))
        yield from (alike[begin : begin + step] for begin in range(0, len(alike), step))
