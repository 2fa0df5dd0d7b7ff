# SPDX-License-Identifier: BSD-3-Clause
"""Groups, misplaced nodes, slow nodes and detours on fabrics whose latencies are known."""

import json

import numpy as np
import pytest

from fabric_checks.analysis import group_medians
from fabric_checks.core.finding import Severity
from fabric_checks.diagnosis.latency_map import evaluation
from fabric_checks.diagnosis.latency_map.metrics import METRICS
from fabric_checks.fabric_map.model import of_switches
from tests.diagnosis.latency_map.model import HOP_US, NEAR_US, latencies, text_of
from tests.own_outputs import summed

LEAVES = np.arange(64) // 16


def report_of(text, known=None):
    return evaluation.of_run(evaluation.read(text), known)


def findings(latency_us, known=None, **more):
    """Return the findings as (kind, ranks, certain)."""
    report = report_of(text_of(latency_us, **more), known)
    return {(found.kind, found.ranks, found.is_fault) for found in report.findings}


def swapped(one, other, leaf=LEAVES):
    at = np.array(leaf)
    at[[one, other]] = at[[other, one]]
    return at


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_the_groups_are_the_leaves(noise):
    report = report_of(text_of(latencies(LEAVES), noise=noise))
    assert report.findings == ()
    assert NEAR_US < report.border_us < NEAR_US + HOP_US
    assert (
        len({(int(a), int(b)) for a, b in zip(report.group, LEAVES, strict=True)}) == 4
    )


ONE = np.zeros(64, dtype=int)
SLOW_9, FAR = {("slow node", (9,), True)}, {("detour", (3, 40), True)}


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    "latency_us, expected",
    [
        (latencies(swapped(1, 33)), {("misplaced", (1, 33), True)}),
        (latencies(np.arange(64) % 4), set()),  # cabled by turns
        (latencies(LEAVES, node={9: 0.8}), SLOW_9),
        (latencies(LEAVES, node={9: 0.25}), SLOW_9),
        (latencies(ONE, node={9: 0.8}), SLOW_9),
        # A hop farther: it may be alone behind a switch.
        (latencies(ONE, node={9: 0.3}), {("lone nodes", (9,), False)}),
        (latencies(np.repeat([0, 1, 2], [31, 31, 2]), node={9: 0.8}), SLOW_9),
        (latencies(LEAVES, pair={(3, 40): 0.6}), FAR),
        # Groups of two have no expectation of their own.
        (latencies(np.arange(64) // 2, pair={(3, 40): 1.0}), FAR),
    ],
)
def test_what_is_slow_or_misplaced_is_named(latency_us, expected, noise):
    assert findings(latency_us, noise=noise) == expected


def test_the_values():
    report = report_of(text_of(latencies(LEAVES, pair={(3, 40): 1.0})))
    found = report.metrics()
    assert list(found) == [metric.name for metric in METRICS]
    assert found["median_latency"] == pytest.approx(NEAR_US + HOP_US)
    assert found["largest_pair_latency"] == pytest.approx(NEAR_US + HOP_US + 1.0)
    assert found["latency_spread"] == pytest.approx(100 * HOP_US / (NEAR_US + HOP_US))
    assert found["faults"] == 1
    *_, slowest, groups = report.all_findings()
    assert report.limits["node_us"] is not None and slowest.hosts == ("n003", "n040")
    assert groups.text.startswith("4 groups of nodes nearer to each other than ")
    assert groups.text.endswith(f"each of {np.bincount(LEAVES)[0]} nodes")
    assert json.loads(json.dumps(groups.as_dict()))["severity"] == "note"


def test_the_words_of_misplaced_hosts():
    (found,) = report_of(text_of(latencies(swapped(1, 33)))).findings
    assert "n001 and n033 are in each other's place" in found.text and found.hosts == (
        "n001",
        "n033",
    )
    leaf = np.array(LEAVES)
    leaf[20] = 3
    (found,) = report_of(text_of(latencies(leaf))).findings
    assert (found.kind, found.ranks) == ("misplaced", (20,))
    assert "n020 is near n048, n049, n050, n051, n052 and 11 more" in found.text


def test_switches_that_are_known_count_more_than_the_order_of_names():
    """Two hosts of neighbouring leaves at their border: the order of names does not show it."""
    at = swapped(15, 16)
    hosts = [f"n{rank:03}" for rank in range(64)]
    known = of_switches(
        "a test",
        {f"leaf-{leaf}": hosts[16 * leaf : 16 * leaf + 16] for leaf in range(4)},
    )
    assert findings(latencies(at), known) == {("misplaced", (15, 16), True)}
    assert findings(latencies(LEAVES), known) == set()
    other = of_switches("a test", {f"leaf-{leaf}": hosts[leaf::4] for leaf in range(4)})
    assert findings(latencies(np.arange(64) % 4), other) == set()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leaf", [LEAVES, swapped(1, 33)])
def test_the_order_of_ranks_decides_nothing(leaf, seed):
    order = np.random.default_rng(seed).permutation(64)
    hosts = [f"n{node + 1}" for node in range(64)]
    text = text_of(
        latencies(leaf)[np.ix_(order, order)], hosts=[hosts[node] for node in order]
    )
    assert [found.hosts for found in report_of(text).findings] == [("n2", "n34")] * (
        leaf is not LEAVES
    )


def test_the_order_of_rows_decides_nothing():
    text = text_of(latencies(swapped(1, 33), node={9: 0.8}), noise=0.02)
    lines = text.splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if not line.startswith("#")]
    rows = np.random.default_rng(1).permutation(lines[at[0] : at[-1] + 1])
    mixed = summed("".join([*lines[: at[0]], *rows, *lines[at[-1] + 1 :]]))
    assert report_of(mixed).findings == report_of(text).findings


def test_several_detours_are_one_finding():
    (found,) = report_of(
        text_of(latencies(LEAVES, pair={(3, 40): 0.6, (4, 41): 0.5}))
    ).findings
    assert found.ranks == (3, 40) and "and so are 1 more pair" in found.text


def test_what_only_some_measurements_show_is_no_fault():
    """All rows that the lower rank starts have the pair slow, the others do not."""
    slow = text_of(latencies(LEAVES, pair={(3, 40): 3.0})).splitlines(keepends=True)
    fast = text_of(latencies(LEAVES)).splitlines(keepends=True)
    mixed = [
        a if " 3 40 " in a else b for a, b in zip(slow[:-1], fast, strict=False)
    ] + fast[-1:]
    assert mixed != fast and mixed != slow
    assert report_of(summed("".join(mixed))).findings == ()


@pytest.mark.parametrize(
    "leaf", [np.zeros(32, dtype=int), np.arange(32) // 8], ids=["a star", "leaves"]
)
@pytest.mark.parametrize("more", [0.2, 0.3, 0.8])
@pytest.mark.parametrize(
    "far", [range(0, 32, 4), range(16, 32), (3, 4, 9, 14, 15, 20, 26, 31)]
)
def test_nodes_of_two_kinds_are_no_faults_and_a_fault_among_them_is(leaf, more, far):
    own = dict.fromkeys(far, more / 2)
    healthy = findings(latencies(leaf, node=own), noise=0.02)
    assert not any(sure for _, _, sure in healthy)
    own[10] = own.get(10, 0.0) + 1.2
    found = findings(latencies(leaf, node=own), noise=0.02)
    assert {(kind, ranks) for kind, ranks, sure in found if sure} == {
        ("slow node", (10,))
    }


def test_nodes_of_two_kinds_are_counted_and_named():
    own = dict.fromkeys(range(8), 0.4)
    (found,) = report_of(text_of(latencies(np.zeros(32, dtype=int), node=own))).findings
    assert not found.is_fault
    assert (
        "24 of 32 nodes" in found.text
        and "8 (n000, n001, n002 and 5 more) are 0.40 us farther" in found.text
    )


def test_a_measurement_in_a_hundred_at_twice_the_latency_blames_nobody():
    random = np.random.default_rng(5)
    for seed in range(8):
        lines = text_of(latencies(LEAVES), noise=0.02, seed=seed).splitlines()
        for at, line in enumerate(lines):
            if not line.startswith("#") and random.random() < 0.01:
                *row, median, least = line.split()
                lines[at] = " ".join([*row, f"{2 * float(median):.6g}", least])
        assert report_of(summed("\n".join(lines) + "\n")).findings == (), seed


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_fault_that_would_have_been_named_is_named(seed):
    limits = report_of(text_of(latencies(LEAVES), noise=0.02, seed=seed)).limits
    slow = latencies(LEAVES, node={9: limits["node_us"]})
    far = latencies(LEAVES, pair={(3, 40): limits["pair_us"]})
    assert findings(slow, noise=0.02, seed=seed) == SLOW_9
    assert findings(far, noise=0.02, seed=seed) == FAR
    assert max(limits.values()) < 0.3


@pytest.mark.parametrize(
    "sizes",
    [
        (16,) * 4,
        (64,),
        (5, 3),
        (16, 16, 16, 1),
        (32, 1),
        (7, 1),
        (6, 2),
        (3, 1, 2, 1, 1),
        (1,) * 8,
        (2,),
        (3,),
    ],
)
def test_nobody_is_blamed_on_a_healthy_fabric(sizes):
    leaf = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(4):
        for noise, own in (
            (0.0, 0.0),
            (0.01, 0.01),
            (0.05, 0.0),
            (0.03, 0.02),
            (0.3, 0.0),
        ):
            report = report_of(
                text_of(latencies(leaf), noise=noise, own=own, seed=seed)
            )
            assert report.metrics()["faults"] == 0, (seed, noise, own, report.findings)


def test_noise_is_said_and_nothing_else():
    report = report_of(text_of(latencies(swapped(1, 33)), noise=0.3))
    (found,) = report.findings
    assert found.kind == "noise" and not found.is_fault and "30 %" in found.text
    assert report.limits == {"node_us": None, "pair_us": None}


def test_some_rounds_make_no_groups_but_find_a_slow_node():
    report = report_of(text_of(latencies(LEAVES, node={9: 1.0}), shifts=40))
    assert report.border_us is None
    assert [(found.kind, found.ranks) for found in report.findings] == [
        ("slow node", (9,))
    ]
    assert "only 1280 of 2016 pairs were measured" in report.all_findings()[-1].text


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(
    "latency_us, expected",
    [
        (latencies(LEAVES), set()),
        (latencies(swapped(15, 16)), {("misplaced", (15, 16), True)}),
        (latencies(LEAVES, node={9: 0.8}), SLOW_9),
        (latencies(ONE), set()),
    ],
)
def test_known_switches_are_the_groups_where_not_all_pairs_were_measured(
    latency_us, expected, noise
):
    hosts = [f"n{rank:03}" for rank in range(64)]
    leaves = {f"leaf-{leaf}": hosts[16 * leaf : 16 * leaf + 16] for leaf in range(4)}
    known = of_switches("a test", leaves)
    assert findings(latency_us, known, noise=noise, shifts=60) == expected


def test_a_quarter_of_the_rounds_confirms_a_misplaced_node():
    """Each pair is measured from one end only: the passes are the halves that have to agree."""
    hosts, leaf = [f"n{rank:03}" for rank in range(128)], np.arange(128) // 16
    leaves = {f"leaf-{each}": hosts[16 * each : 16 * each + 16] for each in range(8)}
    found = findings(
        latencies(swapped(3, 40, leaf)),
        of_switches("a test", leaves),
        noise=0.02,
        shifts=32,
    )
    assert found == {("misplaced", (3, 40), True)}


def test_switches_that_the_pairs_contradict_are_no_groups():
    hosts = [f"n{rank:03}" for rank in range(64)]
    known = of_switches("a test", {f"leaf-{leaf}": hosts[leaf::4] for leaf in range(4)})
    report = report_of(text_of(latencies(LEAVES), shifts=60), known)
    assert report.border_us is None and report.findings == ()


def test_the_groups_of_many_nodes_take_few_steps(monkeypatch):
    """The medians of all pairs of groups are taken at once, and each model once."""
    calls = []
    of_rows = group_medians.of_rows
    monkeypatch.setattr(
        group_medians, "of_rows", lambda rows: calls.append(1) or of_rows(rows)
    )
    assert report_of(text_of(latencies(np.arange(128) // 4), noise=0.02)).findings == ()
    assert len(calls) < 128 + 200


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(9, 7), (10, 6), (20, 12), (16, 3)])
def test_leaves_of_different_sizes_are_no_classes_of_nodes(sizes, seed):
    """Hosts are cabled in any order, latencies have two digits, and a node is farther than the others."""
    random = np.random.default_rng(seed)
    leaf = random.permutation(np.repeat([0, 1], sizes))
    slow = {int(random.integers(len(leaf))): 0.06}
    report = report_of(text_of(latencies(leaf, node=slow), noise=0.004, digits=2))
    assert report.findings == ()
    is_same = report.group[:, None] == report.group
    assert (is_same == (leaf[:, None] == leaf)).all()


def test_an_order_that_may_be_chance_blames_nobody():
    leaf = np.zeros(19, dtype=int)
    leaf[[4, 5, 12]] = 1
    assert findings(latencies(leaf), noise=0.01) == set()
    leaf = np.repeat([0, 1, 2, 3], 8)
    assert findings(latencies(swapped(3, 12, leaf)), noise=0.01) != set()


@pytest.mark.parametrize("nodes", [12, 64])
def test_a_node_that_may_be_alone_behind_a_switch_is_noted_and_no_less_is_claimed(
    nodes,
):
    """Another one like it would not have been found either."""
    report = report_of(text_of(latencies(ONE[:nodes], node={9: 0.3}), noise=0.01))
    (lone,) = report.findings
    assert (lone.kind, lone.ranks, lone.severity) == ("lone nodes", (9,), Severity.NOTE)
    assert "us farther from every other node" in lone.text and "alone" in lone.text
    assert report.limits["node_us"] > 0.3
