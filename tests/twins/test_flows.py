# SPDX-License-Identifier: BSD-3-Clause
"""rotate by flows, compared with the program in SimGrid."""

import numpy as np
import pytest

from fabric_checks.parsers import rotate
from fabric_twins import flows, simulate
from fabric_twins.errors import TwinError
from fabric_twins.simulate import Bounds
from tests.twins import simulation
from tests.twins.conftest import SMALL

_TREE = """\
  kind: fat_tree
  ports: 8
  levels: 3
  link_MBps: 90
  routing: {kind: destination-table, seed: 3}
"""
_DRAGONFLY = """\
  kind: dragonfly
  groups: 3
  routers: 4
  hosts: 2
  global_ports: 2
  link_MBps: 90
  routing: {kind: d-mod-k}
"""
_FAULTS = """\
faults:
- {host: n05, fraction: 0.5}
- {cable: [leaf-1, level-2-2], fraction: 0.3}
- {cable: [leaf-2, level-2-0], fraction: 0}
"""


@simulation.simgrid
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_TREE + _FAULTS, id="random routes, faults"),
        pytest.param(
            _TREE + _FAULTS + "host_bus: {duplex: half, rate_MBps: 70}\n",
            id="half duplex",
        ),
        pytest.param(_DRAGONFLY, id="dragonfly"),
    ],
)
def test_long_messages_of_simulated_processes_get_the_same(small, text):
    old = SMALL[SMALL.index("topology:") :]
    twin = small(("nodes: 8", "nodes: 24"), (old, f"topology:\n{text}"))
    found = flows.matrix(twin, 6)
    options = ("--size", "4M", "--messages", "1", "--tests", "1", "--shifts", "6")
    scan = rotate.parse(simulate.output(twin, 24, "rotate", options, Bounds())).scan
    assert len(scan.MBps) == len(found.measured)
    assert found.MBps[scan.sender, scan.receiver - 12] == pytest.approx(
        scan.MBps, rel=0.01
    )
    assert len(set(np.round(found.measured))) > 1, "some pairs share a cable"


def test_fewer_rounds_are_those_of_the_program(small):
    matrix = flows.matrix(small(), 2)
    assert [matrix.MBps[0, shift] > 0 for shift in range(4)] == [
        True,
        False,
        False,
        True,
    ]


def test_more_pairs_than_can_be_shown_are_refused(small):
    twin = small(
        ("nodes: 8", "nodes: 24000"),
        (SMALL[SMALL.index("  kind: fat_tree") :], "  kind: star\n"),
    )
    with pytest.raises(
        TwinError,
        match=r"small\.yaml: nodes: 24000 make more pairs than the \d+ that can be shown",
    ):
        flows.matrix(twin)
