# SPDX-License-Identifier: BSD-3-Clause
"""Maps that do not fit the run are doubted, and name nothing; those that do are believed."""

from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, map_fit
from fabric_checks.diagnosis.finding import RankFinding, Severity
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run
from lab.fluid.__main__ import Way

NODES = 32


def report_of(table, seed, change=lambda known, random: known, noise=None, **shares):
    wiring, known = wired("fat tree 2", NODES, table)
    output = run(Fabric(wiring, known, noise or Noise(0.03), seed, **shares))
    return evaluation.of_run(output, known=change(known, np.random.default_rng(seed)))


def stale(table):
    """Change the routes to an eighth of the hosts, to those of another table."""

    def changed(known, random):
        other = wired(
            "fat tree 2", NODES, "random" if table == "d-mod-k" else "d-mod-k"
        )[1]
        columns = random.choice(NODES, NODES // 8, replace=False)
        following = known.next.copy()
        following[:, columns] = other.next[:, columns]
        return replace(known, next=following)

    return changed


def swapped(known, random):
    """Let four hosts change places."""
    at = random.choice(NODES, 4, replace=False)
    hosts = list(known.hosts)
    for here, there in zip(at, np.roll(at, 1), strict=True):
        hosts[here] = known.hosts[there]
    return replace(known, hosts=tuple(hosts))


def is_doubted(report):
    return any(finding.kind == "map" for finding in report.findings)


@pytest.mark.parametrize("table", ["d-mod-k", "random"])
def test_tables_and_hosts_that_have_changed_are_doubted_and_name_nothing(table):
    for seed in range(3):
        for change in (stale(table), swapped):
            report = report_of(table, seed, change, arcs={9: 0.75, 8: 0.75})
            assert is_doubted(report)
            assert not any(
                finding.kind in ("cable", "switch", "uplinks")
                for finding in report.findings
            )
            text = next(
                finding.text for finding in report.findings if finding.kind == "map"
            )
            assert "is it from before the last change of cables or tables?" in text
            assert (
                "together carried more than a cable can" in text
                or "no cable that only these share" in text
            )
            assert report.limits["cable"] is None


@pytest.mark.parametrize("table", ["d-mod-k", "random"])
@pytest.mark.parametrize(
    "noise", [Noise(0.03), Noise(0.10), Noise(0.03, bursts=1.0), Noise(0.03, host=0.03)]
)
def test_a_right_map_is_believed_with_faults_and_in_any_noise(table, noise):
    for seed, shares in enumerate(
        ({}, {"arcs": {9: 0.5}}, {"senders": {3: 0.5}, "receivers": {3: 0.5}})
    ):
        assert not is_doubted(report_of(table, seed, noise=noise, **shares))


def fault(kind, part):
    return RankFinding(kind=kind, severity=Severity.FAULT, text="", part=part, size=0.2)


def test_switches_that_leave_slow_pairs_without_one_explanation_are_doubted():
    one, other = (
        fault("uplink", "an uplink of leaf-1"),
        fault("uplink", "an uplink of leaf-2"),
    )
    assert (
        "what is slow would be an uplink of leaf-1, an uplink of leaf-2 at once"
        in map_fit.scattered([one, other], has_routes=False).text
    )
    assert (
        map_fit.scattered(
            [one, fault("group", "what is between n1 to n2")], has_routes=False
        )
        is not None
    )


@pytest.mark.parametrize(
    "kinds", [["uplink"], ["uplink", "node"], ["pair", "pair"], ["group"], []]
)
def test_one_explanation_by_switches_is_believed(kinds):
    found = [fault(kind, f"{kind} {number}") for number, kind in enumerate(kinds)]
    assert map_fit.scattered(found, has_routes=False) is None


@pytest.mark.parametrize(
    "kinds, doubted",
    [(["cable", "group"], True), (["cable", "pair", "pair"], False)],
)
def test_routes_that_leave_many_slow_pairs_without_a_cable_are_doubted(kinds, doubted):
    found = [fault(kind, f"{kind} {number}") for number, kind in enumerate(kinds)]
    assert (map_fit.scattered(found, has_routes=True) is not None) is doubted


@pytest.mark.parametrize("seed", [9_800_006, 9_800_008])
def test_tables_of_another_day_blame_no_healthy_cable(seed):
    """Some of its pairs fit a cable of the old tables; the others remain."""
    columns, _ = Way(32, False, True, "").trial("tables 100% wrong, cable .75", seed)
    assert "among" in columns and "healthy" not in columns


def test_cables_faster_than_hosts_are_no_reason_to_doubt():
    wiring, known = wired("fat tree 2", NODES, "d-mod-k")
    fast = Fabric(
        wiring, known, Noise(0.03), 1, arcs=dict.fromkeys(range(len(known.starts)), 2.0)
    )
    assert not is_doubted(
        evaluation.of_run(run(fast), known=replace(known, rates=None))
    )
