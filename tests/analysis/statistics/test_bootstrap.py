# SPDX-License-Identifier: BSD-3-Clause
"""Intervals of medians, held to SciPy and to R."""

import csv

import numpy as np
import pytest
import scipy.stats

from fabric_checks.analysis.statistics import bootstrap
from tests.conftest import TESTS

MANY = 50_000


def fixtures():
    with (TESTS / "analysis/statistics/fixtures/intervals.csv").open() as lines:
        for row in csv.DictReader(lines):
            yield pytest.param(
                row, id=f"{row['kind']}-{len(row['a'].split())}-{row['confidence']}"
            )


def numbers(text):
    return np.array([float(word) for word in text.split()])


def held_to(interval, confidence, low, high):
    """Assert that R's interval lies between ours at one per cent less and at one per cent more confidence.

    The ends jump between neighbouring values, so a distance in the unit of the values would say little.
    """
    narrow, wide = (interval(confidence + step) for step in (-0.01, 0.01))
    rounding = 1e-5 * (high - low)
    assert wide.low[0] - rounding <= low <= narrow.low[0] + rounding
    assert narrow.high[0] - rounding <= high <= wide.high[0] + rounding


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9, 100])
def test_the_places_have_the_distribution_of_order_statistics(n):
    """The k-th smallest of n drawn ranks is below j if at least k of n draws are: the binomial
    distribution."""
    low, high = bootstrap.middle_places(n, MANY, 0)
    for places, k in ((low, (n + 1) // 2), (high, n // 2 + 1)):
        for j in range(n):
            expected = scipy.stats.binom.sf(k - 1, n, (j + 1) / n)
            assert np.mean(places <= j) == pytest.approx(expected, abs=0.01)
    assert (low <= high).all() and ((low == high).all() or n % 2 == 0)


@pytest.mark.parametrize("row", list(fixtures()))
def test_intervals_are_those_of_r(row, monkeypatch):
    monkeypatch.setattr(bootstrap, "RESAMPLES", MANY)
    a, b, confidence = numbers(row["a"]), numbers(row["b"]), float(row["confidence"])
    for name, interval in (
        ("median", lambda share: bootstrap.median([a], share)),
        ("ratio", lambda share: bootstrap.ratio([a], [b], share)),
        ("difference", lambda share: bootstrap.difference([a], [b], share)),
    ):
        held_to(
            interval, confidence, float(row[f"{name}_low"]), float(row[f"{name}_high"])
        )


def test_a_series_among_others_has_the_interval_that_it_has_alone(monkeypatch):
    draw = np.random.default_rng(3)
    first, second = draw.normal(10, 1, (50, 12)), draw.normal(10, 1, (50, 9))
    together = bootstrap.ratio(first, second)
    monkeypatch.setattr(bootstrap, "_CHUNK", 7 * bootstrap.RESAMPLES)
    in_parts = bootstrap.ratio(first, second)
    for number in (0, 6, 7, 49):
        alone = bootstrap.ratio(first[number : number + 1], second[number : number + 1])
        assert alone.low[0] == together.low[number]
        assert alone.high[0] == together.high[number]
    assert (in_parts.low == together.low).all() and (
        in_parts.high == together.high
    ).all()


def test_the_two_sides_are_drawn_independently():
    """The interval of the ratio of a series to itself is no point."""
    values = [np.random.default_rng(1).normal(100, 3, 20)]
    found = bootstrap.ratio(values, values)
    assert found.low[0] < 0.99 < 1.01 < found.high[0]


def test_equal_values_have_an_interval_without_width():
    found = bootstrap.ratio([[2.0] * 6], [[3.0] * 5])
    assert found.low[0] == 1.5
    assert found.high[0] == 1.5


@pytest.mark.parametrize("n, least", [(5, 0.88), (10, 0.90), (30, 0.92), (100, 0.93)])
def test_an_interval_at_95_percent_holds_the_median_about_as_often(n, least):
    found = bootstrap.median(np.random.default_rng(n).normal(100, 3, (3000, n)))
    assert np.mean((found.low <= 100) & (found.high >= 100)) > least
    pairs = np.random.default_rng(n).normal(100, 3, (2, 3000, n))
    ratio = bootstrap.ratio(pairs[0], pairs[1])
    assert np.mean((ratio.low <= 1) & (ratio.high >= 1)) > 0.93
