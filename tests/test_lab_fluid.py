# SPDX-License-Identifier: BSD-3-Clause
"""The fluid model of ``lab`` against rates computed by hand, and its output against the parser."""

import numpy as np
import pytest

from fabric_checks.parsers import rotate
from lab.fluid import flows, scoring
from lab.fluid.fabric import Level, fat_tree
from lab.fluid.machine import Machine
from lab.fluid.scenarios import Fault, Scenario


@pytest.mark.parametrize(
    "paths, weights, capacity, expected",
    [
        ([[0, 3], [0, 1], [1, 3]], [[1, 0], [1, 1], [1, 0]], [10, 4], [8, 2, 2]),
        ([[0, 3], [0, 3]], [[0.5, 0], [1, 0]], [9, 1], [6, 6]),
        ([[0, 1], [0, 2], [1, 2]], [[1, 1]] * 3, [2, 10, 10], [1, 1, 9]),
    ],
)
def test_rates_are_max_min_fair(paths, weights, capacity, expected):
    links = np.array([*capacity, *[np.inf] * (4 - len(capacity))], dtype=float)
    assert flows.max_min(
        np.array(paths), np.array(weights, dtype=float), links
    ) == pytest.approx(expected)


def test_flow_that_ends_frees_its_links():
    ends = flows.finish(
        np.array([[0], [0]]),
        np.ones((2, 1)),
        np.array([10, 30]),
        0,
        lambda now: (np.array([10, np.inf]), np.inf),
    )
    assert ends == pytest.approx([2, 4], rel=1e-5)


@pytest.mark.parametrize("routing", ["static", "adaptive", "spray", "hash", "message"])
def test_output_is_read_by_the_parser(routing):
    fabric = fat_tree(10, 4, 2, routing=routing)
    fabric.levels.append(Level(fabric.host(3), 0.5, begin_at=0.5))
    output = rotate.parse(Machine(fabric, np.random.default_rng(1)).run(5))
    assert len(output.hosts) == 10 and set(output.phases["alone"].sender) | set(
        output.phases["alone"].receiver
    )


def slow_pairs(*sizes):
    """Return a scenario with a pair of two leaves for each size, the share that it loses."""
    fabric, faults = fat_tree(8, 4, 2), []
    for place, size in enumerate(sizes):
        links = frozenset(
            [fabric.pair(place, place + 4), fabric.pair(place + 4, place)]
        )
        names = frozenset([fabric.names[place], fabric.names[place + 4]])
        faults.append(Fault("pair", names, size, links))
    return Scenario(fabric, faults=faults)


@pytest.mark.parametrize("of_node, is_hidden", [(0.2, False), (0.3, True), (0.4, True)])
def test_pair_behind_a_slower_node_is_hidden(of_node, is_hidden):
    at = slow_pairs(0.3, 0.3)
    assert not at.is_hidden(0)
    at.add(
        Fault(
            "node",
            frozenset([at.fabric.names[4]]),
            of_node,
            frozenset(at.fabric.host(4)),
        )
    )
    assert at.is_hidden(0) == is_hidden and not at.is_hidden(1) and not at.is_hidden(2)


@pytest.mark.parametrize("other, is_named", [(4, True), (5, False)])
def test_pairs_that_one_finding_lists_are_named_among_others(other, is_named):
    at = slow_pairs(0.3)
    listed = f"{at.fabric.names[0]} and {at.fabric.names[other]} (0.70)"
    note = {
        "kind": "group",
        "fault": True,
        "text": "4 paths run at 0.70",
        "part": "4 paths",
        "details": [listed],
    }
    found = scoring.score({"notes": [note], "metrics": {}}, 1, at)
    assert (found.among, found.alone) == (is_named, False)


@pytest.mark.parametrize("of_node, is_right", [(0.2, False), (0.4, True)])
def test_a_pair_that_a_slower_node_hides_need_not_be_named(of_node, is_right):
    at = slow_pairs(0.3)
    node = at.fabric.names[4]
    at.add(Fault("node", frozenset([node]), of_node, frozenset(at.fabric.host(4))))
    note = {
        "kind": "node",
        "fault": True,
        "text": f"node {node} is slow",
        "part": f"node {node}",
        "hosts": [node],
    }
    assert scoring.score({"notes": [note], "metrics": {}}, 1, at).alone == is_right
