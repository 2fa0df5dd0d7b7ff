# SPDX-License-Identifier: BSD-3-Clause
"""Find values of tonight that are far from all nights before.

One bad night is no change: outliers are listed, and are no findings; what lasts for three nights becomes one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from fabric_checks.analysis.statistics import bootstrap
from fabric_checks.analysis.statistics.change_points import noise_of
from fabric_checks.core.text import value_text
from fabric_checks.nightly.model import MOST_SHOWN
from fabric_checks.records.record import SERIES, case_name
from fabric_checks.records.series import series

#: The range of fewer nights before is unknown.
LEAST_NIGHTS = 5
#: A change is large if it is this at least, in per cent, of values in per cent in points, ...
LEAST_PERCENT = 10.0
#: ... and so many times the noise of one run.
LEAST_NOISE = 6.0


@dataclass(frozen=True)
class _Outlier:
    """A value; ``ratio`` is by how much it is worse, in units of the least that counts as far."""

    case: str
    metric: str
    unit: str
    value: float
    median: float
    ratio: float
    nights: int


def outliers(runs: pl.DataFrame, session: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return a line for each case with values worse than in any night before, and far from them.

    :param runs: one record for each series and session, see :func:`fabric_checks.records.series.by_session`.
    :param session: tonight's. :param known: cases that a finding is about already.
    """
    by_case: dict[str, list[_Outlier]] = {}
    runs = runs.with_columns(pl.col("session").cast(pl.String))
    for row in series(runs, SERIES, each=("session",), latest=("better",)).iter_rows(named=True):
        tonight = [value for value, of in zip(row["values"], row["session"], strict=True) if of == session]
        before = [value for value, of in zip(row["values"], row["session"], strict=True) if of != session]
        case = case_name(row)
        if len(before) < LEAST_NIGHTS or not tonight or case in known:
            continue
        ratio = _ratio(tonight[-1], np.asarray(before), row["better"], in_percent=row["unit"] == "%")
        if ratio:
            median = float(np.median(before))
            outlier = _Outlier(case, str(row["metric"]), str(row["unit"]), tonight[-1], median, ratio, len(before))
            by_case.setdefault(case, []).append(outlier)
    return tuple(_lines(by_case.values()))


def _ratio(value: float, before: bootstrap.Floats, better: str | None, *, in_percent: bool) -> float:
    """Return by how much a value is worse than the nights before, in units of what is far; 0 if it is not."""
    if better not in ("smaller", "larger"):
        return 0.0
    sign = 1 if better == "smaller" else -1
    median = float(np.median(before))
    far = max(LEAST_PERCENT * (1 if in_percent else abs(median) / 100), LEAST_NOISE * noise_of(before))
    worse = sign * (value - median)
    return worse / far if worse >= far > 0 and bool((sign * (value - before) > 0).all()) else 0.0


def _lines(cases: Iterable[list[_Outlier]]) -> Iterable[str]:
    ordered = sorted(cases, key=lambda case: -max(each.ratio for each in case))
    for case in ordered[:MOST_SHOWN]:
        worst = max(case, key=lambda each: each.ratio)
        more = f", and {len(case) - 1} more of its values" if len(case) > 1 else ""
        yield (
            f"{worst.case}: {worst.metric} is {value_text(worst.value)} {worst.unit}; the median of {worst.nights} "
            f"nights is {value_text(worst.median)}{more}"
        )
    if len(ordered) > MOST_SHOWN:
        yield f"and {len(ordered) - MOST_SHOWN} more cases"
