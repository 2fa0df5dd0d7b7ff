# SPDX-License-Identifier: BSD-3-Clause
"""The tournament of `rotate`: its pairs, their directions, and the pairs that some of its rounds leave
out."""

from functools import cache

import numpy as np
import pytest

from fabric_checks.parsers import rotate_patterns
from lab.rotate import patterns
from lab.rotate.directions import NODES, leaves, measured, rounds_of, uncovered
from lab.rotate.leaf_flows import leaf_flows


def test_who_meets_whom_among_six():
    """Written down by hand: seats 0 to 4 are ranks 0, 1, 2, 4, 5, and rank 3 has none."""
    sender, receiver = rounds_of(6, [0, 1, 5])
    pairs = [
        list(zip(*each, strict=True))
        for each in zip(sender.tolist(), receiver.tolist(), strict=True)
    ]
    # Sum 0: 1 and 4, one away from 0, the upper sends; 2 and 3, two away, the lower sends; 0 is in the
    # middle.
    assert pairs[0] == [(0, 3), (1, 5), (4, 2)]
    # Sum 1, so 6: 3 is in the middle; 4 and 2, one away; 0 and 1, two away.
    assert pairs[1] == [(1, 0), (3, 4), (5, 2)]
    assert pairs[2] == [(2, 4), (3, 0), (5, 1)]


@pytest.mark.parametrize("nodes", NODES)
def test_all_rounds_have_every_ordered_pair_once_and_the_first_half_every_two_once(
    nodes,
):
    turns = rotate_patterns.turns(nodes)
    assert turns == (nodes if nodes % 2 else nodes - 1)
    sender, receiver = rounds_of(nodes, range(2 * turns))
    assert sender.shape == (2 * turns, nodes // 2)
    both = np.sort(np.hstack((sender, receiver)), axis=1)
    assert (np.diff(both, axis=1) > 0).all(), "nobody is in a round twice"
    counts = measured(nodes, range(2 * turns))
    assert (counts == 1 - np.eye(nodes, dtype=int)).all()
    first = measured(nodes, range(turns))
    assert (first + first.T == counts).all()
    if nodes % 2:
        assert sorted(
            np.setdiff1d(np.arange(nodes), row).item() for row in both
        ) == sorted([*range(nodes)] * 2)


@pytest.mark.parametrize("nodes", [2, 5, 8, 27])
def test_some_rounds_are_spread_over_the_first_before_any_of_the_second(nodes):
    turns = rotate_patterns.turns(nodes)
    for shifts in range(1, 2 * turns + 2):
        numbers = patterns.round_robin_rounds(nodes, shifts)
        assert len(numbers) == min(shifts, 2 * turns)
        assert numbers == sorted(set(numbers))
        assert numbers[0] == 0
        assert numbers[-1] < 2 * turns
        assert measured(nodes, numbers).max() == 1
        assert (numbers[-1] < turns) == (shifts <= turns)
    assert patterns.round_robin_rounds(nodes, 0) == list(range(2 * turns))


# ------------------------------------------------------------- the rounds of a night


@cache
def night(nodes, turn=0):
    rounds = rotate_patterns.nightly_rounds(nodes)
    return measured(nodes, patterns.round_robin_rounds(nodes, rounds, turn))


@pytest.mark.parametrize("nodes", NODES)
def test_nights_that_follow_each_other_measure_all_ordered_pairs(nodes):
    rounds = rotate_patterns.nightly_rounds(nodes)
    turns = rotate_patterns.runs_until_all(nodes, rounds)
    assert turns <= (4 if nodes > 6 else 5)
    nights = [night(nodes, turn) for turn in range(10**6, 10**6 + turns)]
    assert all(each.max() == 1 for each in nights)
    missed = sum(nights) == 0
    assert (missed == np.eye(nodes, dtype=bool)).all()


@pytest.mark.parametrize("shifts", [1, 2, 3, 4, 5, 9, 10, 11, 20])
def test_turns_of_any_number_of_rounds_measure_all_ordered_pairs(shifts):
    turns = rotate_patterns.runs_until_all(11, shifts)
    numbers = [patterns.round_robin_rounds(11, shifts, turn) for turn in range(turns)]
    assert {len(each) for each in numbers} == {len(set(each)) for each in numbers}
    assert set().union(*numbers) == set(range(22))


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("turn", range(4))
def test_every_node_sends_and_receives_about_equally_often(nodes, turn):
    counts = night(nodes, turn)
    least = 1 if nodes == 2 else 2  # two nodes have two ordered pairs
    assert min(counts.sum(axis=0).min(), counts.sum(axis=1).min()) >= least
    assert np.abs(counts.sum(axis=0) - counts.sum(axis=1)).max() <= 3


@pytest.mark.parametrize("size", range(2, 49))
@pytest.mark.parametrize("turn", range(4))
def test_every_leaf_reaches_every_other_one_in_both_directions(size, turn):
    """Leaves of nodes that follow each other, the last one of the rest, on 2 to 200 nodes; smaller ones
    mostly do."""
    for nodes in NODES:
        missed, ways = uncovered(night(nodes, turn), leaves(nodes, size))
        # On some nights a last leaf of fewer than four nodes lacks a way.
        is_whole = size >= 4 and (turn == 0 or nodes % size not in (1, 2, 3))
        assert missed <= (0 if is_whole else 0.5 * ways), nodes


@pytest.mark.parametrize("switches", [2, 4, 8, 16])
def test_nodes_that_alternate_between_switches_reach_each_other_too(switches):
    for nodes in range(8 * switches, 201):
        for turn in range(4):
            missed, _ = uncovered(night(nodes, turn), np.arange(nodes) % switches)
            assert missed == 0, (nodes, turn)


@pytest.mark.parametrize("nodes, size", [(16, 4), (30, 5), (64, 8), (40, 3)])
def test_flows_of_groups_load_every_node_alike_and_every_group_both_ways(nodes, size):
    groups = [rank // size for rank in range(nodes)]
    flows = np.array(leaf_flows(groups))
    count = max(groups) + 1
    assert (np.array(groups)[flows[:, 1]] != np.array(groups)[flows[:, 2]]).all()
    for number in np.unique(flows[:, 0]):
        own = flows[flows[:, 0] == number]
        for side in (1, 2):
            assert len(set(np.bincount(own[:, side])[np.unique(own[:, side])])) == 1
    turns = min(max(nodes // 8, 3), 8)
    assert len(np.unique(flows[:, 0])) == 2 * turns
    if count <= 2 * turns:
        assert all(
            set(np.array(groups)[flows[:, side]]) == set(range(count))
            for side in (1, 2)
        )
