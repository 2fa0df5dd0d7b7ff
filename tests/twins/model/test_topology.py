# SPDX-License-Identifier: BSD-3-Clause
"""Topologies against what is known of them, and faults."""

from collections import Counter
from math import prod

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.topology import MOST_PARTS, Dragonfly, FatTree, with_faults


def ports(wiring):
    """Return how many ports of each switch are used."""
    used = Counter(wiring.at)
    for cable in wiring.cables:
        used[cable.a] += 1
        used[cable.b] += 1
    return used


@pytest.mark.parametrize(
    "k, levels, nodes",
    [(4, 1, 4), (4, 2, 8), (4, 3, 16), (6, 3, 54), (8, 4, 512)],
)
def test_a_whole_fat_tree_has_the_textbook_switches_and_uses_every_port(
    k, levels, nodes
):
    wiring = FatTree(
        nodes, k, levels, k // 2 if levels > 1 else k, k // 2, 100
    ).wiring()
    # A k-port, n-level tree: 2 (k/2)^n hosts and (2n - 1) (k/2)^(n-1) switches.
    assert nodes == 2 * (k // 2) ** levels or levels == 1
    assert len(wiring.switches) == (
        (2 * levels - 1) * (k // 2) ** (levels - 1) if levels > 1 else 1
    )
    assert set(ports(wiring).values()) == {k}


def test_oversubscription_takes_cables_from_the_leaves():
    wiring = FatTree(96, 16, 2, 12, 4, 100).wiring()
    leaves = [name for name in wiring.switches if name.startswith("leaf")]
    assert len(leaves) == 8
    assert len(wiring.switches) == 12
    assert max(ports(wiring).values()) <= 16
    assert Counter(cable.a for cable in wiring.cables) == {leaf: 4 for leaf in range(8)}


def test_a_tree_is_only_as_wide_as_its_hosts_need():
    wiring = FatTree(128, 32, 2, 16, 16, 968).wiring()
    assert len(wiring.switches) == 8 + 16 and len(wiring.cables) == 128
    assert wiring.at[:17] == (0,) * 16 + (1,)


def test_a_dragonfly_connects_all_routers_of_a_group_and_all_groups():
    wiring = Dragonfly(72, 9, 4, 2, 2, 100, 50).wiring()
    local = [cable for cable in wiring.cables if cable.rate_MBps == 100]
    between = [cable for cable in wiring.cables if cable.rate_MBps == 50]
    assert len(local) == 9 * 6 and {
        cable.a // 4 == cable.b // 4 for cable in local
    } == {True}
    # Balanced (a = 2p = 2h, groups = ah + 1): one cable between any two groups, and no port unused.
    assert Counter(frozenset((cable.a // 4, cable.b // 4)) for cable in between) == {
        frozenset((a, b)): 1 for a in range(9) for b in range(a)
    }
    assert set(ports(wiring).values()) == {2 + 3 + 2}


def test_a_dragonfly_of_few_groups_has_several_cables_between_two():
    wiring = Dragonfly(24, 3, 4, 2, 2, 100, 50).wiring()
    between = Counter(
        frozenset((c.a // 4, c.b // 4)) for c in wiring.cables if c.rate_MBps == 50
    )
    assert set(between.values()) == {prod((4, 2)) // 2}
    assert max(ports(wiring).values()) <= 2 + 3 + 2


def faults(small, text):
    twin = small(added=f"faults: [{text}]\n")
    return with_faults(twin.topology.wiring(), twin.faults), twin.topology.wiring()


def test_a_slow_cable_and_a_broken_one(small):
    wiring, whole = faults(small, "{cable: [leaf-0, level-2-1], fraction: 0.25}")
    changed = [
        new for new, old in zip(wiring.cables, whole.cables, strict=True) if new != old
    ]
    assert [
        (whole.switches[c.a], whole.switches[c.b], c.rate_MBps) for c in changed
    ] == [("leaf-0", "level-2-1", 25)]
    wiring, whole = faults(small, "{cable: [leaf-0, level-2-1], fraction: 0}")
    assert len(wiring.cables) == len(whole.cables) - 1


def test_two_swapped_cables(small):
    wiring, whole = faults(small, "{swap: [n0, n7]}")
    assert wiring.at[0] == whole.at[7]
    assert wiring.at[7] == whole.at[0]
    wiring, whole = faults(small, "{swap: [[leaf-0, level-2-0], [leaf-2, level-2-2]]}")
    ends = {
        (wiring.switches[cable.a], wiring.switches[cable.b]) for cable in wiring.cables
    }
    assert {("leaf-0", "level-2-2"), ("leaf-2", "level-2-0")} <= ends
    assert len(wiring.cables) == len(whole.cables) and ports(wiring) == ports(whole)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "{host: n9, fraction: 0.5}",
            r"faults: 0: host: there is no n9; write one of n0 to n7",
        ),
        (
            "{cable: [leaf-0, leaf-1], fraction: 0}",
            r"there is no cable between leaf-0 and leaf-1; write the two ends",
        ),
        (
            "{cable: [leaf-0], fraction: 0}",
            r"cable: two names are expected here, as in \[leaf-0, spine-1\]",
        ),
        (
            "{host: n1, fraction: 0}",
            r"faults: 0: fraction: write one of the rate, from 0 to 1",
        ),
        (
            "{swap: [n1, [leaf-0, level-2-0]]}",
            r"swap: does not swap two of a kind; write two hosts, or two cables",
        ),
        (
            "{fraction: 0.5}",
            r"faults: 0: does not say what is wrong; write one of cable, switch, host and swap",
        ),
    ],
)
def test_a_malformed_fault(small, text, message):
    with pytest.raises(TwinError, match=message):
        faults(small, text)


def test_malformed_dragonflies(small):
    text = "kind: dragonfly\n  groups: 9\n  routers: 2\n  hosts: 1\n  global_ports: 4"
    old = "kind: fat_tree\n  ports: 4\n  levels: 3"
    assert small((old, text)).topology.groups == 9
    with pytest.raises(
        TwinError,
        match="global_ports: 2 routers with 3 do not reach the 8 other groups; write more",
    ):
        small((old, text.replace("global_ports: 4", "global_ports: 3")))
    with pytest.raises(TwinError, match="hosts: there is room for 6 of the 8 nodes"):
        small((old, text.replace("groups: 9", "groups: 3")))


@pytest.mark.parametrize(
    "topology, most",
    [
        (FatTree(512, 8, 4, 4, 4, 1), 1),
        (FatTree(96, 16, 2, 12, 4, 100), 1),
        (Dragonfly(72, 9, 4, 2, 2, 100, 50), 3),
    ],
)
def test_the_parts_of_a_topology_are_counted_without_making_them(topology, most):
    wiring = topology.wiring()
    parts = len(wiring.switches) + len(wiring.cables)
    assert parts <= topology.parts <= most * parts


def test_parts_beyond_all_bounds_are_not_counted_to_their_end():
    assert FatTree(1000, 64, 8, 32, 32, 1).parts > MOST_PARTS
