# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's lists of nodes, and its trees and blocks."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.fabric_map import slurm_topology
from tests.breakages import refused

TREE = (
    "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[00-03]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[04-06,09]\n"
    "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[00-06,09] Switches=s[0-1]\n"
)
BLOCKS = (
    "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
    "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
)


def test_trees_and_blocks_give_the_switch_of_each_node():
    known = slurm_topology.parse(TREE)
    assert known.switches == ("s0", "s1")
    assert known.hosts == ("n00", "n01", "n02", "n03", "n04", "n05", "n06", "n09")
    assert known.at.tolist() == [0] * 4 + [1] * 4
    assert slurm_topology.parse(BLOCKS).switches == ("b1", "b2")


#: As Slurm 26.05 prints them, and reads them.
RINGS = "RingName=r1 Nodes=n[1-2] RingSize=2\nRingName=r2 Nodes=n[3-4] RingSize=2\n"
SEVERAL = """---
- topology: topo-tree
  cluster_default: true
  tree:
    switches:
      - switch: spine
        children: leaf[1-2]
      - switch: leaf1
        nodes: n[1-2]
      - switch: leaf2
        nodes: n[3-4]
- topology: topo-block
  cluster_default: false
  block:
    block_sizes: [2]
    blocks:
      - block: b1
        nodes: n[1,3]
"""
ONE = """- topology: blocks
  block:
    blocks:
    - {block: b1, nodes: 'n[1-2]'}
    - {block: b2, nodes: 'n[3-4]'}
"""


@pytest.mark.parametrize(
    "text, switches",
    [(RINGS, ("r1", "r2")), (SEVERAL, ("leaf1", "leaf2")), (ONE, ("b1", "b2"))],
)
def test_rings_and_a_topology_yaml_give_the_unit_of_each_node(text, switches):
    assert slurm_topology.is_topology(text)
    known = slurm_topology.parse(text)
    assert (known.switches, known.hosts, known.at.tolist()) == (
        switches,
        ("n1", "n2", "n3", "n4"),
        [0, 0, 1, 1],
    )


@pytest.mark.parametrize(
    "text",
    [
        SEVERAL.replace("default: true", "default: false"),
        "- topology: [\n",
        "- topology: a\n  tree: 3\n",
        ONE.replace("'n[1-2]'", "[n1, n2]"),
    ],
)
def test_a_topology_yaml_without_one_default_is_refused(text):
    with refused("not a topology.yaml with one default topology: "):
        slurm_topology.parse(text)


def test_a_torus_has_no_switches():
    assert not slurm_topology.is_topology("TorusName=t1 Dims=2x2x2 Nodes=n[1-8]\n")


@pytest.mark.parametrize(
    "text",
    [
        "n[1-",
        "n[2-1]",
        "n[a]",
        "n 1",
        "n[0-9][0-9][0-9][0-9][0-9][0-9]",
        ",",
        "n[]",
        "n[0-99999999999]",
        "n[0-199999]a[0-1]",
    ],
)
def test_a_malformed_list_of_nodes_is_refused(text):
    with pytest.raises(OutputError):
        slurm_topology.hostlist(text)


def test_a_name_may_end_in_a_long_number():
    assert slurm_topology.hostlist("i-12345678901,n[1-2]") == [
        "i-12345678901",
        "n1",
        "n2",
    ]
