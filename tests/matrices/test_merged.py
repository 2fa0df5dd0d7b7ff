# SPDX-License-Identifier: BSD-3-Clause
"""Tables of several files and repeats, joined and judged."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.core.routing import STATIC, UNKNOWN_ROUTING
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.fabric_map.model import FabricMap, of_switches
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.matrices import again, merged
from fabric_checks.matrices.model import End, PairTable, Row
from tests.matrices.made import matrix, table


def judged(tables, known=None):
    """Return the run and the report of the tables of files 0, 1, ..."""
    (run,) = merged.join([(str(number), each) for number, each in enumerate(tables)])
    return run, evaluation.of_run(run.output, None, known, run.cannot_tell)


def parts(report):
    return [(found.kind, found.part, found.is_fault) for found in report.findings]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({}, []),
        ({"node": (5, 0.7)}, [("node", "node n5", True)]),
        ({"sender": (5, 0.8)}, [("sender", "node n5", True)]),
        ({"pair": (2, 9, 0.5)}, [("pair", "n2 to n9", True)]),
    ],
)
def test_repeats_alone_name_who_is_slow(fault, expected):
    _, report = judged([table(matrix(16, seed, **fault)) for seed in (1, 2)])
    assert parts(report) == expected
    assert report.has_faults is bool(expected)


def test_without_repeats_there_are_suspects_and_nothing_is_certain():
    run, report = judged([table(matrix(16, 1, node=(5, 0.7)))])
    assert parts(report) == [("node", "node n5", False)] and not report.has_faults
    assert "measured once: chance, or traffic of others, could explain this" in report.findings[0].details
    assert any("nobody is blamed" in line for line in report.missed) and report.limits["node"] is None
    assert {str(end) for end in again.pairs(run, report)[0][0]} == {"n5", "n4"}


def test_while_others_ran_nodes_are_named_and_pairs_are_not():
    shared = np.where(np.random.default_rng(7).random((16, 16)) < 0.2, 0.5, 1.0)
    for fault, expected in (({}, []), ({"node": (5, 0.7)}, ["node n5"]), ({"pair": (2, 9, 0.4)}, [])):
        run, report = judged([table(shared * matrix(16, seed, **fault), alone=False) for seed in (1, 2)])
        assert [found.part for found in report.findings if found.is_fault] == expected
        assert any("only nodes can be blamed" in line for line in report.missed)
        assert report.limits["pair"] is None
    assert ("n2", "n9") in [(one.host, other.host) for one, other in again.pairs(run, report)[0]]


def test_nodes_of_a_slow_kind_do_not_fill_the_pairs_to_measure_again():
    """While others run their kind is not separated, and each of their pairs is slow."""
    kind = np.where(np.arange(16) % 3 == 0, 0.65, 1.0) * np.random.default_rng(3).uniform(0.94, 1.0, 16)
    values = np.minimum.outer(kind, kind) * matrix(16, 1, pair=(2, 10, 0.7))
    run, report = judged([table(values, alone=False)])
    assert ("n2", "n10") in [(one.host, other.host) for one, other in again.pairs(run, report)[0]]


def test_a_node_whose_pairs_mostly_share_cables_is_not_blamed():
    shared = np.ones((16, 16))
    shared[5, :14] = shared[:14, 5] = 0.7
    _, report = judged([table(shared * matrix(16, seed), alone=False) for seed in (1, 2)])
    assert report.findings == ()


def test_many_slow_nodes_at_once_are_suspects_of_something_they_share():
    own = np.array([0.7, 0.6, 0.5, *[1.0] * 29])
    tables = [table(matrix(32, seed) * np.minimum.outer(own, own), alone=False) for seed in (1, 2)]
    report = judged(tables)[1]
    assert [found.part for found in report.findings] == [
        "node n2",
        "node n1",
        "node n0",
    ] and not report.has_faults


def test_among_two_kinds_of_nodes_a_slow_one_is_held_to_its_own():
    kind = np.where(np.arange(24) % 2, 1.0, 0.5)
    own = np.minimum.outer(kind, kind)
    slow = np.where((np.arange(24) == 3)[:, None] | (np.arange(24) == 3)[None], 0.8, 1.0)
    for alone in (True, False):
        tables = [table(np.minimum(own, slow) * matrix(24, seed), alone=alone) for seed in (1, 2)]
        found = [found.part for found in judged(tables)[1].findings if found.is_fault]
        assert found == ["node n3"], alone


def test_with_half_of_the_nodes_slow_the_pairs_of_fast_nodes_are_held_to_these():
    """Three quarters of the pairs are as slow as the slow kind: a usual pair is no pair of fast nodes."""
    kind = np.where(np.arange(24) % 2, 1.0, 0.65)
    own = np.minimum.outer(kind, kind)
    own[:12, 12:] = np.minimum(own[:12, 12:], 0.75)  # on the way from half of them to the others
    own[4] *= 0.8
    _, report = judged([table(own * matrix(24, seed, noise=0.03)) for seed in (1, 2, 3)])
    (kinds,) = (found for found in report.findings if found.kind == "node classes")
    assert kinds.share == pytest.approx(0.65, abs=0.01)
    assert "node n4" in [found.part for found in report.findings if found.is_fault]


@pytest.mark.parametrize(("share", "expected"), [(1.0, []), (0.8, [("sender", "node n20", True)])])
def test_fast_nodes_that_send_to_slow_ones_only_are_not_suspect_and_mask_nobody(share, expected):
    """Where each pair was measured in one direction, a node may have no partner of its own kind in it."""
    kind = np.where(np.arange(24) < 12, 1.0, 0.5)
    rates = np.minimum.outer(kind, kind)
    rates[20] *= share
    tables = []
    for seed in (1, 2, 3):
        values = rates * matrix(24, seed)
        rows = [
            (one, other)
            for one in range(24)
            for other in range(24)
            if one != other and (one > 1 or other >= 12)
        ]
        there = tuple(Row(End(f"n{one}"), End(f"n{other}"), values[one, other]) for one, other in rows)
        tables.append(PairTable("Tool", "bandwidth", there, alone=False))
    report = judged(tables)[1]
    assert [found for found in parts(report) if found[0] != "node classes"] == expected
    assert report.limits["node"] is None, "n0 and n1 would not be named"


def test_a_rate_of_both_directions_names_no_side():
    both = [np.minimum(values, values.T) for values in (matrix(16, seed, sender=(0, 0.7)) for seed in (1, 2))]
    _, report = judged([table(values, both_ways=True) for values in both])
    assert parts(report) == [("node", "node n0", True)]
    pair = [table(matrix(16, seed, pair=(2, 9, 0.5)), both_ways=True) for seed in (1, 2)]
    assert parts(judged(pair)[1]) == [("pair", "n2 and n9", True)]


def test_a_node_that_was_slow_one_night_only_is_told_and_not_blamed():
    nights = [table(matrix(16, 1)), table(matrix(16, 2, node=(5, 0.6))), table(matrix(16, 3))]
    run, report = judged(nights)
    assert report.findings == () and [found.kind for found in run.findings] == ["past"]
    assert "n5 was slow in 1 only, at 0.60 of its rate" in run.findings[0].text


def test_files_of_two_units_are_mentioned():
    run, _ = judged([table(matrix(4, 1)), table(8 * matrix(4, 2))])
    assert re.match(r"one level: 1 has (7\.|8\.?)\d* times the values of 0; see that", run.cannot_tell[0])
    assert judged([table(matrix(4, 1)), table(0.8 * matrix(4, 2))])[0].cannot_tell == ()


def test_pairs_of_one_host_each_are_refused():
    gpus = [(End(host, "gpu 0"), End(host, "gpu 1")) for host in "ab"]
    for metric in ("bandwidth", "latency"):
        tables = [("f", PairTable("Tool", metric, tuple(Row(*pair, 1.0) for pair in gpus), alone=True))]
        with pytest.raises(OutputError, match="^f: there are several hosts, but no pair of two of them"):
            merged.join(tables)


def test_more_ends_than_can_be_analysed_are_refused():
    rows = tuple(Row(End(f"n{at}"), End(f"n{at + 1}"), 1.0) for at in range(8192))
    with pytest.raises(OutputError, match="^f: 8193 ends have too many pairs"):
        merged.join([("f", PairTable("Tool", "bandwidth", rows, alone=True))])


def test_a_whole_night_that_was_slower_blames_nobody():
    run, report = judged([table(matrix(16, 1)), table(0.8 * matrix(16, 2)), table(matrix(16, 3))])
    assert report.findings == () and run.findings == ()


def test_suspects_measured_again_are_certain():
    first = table(matrix(16, 1, node=(5, 0.7)), alone=False)
    run, report = judged([first])
    chosen, _ = again.pairs(run, report)
    ends = [frozenset((one.host, other.host)) for one, other in chosen]
    healthy = {pair for pair in ends if "n5" not in pair}
    assert len(ends) == 2 * len(set(ends)) and len(healthy) == 7, "all other nodes in pairs, each once"
    assert len(frozenset.union(*healthy)) == 14
    values = matrix(16, 2, node=(5, 0.7))
    rows = [(int(one.host[1:]), int(other.host[1:])) for one, other in chosen]
    few = np.full((16, 16), np.nan)
    few[tuple(zip(*rows, strict=True))] = values[tuple(zip(*rows, strict=True))]
    repeats = [_table_of(few * factor) for factor in (1.0, 1.003, 0.998)]
    assert ("node", "node n5", True) in parts(judged([first, *repeats])[1])


def test_other_pairs_on_the_cables_of_a_slow_pair_are_measured_again():
    """Two leaves with two cables to each other, of which even and odd hosts take one each."""
    hosts = tuple(f"n{node}" for node in range(16))
    leaf = np.arange(16) // 8
    cable = 2 * (np.arange(16) % 2)
    arcs = np.array([np.where(leaf == 0, -1, cable), np.where(leaf == 1, -1, cable + 1)])
    starts, ends = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0])
    known = FabricMap("a test", hosts, ("s0", "s1"), leaf, starts, ends, ("a", "b"), arcs.astype(np.int32))
    tables = [table(matrix(16, 1, pair=(2, 9, 0.5)), alone=False)]
    on_it = {("n0", "n11"), ("n1", "n13"), ("n3", "n15")}
    for routing in (STATIC, UNKNOWN_ROUTING):
        run, report = judged(tables, replace(known, routing=routing))
        chosen = {(one.host, other.host) for one, other in again.pairs(run, report)[0]}
        assert chosen & on_it == (on_it if routing == STATIC else set()), routing


def test_a_node_of_the_fewer_fast_ones_is_named_by_the_pairs_of_these():
    kind = np.where(np.arange(24) < 8, 1.0, 0.5)
    rates = np.minimum.outer(kind, kind)
    rates[3, :8] *= 0.75
    report = judged([table(rates * matrix(24, seed), alone=False) for seed in (1, 2, 3)])[1]
    assert [found for found in parts(report) if found[0] != "node classes"] == [("sender", "node n3", True)]


@pytest.mark.parametrize(("program", "count"), [("mpiGraph", again.FEW_HEALTHY), ("Tool", 7)])
def test_programs_that_measure_all_pairs_of_some_nodes_get_few_healthy_ones(program, count):
    run, report = judged([replace(table(matrix(16, 1, node=(5, 0.7)), alone=False), format=program)])
    ends = [frozenset((one.host, other.host)) for one, other in again.pairs(run, report)[0]]
    assert len({pair for pair in ends if "n5" not in pair}) == count


def _table_of(values):
    """Return the table of the pairs that have a value, measured alone."""
    there = np.argwhere(~np.isnan(values)).tolist()
    rows = tuple(Row(End(f"n{one}"), End(f"n{other}"), float(values[one, other])) for one, other in there)
    return PairTable("Tool", "bandwidth", rows, alone=True)


def of_devices(seed, slow=(), share=0.6, rail=None, alone=True):
    """Return rates of 6 hosts with 4 GPUs, where another rail has 0.8 of one's own; ``slow`` are ranks."""
    values = matrix(24, seed, usual=40.0)
    host, gpu = np.divmod(np.arange(24), 4)
    values[gpu[:, None] != gpu[None]] *= 0.8
    hit = np.isin(np.arange(24), slow)
    values[hit[:, None] | hit[None]] *= share
    if rail is not None:
        values[(gpu[:, None] == rail) & (gpu[None] == rail)] *= share
    values[host[:, None] == host[None]] = 200.0
    return table(values, devices=4, alone=alone)


@pytest.mark.parametrize(
    ("slow", "expected"),
    [([], []), ([9], [("node", "n2 gpu 1", True)]), ([8, 9, 10, 11], [("node", "node n2", True)])],
)
def test_a_gpu_and_a_host_are_kept_apart(slow, expected):
    for alone in (True, False):
        run, report = judged([of_devices(seed, slow, alone=alone) for seed in (1, 2)])
        assert parts(report) == expected and run.findings == (), alone
    assert any("144 values of pairs on one host" in line for line in report.missed)


def test_a_slow_rail_blames_no_host():
    run, report = judged([of_devices(seed, rail=1) for seed in (1, 2)])
    assert report.findings == ()
    assert "pairs of gpu 1 and gpu 1 reach 0.60" in run.findings[0].text and not run.findings[0].is_fault


def test_tables_of_other_titles_are_runs_of_their_own():
    tables = [("a", table(matrix(4, 1), title="1 MiB")), ("a", table(matrix(4, 1), title="8 B"))]
    assert [run.output.pattern for run in merged.join(tables)] == ["Tool 1 MiB", "Tool 8 B"]


def test_with_a_topology_the_switch_of_slow_paths_is_named():
    known = of_switches(
        "a test", {f"s{leaf}": [f"n{node}" for node in range(4 * leaf, 4 * leaf + 4)] for leaf in range(4)}
    )
    leaf = np.arange(16) // 4
    slow = np.where((leaf[:, None] == 1) ^ (leaf[None] == 1), 0.5, 1.0)
    _, report = judged([table(slow * matrix(16, seed)) for seed in (1, 2)], known)
    assert parts(report) == [("uplinks", "all uplinks of s1", True)]


@pytest.mark.parametrize(("nights", "confirmed"), [(1, False), (2, True)])
def test_latencies_are_judged_and_certain_only_with_repeats(nights, confirmed):
    leaf = np.arange(16) // 4
    near = np.where(leaf[:, None] == leaf[None], 0.8, 1.0)
    values = [near * matrix(16, seed, node=(5, 1.5), usual=1.7) for seed in range(nights)]
    tables = [(str(night), table(each, metric="latency")) for night, each in enumerate(values)]
    (run,) = merged.join(tables)
    report = latency.of_run(run.output)
    assert [found.hosts for found in report.findings] == [("n5",)]
    assert report.has_faults is confirmed
    assert len(again.pairs(run, report)[0]) > 3


def test_nothing_suspect_leaves_nothing_to_measure_again():
    run, report = judged([table(matrix(16, seed)) for seed in (1, 2)])
    assert again.pairs(run, report) == ([], 0)


def test_a_slow_device_does_not_make_its_rail_slow_where_nodes_are_of_two_kinds():
    own = np.repeat(np.where(np.arange(12) < 3, 0.83, 1.0), 4)
    own[30] *= 0.75
    run, report = judged([table(matrix(48, seed) * np.minimum.outer(own, own), devices=4) for seed in (1, 2)])
    assert [found.part for found in report.findings if found.is_fault] == ["n7 gpu 2"]
    assert not run.findings


def test_latencies_between_devices_of_one_host_are_left_out():
    host = np.arange(16) // 2
    values = np.where(host[:, None] == host[None], 0.2, matrix(16, 1, usual=1.7))
    (run,) = merged.join([("a", table(values, devices=2, metric="latency"))])
    assert len(run.output.starter) == 16 * 14 and run.output.latency_us.min() > 1
