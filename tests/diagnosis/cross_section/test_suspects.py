# SPDX-License-Identifier: BSD-3-Clause
"""The rule by which nodes and pairs are measured again."""

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.parsers import rotate, rotate_patterns
from fabric_checks.parsers.rotate import Transfers
from lab.rotate import patterns, suspects
from tests.diagnosis.cross_section.model import Fabric


@pytest.mark.parametrize(
    "faults, senders, pairs",
    [
        ({}, {}, {}),
        ({"senders": {3: 0.8}}, {3: 0.8}, {}),
        ({"pairs": {(3, 20): 0.8}}, {}, {(3, 20): 0.8}),
        ({"senders": {3: 0.8}, "pairs": {(3, 20): 0.5}}, {3: 0.8}, {(3, 20): 0.5}),
    ],
)
def test_a_slow_node_or_pair_is_suspect_and_its_pairs_or_nodes_are_not(
    faults, senders, pairs
):
    scan = Fabric(32, 0.0, 1, **faults).scan()
    found = suspects.find(scan, 32, 0.06)
    assert (found.senders, found.receivers, found.overall_MBps) == (
        pytest.approx(senders),
        {},
        1000,
    )
    suspect = zip(
        scan.sender[found.pairs].tolist(),
        scan.receiver[found.pairs].tolist(),
        strict=True,
    )
    assert dict(zip(suspect, found.share.tolist(), strict=True)) == pytest.approx(pairs)


def pairs_of(part, number=None):
    """Return the pairs of a phase in their order, or those of one of its rounds."""
    pairs = zip(
        part.round.tolist(), part.sender.tolist(), part.receiver.tolist(), strict=True
    )
    return [
        (sender, receiver) for at, sender, receiver in pairs if number in (None, at)
    ]


@pytest.mark.parametrize(
    "pattern", ["rotate", "shift", "bisection", "round-robin", "twelve"]
)
def test_the_program_measures_the_same_again(golden, pattern):
    """`rotate --confirm` did after a scan as this rule does, pair for pair and round for round."""
    output = rotate.parse(golden(f"rotate/mpich-5.0.2.{pattern}.txt"))
    ranks, repeats = len(output.hosts), 4
    found = suspects.find(output.scan, ranks, output.suspect_share, output.hosts)
    listed = suspects.listed(found, output.scan, ranks, output.hosts)
    budget = suspects.budget(ranks)
    together = output.phases["together"]
    passes = []

    def measure(rounds, _):
        """Return the program's measurements of the rounds of this rule; its neighbours ran only in the
        first."""
        done, rates = sum(map(len, passes)), {}
        for number, pairs in enumerate(rounds, done):
            here = together.round == number
            reached = dict(
                zip(
                    pairs_of(together, number),
                    together.MBps[here].tolist(),
                    strict=True,
                )
            )
            assert (
                set(pairs) <= set(reached) if not passes else set(pairs) == set(reached)
            )
            rates |= {pair: reached[pair] for pair in pairs}
        passes.append(rounds)
        return rates

    both_ways = output.pattern == "shift"
    slow = suspects.sift(
        found,
        listed,
        output.suspect_share,
        budget,
        measure,
        repeats=repeats,
        both_ways=both_ways,
    )
    measured, used = sum(map(len, passes[0])), sum(map(len, passes))
    printed = re.fullmatch(
        rf"(\d+) pairs of {ranks * (ranks - 1)}, (\d+) senders, (\d+) receivers; (\d+) measured again, (\d+)"
        r" alone",
        output.header["suspects"],
    )
    assert (len(listed), len(found.senders), len(found.receivers), measured) == tuple(
        map(int, printed.groups()[:4])
    )
    assert together.round.max() + 1 == used and len(passes) > 1
    alone = suspects.choose_alone(found, slow, budget.alone, budget.of_others)
    assert alone and pairs_of(output.phases["alone"]) == alone * repeats
    assert len(alone) == int(printed[5])
    left = budget.total - -(-used // repeats) - len(alone)
    few, more = (
        suspects.controls(
            found, output.scan, slow, alone, left, hosts=output.hosts, is_slow=is_slow
        )
        for is_slow in (False, True)
    )
    is_slow = suspects.is_any_slow(
        output.phases, len(few), len(alone), output.suspect_share
    )
    assert (
        few
        and pairs_of(output.phases["control"]) == (more if is_slow else few) * repeats
    )


# ------------------------------------------------------------- the parts of the rule


@pytest.mark.parametrize("ranks", [2, 3, 5, 6, 12, 13, 14, 128, 133, 2000])
def test_a_suspect_node_has_its_neighbours_and_some_of_all_others_as_partners(ranks):
    for rank in range(ranks):
        found = suspects.partners(rank, ranks)
        assert len(set(found)) == len(found) == min(ranks - 1, 12)
        assert rank not in found and min(found) >= 0 and max(found) < ranks
        assert {each for each in (rank - 1, rank + 1) if 0 <= each < ranks} <= set(
            found
        )


@pytest.mark.parametrize("ranks", [128, 256, 512, 1024, 2000])
def test_the_partners_of_a_node_are_behind_many_cables(ranks):
    """With d-mod-k routing on 16 spines all ranks with one remainder are."""
    assert (
        min(
            len({each % 16 for each in suspects.partners(rank, ranks)})
            for rank in range(ranks)
        )
        >= 6
    )


def test_suspects_are_measured_again_in_both_directions():
    scan = Fabric(32, 0.0, 1, pairs={(3, 20): 0.8, (3, 21): 0.7}).scan()
    assert suspects.listed(suspects.find(scan, 32, 0.06), scan, 32) == [
        (3, 21),
        (21, 3),
        (3, 20),
        (20, 3),
    ]
    scan = Fabric(32, 0.0, 1, senders={3: 0.8}).scan()
    listed, partners = (
        suspects.listed(suspects.find(scan, 32, 0.06), scan, 32),
        suspects.partners(3, 32),
    )
    assert set(listed) == {(3, each) for each in partners} | {
        (each, 3) for each in partners
    }


def test_what_is_within_a_host_is_no_suspect():
    """Two ranks on each host; the slow pairs are between hosts 1 and 10, 4 and 8, and within host 8."""
    ranks = ([0] * 7, [2, 16, 9, 0, 4, 6, 8], [20, 17, 17, 30, 31, 28, 26])
    scan = Transfers(*(np.array(each, dtype=np.int32) for each in ranks), np.ones(7))
    scan.MBps[:3] = 0.5
    hosts = [f"h{rank // 2}" for rank in range(32)]
    found = suspects.find(scan, 32, 0.06, hosts)
    assert 17 in found.receivers
    listed = suspects.listed(found, scan, 32, hosts)
    assert (16, 17) not in listed and (17, 16) not in listed and (15, 17) in listed
    assert (16, 17) in suspects.listed(suspects.find(scan, 32, 0.06), scan, 32)
    assert (16, 17) in suspects.listed(
        suspects.find(scan, 32, 0.06, ["h"] * 32), scan, 32, ["h"] * 32
    )


def test_a_node_that_is_slow_where_links_are_shared_is_suspect_by_its_best_pairs():
    """Half of all pairs share a link, so that the median of every node is that of two pairs on one."""
    fabric = Fabric(64, 0.0, 1, senders={3: 0.8}, sharing=(0.4, 0.6))
    found = suspects.find(fabric.scan(), 64, 0.06)
    assert found.overall_MBps == 500 and found.plateaus_MBps == (1000, 1000)
    assert found.senders == {3: pytest.approx(0.8)}
    assert suspects.level_MBps(found, (3, 40), 0.06) == pytest.approx(940)
    assert suspects.level_MBps(found, (4, 40), 0.06) == pytest.approx(940 * 0.94)


def test_a_pair_is_suspect_beside_many_that_share():
    """Its nodes' medians, and that of all, are half of a link; it has four fifths."""
    scan = Fabric(64, 0.0, 1, pairs={(3, 40): 0.8}, sharing=(0.4, 0.6)).scan()
    at = np.flatnonzero((scan.sender == 3) & (scan.receiver == 40))
    scan.MBps[at] = 800
    found = suspects.find(scan, 64, 0.06)
    assert found.overall_MBps == 500 and at[0] in found.pairs


def test_a_slow_node_is_measured_alone_before_those_of_a_slower_kind():
    """They are slower, and have as many pairs as there is room for."""
    scan = Fabric(
        32, 0.0, 1, senders={**dict.fromkeys(range(8, 14), 0.5), 3: 0.8}
    ).scan()
    found = suspects.find(scan, 32, 0.06)
    of_kind = {(one, one + away): 0.5 for away in (8, 9, 10) for one in range(8, 14)}
    slow = of_kind | {(3, other): 0.8 for other in range(20, 26)}
    assert suspects.choose_alone(found, slow, 12)[:3] == [(3, 20), (3, 25), (8, 16)]


def test_a_slow_node_is_suspect_where_half_of_the_others_are_of_a_slower_kind():
    """By the median of all it would be as fast as these; and many of a kind leave it some of the
    measurements."""
    faults = dict.fromkeys(range(1, 32, 2), 0.5) | {2: 0.8}
    scan = Fabric(32, 0.0, 1, senders=faults).scan()
    found = suspects.find(scan, 32, 0.06)
    assert found.senders == pytest.approx(
        {2: 0.8 / 0.97} | dict.fromkeys(range(1, 16, 2), 0.5 / 0.97)
    )
    slow = sorted(
        suspects.listed(found, scan, 32), key=lambda pair: faults.get(pair[0], 1.0)
    )
    chosen = suspects.fair({pair: 1 for pair in slow if pair[0] in found.senders}, 20)
    assert Counter(sender for sender, _ in chosen)[2] == 2


def test_the_ends_of_a_slow_pair_have_controls_with_their_nearest():
    """A node that became slow late has one slow pair, of which either end may be slow, and no pair at its
    switch."""
    scan = Fabric(32, 0.0, 1).scan()
    found = suspects.find(scan, 32, 0.06)
    (pair,) = alone = [(3, 20)]
    more = suspects.controls(found, scan, alone, alone, 32)[8:]
    assert more == [(3, 2), (3, 4), (19, 20), (21, 20)]
    # What is there counts, and an end of several pairs comes before those of one.
    more = suspects.controls(found, scan, [pair, (19, 20)], [pair, (19, 20)], 32)[9:]
    assert more[0] == (21, 20)
    # A suspect node has its partners already.
    found = suspects.find(Fabric(32, 0.0, 1, receivers={20: 0.5}).scan(), 32, 0.06)
    assert all(
        sender == 3
        for sender, _ in suspects.controls(found, scan, alone, alone, 32)[8:]
    )


# ------------------------------------------------------------- rounds


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8, 16, 27, 128, 512, 2000, 16384])
def test_the_rounds_beyond_the_scan_have_a_bound(ranks):
    """N/2 + 80 log2 N, whatever is slow: here with every pair a suspect, and all of them slow again."""
    budget = suspects.budget(ranks)
    assert suspects.REPEATS * budget.total <= ranks / 2 + 80 * math.log2(ranks)
    assert (
        budget.together + budget.alone + budget.of_others + budget.controls
        == budget.total
    )
    assert min(budget.together, budget.alone, budget.controls) > 0


def slow_sender(scan):
    """Rank 7 sends at half rate."""
    return replace(scan, MBps=np.where(scan.sender == 7, 500.0, 1000.0))


def slow_spine(scan):
    """All that goes through one of 16 spines is at half rate, by the receiver's rank as with d-mod-k
    routing."""
    through = (scan.receiver % 16 == 4) & (scan.sender // 16 != scan.receiver // 16)
    return replace(scan, MBps=np.where(through, 500.0, 1000.0))


FAULTS = [(slow_sender, ranks) for ranks in (8, 27, 128, 512, 2000)]
FAULTS += [(slow_spine, ranks) for ranks in (128, 512, 2000)]


@pytest.mark.parametrize("fault, ranks", FAULTS)
def test_the_rounds_of_a_culprit_have_a_bound(fault, ranks):
    numbers = np.array(
        patterns.round_robin_rounds(ranks, rotate_patterns.nightly_rounds(ranks)),
        dtype=np.int32,
    )
    sender, receiver = (
        each.ravel() for each in patterns.pairs("round-robin", ranks, numbers)
    )
    scan = fault(
        Transfers(
            np.repeat(numbers, ranks // 2), sender, receiver, np.ones(sender.size)
        )
    )
    found, budget = suspects.find(scan, ranks, 0.06), suspects.budget(ranks)
    together = 0

    def measure(rounds, _):
        """Measure slow pairs as slow again: the model has no noise."""
        nonlocal together
        together += len(rounds)
        again = np.array([pair for pairs in rounds for pair in pairs], dtype=np.int32)
        rates = fault(
            Transfers(again[:, 0], again[:, 0], again[:, 1], np.ones(len(again)))
        ).MBps
        return dict(zip(map(tuple, again.tolist()), rates.tolist(), strict=True))

    slow = suspects.sift(
        found, suspects.listed(found, scan, ranks), 0.06, budget, measure
    )
    alone = suspects.choose_alone(found, slow, budget.alone, budget.of_others)
    used = -(-together // suspects.REPEATS) + len(alone)
    controls = suspects.controls(found, scan, slow, alone, budget.total - used)
    beyond = together + suspects.REPEATS * (len(controls) + len(alone))
    assert alone and beyond <= ranks / 2 + 80 * math.log2(ranks)
    if fault is slow_sender:
        assert beyond <= 256, "one node costs as much among many"
        assert {sender for sender, _ in alone} == {7} and len(alone) == min(
            ranks - 1, 12
        )


def test_what_is_slow_by_chance_is_fast_once_beside_few_others():
    """Of 1,024 nodes; pairs of nodes at one switch to every sixteenth node share a cable, as by d-mod-k."""
    ranks, rng = 1024, np.random.default_rng(3)
    slow_pair, budget = (70, 500), suspects.budget(ranks)
    some = rng.integers(ranks, size=(20_000, 2)).tolist()
    pairs = sorted({(one, other) for one, other in some if one != other} | {slow_pair})
    found = suspects.Suspects(1.0, {}, {}, np.array([], dtype=int), np.array([]))

    def measure(rounds, _):
        rates = {}
        for here in rounds:
            on = Counter((one // 16, other % 16) for one, other in here)
            for pair in here:
                own = 0.8 if pair == slow_pair else 1.0
                noise = 0.03 * rng.standard_normal()
                rates[pair] = own * math.exp(noise) / on[pair[0] // 16, pair[1] % 16]
        return rates

    slow = suspects.sift(found, pairs, 0.06, budget, measure)
    assert list(slow) == [slow_pair]
