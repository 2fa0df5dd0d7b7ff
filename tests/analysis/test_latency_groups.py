# SPDX-License-Identifier: BSD-3-Clause
"""Levels of latency, groups, and nodes that are not where they should be."""

import numpy as np
import pytest

from fabric_checks.analysis import latency_groups as groups
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
    assert (
        groups.nearest(np.where(half[:, None] != half[None, :], 1.0, 2.0), 0.0) is None
    )


def test_a_pair_that_is_slow_does_not_tear_its_group_apart():
    leaf = np.arange(32) // 8
    found = groups.find(latencies(leaf, pair={(0, 1): 1.0}), NEAR_US + HOP_US / 2)
    assert len(np.unique(found)) == 4 and found[0] == found[1]


def test_distances_less_what_is_a_node_s_own_may_be_negative():
    far = latencies(np.arange(32) // 8)
    found = groups.find(far - 2 * NEAR_US, HOP_US / 2 - NEAR_US)
    assert found.tolist() == groups.find(far, NEAR_US + HOP_US / 2).tolist()
    assert len(np.unique(found)) == 4


def test_without_a_border_all_are_one_group():
    assert groups.find(latencies([0, 1, 1]), None).tolist() == [0, 0, 0]


NO_SWITCH = np.full(32, -1)


def test_a_node_far_from_the_next_ranks_is_misplaced_where_ranks_follow_switches():
    group = np.repeat([0, 1, 2, 3], 8)
    assert groups.misplaced(group, NO_SWITCH) == {}
    group[[3, 20]] = group[[20, 3]]
    assert groups.misplaced(group, NO_SWITCH) == {3: 0, 20: 2}
    assert groups.misplaced(np.arange(32) % 4, NO_SWITCH) == {}, (
        "ranks do not follow the switches"
    )


def test_two_switches_in_one_group_misplace_nobody():
    """Their nodes are all near each other."""
    switch = np.repeat([0, 1, 2], 2)
    assert groups.misplaced(np.array([0, 0, 0, 0, 1, 1]), switch) == {}
    assert groups.misplaced(np.zeros(6, dtype=int), switch) == {}
