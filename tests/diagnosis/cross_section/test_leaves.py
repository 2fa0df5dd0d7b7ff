# SPDX-License-Identifier: BSD-3-Clause
"""Switches that lost a part of their way to the others, where no pair depends on one cable."""

from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, leaves
from lab.faults.fabric import ManyWays, Noise, wired
from lab.faults.program import run

NODES, LEAF = 32, 3


def report_of(routing, lost=0, *, seed=1, groups=None, fabric="", **shares):
    """Return the report of a run; so many cables of the fourth leaf are dead.

    :param routing: as the analysis knows it; :param fabric: as it is, the same by default.
    """
    wiring, known = wired("fat tree 2", NODES, "d-mod-k")
    arcs = np.flatnonzero(known.starts == LEAF)[:lost] // 2
    dead = {int(arc): 0.0 for cable in arcs for arc in (2 * cable, 2 * cable + 1)}
    ways = ManyWays(
        fabric or routing, wiring, known, Noise(0.03), seed, arcs=dead, **shares
    )
    output = run(ways, known.at.tolist() if groups is None else groups)
    return evaluation.of_run(output, known=replace(known, routing=routing))


def faults(report):
    return [
        (finding.part, finding.side) for finding in report.findings if finding.is_fault
    ]


@pytest.mark.parametrize(
    "routing, lost, words",
    [
        ("adaptive", 1, "about a quarter of its uplink bandwidth"),
        ("adaptive", 2, "about half of its uplink bandwidth"),
        (
            "hashed",
            2,
            "of its uplink bandwidth (both ways): its 4 nodes together send and receive",
        ),
    ],
)
def test_a_switch_without_some_of_its_cables_is_named(routing, lost, words):
    report = report_of(routing, lost)
    assert faults(report) == [("all uplinks of leaf-3", "both ways")]
    assert words in report.findings[0].text
    assert "which cable is not known" in report.findings[0].text


@pytest.mark.parametrize("routing", ["adaptive", "hashed"])
def test_healthy_switches_are_alike_and_no_cable_is_claimed(routing):
    for seed in range(3):
        report = report_of(routing, seed=seed)
        assert faults(report) == []
        assert (
            report.limits["cable"] is None
            and report.metrics()["smallest_cable_fault"] == 100
        )
        assert any(
            line.startswith("cables and switches without hosts")
            for line in report.missed
        )


def test_where_all_switches_met_no_path_between_them_is_listed():
    assert not any("no pair took" in line for line in report_of("adaptive").missed)


def note_of(report):
    return next(
        found.text for found in report.all_findings() if found.kind == "by leaf"
    )


def test_a_slow_node_is_named_and_its_switch_is_not():
    report = report_of("adaptive", senders={5: 0.5}, receivers={5: 0.5})
    assert faults(report) == [("node n05", "both")]


def test_slow_nodes_of_one_switch_are_no_lost_cables():
    """A switch with nodes of an older kind."""
    old = dict.fromkeys(range(4 * LEAF, 4 * LEAF + 4), 0.5)
    report = report_of("adaptive", senders=old, receivers=old)
    assert not any("lost about" in finding.text for finding in report.findings)


def test_of_three_switches_none_is_said_to_have_lost_cables():
    groups = [0] * 12 + [1] * 10 + [2] * 10
    text = note_of(report_of("adaptive", 2, groups=groups))
    assert "among 3 switches the one that has lost cables cannot be identified" in text


def test_what_would_have_been_named_is_stated():
    assert (
        "any leaf's uplinks together slower by 8 % or more"
        in report_of("adaptive").limits_text
    )
    assert 0.15 < report_of("hashed").limits["leaf"] < 0.25


def test_a_switch_is_blamed_only_where_routes_are_known_to_be_adaptive_or_hashed():
    """Tables of static routes may be uneven, and nodes of several kinds get uneven shares."""
    found = report_of("unknown", 1, fabric="adaptive")
    assert (
        faults(found) == []
        and "leaf-3 may have lost about a quarter" in found.findings[0].text
    )
    assert "extras['routing']" in found.findings[0].details[0]
    # A map by which routes are static is doubted here, and nothing is known of them without it.
    static = report_of("static", 1, fabric="adaptive")
    assert faults(static) == []
    old = dict.fromkeys(range(0, NODES, 4), 0.7)
    kinds = report_of("adaptive", 1, kinds=old)
    assert not any("lost about" in finding.text for finding in kinds.findings)
    for report, why in (
        (found, "no leaf is blamed"),
        (static, "no leaf is blamed"),
        (kinds, "of several kinds"),
    ):
        assert why in note_of(report) and report.limits["leaf"] is None


def test_where_routes_are_static_the_phase_blames_no_switch():
    report = report_of("adaptive", 1)
    of = report.mapped, []
    assert leaves.lost(report.ways, *of)
    static = replace(report.ways, routing="static")
    assert (
        leaves.lost(static, *of) == []
        and "tables may be uneven" in leaves.note(static).text
    )


def test_a_switch_that_lost_less_than_another_may_be_in_its_way_and_is_observed():
    """Hashed flows to a switch that lost cables crowd the cables of others to those that it has left."""
    report = report_of("hashed", 2)
    share = report.ways.share.copy()
    share[5] -= 0.3
    share[LEAF] = share[5] - 0.4
    found = leaves.lost(replace(report.ways, share=share), report.mapped, [])
    assert [(each.part, each.is_fault) for each in found] == [
        ("all uplinks of leaf-3", True),
        ("all uplinks of leaf-5", False),
    ]
    assert (
        "leaf-5 has lost about" in found[1].text
        and "look again once that is repaired" in found[1].details[0]
    )
    share[LEAF] = share[5] - 0.1
    alike = leaves.lost(replace(report.ways, share=share), report.mapped, [])
    assert [each.is_fault for each in alike] == [True, True]


def test_switches_that_differ_by_design_make_a_loss_less_certain():
    ways = report_of("adaptive").ways
    uneven = replace(
        ways, share=ways.share + np.linspace(0, 0.5, len(ways.share))[:, None]
    )
    assert uneven.smallest > 3 * ways.smallest
    assert leaves.lost(uneven, report_of("adaptive").mapped, []) == []


def test_what_switches_differ_by_counts_only_beyond_chance():
    ways = replace(report_of("adaptive").ways, error=np.full(3, 0.03))
    alike = replace(ways, share=np.zeros_like(ways.share))
    some = np.array([-1.5, -1, -0.7, 0, 0, 0.7, 1, 1.5])[:, None] * 0.028
    by_chance, by_design = (
        replace(alike, share=alike.share + times * some) for times in (1, 4)
    )
    assert by_chance.smallest == alike.smallest < by_design.smallest
