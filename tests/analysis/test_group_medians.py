# SPDX-License-Identifier: BSD-3-Clause
"""Medians of rows and of groups, by those of NumPy for each alone."""

import numpy as np

from fabric_checks.analysis import group_medians as medians


def test_medians_are_those_of_what_each_row_has():
    rows = np.random.default_rng(1).random((50, 9))
    rows[rows < 0.4] = np.nan
    rows[7] = np.nan
    found = medians.of_rows(rows)
    assert np.isnan(found[7])
    rest = np.arange(50) != 7
    assert found[rest].tolist() == np.nanmedian(rows[rest], axis=1).tolist()


def test_medians_between_groups_of_all_sizes():
    random = np.random.default_rng(2)
    group = random.permutation(np.repeat([0, 1, 2, 3, 4], [5, 3, 5, 2, 8]))
    latency_us = random.random((23, 23))
    np.fill_diagonal(latency_us, np.nan)
    found = medians.between(latency_us, group)
    assert np.isnan(found[3]).all() and np.isnan(found[:, 3]).all()
    for one in (0, 1, 2, 4):
        for other in (0, 1, 2, 4):
            block = latency_us[np.ix_(group == one, group == other)]
            assert found[one, other] == np.nanmedian(block)
