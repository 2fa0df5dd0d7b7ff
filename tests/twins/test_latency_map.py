# SPDX-License-Identifier: BSD-3-Clause
"""The latency map of twins: hops show, and so do hosts that took each other's place."""

from dataclasses import replace

from fabric_checks.core.paths import ROOT
from fabric_checks.diagnosis.latency_map import evaluation
from fabric_twins import plan, simulate
from fabric_twins.model.topology import Fault
from fabric_twins.smpirun import PROGRAM_OPTIONS
from tests.twins.simulation import simgrid

PLANNED = ROOT / "config/twins/examples/planned-cluster.yaml"


def report(*faults):
    """Return the map of the planned cluster: 128 nodes on leaves of 16, a tenth of a microsecond a hop."""
    twin = replace(plan.load(PLANNED)[0].twin, faults=faults)
    text = simulate.output(
        twin, 128, "latency_map", PROGRAM_OPTIONS["latency_map"], simulate.Bounds()
    )
    return evaluation.of_run(evaluation.read(text))


@simgrid
def test_the_leaves_of_a_twin_are_its_groups():
    found = report()
    assert found.findings == ()
    assert [
        sorted(set(found.group[start : start + 16].tolist()))
        for start in range(0, 128, 16)
    ] == [[int(found.group[start])] for start in range(0, 128, 16)]
    assert len(set(found.group.tolist())) == 8


@simgrid
def test_swapped_hosts_of_a_twin_are_named():
    found = report(Fault("swap", (("n020",), ("n100",)), 1.0, "here"))
    assert [(each.kind, each.ranks, each.is_fault) for each in found.findings] == [
        ("misplaced", (20, 100), True)
    ]
