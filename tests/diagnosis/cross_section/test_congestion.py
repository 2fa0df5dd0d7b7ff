# SPDX-License-Identifier: BSD-3-Clause
"""Flows that collapse at a switch, and what only looks like that; lab.physics has the former."""

import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults
from fabric_twins.model import fabric_map
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import Dragonfly
from lab.faults.fabric import Fabric, LINK_MBps, Noise, routing
from lab.faults.program import run


@pytest.mark.parametrize("cable", [0, 1])
def test_suspects_of_one_cable_are_no_collapse_of_the_switch_at_its_end(cable):
    """Five pairs of a slow cable that are measured again at once have a fifth of it each."""
    wiring = Dragonfly(15, 1, 3, 5, 1, LINK_MBps, LINK_MBps).wiring()
    known = fabric_map.of_routes(wiring, routes(wiring, routing("d-mod-k")), LINK_MBps)
    slow = {2 * cable: 0.75, 2 * cable + 1: 0.75}
    output = run(Fabric(wiring, known, Noise(0.02), cable, arcs=slow))
    report = evaluation.of_run(output, known=known)
    assert [each.part for each in faults(report.findings)] == [
        f"cable {known.cables[cable]}"
    ]
