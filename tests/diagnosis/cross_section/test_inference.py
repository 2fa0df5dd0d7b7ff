# SPDX-License-Identifier: BSD-3-Clause
"""The search for the fewest parts that explain which pairs are slow."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section.evidence import of_output
from fabric_checks.diagnosis.cross_section.inference import (
    _has_neighbours,
    _is_of_kind,
    _Shown,
    explain,
    slow_since_scan,
)
from fabric_checks.diagnosis.cross_section.parts import candidates, on_map
from fabric_checks.diagnosis.cross_section.search import Choice, Search
from fabric_checks.fabric_map.model import UNMAPPED, arcs_of
from fabric_checks.parsers import rotate
from lab import large
from lab.big_fabric import Tree
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run


@pytest.fixture
def searched(golden):
    """Return the evidence and the parts of a run in which one node of eight is slow."""
    output = rotate.parse(golden("rotate/mpich-5.0.2.busy.txt"))
    mapped = on_map(of_output(output), output.hosts, None)
    return mapped, candidates(mapped, np.flatnonzero(mapped.evidence.alone < -0.1))


def is_sure(mapped, choice):
    return _Shown(Search(mapped, ()), choice, [choice]).culprit().sure


@pytest.mark.parametrize("near, is_node", [(2, True), (1, False)])
def test_two_pairs_with_neighbours_distinguish_a_node_from_its_path(near, is_node):
    """Most nodes have such pairs; node 0 has so many, and one with a node that is far."""
    pairs = (
        [(number, number + 1) for number in range(1, 7)]
        + [(0, 1), (2, 0)][:near]
        + [(0, 7)]
    )
    sender, receiver = np.array(pairs).T
    evidence = SimpleNamespace(sender=sender, ranks=8, near=abs(sender - receiver) <= 2)
    part = SimpleNamespace(
        kind="node", key=(0,), pairs=np.flatnonzero((sender == 0) | (receiver == 0))
    )
    assert (
        _has_neighbours(
            SimpleNamespace(evidence=evidence, known=UNMAPPED, leaf=np.full(8, -1)),
            part,
        )
        is is_node
    )


NAN = float("nan")


@pytest.mark.parametrize(
    "pairs, expected",
    [
        # Sender, receiver, rate alone, rate in the scan.
        ([(0, 2, -0.7, 0.0), (1, 2, -0.7, -0.7), (3, 4, 0.0, 0.0)], ("receiver", (2,))),
        ([(0, 2, -0.7, 0.0), (1, 2, -0.7, NAN), (2, 5, -0.7, 0.0)], ("node", (2,))),
        (
            [(0, 2, -0.7, -0.7), (1, 2, -0.7, -0.7), (3, 4, 0.0, 0.0)],
            None,
        ),  # it was never fast
        (
            [(0, 2, -0.7, 0.0), (1, 2, -0.7, 0.0), (3, 2, 0.0, 0.0)],
            None,
        ),  # a third of its pairs is not slow
        ([(0, 2, -0.7, 0.0), (2, 0, -0.7, 0.0)], None),  # either end
        (
            [(0, 2, -0.7, 0.0), (3, 4, -0.7, 0.0), (3, 5, NAN, 0.0)],
            None,
        ),  # nothing in common
        ([(3, 4, 0.0, 0.0)], None),
    ],
)
def test_what_became_slow_is_a_node_if_all_its_pairs_alone_are_slow(pairs, expected):
    sender, receiver, alone, scan = map(np.array, zip(*pairs, strict=True))
    evidence = SimpleNamespace(
        sender=sender,
        receiver=receiver,
        alone=alone,
        scan=scan,
        ranks=6,
        rounds=(4, 60),
    )
    found = slow_since_scan(
        SimpleNamespace(evidence=evidence), np.flatnonzero(alone < -0.1)
    )
    assert (found and (found.part.kind, found.part.key)) == expected
    assert found is None or (
        not found.sure and found.share == pytest.approx(np.exp(-0.7))
    )


@pytest.fixture
def slow_pair():
    """A pair that is slow both ways, and a run on its fabric; the scan has one of its directions."""
    wiring, known = wired("fat tree 2", 32, "d-mod-k")
    pair = 8, 21
    output = run(
        Fabric(
            wiring, known, Noise(0.03), 5, pairs=dict.fromkeys((pair, pair[::-1]), 0.7)
        )
    )
    return pair, on_map(of_output(output), output.hosts, known)


@pytest.mark.parametrize("in_scan, is_sure", [(-0.35, True), (-0.02, False)])
def test_the_other_direction_shows_that_a_pair_was_slow_in_the_scan_already(
    slow_pair, in_scan, is_sure
):
    """The scan has one direction of a pair that is slow both ways; traffic of others may begin after it."""
    pair, mapped = slow_pair
    found = mapped.evidence
    there, back = (
        int(np.flatnonzero((found.sender == a) & (found.receiver == b))[0])
        for a, b in (pair, pair[::-1])
    )
    assert np.isnan(found.scan[back]) and not np.isnan(found.scan[there])
    scan = found.scan.copy()
    scan[there] = in_scan
    mapped = replace(mapped, evidence=replace(found, scan=scan))
    sure = {each.part.key for each in explain(mapped)[0] if each.sure}
    assert sure == ({pair, pair[::-1]} if is_sure else set())


@pytest.mark.parametrize(
    "beside_others, expected, rest, is_sure",
    [
        (-0.35, 0.0, -0.35, True),
        (-0.02, 0.0, -0.35, False),
        (-0.35, 0.0, -0.02, False),
        # It shared a cable in the scan with another one: that it had half of it shows nothing of its own.
        (-0.35, np.log(0.5), 0.0, True),
        (-0.02, np.log(0.5), 0.0, False),
    ],
)
def test_the_other_direction_is_evidence_without_a_place_alone_if_it_never_was_fast(
    slow_pair, beside_others, expected, rest, is_sure
):
    pair, mapped = slow_pair
    found = mapped.evidence
    there = int(
        np.flatnonzero((found.sender == pair[0]) & (found.receiver == pair[1]))[0]
    )
    alone, bound, repeats = found.alone.copy(), found.bound.copy(), found.repeats.copy()
    alone[there], bound[there], repeats[there] = np.nan, beside_others, 0
    all_expected, all_rest = mapped.expected.copy(), mapped.rest.copy()
    all_expected[there], all_rest[there] = expected, rest
    found = replace(found, alone=alone, bound=bound, repeats=repeats)
    mapped = replace(mapped, evidence=found, expected=all_expected, rest=all_rest)
    assert {each.part.key for each in explain(mapped)[0] if each.sure} == (
        {pair[::-1]} if is_sure else set()
    )


@pytest.mark.parametrize("was_slow, kind", [(True, "cable"), (False, "pair")])
def test_one_pair_alone_names_the_cable_that_was_slow_in_the_scan(was_slow, kind):
    """Where most pairs share cables, others are measured alone instead of those of a slow one."""
    wiring, known = wired("fat tree 2", 32, "d-mod-k")
    cable = int(arcs_of(known, np.array([8]), np.array([21]))[0, 0]) // 2
    arcs = {2 * cable: 0.7, 2 * cable + 1: 0.7}
    output = run(Fabric(wiring, known, Noise(0.03), 5, arcs=arcs))
    mapped = on_map(of_output(output), output.hosts, known)
    found = mapped.evidence
    own = np.flatnonzero((mapped.arcs // 2 == cable).any(axis=1))
    slow = own[(found.alone[own] < -0.2) & (mapped.rest[own] < -0.2)]
    others = np.setdiff1d(own, slow[:1])
    alone, repeats, rest = found.alone.copy(), found.repeats.copy(), mapped.rest.copy()
    alone[others], repeats[others] = np.nan, 0
    rest[others] = rest[others] if was_slow else 0.0
    found = replace(found, alone=alone, repeats=repeats)
    mapped = replace(mapped, evidence=found, rest=rest)
    assert [each.part.kind for each in explain(mapped)[0] if each.sure] == [kind]


def test_a_node_of_which_most_pairs_are_fast_is_not_certain_although_its_slowest_are(
    searched,
):
    mapped, parts = searched
    (choice,) = Search(mapped, parts).best()
    assert choice.part.kind == "node" and is_sure(mapped, choice)
    pairs = choice.part.pairs
    bound = mapped.evidence.bound.copy()
    bound[pairs] = 0.4 * choice.level
    assert not is_sure(
        replace(mapped, evidence=replace(mapped.evidence, bound=bound)), choice
    )


@pytest.mark.parametrize(
    "rank, share, expected",
    [
        (0, 0.94, True),
        (0, 0.88, False),
        (0, 0.80, True),
        (1, 0.94, False),
        (1, 0.85, True),
    ],
)
def test_a_node_as_fast_as_those_of_a_slower_kind_may_be_one_of_these(
    rank, share, expected
):
    """Kinds at 1, 0.94 and 0.80; rank 0 is of the first and rank 1 of the second."""
    kinds = [SimpleNamespace(share=each) for each in (1.0, 0.94, 0.80)]
    evidence = SimpleNamespace(kinds=kinds, of_kind=np.log([1.0, 0.94]))
    node = SimpleNamespace(part=SimpleNamespace(key=(rank,)), share=share)
    assert _is_of_kind(SimpleNamespace(evidence=evidence), node) is expected


def test_a_slow_node_that_may_be_of_a_slower_kind_is_not_certain(searched):
    mapped, parts = searched
    (choice,) = Search(mapped, parts).best()
    kinds = tuple(
        SimpleNamespace(share=share) for share in (1.0, float(np.exp(choice.level)))
    )
    of_kinds = replace(mapped, evidence=replace(mapped.evidence, kinds=kinds))
    assert [[each.sure for each in explain(one)[0]] for one in (mapped, of_kinds)] == [
        [True],
        [False],
    ]


@pytest.mark.parametrize(
    "errors, since, expected",
    [(1.9, 8.0, False), (2.5, 8.0, True), (2.5, 0.0, False), (4.5, 0.0, True)],
)
def test_a_fast_pair_alone_contradicts_what_became_slow_sooner_than_what_always_was(
    errors, since, expected
):
    unknown, level = np.full(5, NAN), -0.3
    alone = np.array([level, level, level, level, level + errors * 0.07])
    series = SimpleNamespace(bound_since=lambda pairs, since: unknown)
    known = {
        "alone": alone,
        "of_alone": np.full(5, 0.07),
        "bound": unknown,
        "of_bound": 0.03,
    }
    evidence = SimpleNamespace(series=series)
    search = SimpleNamespace(
        **known, levels=lambda part, level: np.full(5, level), evidence=evidence
    )
    choice = Choice(SimpleNamespace(pairs=np.arange(5)), level, 1.0, since=since)
    assert Search.contradicted(search, choice) is expected


@pytest.mark.parametrize("fast, sure", [(0.0, True), (0.25, True), (0.4, False)])
def test_a_part_of_which_more_than_a_quarter_is_fast_alone_is_not_certain(
    searched, fast, sure
):
    mapped, parts = searched
    (choice,) = Search(mapped, parts).best()
    pairs = choice.part.pairs
    measured = pairs[~np.isnan(mapped.evidence.alone[pairs])]
    alone = mapped.evidence.alone.copy()
    alone[measured[: int(fast * len(measured))]] = 0.0
    changed = replace(mapped, evidence=replace(mapped.evidence, alone=alone))
    assert is_sure(changed, choice) is sure


def test_a_node_that_is_fast_with_the_next_ranks_is_not_named_where_no_switch_is_known():
    """With d-mod-k a cable of a leaf carries all that one of its nodes receives from other leaves."""
    known = large.map_of(Tree(16, 8, 8))
    cable = known.cables.index("leaf0121 port 10 to spine0121 port 2")
    arcs = {2 * cable: 0.75, 2 * cable + 1: 0.75}
    output = run(large.fabric(known, 1, arcs=arcs))
    mapped = on_map(of_output(output), output.hosts, None)
    found = explain(mapped)[0]
    assert [each.part.key for each in found if each.part.kind == "receiver"] == [(969,)]
    assert not [each for each in found if each.sure and each.part.kind != "pair"]
