# SPDX-License-Identifier: BSD-3-Clause
"""Median polish against what a matrix was made of."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section.polish import median_polish


def made_of(rows, columns, seed=1):
    random = np.random.default_rng(seed)
    sender, receiver = (np.exp(0.1 * random.standard_normal(n)) for n in (rows, columns))
    sender, receiver = (share / np.exp(np.median(np.log(share))) for share in (sender, receiver))
    return sender, receiver, 500.0 * np.outer(sender, receiver)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (7, 12), (64, 64)])
def test_a_product_is_taken_apart_exactly(shape):
    sender, receiver, values = made_of(*shape)
    polished = median_polish(values)
    assert polished.sender == pytest.approx(sender, rel=1e-9)
    assert polished.receiver == pytest.approx(receiver, rel=1e-9)
    assert polished.typical == pytest.approx(500.0)
    assert polished.rest == pytest.approx(np.ones(shape), rel=1e-9)


def test_a_slow_pair_is_left_in_the_rest_and_spoils_nothing_else():
    sender, receiver, values = made_of(16, 16)
    values[3, 5] *= 0.3
    polished = median_polish(values)
    assert polished.rest[3, 5] == pytest.approx(0.3)
    assert polished.sender == pytest.approx(sender)
    assert polished.receiver == pytest.approx(receiver)


def test_it_goes_on_until_no_median_changes():
    polished = median_polish(500.0 * np.exp(np.random.default_rng(3).standard_normal((15, 15))), sweeps=200)
    for axis in (0, 1):
        assert np.median(polished.rest, axis=axis) == pytest.approx(np.ones(15), rel=1e-3)


def test_pairs_that_were_not_measured_are_left_out():
    sender, _, values = made_of(16, 16)
    values[np.random.default_rng(2).random((16, 16)) < 0.4] = np.nan
    polished = median_polish(values, sweeps=50, tolerance=1e-12)
    assert np.isnan(polished.rest).sum() == np.isnan(values).sum()
    assert polished.sender == pytest.approx(sender, rel=0.05)
    product = polished.typical * np.outer(polished.sender, polished.receiver) * polished.rest
    assert product[~np.isnan(product)] == pytest.approx(values[~np.isnan(values)])
