# SPDX-License-Identifier: BSD-3-Clause
"""Change points: rates of detection and of false alarms."""

import csv

import numpy as np
import pytest

from fabric_checks.analysis.statistics import change_points
from fabric_checks.analysis.statistics.change_points import noise_of, split
from lab import change_points as trials
from tests.conftest import TESTS


@pytest.mark.parametrize("after, count, least", [(3, 400, 0.95), (12, 200, 0.98)])
def test_a_shift_of_a_tenth_is_found_and_placed_within_three_runs(after, count, least):
    """With 3 % noise, after 20 to 200 runs; as soon as three more are there."""
    assert trials.share_found("normal", after, count, seed=20261121) >= least


@pytest.mark.parametrize(
    "runs, seed, count, most",
    [
        (200, 20261121, 100, 1),
        (10, 10, 200, 9),
        (20, 20, 200, 9),
        (40, 40, 200, 9),
        (80, 80, 200, 9),
    ],
)
def test_stable_series_have_few_false_alarms(runs, seed, count, most):
    """As many as comparison.changes.FALSE_ALARMS states: about 2 in 100; measured over 800: 0.5 to 3.1."""
    assert trials.false_alarms("normal", runs, count, seed) <= most


@pytest.mark.parametrize("name", trials.NOISES)
def test_other_noise_has_few_false_alarms_and_hides_few_shifts(name):
    """In series of 200 runs, of a shift of 10 % after 20 to 200 runs; normal noise is better."""
    assert trials.false_alarms(name, 200, 100, seed=3) <= 15
    assert trials.share_found(name, 10, 60, seed=3) >= 0.9


def breaks():
    with (TESTS / "analysis/statistics/fixtures/breaks.csv").open() as lines:
        return [
            (
                [float(word) for word in row["values"].split()],
                [int(word) for word in row["starts"].split()],
            )
            for row in csv.DictReader(lines)
        ]


def test_changes_are_where_r_finds_them():
    """Its package strucchange gives the best positions of a number of breaks, by least squares; we find the
    number."""
    alike = 0
    for values, starts in breaks():
        ours = split(values).starts
        assert set(starts) <= set(ours), (starts, ours)
        alike += list(ours) == starts
    assert alike >= len(breaks()) - 1 > 10


@pytest.mark.parametrize("position", [0, 1, 10, 38, 39])
@pytest.mark.parametrize("factor", [0.2, 1.3, 2.0, 50.0])
def test_one_bad_run_is_no_change(position, factor):
    series = 100 + 3 * np.random.default_rng(4).normal(size=40)
    assert split(series).starts == ()
    series[position] *= factor
    assert split(series).starts == ()


@pytest.mark.parametrize("factor, starts, runs", [(3, (), 2), (1.1, (20, 30), 10)])
def test_two_bad_runs_are_no_change_and_ten_are_two(factor, starts, runs):
    series = 100 + 1 * np.random.default_rng(6).normal(size=60)
    series[20 : 20 + runs] *= factor
    found = split(series)
    assert found.starts == starts
    assert runs > 2 or set(found.outliers) == {20, 21}


@pytest.mark.parametrize("change", [1e-6, 0.001, 0.5, 100])
@pytest.mark.parametrize("at", [3, 5, 7])
def test_any_change_of_a_series_that_repeats_exactly_is_one(change, at):
    series = [1.25] * at + [1.25 + change] * (10 - at)
    found = split(series)
    assert found.starts == (at,) and found.noise == 0


@pytest.mark.parametrize("position", range(9))
def test_a_series_that_repeats_exactly_but_for_one_run_has_no_change(position):
    assert split([2.0 if i != position else 3.0 for i in range(9)]).starts == ()


def test_rounded_values_have_noise():
    """Most neighbours are equal to the last digit, and yet 1.68 to 1.69 is no change."""
    draw = np.random.default_rng(11)
    alarms = sum(
        bool(split(np.round(1.684 + 0.003 * draw.normal(size=100), 2)).starts)
        for _ in range(50)
    )
    assert alarms <= 2


@pytest.mark.parametrize(
    "levels, of_level, noise, in_shares",
    [
        ((-1.0, 1.0), 0.0, 0.1, False),  # values below zero are compared by difference
        (
            (1000.0, 10.0),
            1.0,
            0.02,
            True,
        ),  # at a hundredth the noise is the same in per cent
    ],
)
def test_noise_is_in_shares_where_all_values_are_positive(
    levels, of_level, noise, in_shares
):
    level = np.repeat(levels, 30)
    series = level + noise * np.random.default_rng(2).normal(size=60) * np.where(
        of_level, level, 1
    )
    found = split(series, in_shares=in_shares)
    assert found.starts == (30,)
    assert found.noise == pytest.approx(noise, rel=0.3)


@pytest.mark.parametrize("n", [30, 200])
def test_the_noise_is_that_of_the_series(n):
    draw = np.random.default_rng(n)
    series = 100 + 3 * draw.normal(size=(300, n))
    series[:, n // 2 :] += 10
    assert np.median([noise_of(row) for row in series]) == pytest.approx(3, rel=0.1)
    assert np.median([split(row).noise for row in series[:50]]) == pytest.approx(
        0.03, rel=0.1
    )


def test_shorter_than_a_segment_is_no_level():
    assert change_points.MIN_SEGMENT == 3
    series = np.concatenate(
        [np.full(20, 100.0), np.full(2, 150.0)]
    ) + np.random.default_rng(1).normal(size=22)
    assert split(series).starts == ()
