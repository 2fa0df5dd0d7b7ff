# SPDX-License-Identifier: BSD-3-Clause
"""Confidence intervals of medians, and of the ratio or difference of two, by the percentile bootstrap.

The method is Efron's (An Introduction to the Bootstrap, 1993, chapter 13): draw n of the n values with
replacement, take the median, do so many times, and take percentiles of these medians. The median of a
resample depends only on the ranks of its middle values, so one table of drawn ranks serves all series of n
values, and thousands of series take one pass of NumPy. The seed is fixed: the same values give the same
interval.

Intervals are not corrected for how few values there are: of five, an interval at 95 % holds the median in 88
of 100 (tests/analysis/statistics/test_bootstrap.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

#: The number of resamples. The ends of an interval at 95 % then vary by about a twentieth of its width with
#: the seed.
RESAMPLES = 2000

#: The most numbers of a table of medians: so many fit a cache, and many series do not fill memory.
_CHUNK = 1_000_000


@dataclass(frozen=True)
class Intervals:
    """The ends of the confidence intervals of many series; arrays with an element a series."""

    low: Floats
    high: Floats


@lru_cache(maxsize=1024)
def middle_places(n: int, resamples: int, seed: int) -> tuple[Places, Places]:
    """Return the ranks of the two middle values of each resample of n sorted values.

    Of an odd number both are the same. Nothing is sorted: the k-th smallest of n uniform numbers has the
    distribution Beta(k, n + 1 - k), and the next one is the least of the n - k above it (David, Nagaraja:
    Order Statistics, 2003).

    :returns: two arrays of ``resamples`` indices; the median of a resample is the mean of the values there.
    """
    drawn = np.random.default_rng((seed, n))
    k = (n + 1) // 2
    low = drawn.beta(k, n + 1 - k, resamples)
    high = low if n % 2 else low + (1 - low) * drawn.beta(1, n - k, resamples)
    # A number just below 1 may be rounded to 1.
    return np.minimum((low * n).astype(np.intp), n - 1), np.minimum(
        (high * n).astype(np.intp), n - 1
    )


def median(values: npt.ArrayLike, confidence: float = 0.95) -> Intervals:
    """Return the confidence interval of the median of each series.

    :param values: a row a series, all of the same length.
    :param confidence: such as 0.95.
    """
    rows = np.sort(values, axis=1)
    return _intervals(len(rows), lambda part: _medians(rows[part], 0), confidence)


def compare(
    of: np.ufunc,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    confidence: float = 0.95,
) -> Intervals:
    """Return the confidence interval of ``of(second, first)`` of the medians of each pair of series.

    The two are resampled independently of each other.

    :param first, second: a row a series, as many rows in both; all of one have the same length. For ratios
        all values are positive.
    """
    one, two = np.sort(first, axis=1), np.sort(second, axis=1)

    def medians(part: slice) -> Floats:
        # A seed of its own: with the same ranks drawn for both, a ratio of equal series would not vary.
        drawn: Floats = of(_medians(two[part], 1), _medians(one[part], 0))
        return drawn

    with np.errstate(over="ignore"):
        return _intervals(len(one), medians, confidence)


#: Of the median of each second series in terms of that of the first: their ratio, and their difference.
ratio, difference = partial(compare, np.divide), partial(compare, np.subtract)


def _medians(rows: Floats, seed: int) -> Floats:
    """Return the medians of all resamples: a row a series."""
    low, high = middle_places(rows.shape[1], RESAMPLES, seed)
    return (np.take(rows, low, axis=1) + np.take(rows, high, axis=1)) / 2


def _intervals(
    count: int, medians: Callable[[slice], Floats], confidence: float
) -> Intervals:
    """Return the intervals of series by the medians of all resamples, some series at a time."""
    share, step = (1 - confidence) / 2, max(_CHUNK // RESAMPLES, 1)
    parts = [slice(start, start + step) for start in range(0, count, step)]
    ends = [
        np.quantile(medians(part), (share, 1 - share), axis=1, overwrite_input=True)
        for part in parts
    ]
    return Intervals(*np.hstack(ends or [np.empty((2, 0))]))
