# SPDX-License-Identifier: BSD-3-Clause
"""Levels of latency, groups, and nodes that are not where they should be."""

import numpy as np
import pytest

from fabric_checks.diagnosis.latency_map import groups
from tests.diagnosis.latency_map.model import HOP_US, NEAR_US, latencies


def test_the_border_is_in_the_middle_of_the_lowest_gap():
    pods = np.arange(32) // 4
    three = latencies(pods) + HOP_US * (pods[:, None] // 4 != pods[None, :] // 4)
    assert groups.nearest(three, 0.0) == pytest.approx(NEAR_US + HOP_US / 2)


def test_a_gap_within_the_error_is_none():
    assert groups.nearest(latencies(np.arange(32) // 8), HOP_US / 3) is None


def test_a_gap_without_groups_is_no_level():
    """Nodes are near those of the other kind only, so that no three are near each other."""
    half = np.arange(12) % 2
    assert groups.nearest(np.where(half[:, None] != half[None, :], 1.0, 2.0), 0.0) is None


def test_a_pair_that_is_slow_does_not_tear_its_group_apart():
    leaf = np.arange(32) // 8
    found = groups.find(latencies(leaf, pair={(0, 1): 1.0}), NEAR_US + HOP_US / 2)
    assert len(np.unique(found)) == 4 and found[0] == found[1]


def test_without_a_border_all_are_one_group():
    assert groups.find(latencies([0, 1, 1]), None).tolist() == [0, 0, 0]


def test_who_is_not_in_the_place_of_its_rank():
    at = np.repeat([0, 1, 2, 3], 8)
    hosts = [f"n{rank}" for rank in range(32)]
    assert groups.misplaced(at, hosts, None) == {}
    at[[3, 20]] = at[[20, 3]]
    assert groups.misplaced(at, hosts, None) == {3: 2, 20: 0}
    assert groups.misplaced(np.arange(32) % 4, hosts, None) == {}, "ranks do not follow the switches"


def test_a_switch_that_looks_like_another_is_no_error():
    """Two switches whose hosts are all near each other make one group."""
    hosts = [f"n{rank}" for rank in range(6)]
    known = dict(zip(hosts, "aabbcc", strict=True))
    assert groups.misplaced(np.array([0, 0, 0, 0, 1, 1]), hosts, known) == {}
    assert groups.misplaced(np.array([0, 0, 0, 0, 0, 0]), hosts, known) == {}
