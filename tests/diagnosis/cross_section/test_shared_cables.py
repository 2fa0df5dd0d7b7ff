# SPDX-License-Identifier: BSD-3-Clause
"""Cables of twice the rate of a node's link, which no pair fills alone."""

from dataclasses import replace

import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults
from fabric_twins.model import fabric_map
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import FatTree
from lab.faults.fabric import Fabric, LINK_MBps, Noise, routing
from lab.faults.program import run


def analysed(seed, **slow):
    """Return map and analysis of a run: leaves of eight nodes, and four uplinks of twice their rate."""
    wiring = FatTree(32, 12, 2, 8, 4, LINK_MBps).wiring()
    cables = tuple(replace(cable, rate_MBps=2 * LINK_MBps) for cable in wiring.cables)
    wiring = replace(wiring, cables=cables)
    known = fabric_map.of_routes(wiring, routes(wiring, routing("d-mod-k")), LINK_MBps)
    output = run(Fabric(wiring, known, Noise(0.03), seed, **slow))
    return known, evaluation.of_run(output, known=known)


@pytest.mark.parametrize("seed", range(4))
def test_a_cable_at_half_its_rate_is_named_though_no_pair_alone_is_slow(seed):
    """Between adapters of 100 Gbit/s such a cable was not named, and a limit of 9 % was claimed."""
    cable = (5 * seed + 1) % 16
    known, report = analysed(seed, arcs={2 * cable: 0.5, 2 * cable + 1: 0.5})
    (fault,) = faults(report.findings)
    assert fault.part == f"cable {known.cables[cable]}" and 0.4 < fault.size < 0.6
    assert report.limits["cable"] is None or report.limits["cable"] > 0.5


def test_one_direction_is_named_as_such():
    known, report = analysed(7, arcs={8: 0.5})
    (fault,) = faults(report.findings)
    assert fault.part == f"cable {known.cables[4]}" and fault.data["side"].startswith(
        "towards "
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_healthy_fabric_and_a_slow_node_name_no_cable(seed):
    assert not faults(analysed(seed)[1].findings)
    _, report = analysed(seed, senders={3: 0.7})
    assert [each.kind for each in faults(report.findings)] == ["sender"]
