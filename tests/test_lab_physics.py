# SPDX-License-Identifier: BSD-3-Clause
"""Faults as they happen are told as far as they were measured; `python -m lab.physics` has more of each."""

import pytest

from lab import physics


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("slow to other leaves", "out of node cn0022, to other switches: "),
        ("collapse, routing not told", "when 5 or more run at once"),
        ("half of the uplinks, routing not told", "has lost about half of its uplink"),
        ("loss of a node, 1.0", "loses time in most transfers"),
        ("loss of a cable, 1.0", "loses time in most transfers"),
        ("loss of a cable, 0.5, routing not told", "lose time in most transfers"),
        ("rail's leaf", "look at the switch of this rail"),
        ("slow spine, routing not told", " paths from "),
    ],
)
def test_what_is_slow_is_named_and_no_node_that_is_well(row, said):
    found = physics.trial(row, 201, 32)
    assert found.named and found.status == 3
    assert not found.healthy and not found.doubted
    assert said in " ".join(found.said)


@pytest.mark.parametrize(
    ("row", "seed"),
    [
        ("healthy, switches", 9200006),
        ("loss of a cable, 0.5, routing not told", 9200004),
        ("both directions", 9200014),
        ("both directions, no map", 9200017),
        ("slow cable, routing not told", 9500000),
        ("both directions", 31000000),
    ],
)
def test_a_healthy_part_beside_a_fault_is_in_no_sentence(row, seed):
    """Uneven tables look like lost uplinks, nodes behind a lossy cable like lossy ones, what is measured
    again as if it collapsed, a node whose pairs shared cables as if it were slow one way, and one behind a
    slow cable, of which the scan had few, as if it became slow: its exchanges with neighbours are fast. Of
    four repeats of a pair one is often 4 deviations below another: a cable "lost time" in 5 of 118."""
    found = physics.trial(row, seed, 32)
    assert not found.healthy
    assert found.named == (found.status == 3) == ("healthy" not in row)


@pytest.mark.parametrize("seed", [600, 601, 9500005, 32000010])
def test_traffic_of_others_blames_no_cable(seed):
    """In the first run many parts have a half or a third, in the second nodes differ as much, in the third
    one cable has a third, and 36 pairs elsewhere a half, and in the last two pairs have two thirds."""
    found = physics.trial("other job", seed, 32)
    assert found.observed and not found.healthy and found.status == 0
