# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that are slow only while they send and receive at once."""

import re

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults
from fabric_checks.parsers import rotate
from lab.rotate import program

KIND = "both directions"


def measured(pairs, own, one_way, random, beside):
    """Return the MB/s of pairs: a pair whose other direction runs as well has the share of its slower node.

    :param own: of a node in both directions; :param one_way: of a node that sends. :param beside: the
        same as own, of what runs beside others only.
    """
    rates = []
    for one, other in pairs:
        share = one_way.get(one, 1.0)
        if (other, one) in pairs:
            share *= min(own[one], own[other])
        if len(pairs) > 2:
            share *= min(beside.get(one, 1.0), beside.get(other, 1.0))
        rates.append(1e4 * share * np.exp(0.01 * random.standard_normal()))
    return [(rate, rate, rate) for rate in rates]


def run(nodes, slow=(), *, usual=1.0, one_way=(), beside=(), late=(), seed=1):
    """Return the report of a run, by the procedure of the program; :param late: one way, at last."""
    own = dict.fromkeys(range(nodes), usual) | dict(slow)
    random = np.random.default_rng(seed)

    def measure(phase, pairs, progress):
        later = dict(beside) if phase == "both" else {}
        ways = dict(late) if phase.startswith("both") else dict(one_way)
        return measured(pairs, own, ways, random, later)

    shifts = (nodes + 1) // 2
    done = program.Run(nodes, shifts, program.in_turn(measure))
    text = done.text(names(nodes), 1.0, 1.1)
    return evaluation.of_run(rotate.parse(text))


def names(nodes):
    return [f"cn{number}" for number in range(nodes)]


@pytest.mark.parametrize("nodes, rank", [(4, 0), (7, 6), (16, 5), (33, 32)])
@pytest.mark.parametrize("usual", [1.0, 0.7])
def test_a_node_that_is_slow_in_both_directions_at_once_is_named(nodes, rank, usual):
    """Whether or not healthy ones reach less, too."""
    report = run(nodes, {rank: 0.6 * usual}, usual=usual)
    (found,) = faults(report.findings)
    assert (found.kind, found.hosts) == (KIND, (f"cn{rank}",))
    assert found.size == pytest.approx(0.4, abs=0.03)
    others = int(re.search(r"others (\d+) %", found.text)[1])
    assert others == pytest.approx(100 * usual, abs=3)
    assert 0.06 <= report.limits["node both ways"] < 0.2
    assert "node that sends and receives at once slower by" in report.limits_text


def test_a_node_of_a_real_run_is_named(golden):
    report = evaluation.of_run(rotate.parse(golden("rotate/mpich-5.0.2.both-ways.txt")))
    (found,) = faults(report.findings)
    assert found.part == "node rank2"
    assert found.text.startswith(
        "node rank2 reaches 5 % of the one-way rate when sending"
    )


def test_nodes_that_are_alike_are_no_fault():
    report = run(16, dict.fromkeys((1, 4, 9, 13), 0.7))
    assert not faults(report.findings)
    (found,) = (each for each in report.findings if each.kind == KIND)
    assert "4 nodes reach 70 %" in found.text and not found.hosts


def test_two_of_many_are_each_named():
    report = run(33, {3: 0.8, 20: 0.5})
    assert {each.hosts for each in faults(report.findings)} == {("cn3",), ("cn20",)}


@pytest.mark.parametrize(
    "kinds, more",
    [
        ((), {}),
        ((), {"usual": 0.5}),
        (("sender",), {"one_way": {5: 0.6}, "late": {5: 0.6}}),
        ((), {"beside": {5: 0.6}}),
        ((), {"late": {5: 0.6}}),
    ],
    ids=["well", "all alike", "slow one way", "beside others only", "one way, late"],
)
def test_nodes_that_do_as_well_as_one_way_are_well(kinds, more):
    report = run(16, **more)
    assert tuple(each.kind for each in faults(report.findings)) == kinds
    assert not [each for each in report.findings if each.kind == KIND]


def test_three_nodes_are_too_few_for_a_limit():
    assert run(3).limits["node both ways"] is None
    assert run(4).limits["node both ways"] is not None


def test_what_did_not_run_is_said(golden):
    report = evaluation.of_run(
        rotate.parse(golden("rotate/mpich-5.0.2.round-robin.txt"))
    )
    said = [each.text for each in report.all_findings()]
    assert sum("both directions of a node at once" in text for text in said) == 1
    assert "node both ways" not in report.limits
    said = [each.text for each in run(16).all_findings()]
    assert not [text for text in said if "both directions of a node" in text]
