# SPDX-License-Identifier: BSD-3-Clause
"""A node is blamed only if it is slower than healthy ones are by chance: the rule, and seeds on which others
failed."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evidence, parts, slowest
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run
from lab.faults.trials import Trial, outcome

#: No pair is blamed.
NONE = np.empty(0, dtype=np.int64)


def mapped(spread, seed=1, nodes=16):
    wiring, known = wired("fat tree 2", nodes, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.03, host=spread), seed))
    return parts.on_map(evidence.of_output(output), output.hosts, known)


@pytest.mark.parametrize(
    "nodes, seed",
    [(16, 256), (16, 573), (32, 44), (32, 337), (32, 417), (32, 1171)],
)
def test_no_node_is_blamed_where_all_differ_as_much(nodes, seed):
    assert (
        outcome(Trial("healthy", 0.0, nodes, noise="nodes differ by 3 %"), seed)[0]
        == "right"
    )


@pytest.mark.parametrize(
    "kind, seed",
    [("host sends", 15), ("host sends", 97), ("host", 60), ("host receives", 98)],
)
def test_a_node_that_loses_a_tenth_is_named_where_the_others_are_alike(kind, seed):
    assert outcome(Trial(kind, 0.1, 16), seed)[0] == "right"


def test_the_more_nodes_differ_the_slower_a_healthy_one_may_be():
    found = [
        np.median([slowest.by_chance(mapped(spread, seed), NONE) for seed in range(5)])
        for spread in (0.0, 0.03, 0.06)
    ]
    assert found[0] < 0.1 < found[1] < 0.2 < found[2]


def test_nothing_is_said_of_nodes_of_which_nothing_is_left():
    some = mapped(0.03)
    everything = np.arange(len(some.evidence.sender))
    assert slowest.by_chance(some, everything) == np.inf
    assert slowest.by_chance(some, everything[:-20]) > slowest.by_chance(
        some, everything[:0]
    )


@pytest.mark.parametrize("seed", [3, 4])
def test_pairs_of_a_slow_cable_do_not_hide_a_slow_node(seed):
    """Nothing is known of the cable, so only its pairs are slow; that is not how much healthy nodes
    differ."""
    assert (
        outcome(Trial("host and cable", 0.2, 16, known="nothing"), seed)[0] == "right"
    )
