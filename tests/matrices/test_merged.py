# SPDX-License-Identifier: BSD-3-Clause
"""Tables of several files and repeats, joined and judged."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.core.routing import STATIC, UNKNOWN_ROUTING
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.fabric_map.model import FabricMap, of_switches
from fabric_checks.matrices import again, merged
from fabric_checks.matrices.model import End, PairTable, Row
from tests.breakages import refused
from tests.matrices.made import matrix, table


def nights(
    rates=1.0, *, count=2, nodes=16, noise=0.01, alone=True, devices=None, **fault
):
    """Return a table for each of some nights, each with noise of its own; ``fault`` as ``matrix`` has it."""
    values = [
        rates * matrix(nodes, seed, noise=noise, **fault)
        for seed in range(1, count + 1)
    ]
    return [table(each, alone=alone, devices=devices) for each in values]


def judged(tables, known=None):
    """Return the run and the report of the tables of files 0, 1, ..."""
    (run,) = merged.join([(str(number), each) for number, each in enumerate(tables)])
    return run, evaluation.of_run(run.output, None, known, run.cannot_tell)


def parts(report):
    return [(found.kind, found.part, found.is_fault) for found in report.findings]


def blamed(report):
    return [found.part for found in report.findings if found.is_fault]


def listed(run, report):
    """Return the hosts of the pairs to measure again."""
    return [(one.host, other.host) for one, other in again.pairs(run, report)[0]]


def kinds(is_slow, share):
    """Return the rates of pairs of nodes of two kinds."""
    own = np.where(is_slow, share, 1.0)
    return np.minimum.outer(own, own)


@pytest.mark.parametrize(
    "fault, expected",
    [
        ({}, []),
        ({"node": (5, 0.7)}, [("node", "node n5", True)]),
        ({"sender": (5, 0.8)}, [("sender", "node n5", True)]),
        ({"pair": (2, 9, 0.5)}, [("pair", "n2 to n9", True)]),
    ],
)
def test_repeats_alone_name_who_is_slow(fault, expected):
    run, report = judged(nights(**fault))
    assert parts(report) == expected
    assert bool(listed(run, report)) is bool(expected)


def test_without_repeats_there_are_suspects_and_nothing_is_certain():
    run, report = judged(nights(count=1, node=(5, 0.7)))
    assert parts(report) == [("node", "node n5", False)]
    assert any("nobody is blamed" in line for line in report.missed)
    assert report.limits["node"] is None
    assert set(listed(run, report)[0]) == {"n5", "n4"}


def test_while_others_ran_nodes_are_named_and_pairs_are_not():
    shared = np.where(np.random.default_rng(7).random((16, 16)) < 0.2, 0.5, 1.0)
    for fault, expected in (
        ({}, []),
        ({"node": (5, 0.7)}, ["node n5"]),
        ({"pair": (2, 9, 0.4)}, []),
    ):
        run, report = judged(nights(shared, alone=False, **fault))
        assert blamed(report) == expected and report.limits["pair"] is None
        assert any("only nodes can be blamed" in line for line in report.missed)
    assert ("n2", "n9") in listed(run, report)


def test_nodes_of_a_slow_kind_do_not_fill_the_pairs_to_measure_again():
    """While others run their kind is not separated, and each of their pairs is slow."""
    own = np.where(np.arange(16) % 3 == 0, 0.65, 1.0) * np.random.default_rng(
        3
    ).uniform(0.94, 1.0, 16)
    rates = np.minimum.outer(own, own)
    assert ("n2", "n10") in listed(
        *judged(nights(rates, count=1, alone=False, pair=(2, 10, 0.7)))
    )


def test_a_node_whose_pairs_mostly_share_cables_is_not_blamed():
    shared = np.ones((16, 16))
    shared[5, :14] = shared[:14, 5] = 0.7
    assert judged(nights(shared, alone=False))[1].findings == ()


def test_many_slow_nodes_at_once_are_suspects_of_something_they_share():
    own = np.array([0.7, 0.6, 0.5, *[1.0] * 29])
    report = judged(nights(np.minimum.outer(own, own), nodes=32, alone=False))[1]
    assert parts(report) == [("node", f"node n{node}", False) for node in (2, 1, 0)]


@pytest.mark.parametrize("alone", [True, False])
def test_among_two_kinds_of_nodes_a_slow_one_is_held_to_its_own(alone):
    rates = kinds(np.arange(24) % 2 == 0, 0.5)
    rates[3] = np.minimum(rates[3], 0.8)
    rates[:, 3] = np.minimum(rates[:, 3], 0.8)
    assert blamed(judged(nights(rates, nodes=24, alone=alone))[1]) == ["node n3"]


def test_with_half_of_the_nodes_slow_the_pairs_of_fast_nodes_are_held_to_these():
    """Three quarters of the pairs are as slow as the slow kind: a usual pair is no pair of fast nodes."""
    rates = kinds(np.arange(24) % 2 == 0, 0.65)
    rates[:12, 12:] = np.minimum(
        rates[:12, 12:], 0.75
    )  # on the way from half of them to the others
    rates[4] *= 0.8
    _, report = judged(nights(rates, count=3, nodes=24, noise=0.03))
    (classes,) = (found for found in report.findings if found.kind == "node classes")
    assert classes.share == pytest.approx(0.65, abs=0.01)
    assert "node n4" in blamed(report)


@pytest.mark.parametrize(
    "share, expected", [(1.0, []), (0.8, [("sender", "node n20", True)])]
)
def test_fast_nodes_that_send_to_slow_ones_only_are_not_suspect_and_mask_nobody(
    share, expected
):
    """Where each pair was measured in one direction, a node may have no partner of its own kind in it."""
    rates = kinds(np.arange(24) >= 12, 0.5)
    rates[20] *= share
    rates[:2, :12] = np.nan
    report = judged(nights(rates, count=3, nodes=24, alone=False))[1]
    assert [found for found in parts(report) if found[0] != "node classes"] == expected
    assert report.limits["node"] is None, "n0 and n1 would not be named"


@pytest.mark.parametrize(
    "fault, expected",
    [
        ({"sender": (0, 0.7)}, ("node", "node n0", True)),
        ({"pair": (2, 9, 0.5)}, ("pair", "n2 and n9", True)),
    ],
)
def test_a_rate_of_both_directions_names_no_side(fault, expected):
    rates = [matrix(16, seed, **fault) for seed in (1, 2)]
    _, report = judged(
        [table(np.minimum(each, each.T), both_ways=True) for each in rates]
    )
    assert parts(report) == [expected]


def test_a_node_that_was_slow_one_night_only_is_not_blamed():
    slow = table(matrix(16, 4, node=(5, 0.6)))
    run, report = judged([slow, *nights()])
    assert report.findings == run.findings == ()


def test_a_night_that_was_slower_blames_nobody_and_another_unit_is_mentioned():
    run, report = judged([*nights(), table(0.8 * matrix(16, 3))])
    assert report.findings == run.findings == run.cannot_tell == ()
    run, _ = judged([*nights(count=1), table(8 * matrix(16, 2))])
    assert re.match(
        r"one level: 1 has (7\.|8\.?)\d* times the values of 0; see that",
        run.cannot_tell[0],
    )


@pytest.mark.parametrize("metric", ["bandwidth", "latency"])
def test_pairs_of_one_host_each_are_refused(metric):
    gpus = tuple(Row(End(host, "gpu 0"), End(host, "gpu 1"), 1.0) for host in "ab")
    with refused("^f: there are several hosts, but no pair of two of them"):
        merged.join([("f", PairTable("Tool", metric, gpus, alone=True))])


def test_more_ends_than_can_be_analysed_are_refused():
    rows = tuple(Row(End(f"n{at}"), End(f"n{at + 1}"), 1.0) for at in range(10_240))
    with refused("^f: 10241 ends have too many pairs"):
        merged.join([("f", PairTable("Tool", "bandwidth", rows, alone=True))])


def test_suspects_measured_again_are_certain():
    first = nights(count=1, alone=False, node=(5, 0.7))
    chosen = listed(*judged(first))
    healthy = {frozenset(pair) for pair in chosen if "n5" not in pair}
    assert len(chosen) == 2 * len(set(map(frozenset, chosen))) and len(healthy) == 7
    assert len(frozenset.union(*healthy)) == 14, "all other nodes in pairs, each once"
    few = np.full((16, 16), np.nan)
    for one, other in chosen:
        few[int(one[1:]), int(other[1:])] = 1.0
    report = judged([*first, *nights(few, count=3, node=(5, 0.7))])[1]
    assert ("node", "node n5", True) in parts(report)


def test_other_pairs_on_the_cables_of_a_slow_pair_are_measured_again():
    """Two leaves with two cables to each other, of which even and odd hosts take one each."""
    hosts = tuple(f"n{node}" for node in range(16))
    leaf = np.arange(16) // 8
    cable = 2 * (np.arange(16) % 2)
    arcs = np.array(
        [np.where(leaf == 0, -1, cable), np.where(leaf == 1, -1, cable + 1)]
    )
    starts, ends = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0])
    known = FabricMap(
        "a test",
        hosts,
        ("s0", "s1"),
        leaf,
        starts,
        ends,
        ("a", "b"),
        arcs.astype(np.int32),
    )
    tables = nights(count=1, alone=False, pair=(2, 9, 0.5))
    on_it = {("n0", "n11"), ("n1", "n13"), ("n3", "n15")}
    for routing in (STATIC, UNKNOWN_ROUTING):
        chosen = set(listed(*judged(tables, replace(known, routing=routing))))
        assert chosen & on_it == (on_it if routing == STATIC else set()), routing


def test_a_node_of_the_fewer_fast_ones_is_named_by_the_pairs_of_these():
    rates = kinds(np.arange(24) >= 8, 0.5)
    rates[3, :8] *= 0.75
    assert blamed(judged(nights(rates, count=3, nodes=24, alone=False))[1]) == [
        "node n3"
    ]


@pytest.mark.parametrize("program, count", [("mpiGraph", 3), ("Tool", 7)])
def test_programs_that_measure_all_pairs_of_some_nodes_get_few_healthy_ones(
    program, count
):
    (only,) = nights(count=1, alone=False, node=(5, 0.7))
    pairs = listed(*judged([replace(only, format=program)]))
    assert len({frozenset(pair) for pair in pairs if "n5" not in pair}) == count


def of_devices(slow=(), share=0.6, rail=None, alone=True):
    """Return nights of 6 hosts with 4 GPUs, where another rail has 0.8 of one's own; ``slow`` are ranks."""
    rates = np.full((24, 24), 3.25)
    host, gpu = np.divmod(np.arange(24), 4)
    rates[gpu[:, None] != gpu[None]] *= 0.8
    hit = np.isin(np.arange(24), slow)
    rates[hit[:, None] | hit[None]] *= share
    if rail is not None:
        rates[(gpu[:, None] == rail) & (gpu[None] == rail)] *= share
    rates[host[:, None] == host[None]] = 16
    return nights(rates, nodes=24, devices=4, alone=alone)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    "slow, expected", [([], []), ([9], ["n2 gpu 1"]), ([8, 9, 10, 11], ["node n2"])]
)
def test_a_gpu_and_a_host_are_kept_apart(slow, expected, alone):
    run, report = judged(of_devices(slow, alone=alone))
    assert [found[1:] for found in parts(report)] == [(part, True) for part in expected]
    assert run.findings == ()
    assert any("144 values of pairs on one host" in line for line in report.missed)


def test_a_slow_rail_blames_no_host():
    run, report = judged(of_devices(rail=1))
    assert report.findings == ()
    assert "pairs of gpu 1 and gpu 1 reach 0.60" in run.findings[0].text
    assert not run.findings[0].is_fault


def test_a_rail_that_is_slow_on_half_of_the_hosts_has_figures_that_were_measured():
    """Nodes were said to reach 57 GB/s, where the largest value was 48."""
    own = np.ones(12)
    own[1:6:2] *= 0.7
    run, report = judged(nights(1000 * np.minimum.outer(own, own), nodes=12, devices=2))
    (classes,) = [each.text for each in report.findings if "node classes" in each.text]
    reached = [float(number) for number in re.findall(r"reach ([\d.]+) ", classes)]
    assert reached == pytest.approx([12.4, 8.7], rel=0.03)
    assert "9 of 12 GPUs or adapters reach" in classes
    assert "3 (n0 gpu 1, n1 gpu 1, n2 gpu 1)" in classes and not run.findings


def test_a_slow_device_does_not_make_its_rail_slow_where_nodes_are_of_two_kinds():
    own = np.repeat(np.where(np.arange(12) < 3, 0.83, 1.0), 4)
    own[30] *= 0.75
    run, report = judged(nights(np.minimum.outer(own, own), nodes=48, devices=4))
    assert blamed(report) == ["n7 gpu 2"]
    assert not run.findings


def test_tables_of_other_titles_are_runs_of_their_own():
    tables = [("a", table(matrix(4, 1), title=title)) for title in ("1 MiB", "8 B")]
    assert [run.output.pattern for run in merged.join(tables)] == [
        "Tool 1 MiB",
        "Tool 8 B",
    ]


def test_with_a_topology_the_switch_of_slow_paths_is_named():
    leaf = np.arange(16) // 4
    known = of_switches(
        "a test",
        {
            f"s{at}": [f"n{node}" for node in np.flatnonzero(leaf == at)]
            for at in range(4)
        },
    )
    slow = np.where((leaf[:, None] == 1) ^ (leaf[None] == 1), 0.5, 1.0)
    assert parts(judged(nights(slow), known)[1]) == [
        ("uplinks", "all uplinks of s1", True)
    ]


@pytest.mark.parametrize("count, confirmed", [(1, False), (2, True)])
def test_latencies_are_judged_and_certain_only_with_repeats(count, confirmed):
    leaf = np.arange(16) // 4
    near = np.where(leaf[:, None] == leaf[None], 0.8, 1.0)
    tables = nights(near / 7, count=count, node=(5, 1.5))
    (run,) = merged.join([("a", replace(each, metric="latency")) for each in tables])
    report = latency.of_run(run.output)
    assert [found.hosts for found in report.findings] == [("n5",)]
    assert report.has_faults is confirmed
    assert len(listed(run, report)) > 3


def test_a_node_in_the_wrong_place_is_certain_only_with_repeats():
    leaf = np.arange(32) // 8
    leaf[[2, 12]] = leaf[[12, 2]]
    near = np.where(leaf[:, None] == leaf[None], 0.8, 1.0)
    for count in (1, 2):
        tables = nights(near, count=count, nodes=32)
        (run,) = merged.join(
            [("a", replace(each, metric="latency")) for each in tables]
        )
        (found,) = latency.of_run(run.output).findings
        assert found.hosts == ("n2", "n12")
        assert found.is_fault == (count == 2)


def test_latencies_between_devices_of_one_host_are_left_out():
    host = np.arange(16) // 2
    values = np.where(host[:, None] == host[None], 0.2, matrix(16, 1, usual=1.7))
    (run,) = merged.join([("a", table(values, devices=2, metric="latency"))])
    assert len(run.output.starter) == 16 * 14 and run.output.latency_us.min() > 1
