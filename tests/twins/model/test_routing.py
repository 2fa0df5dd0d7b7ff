# SPDX-License-Identifier: BSD-3-Clause
"""Routing: every way arrives, and what is known of the kinds."""

from collections import Counter

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import Dragonfly, FatTree, Routing, with_faults

D_MOD_K = Routing("d-mod-k", 0, "x.yaml: topology.routing")
SEEDED = Routing("destination-table", 1, "x.yaml: topology.routing")


def busiest_by_shift(wiring, ways):
    """Return the flows on the busiest arc, over all shifts of all hosts by a number."""
    nodes = len(wiring.hosts)
    busiest = []
    for shift in range(1, nodes):
        load = Counter(
            arc
            for host in range(nodes)
            for arc in ways.way(wiring, host, (host + shift) % nodes)
        )
        busiest.append(max(load.values(), default=0))
    return max(busiest)


@pytest.mark.parametrize("k, levels, nodes", [(4, 3, 16), (8, 2, 32), (8, 3, 128)])
def test_d_mod_k_never_congests_a_shift_on_a_whole_tree(k, levels, nodes):
    wiring = FatTree(nodes, k, levels, k // 2, k // 2, 100).wiring()
    assert busiest_by_shift(wiring, routes(wiring, D_MOD_K)) == 1


def test_a_random_table_congests_and_follows_from_its_seed():
    wiring = FatTree(32, 8, 2, 4, 4, 100).wiring()
    ways = routes(wiring, SEEDED)
    assert busiest_by_shift(wiring, ways) > 2
    assert routes(wiring, SEEDED) == ways
    assert routes(wiring, Routing("destination-table", 2, "")).next != ways.next


def test_a_random_table_is_the_same_on_every_machine():
    """The first spine or the second, by BLAKE2b of "1 leaf-0 n2" and so on, modulo 2."""
    wiring = FatTree(8, 4, 2, 2, 2, 100).wiring()
    arcs = routes(wiring, SEEDED).next[0]
    assert [arc // 2 for arc in arcs[2:]] == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "wiring",
    [
        FatTree(16, 4, 3, 2, 2, 1).wiring(),
        FatTree(20, 8, 2, 6, 2, 1).wiring(),
        Dragonfly(72, 9, 4, 2, 2, 1, 1).wiring(),
    ],
)
@pytest.mark.parametrize("routing", [D_MOD_K, SEEDED], ids=lambda routing: routing.kind)
def test_every_way_is_connected_and_arrives(wiring, routing):
    ways = routes(wiring, routing)
    for source, start in enumerate(wiring.at):
        for destination, end in enumerate(wiring.at):
            at = start
            for arc in ways.way(wiring, source, destination):
                assert ways.arcs[arc].start == at
                at = ways.arcs[arc].end
            assert at == end


def test_a_dragonfly_needs_three_hops_at_most():
    wiring = Dragonfly(72, 9, 4, 2, 2, 1, 1).wiring()
    ways = routes(wiring, D_MOD_K)
    assert max(len(ways.way(wiring, a, b)) for a in range(72) for b in range(72)) == 3


def test_a_broken_spine_is_routed_around(small):
    twin = small(added="faults: [{switch: spine-0, fraction: 0}]\n")
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    assert busiest_by_shift(wiring, routes(wiring, twin.routing)) > 1


def test_an_unreachable_host_is_one_line(small):
    broken = "{cable: [leaf-0, level-2-0], fraction: 0}, {cable: [leaf-0, level-2-1], fraction: 0}"
    twin = small(added=f"faults: [{broken}]\n")
    message = "host n0 cannot be reached from leaf-1; remove the faults that cut it off"
    with pytest.raises(TwinError, match=message):
        routes(with_faults(twin.topology.wiring(), twin.faults), twin.routing)
