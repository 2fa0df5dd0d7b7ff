# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs pass through a part."""

from dataclasses import replace

import numpy as np

from fabric_checks.culprits.cross_section import evidence, parts
from fabric_checks.fabric_map.model import NONE
from tests.faults.fabric import Fabric, Noise, wired
from tests.faults.program import run


def switches(known, output):
    """Return for the first router the pairs through all its cables, those through it, and the ground."""
    ground = parts.lay(evidence.of_output(output), output.hosts, known)
    found = parts.candidates(ground, np.arange(len(ground.evidence.sender)))
    of_first = {each.kind: each.pairs for each in found if each.key == (0,) and each.kind in ("leaf", "switch")}
    return of_first["leaf"], of_first["switch"], ground


def test_a_router_has_the_pairs_of_others_that_pass_through_it():
    wiring, known = wired("dragonfly", 32, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.01), 1))
    cables, through, ground = switches(known, output)
    own = (ground.from_leaf == 0) | (ground.to_leaf == 0)
    assert np.count_nonzero(~own[cables]) > 0
    assert set(cables) <= set(through) and set(np.flatnonzero(own)) <= set(through)
    starts = {int(arc) for arc in np.flatnonzero((known.starts == 0) | (known.ends == 0))}
    assert all(starts & set(ground.arcs[pair].tolist()) for pair in cables)


def test_a_pair_of_which_the_way_is_lost_still_leaves_its_switch():
    wiring, known = wired("dragonfly", 32, "d-mod-k")
    output = run(Fabric(wiring, known, Noise(0.01), 1))
    lost = np.array(known.next)
    lost[0, 16:] = NONE
    cables, _, ground = switches(replace(known, next=lost), output)
    unknown = np.flatnonzero((ground.arcs[:, 0] < NONE) & (ground.from_leaf == 0))
    assert len(unknown) > 0 and set(unknown) <= set(cables)
