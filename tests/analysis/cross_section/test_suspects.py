# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes and pairs are measured again."""

import math
import re
import statistics

import numpy as np
import pytest

from fabric_checks.analysis.cross_section import suspects
from fabric_checks.parsers import rotate, rotate_patterns
from fabric_checks.parsers.rotate import Transfers
from tests.analysis.cross_section.model import Fabric


def test_a_perfect_fabric_has_no_suspects():
    found = suspects.find(Fabric(32, 0.0, 1).scan(), 32, 0.06)
    assert (found.senders, found.receivers, len(found.pairs)) == ({}, {}, 0)
    assert found.overall_MBps == 1000


def test_a_slow_sender_is_suspect_and_its_pairs_are_not():
    found = suspects.find(Fabric(32, 0.0, 1, senders={3: 0.8}).scan(), 32, 0.06)
    assert found.senders == {3: pytest.approx(0.8)}
    assert not found.receivers and not len(found.pairs)


def test_a_slow_pair_is_suspect_and_its_nodes_are_not():
    fabric = Fabric(32, 0.0, 1, pairs={(3, 20): 0.8})
    scan = fabric.scan()
    found = suspects.find(scan, 32, 0.06)
    assert not found.senders and not found.receivers
    (position,) = found.pairs
    assert (scan.sender[position], scan.receiver[position]) == (3, 20)
    assert found.share == pytest.approx([0.8])


def test_a_pair_that_is_slower_than_its_slow_sender_is_suspect_too():
    found = suspects.find(Fabric(32, 0.0, 1, senders={3: 0.8}, pairs={(3, 20): 0.5}).scan(), 32, 0.06)
    assert found.share == pytest.approx([0.5])


def test_a_sender_offers_only_its_lowest():
    fabric = Fabric(128, 0.0, 1, pairs={(3, 64 + k): 0.5 + k / 100 for k in range(30)})
    scan = fabric.scan()
    found = suspects.find(scan, 128, 0.06)
    assert len(found.pairs) == suspects.OFFERS
    assert sorted(scan.receiver[found.pairs]) == list(range(64, 80))
    assert np.all(np.diff(found.share) >= 0)


def medians(part):
    """Return the median of each pair of a phase."""
    rates = {}
    for sender, receiver, rate in zip(part.sender.tolist(), part.receiver.tolist(), part.MBps.tolist(), strict=True):
        rates.setdefault((sender, receiver), []).append(rate)
    return {pair: statistics.median(values) for pair, values in rates.items()}


def pairs_of(part, number=None):
    """Return the pairs of a phase in their order, or those of one of its rounds."""
    pairs = zip(part.round.tolist(), part.sender.tolist(), part.receiver.tolist(), strict=True)
    return [(sender, receiver) for at, sender, receiver in pairs if number in (None, at)]


@pytest.mark.parametrize("pattern", ["", ".shift", ".bisection", ".round-robin"])
def test_the_program_measures_the_same_again(golden, pattern):
    """What `rotate --confirm` did after a scan is what this rule says of it, pair for pair and round for round."""
    output = rotate.parse(golden(f"rotate/mpich-5.0.2{pattern}.txt"))
    ranks, repeats = len(output.hosts), 4
    found = suspects.find(output.scan, ranks, output.suspect_share, output.hosts)
    listed = suspects.listed(found, output.scan, ranks, output.hosts)
    budget = suspects.budget(ranks)
    rounds = suspects.pack(listed, budget.together, both_ways=output.pattern == "shift")
    measured = sum(map(len, rounds))
    told = re.fullmatch(
        r"(\d+) pairs of 56, (\d+) senders, (\d+) receivers; (\d+) measured again, (\d+) alone",
        output.header["suspects"],
    )
    assert (len(listed), len(found.senders), len(found.receivers), measured) == tuple(map(int, told.groups()[:4]))
    together = output.phases["together"]
    assert together.round.max() + 1 == repeats * len(rounds)
    for number, pairs in enumerate(rounds):
        for repeat in range(repeats):
            assert set(pairs) <= set(pairs_of(together, repeat * len(rounds) + number))
    level = (1 - output.suspect_share) * found.overall_MBps
    # A pair is also measured as the neighbour of others: only its own round counts.
    own = {}
    for number, pairs in enumerate(rounds):
        here = np.isin(together.round, [repeat * len(rounds) + number for repeat in range(repeats)])
        values = medians(Transfers(*(array[here] for array in vars(together).values())))
        own |= {pair: values[pair] for pair in pairs}
    slow = sorted((pair for pair in own if own[pair] < level), key=lambda pair: (own[pair], pair))
    alone = suspects.fair(slow, budget.alone)
    assert alone and pairs_of(output.phases["alone"]) == alone * repeats
    assert len(alone) == int(told[5])
    left = budget.total - len(rounds) - len(alone)
    controls = suspects.controls(found, output.scan, slow, alone, left, hosts=output.hosts)
    assert controls and pairs_of(output.phases["control"]) == controls * repeats


# ------------------------------------------------------------- the parts of the rule


@pytest.mark.parametrize("ranks", [2, 3, 5, 6, 12, 13, 14, 128, 133, 2000])
def test_a_suspect_node_has_its_neighbours_and_some_of_all_others_as_partners(ranks):
    for rank in range(ranks):
        found = suspects.partners(rank, ranks)
        assert len(set(found)) == len(found) == min(ranks - 1, 12)
        assert rank not in found and min(found) >= 0 and max(found) < ranks
        assert {each for each in (rank - 1, rank + 1) if 0 <= each < ranks} <= set(found)


@pytest.mark.parametrize("ranks", [128, 256, 512, 1024, 2000])
def test_the_partners_of_a_node_are_behind_many_cables(ranks):
    """With d-mod-k routing on 16 spines all ranks with one remainder are."""
    assert min(len({each % 16 for each in suspects.partners(rank, ranks)}) for rank in range(ranks)) >= 6


def test_both_directions_of_a_suspect_pair_are_measured_again():
    scan = Fabric(32, 0.0, 1, pairs={(3, 20): 0.8, (3, 21): 0.7}).scan()
    found = suspects.find(scan, 32, 0.06)
    assert suspects.listed(found, scan, 32) == [(3, 21), (21, 3), (3, 20), (20, 3)]


def test_a_suspect_node_is_measured_with_its_partners_in_both_directions():
    scan = Fabric(32, 0.0, 1, senders={3: 0.8}).scan()
    listed = suspects.listed(suspects.find(scan, 32, 0.06), scan, 32)
    partners = suspects.partners(3, 32)
    assert set(listed) == {(3, each) for each in partners} | {(each, 3) for each in partners}


def test_what_is_within_a_host_is_no_suspect():
    """Two ranks on each host; the slow pairs are between hosts 1 and 10, and within host 8."""
    scan = Transfers(
        *(np.array(ranks, dtype=np.int32) for ranks in ([0] * 4, [2, 16, 0, 4], [20, 17, 30, 31])), np.ones(4)
    )
    scan.MBps[:2] = 0.5
    hosts = [f"h{rank // 2}" for rank in range(32)]
    found = suspects.find(scan, 32, 0.06, hosts)
    assert 17 in found.receivers
    listed = suspects.listed(found, scan, 32, hosts)
    assert (16, 17) not in listed and (17, 16) not in listed and (15, 17) in listed
    assert (16, 17) in suspects.listed(suspects.find(scan, 32, 0.06), scan, 32)
    assert (16, 17) in suspects.listed(suspects.find(scan, 32, 0.06, ["h"] * 32), scan, 32, ["h"] * 32)


def test_rounds_have_no_node_twice_and_are_no_more_than_asked_for():
    pairs = [(0, 1), (1, 0), (0, 2), (2, 3), (3, 1)]
    assert suspects.pack(pairs, 9) == [[(0, 1), (2, 3)], [(1, 0)], [(0, 2), (3, 1)]]
    assert suspects.pack(pairs, 9, both_ways=True) == [[(0, 1), (1, 0), (2, 3)], [(0, 2), (3, 1)]]
    assert suspects.pack(pairs, 2) == [[(0, 1), (2, 3)], [(1, 0)]]


def test_one_very_slow_node_does_not_hide_another():
    slow = [(0, receiver) for receiver in range(1, 30)] + [(40, 50), (41, 50)]
    chosen = suspects.fair(slow, 10)
    assert chosen == [*slow[:4], (40, 50), (41, 50), *slow[4:8]]
    assert suspects.fair(slow, 100) == [*slow[:4], (40, 50), (41, 50), *slow[4:29]]


def test_controls_are_all_but_what_was_slow_twice():
    fabric = Fabric(32, 0.0, 1, senders={3: 0.5})
    scan = fabric.scan()
    found = suspects.find(scan, 32, 0.06)
    slow = {(5, 20), (6, 20)}
    chosen = suspects.controls(found, scan, slow, [(3, 18), (3, 19), (3, 20)], 12)
    assert not slow & set(chosen) and all(sender != 3 for sender, _ in chosen)
    assert len(set(chosen)) == len(chosen) == 8
    once = suspects.controls(found, scan, (), [], 1000)
    free = [pair for pair in pairs_of(scan) if pair[0] != 3]
    assert set(once) == {free[(2 * k + 1) * len(free) // 16] for k in range(8)}


def test_nodes_of_several_pairs_alone_have_controls_of_their_own():
    scan = Fabric(32, 0.0, 1).scan()
    found = suspects.find(scan, 32, 0.06)
    slow = [(3, 20), (4, 20)]
    chosen = suspects.controls(found, scan, slow, slow, 32)
    assert len(chosen) == 9
    assert chosen[-1][1] == 20 and chosen[-1] not in slow
    assert len(suspects.controls(found, scan, slow, slow, 8)) == 8


# ------------------------------------------------------------- what it costs


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 7, 8, 16, 27, 128, 512, 2000, 16384])
def test_the_rounds_beyond_the_scan_have_a_bound(ranks):
    """N/2 + 64 log2 N, whatever is slow: here with every pair a suspect, and all of them slow again."""
    budget = suspects.budget(ranks)
    assert suspects.REPEATS * budget.total <= ranks / 2 + 64 * math.log2(ranks)
    assert budget.together + budget.alone + budget.controls == budget.total
    assert min(budget.together, budget.alone, budget.controls) > 0


def slow_sender(scan):
    """Rank 7 sends at half rate."""
    return Transfers(scan.round, scan.sender, scan.receiver, np.where(scan.sender == 7, 500.0, 1000.0))


def slow_spine(scan):
    """All that goes through one of 16 spines is at half rate, by the receiver's rank as with d-mod-k routing."""
    through = (scan.receiver % 16 == 4) & (scan.sender // 16 != scan.receiver // 16)
    return Transfers(scan.round, scan.sender, scan.receiver, np.where(through, 500.0, 1000.0))


@pytest.mark.parametrize(
    ("fault", "ranks"),
    [
        (slow_sender, 8),
        (slow_sender, 27),
        *((fault, n) for fault in (slow_sender, slow_spine) for n in (128, 512, 2000)),
    ],
)
def test_the_rounds_of_a_culprit_are_counted(report_table, fault, ranks):
    numbers = np.array(rotate_patterns.round_robin_rounds(ranks, rotate_patterns.nightly_rounds(ranks)), dtype=np.int32)
    sender, receiver = (each.ravel() for each in rotate_patterns.pairs("round-robin", ranks, numbers))
    scan = fault(Transfers(np.repeat(numbers, ranks // 2), sender, receiver, np.ones(sender.size)))
    found = suspects.find(scan, ranks, 0.06)
    budget = suspects.budget(ranks)
    rounds = suspects.pack(suspects.listed(found, scan, ranks), budget.together)
    # Slow again is what is slow: the model has no noise.
    again = np.array([pair for pairs in rounds for pair in pairs], dtype=np.int32)
    rates = fault(Transfers(again[:, 0], again[:, 0], again[:, 1], np.ones(len(again)))).MBps
    slow = [(one, other) for one, other in again[rates < 940].tolist()]
    alone = suspects.fair(slow, budget.alone)
    controls = suspects.controls(found, scan, slow, alone, budget.total - len(rounds) - len(alone))
    beyond = suspects.REPEATS * (len(rounds) + len(controls) + len(alone))
    bound = int(ranks / 2 + 64 * math.log2(ranks))
    report_table(
        f"rounds for {ranks} nodes with {fault.__name__}: scan {len(numbers)}, beyond it {beyond}, at most {bound}",
        [f"together {4 * len(rounds)}, control {4 * len(controls)}, alone {4 * len(alone)}"],
    )
    assert alone and beyond <= bound
    if fault is slow_sender:
        assert beyond <= 256, "one node costs as much among many"
        assert {sender for sender, _ in alone} == {7} and len(alone) == min(ranks - 1, 12)
