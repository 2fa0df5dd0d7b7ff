# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs pass through a part."""

from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evidence, parts
from fabric_checks.fabric_map.model import NONE, of_switches
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run


def switches(known, output):
    """Return for the first router the pairs through all its cables, those through it, and the mapped."""
    mapped = parts.on_map(evidence.of_output(output), output.hosts, known)
    found = parts.candidates(mapped, np.arange(len(mapped.evidence.sender)))
    of_first = {
        each.kind: each.pairs
        for each in found
        if each.key == (0,) and each.kind in ("leaf", "switch")
    }
    return of_first["leaf"], of_first["switch"], mapped


def test_a_router_has_the_pairs_of_others_that_pass_through_it():
    wiring, known = wired("dragonfly", 32, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.01), 1))
    cables, through, mapped = switches(known, output)
    own = (mapped.from_leaf == 0) | (mapped.to_leaf == 0)
    assert np.count_nonzero(~own[cables]) > 0
    assert set(cables) <= set(through) and set(np.flatnonzero(own)) <= set(through)
    starts = {
        int(arc) for arc in np.flatnonzero((known.starts == 0) | (known.ends == 0))
    }
    assert all(starts & set(mapped.arcs[pair].tolist()) for pair in cables)


def test_a_pair_of_which_the_way_is_lost_still_leaves_its_switch():
    wiring, known = wired("dragonfly", 32, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.01), 1))
    lost = np.array(known.next)
    lost[0, 16:] = NONE
    cables, _, mapped = switches(replace(known, next=lost), output)
    unknown = np.flatnonzero((mapped.arcs[:, 0] < NONE) & (mapped.from_leaf == 0))
    assert len(unknown) > 0 and set(unknown) <= set(cables)


@pytest.mark.parametrize("routing", ["adaptive", "hashed", "unknown"])
def test_without_static_routing_no_cable_is_a_part(routing):
    wiring, known = wired("fat tree 2", 32, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.01), 1))
    mapped = parts.on_map(
        evidence.of_output(output), output.hosts, replace(known, routing=routing)
    )
    kinds = {
        part.kind for part in parts.candidates(mapped, np.flatnonzero(mapped.across))
    }
    assert kinds == {
        "pair",
        "sender",
        "receiver",
        "node",
        "leaf out",
        "leaf in",
        "leaf",
        "switch",
    }
    assert not mapped.corrected


def of_slow(*slow):
    """Return the parts of a fat tree of which the switches are known, and the mapped, where all is slow from
    some leaf to some host: the arguments are such leaves and hosts."""
    wiring, _ = wired("fat tree 2", 32, "d-mod-k")
    output = run(Fabric(wiring, wired("fat tree 2", 32, "d-mod-k")[1], Noise(0.01), 1))
    members = {}
    for host, switch in zip(wiring.hosts, wiring.at, strict=True):
        members.setdefault(wiring.switches[switch], []).append(host)
    mapped = parts.on_map(
        evidence.of_output(output),
        output.hosts,
        of_switches("Slurm", members, "static"),
    )
    of_pairs = [
        mapped.across & (mapped.from_leaf == leaf) & (mapped.evidence.receiver == host)
        for leaf, host in slow
    ]
    pairs = np.flatnonzero(np.any(of_pairs, axis=0))
    alone, bound = mapped.evidence.alone.copy(), mapped.evidence.bound.copy()
    alone[pairs] = bound[pairs] = -0.5
    mapped = replace(
        mapped, evidence=replace(mapped.evidence, alone=alone, bound=bound)
    )
    return parts.candidates(mapped, pairs), mapped


def test_a_cable_into_a_leaf_has_the_pairs_to_the_hosts_behind_it():
    found, mapped = of_slow((0, 28), (1, 28), (2, 28))
    leaf = int(mapped.leaf[28])
    (into,) = [
        each for each in found if each.kind == "downlink" and each.key == (leaf, 28)
    ]
    assert set(mapped.evidence.receiver[into.pairs]) == {28}
    assert mapped.across[into.pairs].all()


@pytest.mark.parametrize(
    "slow, is_one",
    [
        ([(0, 28), (1, 20)], True),
        ([(0, 28), (0, 20)], False),
        ([(0, 28), (1, 28)], False),
    ],
)
def test_a_switch_above_has_ways_from_several_leaves_to_several(slow, is_one):
    found, mapped = of_slow(*slow)
    assert mapped.leaf[20] != mapped.leaf[28]
    assert any(each.kind == "above" for each in found) is is_one
