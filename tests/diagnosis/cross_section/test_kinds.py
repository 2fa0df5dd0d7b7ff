# SPDX-License-Identifier: BSD-3-Clause
"""Healthy nodes of several kinds are told and not blamed; a fault inside of a kind is named."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, kinds
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run
from lab.faults.trials import Trial, outcome


def report(slower, *, nodes=32, faults=None, link_MBps=None, is_mapped=True):
    """Return the report of a run in which some nodes are of a slower kind, and some at fault."""
    wiring, known = wired("fat tree 2", nodes, "d-mod-k")
    faults = {"senders": faults or {}, "receivers": faults or {}}
    output = run(Fabric(wiring, known, Noise(0.03), 1, **faults, kinds=slower))
    return evaluation.of_run(output, link_MBps, known if is_mapped else None)


def of(found, kind):
    return [each for each in found.findings if each.kind == kind]


@pytest.mark.parametrize("which", ["at random", "every k-th", "by leaf"])
@pytest.mark.parametrize(("share", "rate"), [(0.125, 0.8), (0.25, 0.9), (0.5, 0.6)])
def test_nobody_of_a_healthy_kind_is_blamed(which, share, rate):
    trial = Trial("healthy", 0.0, 32, kinds=(share, rate, which))
    assert [outcome(trial, seed)[0] for seed in range(2)] == ["right"] * 2


@pytest.mark.parametrize(("share", "rate"), [(0.25, 0.9), (0.25, 0.5)])
def test_a_fault_inside_of_a_kind_is_named(share, rate):
    trial = Trial("host", 0.3, 32, kinds=(share, rate, "at random"))
    assert [outcome(trial, seed)[0] for seed in range(1000, 1002)] == ["right"] * 2


def test_a_slow_node_of_the_smallest_kind_is_one_of_it():
    found = report(dict.fromkeys((3, 9, 20, 27), 0.8), faults={27: 0.75})
    (fault,) = (each for each in found.findings if each.is_fault)
    assert fault.part == "node n27" and "of the rate of its kind" in fault.text
    assert "28 of 32 nodes" in of(found, "kinds")[0].text


@pytest.mark.parametrize("rate, seed", [(0.78, 42), (0.78, 55), (0.6, 2), (0.6, 8)])
def test_a_switch_is_not_blamed_for_the_kind_of_its_nodes(rate, seed):
    wiring, known = wired("fat tree 2", 32, "random")
    output = run(Fabric(wiring, known, Noise(0.03), seed, kinds=dict.fromkeys(range(8, 16), rate)))
    assert not evaluation.of_run(output, None, known).has_faults


def test_a_node_of_a_fast_kind_is_claimed_beyond_the_slowest_kind_only():
    assert report(dict.fromkeys(range(8, 16), 0.8)).limits.node > 0.2 > report({}).limits.node


def test_kinds_are_told_in_one_sentence_and_the_run_is_not_quiet():
    found = report(dict.fromkeys((4, 10, 15, 16, 22, 24, 28, 30), 0.8))
    (finding,) = of(found, "kinds")
    assert finding.text.startswith("24 of 32 nodes reach 1.02 GB/s, 8 (n04, n10, n15 and 5 more) 0.8")
    assert len(finding.text.split()) <= 30
    assert "not faults unless" in finding.details[0]
    assert not found.has_faults and not found.is_quiet


def test_half_of_the_machine_is_told_with_its_switches():
    (finding,) = of(report(dict.fromkeys(range(16, 32), 0.6)), "kinds")
    assert "16 (n16, n17, n18 and 13 more) 0.6" in finding.text and "all nodes of leaf-4" in finding.details[-1]


def test_half_of_a_machine_too_small_for_kinds_is_said_to_be_possible():
    half = dict.fromkeys(range(4, 8), 0.5)
    (finding,) = report(half, nodes=8, is_mapped=False).findings
    assert finding.text == "most pairs reach 0.50 of the fastest ones: half of the nodes are slow, or they share cables"
    assert finding.details[0] == "no pair of n4, n5, n6 and 1 more is fast" and not finding.is_fault
    (finding,) = report(half, nodes=8, is_mapped=False, link_MBps=1000.0).findings
    assert finding.kind == "line rate"
    assert not report({}, nodes=8, is_mapped=False).findings


@pytest.mark.parametrize("slower, is_said", [(range(8, 16), True), ((), False), ((3,), False)])
def test_half_of_a_machine_is_said_beside_other_observations(slower, is_said):
    found = report(dict.fromkeys(slower, 0.5), nodes=16).findings
    assert any(each.text.startswith("most pairs reach") for each in found) == is_said


def test_all_nodes_slow_against_their_links_are_told():
    (finding,) = of(report({}, link_MBps=2000.0), "line rate")
    assert finding.text == "all nodes are slow: pairs alone reach 1.03 GB/s, 0.52 of the 2 GB/s of a link"
    assert not of(report({}, link_MBps=1400.0), "line rate")


def test_two_slow_nodes_are_no_kind():
    found = report({}, faults={3: 0.8, 17: 0.8})
    assert not of(found, "kinds") and len(of(found, "node")) == 2


def test_normal_populations_are_not_split_and_two_are():
    random = np.random.default_rng(1)
    ranks = np.arange(32)
    one = [random.normal(0, 0.01, 32) for _ in range(50)]
    assert [len(kinds._groups(ranks, level, 0.01)) for level in one] == [1] * 50
    two = [level - 0.08 * (ranks % 4 == 0) for level in one]
    assert [len(kinds._groups(ranks, level, 0.01)) for level in two].count(2) >= 48
