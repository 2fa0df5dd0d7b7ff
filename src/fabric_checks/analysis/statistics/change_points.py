# SPDX-License-Identifier: BSD-3-Clause
"""Find where the level of a series changes: the segments of least squares, with a penalty for each change.

The penalty has a meaning only in units of the noise, and squares obey outliers; so the series is prepared
first:

1. Values that are all positive are divided by their median, so that noise is in per cent; if their levels
differ by
   more than half, logarithms are taken, so that it is the same at each. (Nearer together, logarithms change
   nothing but that a rise of 10 % looks like one of 9.5 %.)
2. The noise is estimated from the differences of neighbours, which a change of level hardly touches.
3. A run far from the median of the runs around it is an outlier and is replaced by that median.
4. The series is split with a low penalty, and the noise estimated again from the rests within the segments:
of few
   runs the first estimate is too rough.

Then the series is split in earnest. A change has to show in the ranks as well (Mann-Whitney U), because noise
with a long tail has clusters that squares take for a level. A series that repeats exactly has no noise: every
change of it that lasts is one. Rates of detection and of false alarms:
tests/analysis/statistics/test_change_points.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: A segment has at least as many runs: one run is no level, and two can be a bad night.
MIN_SEGMENT = 3

#: A series with fewer runs is too short: its noise cannot be distinguished from a change.
MIN_RUNS = 8

#: A run further from the median of the five around it than this many times the noise is an outlier.
_OUTLIER = 4.0

#: Levels whose ratio is larger are compared as logarithms.
_FAR_APART = 1.5

#: Half the width of that window: two bad runs in a row do not move the median of five.
_HALF_WINDOW = 2

#: A change has to gain so much, in squares of the noise, and more in a longer series, by its logarithm. With
#: these numbers a change of a tenth with noise of 3 % is found within 3 runs, and a stable series is left in
#: one piece.
_PENALTY, _PENALTY_OF_LENGTH = 9.0, 1.22

#: How often the noise is estimated, each time within the segments found before, with a penalty lower by so
#: much.
_ROUNDS, _LOWER = 2, 3.0

#: The largest p of a Mann-Whitney U test of a change: of the last one, and of one before, for all positions
#: together.
_P_LAST, _P_SERIES = 0.02, 0.1

#: The median absolute deviation of normal noise, times this, is its standard deviation.
_MAD = 1.482602218505602


@dataclass(frozen=True)
class Split:
    """A series in segments.

    :param starts: where each segment after the first begins, as indices into the series.
    :param noise: the standard deviation of one run: a share of the value if ``in_shares``, or else in its
        unit; 0 of a series that repeats exactly.
    :param in_shares: whether levels are compared by their ratio, all values being positive.
    :param outliers: the runs that were replaced by the median of those around them, as indices.
    """

    starts: tuple[int, ...]
    noise: float
    in_shares: bool
    outliers: tuple[int, ...] = ()


def split(values: npt.ArrayLike, *, in_shares: bool = True) -> Split:
    """Find the changes of level in a series.

    :param values: finite values in the order of time, at least :data:`MIN_RUNS`.
    :param in_shares: whether noise is a share of the value, all of which are positive then.
    """
    scaled = series = np.asarray(values, dtype=np.float64)
    if in_shares:
        levels = _medians_around(series)
        scaled = (
            np.log(series)
            if levels.max() > _FAR_APART * levels.min()
            else series / np.median(series)
        )
    middle = _medians_around(scaled)
    noise = noise_of(scaled)
    is_outlier = np.abs(scaled - middle) > _OUTLIER * noise
    outliers = tuple(np.flatnonzero(is_outlier).tolist())
    if noise == 0:
        return Split(tuple(_exact(middle)), 0.0, in_shares, outliers)
    cleaned = np.where(is_outlier, middle, scaled)
    penalty = _PENALTY + _PENALTY_OF_LENGTH * math.log(len(series))
    for _ in range(_ROUNDS):
        noise = (
            _noise_within(cleaned, _best_starts(cleaned / noise, penalty - _LOWER))
            or noise
        )
    starts = _confirmed(cleaned, _best_starts(cleaned / noise, penalty))
    return Split(tuple(starts), noise, in_shares, outliers)


def noise_of(values: Floats) -> float:
    """Return the standard deviation of the noise of a series, robust to changes of level and to a few
    outliers.

    It is the median absolute difference of neighbours. That of a series that mostly repeats exactly is 0:
    there it is the root mean square of the differences without the largest tenth and three (a change makes
    one, an outlier two). Rounding in the last digits of a double is no noise.
    """
    steps = np.abs(np.diff(values))
    noise = _MAD * float(np.median(steps)) / math.sqrt(2)
    if noise == 0:
        kept = np.sort(steps)[: max(len(steps) - len(steps) // 10 - 3, 0)]
        noise = math.sqrt(float(np.mean(kept**2)) / 2) if len(kept) else 0.0
    return noise if noise > 1e-12 * max(1.0, float(np.max(np.abs(values)))) else 0.0


def _medians_around(values: Floats) -> Floats:
    """Return the median of the five runs around each; at the ends of those that there are."""
    padded = np.pad(values, _HALF_WINDOW, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _HALF_WINDOW + 1)
    return np.asarray(np.nanmedian(windows, axis=1))


def _best_starts(values: Floats, penalty: float) -> list[int]:
    """Return where the segments after the first begin in the split of least squares and penalties.

    Optimal partitioning (Jackson and others, An algorithm for optimal partitioning of data on an interval,
    IEEE Signal Processing Letters 12, 2005): the best split up to each value is the best one up to some
    earlier value, and a segment. PELT (Killick, Fearnhead, Eckley, 2012) finds the same split; on hundreds of
    values it saves little.
    """
    centred = values - np.median(values)
    sums, squares = (
        np.concatenate(([0.0], np.cumsum(each))) for each in (centred, centred**2)
    )
    best = np.full(len(values) + 1, np.inf)
    best[0] = -penalty
    start_of = np.zeros(len(values) + 1, dtype=np.intp)
    lengths = np.arange(len(values), MIN_SEGMENT - 1, -1)
    for end in range(MIN_SEGMENT, len(values) + 1):
        first = end - MIN_SEGMENT + 1
        rest = (
            squares[end]
            - squares[:first]
            - (sums[end] - sums[:first]) ** 2 / lengths[-first:]
        )
        cost = best[:first] + rest
        start_of[end] = cost.argmin()
        best[end] = cost[start_of[end]] + penalty
    starts: list[int] = []
    end = len(values)
    while (end := int(start_of[end])) > 0:
        starts.insert(0, end)
    return starts


def _noise_within(values: Floats, starts: list[int]) -> float:
    """Return the noise within segments as it counts for the mean of many runs.

    If a run resembles the one before, as where a machine drifts, the mean of many is less exact than that of
    as many independent runs. Its variance is (1 + r) / (1 - r) times as large, r being the correlation of
    neighbours (Bayley and Hammersley: The effective number of independent observations, 1946); r counts if it
    is no accident.
    """
    segments = np.split(values, starts)
    rest = np.concatenate([segment - segment.mean() for segment in segments])
    squares = float(np.sum(rest**2))
    if squares == 0:
        return 0.0
    alike = float(np.sum(rest[1:] * rest[:-1])) / squares
    stretch = (1 + alike) / (1 - alike) if alike > 2.5 / math.sqrt(len(values)) else 1.0
    return math.sqrt(stretch * squares / max(len(values) - len(segments), 1))


def _exact(values: Floats) -> list[int]:
    """Return where a series without noise changes to a level that lasts, to the least change; ``values`` are
    medians of those around."""
    steps = np.abs(np.diff(values))
    steps = steps[steps > 1e-9 * max(1.0, float(np.abs(values).max()))]
    return _best_starts(10 * values / steps.min(), _PENALTY) if len(steps) else []


def _confirmed(values: Floats, starts: list[int]) -> list[int]:
    """Return the changes that show in the ranks as well; the one that does so least is dropped first."""
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  (slow to import)

    kept = list(starts)
    while kept:
        segments = np.split(values, kept)
        excess = []
        for number, (before, after) in enumerate(pairwise(segments)):
            fewest = 2 / math.comb(len(before) + len(after), len(after))
            # The last segment may have just begun: few runs cannot show much, and more are to come.
            last = number == len(kept) - 1
            allowed = (
                _P_LAST
                if last
                else max(_P_SERIES / len(values), min(12 * fewest, _P_LAST))
            )
            allowed = max(allowed, 1.001 * fewest)
            excess.append(float(mannwhitneyu(before, after).pvalue) / allowed)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1:
            break
        del kept[worst]
    return kept
