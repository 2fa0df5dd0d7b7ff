# SPDX-License-Identifier: BSD-3-Clause
"""All pairs, as programs of others measure them: alone or at once, one way or both."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.parsers.rotate import RotateOutput, Transfers
from lab.faults.fabric import Fabric, Noise, wired
from lab.faults.program import run

BOTH_WAYS = {
    "ping-pong": lambda there, back: 2 / (1 / there + 1 / back),
    "both at once": np.minimum,
}


def report(
    way, repeats=3, *, each=0.03, tail=0.0, seed=1, rounds=True, unseen=(), **faults
):
    """Return the report of a fabric of 16 nodes of which all pairs were measured.

    :param way: ``alone``, ``at once``, ``not said``, or one of :data:`BOTH_WAYS`; :param each: the noise.
    :param tail: the share at half; :param rounds: whether what ran at once is known; :param unseen: pairs
        that never ran.
    """
    wiring, known = wired("fat tree 2", nodes := 16, "random")
    fabric = Fabric(wiring, known, Noise(each, tail=tail), seed, **faults)
    seen = ~np.eye(nodes, dtype=bool)
    for pair in unseen:
        seen[pair] = False
    sender, receiver = np.nonzero(seen)
    step = (receiver - sender) % nodes if way == "at once" else np.arange(len(sender))
    rate = np.array([fabric.measure(step, sender, receiver) for _ in range(repeats)])
    if way in BOTH_WAYS:
        square = np.ones((repeats, nodes, nodes))
        square[:, sender, receiver] = rate
        rate = BOTH_WAYS[way](square, square.transpose(0, 2, 1))[:, sender, receiver]
    usual = np.abs(np.log(np.median(rate, axis=0) / np.quantile(rate, 0.8))) < 0.1

    def some(which, values):
        count, round_ = (
            len(values),
            step if rounds or way != "at once" else np.full(len(step), -1),
        )
        columns = (
            np.tile(each[which], count).astype(np.int32)
            for each in (round_, sender, receiver)
        )
        return Transfers(*columns, values[:, which].ravel())

    phases = {
        "scan": some(np.ones_like(usual), rate[:1]),
        "together": some(usual, rate[:0]),
    }
    phases |= {"control": some(usual, rate), "alone": some(~usual, rate)}
    output = RotateOutput({}, "table", tuple(wiring.hosts), 0, 0.0, repeats > 1, np.nan, np.nan, phases,
                          program="others", both_ways=way in BOTH_WAYS,
                          at_once=way in ("at once", "not said"))  # fmt: skip
    return evaluation.of_run(output, known=known)


def named(found):
    return {each.part: round(each.share, 1) for each in found.findings if each.is_fault}


def cable(arc):
    """Return faults, and how the part is called: a cable at .75 in both directions."""
    known = wired("fat tree 2", 16, "random")[1]
    return {"arcs": {arc: 0.75, arc ^ 1: 0.75}}, f"cable {known.cables[arc // 2]}"


@pytest.mark.parametrize("way", BOTH_WAYS)
@pytest.mark.parametrize("arc", [0, 10, 20])
def test_a_cable_that_pairs_cross_one_way_or_both_is_named_alone(way, arc):
    faults, name = cable(arc)
    assert set(named(report(way, **faults))) == {name}


@pytest.mark.parametrize("rounds, count", [(True, 1), (False, 0)])
def test_a_cable_at_once_is_named_where_rounds_and_routes_are_known(rounds, count):
    faults, name = cable(10)
    assert list(named(report("at once", rounds=rounds, **faults))) == [name] * count


@pytest.mark.parametrize(
    "unseen, ways",
    [((), []), ([(slice(4, 8), slice(0, 4))], ["{1} to {0}"]), ([(0, slice(4, 8))], []),
     ([(slice(0, 8), slice(8, 12))], ["{0} to {2}", "{1} to {2}"])],
)  # fmt: skip
def test_the_ways_between_switches_that_no_pair_took_are_listed(unseen, ways):
    found = report("alone", unseen=unseen)
    lines = [line for line in found.missed if line.startswith("paths between switches")]
    names = ", ".join(ways).format(*found.mapped.known.switches)
    assert lines == (
        [f"paths between switches that no pair took: {names}"] if ways else []
    )


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_loss_of_nodes_is_claimed_where_each_pair_was_measured_more_than_once(
    repeats,
):
    limits = report("at once", repeats).limits
    assert (limits["node"] is not None) is (repeats > 1) and (
        limits["pair"],
        limits["cable"],
    ) == (None, None)


@pytest.mark.parametrize(
    "unseen, is_said", [((), False), ([(4, slice(4, 8)), (slice(4, 8), 4)], True)]
)
def test_a_slow_node_without_a_pair_behind_its_own_switch_may_have_a_slow_path(
    unseen, is_said
):
    """Its neighbours by rank are behind another one."""
    found = report("alone", unseen=unseen, senders={4: 0.7}, receivers={4: 0.7})
    (finding,) = (each for each in found.findings if each.is_fault)
    text = "no pair with its neighbours was measured: its path to all other nodes may be the cause instead"
    assert finding.part == "node n04" and (text in finding.details) is is_said


@pytest.mark.parametrize("silent", [0, 3])
def test_a_node_of_the_slow_kind_that_never_sends_is_not_blamed(silent):
    found = report(
        "at once", kinds={rank: 0.65 for rank in range(4)}, unseen=[(silent, ...)]
    )
    assert not named(found) and [
        len(each.ranks) for each in found.mapped.evidence.kinds
    ] == [12, 4]


def test_a_node_at_once_that_receives_from_the_slow_kind_only_is_not_blamed():
    """But for one pair, which is slow, and named."""
    kinds = dict.fromkeys(range(1, 16, 4), 0.7)
    some = {
        "unseen": [(sender, 2) for sender in range(3, 16) if sender not in kinds],
        "pairs": {(0, 2): 0.5},
    }
    assert list(named(report("not said", kinds=kinds, **some))) == ["n00 to n02"]


def test_a_node_that_sends_slowly_is_held_to_the_kind_that_it_receives_as():
    found = report(
        "alone", senders={9: 0.8}, kinds={rank: 0.9 for rank in (2, 6, 10, 14)}
    )
    assert (
        named(found) == {"node n09": 0.8}
        and len(found.mapped.evidence.kinds[0].ranks) == 12
    )


@pytest.mark.parametrize("seed", range(2))
def test_kinds_too_near_to_be_distinguished_blame_nobody_at_once(seed):
    assert not named(
        report("at once", seed=seed, kinds={rank: 0.94 for rank in (8, 9, 10, 11)})
    )


@pytest.mark.parametrize(
    "repeats, tail, count", [(2, 0.01, 0), (4, 0.01, 1), (2, 0.0, 1)]
)
def test_a_pair_is_named_if_chance_does_not_make_it_low_each_time(repeats, tail, count):
    found = report("alone", repeats, each=0.01, tail=tail, pairs={(2, 13): 0.6})
    assert len(named(found)) == count and (found.limits["pair"] is None) is (count == 0)


@pytest.mark.parametrize("ways, count", [(((2, 13),), 0), (((2, 13), (13, 2)), 2)])
def test_both_directions_of_a_pair_are_low_by_chance_more_seldom(ways, count):
    found = report("alone", 2, each=0.01, tail=0.01, pairs=dict.fromkeys(ways, 0.6))
    assert len(named(found)) == count


def test_disturbed_measurements_do_not_hide_a_slow_node():
    found = report("alone", 2, tail=0.02, seed=3, receivers={11: 0.8})
    assert named(found) == {"node n11": 0.8}


def test_a_pair_of_a_slow_node_is_no_evidence_against_its_partner():
    wiring, known = wired("fat tree 2", 32, "d-mod-k")
    output = run(
        Fabric(wiring, known, Noise(0.03), 24, senders={8: 0.6}, receivers={8: 0.6})
    )
    assert [
        each.ranks
        for each in evaluation.of_run(output, known=known).findings
        if each.is_fault
    ] == [(8,)]
