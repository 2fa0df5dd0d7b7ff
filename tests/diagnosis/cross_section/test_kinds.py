# SPDX-License-Identifier: BSD-3-Clause
"""Healthy nodes of several kinds are told and not blamed; a fault inside of a kind is named."""

import numpy as np
import polars as pl
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, kinds, parts
from fabric_checks.diagnosis.cross_section.search import Search
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
@pytest.mark.parametrize("share, rate", [(0.125, 0.8), (0.25, 0.9), (0.5, 0.6)])
def test_nobody_of_a_healthy_kind_is_blamed(which, share, rate):
    trial = Trial("healthy", 0.0, 32, kinds=(share, rate, which))
    assert [outcome(trial, seed)[0] for seed in range(2)] == ["right"] * 2


@pytest.mark.parametrize("share, rate", [(0.25, 0.9), (0.25, 0.5)])
def test_a_fault_inside_of_a_kind_is_named(share, rate):
    trial = Trial("host", 0.3, 32, kinds=(share, rate, "at random"))
    assert [outcome(trial, seed)[0] for seed in range(1000, 1002)] == ["right"] * 2


def test_a_slow_node_of_the_smallest_kind_is_one_of_it():
    found = report(dict.fromkeys((3, 9, 20, 27), 0.8), faults={27: 0.75})
    (fault,) = (each for each in found.findings if each.is_fault)
    assert fault.part == "node n27" and "of the rate of its class" in fault.text
    assert "28 of 32 nodes" in of(found, "node classes")[0].text


@pytest.mark.parametrize("rate, seed", [(0.78, 42), (0.78, 55), (0.6, 2), (0.6, 8)])
def test_a_switch_is_not_blamed_for_the_kind_of_its_nodes(rate, seed):
    wiring, known = wired("fat tree 2", 32, "random")
    output = run(
        Fabric(
            wiring, known, Noise(0.03), seed, kinds=dict.fromkeys(range(8, 16), rate)
        )
    )
    assert not evaluation.of_run(output, None, known).has_faults


def test_a_node_of_a_fast_kind_is_claimed_beyond_the_slowest_kind_only():
    assert (
        report(dict.fromkeys(range(8, 16), 0.8)).limits["node"]
        > 0.2
        > report({}).limits["node"]
    )


@pytest.mark.parametrize("kind", ["node", "sender", "receiver"])
def test_what_a_node_lost_is_read_back_from_its_pairs_with_slower_kinds(kind):
    """A pair shows no more than what its node lost beyond the pair's own kind."""
    mapped = report(dict.fromkeys(range(8, 16), 0.8)).mapped
    evidence = mapped.evidence
    pairs = np.flatnonzero(
        (evidence.sender == 3) | ((evidence.receiver == 3) if kind == "node" else False)
    )
    part = parts.Part(kind, (3,), 1.0, pairs, np.zeros(len(pairs)))
    search = Search(mapped, [part])
    search.alone = np.zeros(len(evidence.sender))
    search.alone[pairs] = search.levels(part, np.log(0.7))
    fast = np.isin(
        np.where(evidence.sender == 3, evidence.receiver, evidence.sender)[pairs],
        np.arange(8, 16),
    )
    assert search.alone[pairs][~fast] == pytest.approx(np.log(0.7), abs=0.02)
    assert search.alone[pairs][fast] == pytest.approx(np.log(0.7 / 0.8), abs=0.03)
    assert search.own(part) == pytest.approx(np.log(0.7))


def test_kinds_are_told_in_one_sentence_and_the_run_is_not_quiet():
    found = report(dict.fromkeys((4, 10, 15, 16, 22, 24, 28, 30), 0.8))
    (finding,) = of(found, "node classes")
    assert finding.text.startswith(
        "2 node classes: 24 of 32 nodes reach 1.02 GB/s, 8 (n04, n10, n15 and 5 more) reach 0.8"
    )
    assert len(finding.text.split()) <= 30
    assert "no fault unless" in finding.details[0]
    assert not found.has_faults


def test_half_of_the_machine_is_told_with_its_switches():
    (finding,) = of(report(dict.fromkeys(range(16, 32), 0.6)), "node classes")
    assert (
        "16 (n16, n17, n18 and 13 more) reach 0.6" in finding.text
        and "all nodes of leaf-4" in finding.details[-1]
    )


def test_half_of_a_machine_too_small_for_kinds_is_said_to_be_possible():
    half = dict.fromkeys(range(2, 4), 0.5)
    (finding,) = of(report(half, nodes=4, is_mapped=False), "sharing")
    assert (
        finding.text
        == "most pairs reach 52 % of the fastest ones: half of the nodes are slow, or they share cables"
    )
    assert finding.details[0] == "no pair of n2, n3 is fast" and not finding.is_fault
    (finding,) = report(half, nodes=4, is_mapped=False, link_MBps=1000.0).findings
    assert "10 pairs (at 51 % of the typical rate) inconclusive" in finding.text
    assert not report({}, nodes=4, is_mapped=False).findings


@pytest.mark.parametrize("nodes", [6, 8, 16])
def test_half_of_a_machine_is_two_kinds(nodes):
    """And what is slow alone for that reason is not said to be slow only while others run."""
    (finding,) = report(
        dict.fromkeys(range(nodes // 2, nodes), 0.5), nodes=nodes, is_mapped=False
    ).findings
    assert finding.kind == "node classes" and finding.text.startswith(
        f"2 node classes: {nodes // 2} of {nodes} nodes reach"
    )


@pytest.mark.parametrize(
    "slower, is_said", [(range(2, 4), True), ((), False), ((3,), False)]
)
def test_half_of_a_machine_is_said_beside_other_observations(slower, is_said):
    found = report(dict.fromkeys(slower, 0.5), nodes=4).findings
    assert any(each.text.startswith("most pairs reach") for each in found) == is_said


def test_all_nodes_slow_against_their_links_are_told():
    (finding,) = of(report({}, link_MBps=2000.0), "line rate")
    assert (
        finding.text
        == "all nodes are slow: isolated pairs reach 1.04 of 2 GB/s (52 % of line rate)"
    )
    assert of(report({}, link_MBps=1660.0), "line rate"), "two fifths are lost"
    assert not of(report({}, link_MBps=1500.0), "line rate"), "as on Feynman"


def test_normal_populations_are_not_split_and_two_are():
    random = np.random.default_rng(1)
    ranks = np.arange(32)
    one = [random.normal(0, 0.01, 32) for _ in range(50)]
    assert [len(kinds._groups(ranks, level, 0.01)) for level in one] == [1] * 50
    two = [level - 0.08 * (ranks % 4 == 0) for level in one]
    assert [len(kinds._groups(ranks, level, 0.01)) for level in two].count(2) >= 48


def rows(phase, rates):
    """Return rows for `kinds.of_rates`: of pairs and shares of a rate, of 32 ranks."""
    pairs = [32 * sender + receiver for sender, receiver in rates]
    return pl.DataFrame(
        {"pair": pairs, "rate": np.log(list(rates.values())), "phase": phase},
        schema_overrides={"pair": pl.Int64},
    )


def kinds_of(table, ranks, **how):
    """Return the kinds of nodes of a table, and of each rank the logarithm of its kind's share."""
    own = kinds.of_rates(kinds.by_pair(table), ranks, **how)
    return kinds.of_shares(own), own


def scan_of(slow, shared, rate=0.6):
    """Return a scan of all pairs: those of slow nodes at a rate, of shared ones all but four; others at
    0.95."""
    wobble = np.random.default_rng(1).normal(1, 0.01, (32, 32))
    return {
        (one, other): wobble[one, other]
        * (
            rate
            if {one, other} & slow or ({one, other} & shared and min(one, other) > 1)
            else 0.95
        )
        for one in range(32)
        for other in range(32)
        if one != other
    }


def test_the_level_of_a_kind_is_that_of_its_pairs_alone_where_links_are_shared():
    slow = set(range(16, 32))
    scan = rows("scan", scan_of(slow, set()))
    alone = rows("alone", {(one, (one + 1) % 32): 0.6 for one in slow})
    control = rows("control", {(0, 1): 1.0, (4, 5): 1.0, (7, 9): 1.0})
    of_scan, _ = kinds_of(scan, 32)
    of_alone, of_kind = kinds_of(pl.concat([scan, alone, control]), 32)
    assert (
        [len(each.ranks) for each in of_scan]
        == [len(each.ranks) for each in of_alone]
        == [16, 16]
    )
    assert of_scan[1].share == pytest.approx(0.6 / 0.95, rel=0.02)
    assert of_alone[1].share == pytest.approx(0.6) and np.exp(
        of_kind[20]
    ) == pytest.approx(0.6)
    as_fast = rows("alone", {(one, (one + 1) % 32): 0.98 for one in slow})
    found, of_kind = kinds_of(pl.concat([scan, as_fast, control]), 32)
    assert len(found) == 1 and not of_kind.any(), "it is the links that are shared"
    few, _ = kinds_of(pl.concat([scan, alone.head(5), control]), 32)
    assert few[1].share == pytest.approx(of_scan[1].share, rel=0.01), (
        "pairs of a few nodes do not speak for a kind"
    )
    slower = rows("control", {(0, 20): 0.58, (21, 5): 0.58, (25, 26): 0.58})
    of_controls, _ = kinds_of(pl.concat([scan, alone, control, slower]), 32)
    assert of_controls[1].share == pytest.approx(0.58)


def test_a_node_that_was_seen_faster_is_none_of_a_slow_kind():
    """Most of its pairs share links; of two it is as fast as the fast kind."""
    slow = set(range(20, 32))
    found, _ = kinds_of(rows("scan", scan_of(slow, {10})), 32)
    assert [len(each.ranks) for each in found] == [20, 12] and 10 in found[0].ranks


def test_a_group_of_which_many_were_seen_faster_is_no_kind():
    found, _ = kinds_of(rows("scan", scan_of({30, 31}, set(range(20, 30)))), 32)
    assert len(found) == 1


def test_nodes_of_which_two_pairs_are_as_fast_as_others_are_no_kind():
    """Where most pairs share links, few of a node have one for themselves."""
    scan = scan_of(set(range(20, 32)), set(), rate=0.85)
    free = {pair: 0.95 for one in range(20, 32) for pair in ((one, 0), (1, one))}
    assert [len(kinds_of(rows("scan", scan | each), 32)[0]) for each in ({}, free)] == [
        2,
        1,
    ]


def test_kinds_that_are_a_tenth_apart_do_not_count_as_noise():
    """Half of the nodes are slower, and half of the pairs share links: the fastest pairs are of both
    kinds."""
    chance = np.random.default_rng(1)
    scan = {
        (one, other): (0.9 if one % 2 or other % 2 else 1.0)
        * np.exp(chance.normal(0, 0.03))
        * chance.choice([1.0, 0.5])
        for one in range(32)
        for other in range(32)
        if one != other
    }
    found, _ = kinds_of(rows("scan", scan), 32)
    assert len(found) == 2 and len(set(found[1].ranks) ^ set(range(1, 32, 2))) <= 2


def test_a_node_of_a_single_pair_has_no_level_and_is_of_the_fastest_kind():
    scan = {
        pair: rate
        for pair, rate in scan_of(set(range(20, 31)), set()).items()
        if 31 not in pair
    }
    found, _ = kinds_of(rows("scan", scan | {(0, 31): 0.95}), 32)
    assert [len(each.ranks) for each in found] == [21, 11] and 31 in found[0].ranks


def test_kinds_within_the_noise_of_repeats_are_one():
    scan = rows("scan", scan_of(set(range(20, 32)), set(), rate=0.85))
    assert [len(kinds_of(scan, 32, repeat=repeat)[0]) for repeat in (0.0, 0.2)] == [
        2,
        1,
    ]


def test_one_pair_alone_shows_that_a_node_is_of_the_fast_kind():
    scan = scan_of(set(range(20, 32)) | {10}, set())
    alone = rows("alone", {(0, 10): 0.95})
    found = [
        kinds_of(table, 32)[0]
        for table in (rows("scan", scan), pl.concat([rows("scan", scan), alone]))
    ]
    assert [(len(each), 10 in each[0].ranks) for each in found] == [
        (2, False),
        (2, True),
    ]


@pytest.mark.parametrize(
    "own, count",
    [
        ({}, 1),
        (dict.fromkeys((16, 20, 24), 0.98), 1),
        ({24: 0.98}, 1),
        ({24: 0.8}, 2),
        (dict.fromkeys((16, 20, 24), 0.8), 2),
    ],
)
def test_what_is_slow_alone_with_one_node_only_is_no_kind(own, count):
    """Three nodes are slow in the scan; alone they ran with the one at fault, and at ``own`` with a healthy
    one."""
    scan = rows("scan", scan_of({16, 20, 24, 28}, set(), rate=0.85))
    with_it = {(28, other): 0.8 for other in (*range(8, 28), 30)} | {
        (other, 28): 0.8 for other in (16, 20, 24)
    }
    alone = rows("alone", with_it | {(other, 1): rate for other, rate in own.items()})
    control = rows("control", {(0, 1): 1.0, (4, 5): 1.0, (7, 9): 1.0})
    found, of_kind = kinds_of(pl.concat([scan, alone, control]), 32)
    assert len(found) == count and of_kind.any() == (count > 1)


def test_what_is_slow_alone_with_the_gpus_of_one_node_only_is_no_kind():
    scan = rows("scan", scan_of(set(range(16, 32)), set(), rate=0.85))
    alone = rows("alone", {(28 + other % 4, other): 0.8 for other in range(8, 28)})
    control = rows("control", {(0, 4): 1.0, (1, 5): 1.0, (2, 6): 1.0})
    assert len(kinds_of(pl.concat([scan, alone, control]), 32, rails=4)[0]) == 1


def test_an_eighth_of_the_nodes_are_a_kind_at_the_rate_of_their_pairs_alone():
    """The best of many pairs alone is faster than the kind."""
    found = report(dict.fromkeys((4, 12, 20, 28), 0.88))
    slow = found.mapped.evidence.kinds[1]
    assert (
        slow.ranks == (4, 12, 20, 28)
        and slow.share == pytest.approx(0.88, rel=0.01)
        and not found.has_faults
    )


def test_nodes_that_were_not_measured_with_each_other_are_no_kind():
    """A shared uplink may be what is slow."""
    scan = scan_of({3, 11, 19, 27}, set(), rate=0.6)
    apart = {
        pair: rate for pair, rate in scan.items() if not {*pair} <= {3, 11, 19, 27}
    }
    assert [len(kinds_of(rows("scan", each), 32)[0]) for each in (scan, apart)] == [
        2,
        1,
    ]


@pytest.mark.parametrize(
    "levels, count", [((0.6, 0.6, 0.61, 0.6), 2), ((0.6, 0.607, 0.613, 0.62), 1)]
)
def test_a_few_slow_nodes_are_a_kind_only_if_they_are_alike(levels, count):
    level = np.ones(32)
    level[[3, 11, 19, 27]] = levels
    pairs = [(one, other) for one in range(32) for other in range(32) if one != other]
    chance = np.random.default_rng(1).normal(0, 0.02, len(pairs))
    scan = {
        pair: min(level[list(pair)]) * np.exp(each)
        for pair, each in zip(pairs, chance, strict=True)
    }
    assert len(kinds_of(rows("scan", scan), 32)[0]) == count
