# SPDX-License-Identifier: BSD-3-Clause
"""Search all series of a set of results for changes of their level."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from fabric_checks.analysis.statistics import bootstrap, change_points
from fabric_checks.comparison.changes import circumstances
from fabric_checks.comparison.changes.model import BETTER, CLOSED, OPEN, Change, Changes
from fabric_checks.comparison.verdicts import by_difference
from fabric_checks.records.schema import SERIES
from fabric_checks.records.series import series as series_of

Row = Mapping[str, Any]

#: The columns of records that a search needs.
FIELDS = (
    *SERIES,
    "parameters",
    "time",
    "quantity",
    "size_B",
    "value",
    "better",
    "can_be_zero",
    "evidence",
    *circumstances.FIELDS,
)

#: Share of stable series with noise in which a change is found: of fewer runs than 100, and of more. Measured by
#: tests/analysis/statistics/test_change_points.py with normal noise; with a long tail there are more.
FALSE_ALARMS = (0.025, 0.008)


def find(
    frame: pl.DataFrame,
    *,
    since: datetime | None = None,
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Changes:
    """Find the changes of every series.

    :param frame: records with the columns :data:`FIELDS`; those of several sides are taken together.
    :param since: only changes whose first run is not before; all runs are looked at in any case.
    :param confidence: of the intervals of sizes, such as 0.95.
    :param progress: is called with how many of how many series have been searched.
    """
    measured = frame.drop("side", strict=False).filter(pl.col("value").is_finite() & pl.col("metric").is_not_null())
    measured = measured.sort("time", maintain_order=True)
    gathered = series_of(measured, SERIES).with_columns(
        by_difference=by_difference(pl.col("can_be_zero"), pl.col("values").list.min())
    )
    long_enough = gathered.filter(pl.col("n") >= change_points.MIN_RUNS)
    splits: list[tuple[Row, change_points.Split]] = []
    by_chance = 0.0
    for number, row in enumerate(long_enough.iter_rows(named=True), 1):
        split = change_points.split(row["values"], in_shares=not row["by_difference"])
        if split.noise > 0:
            by_chance += FALSE_ALARMS[row["n"] >= 100]
        if split.starts:
            splits.append((row, split))
        if progress is not None:
            progress(number, long_enough.height)
    columns = _columns_of(measured, [row for row, _ in splits])
    changes = [
        change
        for row, split in splits
        for change in _changes_of(row, split, columns[_key(row)], confidence)
        if since is None or change.at >= since
    ]
    changes.sort(key=lambda change: (change.at, change.machine, change.test, change.metric))
    return Changes(tuple(changes), long_enough.height, gathered.height - long_enough.height, by_chance)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in SERIES)


def _columns_of(measured: pl.DataFrame, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Return what else the records of some series say, by series: lists in the order of time."""
    if not rows:
        return {}
    wanted = pl.DataFrame(
        [{name: row[name] for name in SERIES} for row in rows], schema=dict.fromkeys(SERIES, pl.String)
    )
    names = [name for name in circumstances.FIELDS if name in measured.columns]
    told = (
        measured.with_columns(pl.col(SERIES).cast(pl.String))
        .join(wanted, on=list(SERIES), how="semi", nulls_equal=True)
        .group_by(SERIES, maintain_order=True)
        .agg(pl.col(names))
    )
    return {_key(row): row for row in told.iter_rows(named=True)}


def _changes_of(row: Row, split: change_points.Split, columns: Row, confidence: float) -> list[Change]:
    if not split.starts:
        return []
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  (slow to import, and needed where there is a change)

    edges = [0, *split.starts, row["n"]]
    segments = [np.asarray(row["values"][start:end], dtype=np.float64) for start, end in pairwise(edges)]
    out = []
    for number, middle in enumerate(split.starts):
        before, after = segments[number], segments[number + 1]
        size = _size(before, after, row, confidence)
        out.append(
            Change(
                **{name: row[name] for name in (*SERIES, "parameters", "quantity", "size_B", "better", "evidence")},
                at=row["times"][middle],
                last_before=row["times"][middle - 1],
                run=middle,
                runs=row["n"],
                n_before=len(before),
                n_after=len(after),
                median_before=float(np.median(before)),
                median_after=float(np.median(after)),
                by_difference=row["by_difference"],
                change=size.estimate,
                change_low=size.low,
                change_high=size.high,
                at_least=size.at_least,
                p=float(mannwhitneyu(before, after).pvalue),
                noise=split.noise,
                state=_state(before, after, segments[-1], row, split),
                circumstances=circumstances.between(columns, edges[number], middle, edges[number + 2]),
            )
        )
    return out


@dataclass(frozen=True)
class _Size:
    estimate: float
    low: float
    high: float
    at_least: float


def _size(before: bootstrap.Floats, after: bootstrap.Floats, row: Row, confidence: float) -> _Size:
    """Return how large a change is, with its interval."""
    if row["by_difference"]:
        found = bootstrap.difference([before], [after], confidence)
        change, low, high = (float(each[0]) for each in (found.estimate, found.low, found.high))
        largest = max(abs(float(np.median(before))), abs(float(np.median(after))))
        scale = 1.0 if row["unit"] == "%" or largest == 0 else largest / 100
    else:
        found = bootstrap.ratio([before], [after], confidence)
        change, low, high = (100 * (float(each[0]) - 1) for each in (found.estimate, found.low, found.high))
        scale = 1.0
    at_least = (low if row["better"] == "smaller" else -high) / scale
    return _Size(change, low, high, at_least)


def _state(
    before: bootstrap.Floats, after: bootstrap.Floats, last: bootstrap.Floats, row: Row, split: change_points.Split
) -> str:
    """Return the state of a change; ``last`` is the level that the series has now."""
    sign = 1 if row["better"] == "smaller" else -1
    old, new, now = (float(np.median(each)) for each in (before, after, last))
    if sign * (new - old) <= 0:
        return BETTER
    # The error of the difference of two medians; that of a median is sqrt(pi / 2) times that of a mean.
    error = split.noise * math.sqrt(math.pi / 2 * (1 / len(before) + 1 / len(last)))
    worse_by = sign * (now / old - 1 if split.in_shares else now - old)
    return OPEN if worse_by > max(2 * error, 1e-9) else CLOSED
