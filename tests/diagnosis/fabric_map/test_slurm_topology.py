# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology in YAML, and its lists of nodes."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.fabric_map import slurm_topology

TREE = {
    "topology": "t",
    "tree": {"switches": [{"switch": "top", "children": "s[0-1]"}, {"switch": "s0", "nodes": "n[0-1]"}]},
}
BLOCK = {"topology": "b", "cluster_default": True, "block": {"blocks": [{"block": "b0", "nodes": "n[0-3]"}]}}


def test_the_default_topology_is_taken_or_the_first():
    assert slurm_topology.of_yaml([TREE]) == {"s0": ["n0", "n1"]}
    assert slurm_topology.of_yaml([TREE, BLOCK]) == {"b0": ["n0", "n1", "n2", "n3"]}


@pytest.mark.parametrize("data", [None, [], {}, [1], [{"flat": True}], [{"tree": {"switches": [{"nodes": "n1"}]}}]])
def test_what_is_no_topology_is_refused(data):
    with pytest.raises(OutputError):
        slurm_topology.of_yaml(data)


@pytest.mark.parametrize("text", ["n[1-", "n[2-1]", "n[a]", "n 1", "n[0-9][0-9][0-9][0-9][0-9][0-9]", ",", "n[]"])
def test_what_is_no_list_of_nodes_is_refused(text):
    with pytest.raises(OutputError):
        slurm_topology.hostlist(text)
