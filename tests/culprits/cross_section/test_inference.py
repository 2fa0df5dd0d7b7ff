# SPDX-License-Identifier: BSD-3-Clause
"""The search for the fewest parts that explain which pairs are slow."""

import numpy as np
import pytest

from fabric_checks.culprits.cross_section.evidence import of_output
from fabric_checks.culprits.cross_section.inference import _Choice, _Search
from fabric_checks.culprits.cross_section.parts import candidates, lay
from fabric_checks.parsers import rotate


class _BySides(_Search):
    """A search that comes upon the sides of a node before it comes upon the node."""

    def next(self, chosen):
        sides = _Search(self.ground, [part for part in self.parts if part.kind != "node"])
        return sides.next(chosen)

    def __init__(self, ground, parts):
        super().__init__(ground, parts)
        self.ground = ground


@pytest.fixture
def searched(golden):
    """Return the ground and the parts of a run in which one node of eight is slow."""
    output = rotate.parse(golden("rotate/mpich-5.0.2.busy.txt"))
    ground = lay(of_output(output), output.hosts, None)
    return ground, candidates(ground, np.flatnonzero(ground.evidence.alone < -0.1))


def kinds(chosen):
    return [each.part.kind for each in chosen]


def test_both_sides_of_a_node_are_the_node(searched):
    """One by one neither side is exchanged for the node: beside the other it explains no more, and costs more."""
    search = _Search(*searched)
    (node,) = search.best()
    assert node.part.kind == "node"
    sides = _BySides(*searched)
    one = sides.next([])
    other = sides.next([one])
    assert sorted(kinds([one, other])) == ["receiver", "sender"]
    assert search.next([one]).part.kind == other.part.kind
    (joined,) = _BySides(*searched).best()
    assert (joined.part.kind, joined.part.key) == ("node", node.part.key)
    assert joined.level == node.level
    assert not {"sender", "receiver"} & {part.kind for part in joined.others}


def test_sides_of_two_nodes_stay_two(searched):
    ground, _ = searched
    search = _Search(ground, candidates(ground, np.arange(len(ground.evidence.sender))))
    sides = {(part.kind, *part.key): part for part in search.parts}
    two = [_Choice(sides["sender", 0], np.log(0.5)), _Choice(sides["receiver", 1], np.log(0.5))]
    assert search.joined(two) == two
