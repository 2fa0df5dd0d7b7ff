# SPDX-License-Identifier: BSD-3-Clause
"""Rates of flows that share links."""

import numpy as np
import pytest

from fabric_checks.analysis import max_min as module
from fabric_checks.analysis.max_min import max_min, of_rounds


def test_shares_are_max_min_fair():
    """Three flows, two cables: the one that passes through both has as much as the others leave it."""
    ways = np.array([[0, 1], [0, 2], [1, 2]])
    assert max_min(ways, np.array([1.0, 2.0, np.inf])).tolist() == [0.5, 0.5, 1.5]
    assert max_min(
        ways, np.array([1.0, 2.0, np.inf]), np.array([0.2, 9, 9])
    ).tolist() == [0.2, 0.8, 1.8]


def test_groups_of_flows_that_share_nothing_have_the_rates_that_each_has_alone():
    random = np.random.default_rng(3)
    ways = [random.integers(0, 12, (9, 3)) for _ in range(20)]
    capacity = [random.uniform(0.5, 2, 12) for _ in range(20)]
    alone = [max_min(*each) for each in zip(ways, capacity, strict=True)]
    numbered = np.concatenate([each + 12 * at for at, each in enumerate(ways)])
    together = max_min(numbered, np.concatenate(capacity))
    assert together.tolist() == np.concatenate(alone).tolist()
    # Each flow has a full resource on which none is faster (Bertsekas and Gallager).
    for rates, way, of_resource in zip(alone, ways, capacity, strict=True):
        load = np.bincount(way.ravel(), np.repeat(rates, 3), minlength=12)
        most = [max(rates[(way == each).any(axis=1)], default=0) for each in range(12)]
        full = load >= of_resource * (1 - 1e-6)
        for rate, own in zip(rates, way, strict=True):
            assert any(full[each] and rate >= most[each] * (1 - 1e-6) for each in own)


@pytest.mark.parametrize("at_once", [1, 30, 1 << 24])
def test_flows_of_many_rounds_have_the_rates_of_their_round(monkeypatch, at_once):
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    random = np.random.default_rng(5)
    capacity = np.append(random.uniform(0.5, 2, 14), np.inf)
    ways, number = random.integers(0, 15, (60, 3)), random.integers(0, 7, 60)
    rates, loads = of_rounds(ways, capacity, number)
    for each in range(7):
        own = ways[number == each]
        assert rates[number == each].tolist() == max_min(own, capacity).tolist()
        count = np.bincount(own.ravel(), minlength=15)
        count[-1] = 1
        assert loads[number == each].tolist() == count[own].tolist()
