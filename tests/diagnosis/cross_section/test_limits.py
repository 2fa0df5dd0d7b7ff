# SPDX-License-Identifier: BSD-3-Clause
"""The limits that a run states are those of its measurements."""

from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.cross_section.evidence import of_output
from fabric_checks.diagnosis.cross_section.inference import least_loss
from fabric_checks.diagnosis.cross_section.limits import limits
from fabric_checks.diagnosis.cross_section.noise import OF_BEST
from fabric_checks.diagnosis.cross_section.parts import on_map
from fabric_checks.diagnosis.cross_section.words import missed
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run


def output(shape, nodes, table, noise=0.03):
    wiring, known = wired(shape, nodes, table)
    return run(Fabric(wiring, known, Noise(noise), 1)), known


def test_a_limit_is_beyond_chance():
    """By as many standard errors as 95 of 100 such faults need: of four repeats the best one counts."""
    measured, known = output("fat tree 2", 32, "d-mod-k", noise=0.1)
    report = evaluation.of_run(measured, known=known)
    mapped = on_map(of_output(measured), measured.hosts, known)
    error = OF_BEST * mapped.evidence.noise.repeat / 2
    promised = -np.log1p(-report.limits["pair"])
    assert promised == pytest.approx(least_loss(mapped, error, "pair") + 2.2 * error)


def test_a_node_as_slow_as_one_that_looks_slow_and_was_not_measured_alone_is_not_claimed():
    measured, known = output("fat tree 2", 32, "d-mod-k")
    mapped = on_map(of_output(measured), measured.hosts, known)
    evidence = mapped.evidence
    own = (evidence.sender == 5) | (evidence.receiver == 5)
    scan, alone = (
        np.where(own, evidence.scan - 0.4, evidence.scan),
        np.where(own, np.nan, evidence.alone),
    )
    mapped = replace(mapped, evidence=replace(evidence, scan=scan, alone=alone))
    asked = (mapped, 0.06, measured.phases["together"])
    assert limits(*asked)["node"] > 0.3 > 0.15 > limits(*asked, slow_nodes=[5])["node"]


def test_a_pair_has_a_limit_only_where_there_is_time_to_measure_it():
    few, known = output("fat tree 2", 32, "d-mod-k")
    assert 0.06 < evaluation.of_run(few, known=known).limits["pair"] < 0.25
    many, known = output("fat tree 3", 128, "random")
    report = evaluation.of_run(many, known=known)
    found = report.limits
    assert found["pair"] is None and found["node"] is not None
    assert report.metrics()["smallest_pair_fault"] == 100


def test_cables_that_hardly_any_scanned_pair_crosses_are_told():
    """Of two pairs one may be blamed, and not the cable that they share."""
    measured, known = output("fat tree 2", 32, "d-mod-k")
    mapped = on_map(of_output(measured), measured.hosts, known)
    assert not missed(mapped, confirmed=True)
    scan, crosses = mapped.evidence.scan.copy(), (mapped.arcs // 2 == 5).any(axis=1)
    scan[np.flatnonzero(crosses)[3:]] = np.nan
    few = replace(mapped, evidence=replace(mapped.evidence, scan=scan))
    told = f"cables that hardly any scanned pair crosses: {known.cables[5]}"
    assert told in missed(few, confirmed=True)


def test_a_claim_on_pairs_allows_for_another_spread_of_nodes_in_the_next_run():
    measured, known = output("fat tree 2", 32, "d-mod-k")
    mapped = on_map(of_output(measured), measured.hosts, known)

    def claim(nodes, most):
        noise = replace(mapped.evidence.noise, nodes=nodes, most=most)
        own = replace(mapped, evidence=replace(mapped.evidence, noise=noise))
        return limits(own, 0.06, measured.phases["together"])["pair"]

    assert claim(0.04, 0.03) == pytest.approx(claim(0.06, 0.06)) and claim(
        0.04, 0.03
    ) > claim(0.04, 0.04)


def test_a_faster_cable_has_to_lose_more():
    measured, known = output("fat tree 2", 16, "d-mod-k")
    plain, fast = (
        evaluation.of_run(
            measured, known=replace(known, rates=np.full(len(known.starts), rate))
        ).limits["cable"]
        for rate in (1.0, 2.0)
    )
    assert fast == pytest.approx(1 - (1 - plain) / 2, abs=0.01)


def test_a_cable_is_claimed_only_if_its_pairs_would_stay_slow_beside_others():
    measured, known = output("fat tree 2", 32, "d-mod-k")
    report = evaluation.of_run(measured, known=known)
    stays_slow = -np.log1p(-0.06) + 1.645 * report.mapped.evidence.noise.scan
    assert -np.log1p(-report.limits["cable"]) > 0.99 * stays_slow


def test_nodes_that_look_slow_by_sharing_explain_that_their_pairs_are():
    measured, known = output("fat tree 2", 32, "d-mod-k")
    mapped = on_map(of_output(measured), measured.hosts, known)
    found = mapped.evidence
    scan = np.where(
        np.isin(found.sender, (3, 9)) & ~np.isnan(found.scan), np.log(0.6), found.scan
    )
    shared = replace(mapped, evidence=replace(found, scan=scan))
    alone, some = (
        limits(each, 0.06, measured.phases["together"])["pair"]
        for each in (mapped, shared)
    )
    assert alone < 0.3 < 0.4 < some
    blamed = limits(shared, 0.06, measured.phases["together"], slow_nodes=[3, 9])[
        "pair"
    ]
    assert blamed < 0.3
