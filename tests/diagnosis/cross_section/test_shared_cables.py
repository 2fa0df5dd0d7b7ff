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


def outputs(
    seed, rates=lambda cable: 2, nodes=32, leaf=(8, 4), table="d-mod-k", **slow
):
    """Return map and output of a run: leaves of eight nodes, and four uplinks of twice their rate.

    :param rates: gives another multiple of that rate for a cable, by its leaf and its spine.
    :param leaf: the nodes of a leaf, and its uplinks.
    """
    wiring = FatTree(nodes, 12, 2, *leaf, LINK_MBps).wiring()
    cables = tuple(
        replace(cable, rate_MBps=rates(sorted((cable.a, cable.b))) * LINK_MBps)
        for cable in wiring.cables
    )
    wiring = replace(wiring, cables=cables)
    known = fabric_map.of_routes(wiring, routes(wiring, routing(table)), LINK_MBps)
    return known, run(Fabric(wiring, known, Noise(0.03), seed, **slow))


def analysed(*arguments, **keywords):
    """Return map and analysis of a run; see :func:`outputs`."""
    known, output = outputs(*arguments, **keywords)
    return known, evaluation.of_run(output, known=known)


@pytest.mark.parametrize("share", [0.5, 0.75])
@pytest.mark.parametrize("seed", range(4))
def test_a_cable_at_half_its_rate_is_named_though_no_pair_alone_is_slow(seed, share):
    """Between adapters of 100 Gbit/s such a cable was not named, and a limit of 9 % was claimed."""
    cable = (5 * seed + 1) % 16
    known, report = analysed(seed, arcs={2 * cable: share, 2 * cable + 1: share})
    (fault,) = faults(report.findings)
    assert fault.part == f"cable {known.cables[cable]}"
    assert 0.9 * share < 1 - fault.size < 1.2 * share
    assert report.limits["cable"] is None or report.limits["cable"] > 0.5


@pytest.mark.parametrize(
    ("table", "cable"), [("d-mod-k", 0), ("random", 0), ("random", 4)]
)
def test_rounds_of_suspects_count_where_the_scan_has_too_few(table, cable):
    """The scan of 24 nodes has twelve rounds. With random tables the suspects of cable 0 share another one,
    which is as slow when they are measured again, and was not in the scan."""
    slow = {2 * cable: 0.75, 2 * cable + 1: 0.75}
    known, report = analysed(cable, nodes=24, leaf=(6, 3), table=table, arcs=slow)
    assert [each.part for each in faults(report.findings)] == [
        f"cable {known.cables[cable]}"
    ]


def test_traffic_of_others_after_the_scan_names_no_cable():
    """Suspects of a slow cable, which was as fast as others in the scan."""
    slow, healthy = (outputs(4, arcs=arcs)[1] for arcs in ({2: 0.75, 3: 0.75}, {}))
    known = outputs(4)[0]
    output = replace(slow, phases={**slow.phases, "scan": healthy.scan})
    report = evaluation.of_run(output, known=known)
    assert len(output.phases["together"]) and not faults(report.findings)


def test_cables_of_the_same_pairs_are_named_together():
    """Between two leaves a spine has two cables, and what enters by one leaves by the other."""
    known, report = analysed(4, nodes=16, arcs={8: 0.75, 9: 0.75})
    (fault,) = faults(report.findings)
    ends = [fault.part, *fault.others]
    assert sorted(ends) == [f"cable {known.cables[number]}" for number in (0, 4)]
    assert f"{fault.part} or {fault.others[0]} carries" in fault.text


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


def of_older(*switches, rate=1):
    """Return the rates of cables where some switches have half of what the others have."""
    return lambda ends: rate / 2 if set(switches) & set(ends) else rate


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("switches", [(5,), (1, 2)])
def test_a_spine_or_leaves_of_an_older_generation_are_no_fault(switches, seed):
    """All pairs through such a spine are at half: it was blamed."""
    known, report = analysed(seed, of_older(*switches))
    assert not faults(report.findings) and report.limits["cable"] is None
    cables = [
        number
        for number, arc in enumerate(
            zip(known.starts[::2], known.ends[::2], strict=True)
        )
        if set(arc) & set(switches)
    ]
    for cable in (
        cables[seed],
        [each for each in range(16) if each not in cables][seed],
    ):
        _, report = analysed(
            seed, of_older(*switches), arcs={2 * cable: 0.75, 2 * cable + 1: 0.75}
        )
        assert [each.part for each in faults(report.findings)] == [
            f"cable {known.cables[cable]}"
        ]
        assert not [each for each in report.findings if "intermittent" in each.text]
