# SPDX-License-Identifier: BSD-3-Clause
"""Rates of flows that share links."""

import numpy as np

from fabric_checks.analysis.max_min import max_min


def test_shares_are_max_min_fair():
    """Three flows, two cables: the one that passes through both has as much as the others leave it."""
    ways = np.array([[0, 1], [0, 2], [1, 2]])
    assert max_min(ways, np.array([1.0, 2.0, np.inf])).tolist() == [0.5, 0.5, 1.5]
    assert max_min(
        ways, np.array([1.0, 2.0, np.inf]), np.array([0.2, 9, 9])
    ).tolist() == [0.2, 0.8, 1.8]
