# SPDX-License-Identifier: BSD-3-Clause
"""What becomes slow, ends, or comes and goes during a run."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation, intermittent
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from lab.faults.fabric import Fabric, History, Noise, wired
from lab.faults.program import run
from lab.faults.trials import Trial, outcome
from tests.own_outputs import changed

RANK = 6


def findings(history, *, nodes=32, seed=1, known=True, share=0.7, table="d-mod-k"):
    """Return what is found where a node is slow for a part of the run."""
    wiring, of_fabric = wired("fat tree 2", nodes, table)
    faults = {"senders": {RANK: share}, "receivers": {RANK: share}}
    output = run(
        Fabric(wiring, of_fabric, Noise(0.03), seed, **faults, history=history)
    )
    return [
        each
        for each in evaluation.of_run(
            output, known=of_fabric if known else None
        ).findings
        if each.hosts
    ]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("begin", [2, 8, 13])
def test_a_node_that_becomes_slow_is_named_with_since_when(begin, known):
    (finding,) = findings(History(begin=begin), known=known)
    assert finding.is_fault and finding.part == "node n06" and finding.side == "both"
    round_ = int(finding.text.split("(round ")[1].split(")")[0])
    assert begin <= round_ <= begin + 2
    assert (
        f"since about {100 * round_ / 16:.0f} % of the scan" in finding.text
        and 0 < finding.data["since"] < 1
    )


@pytest.mark.parametrize("known", [True, False])
def test_a_node_slow_since_the_scan_is_an_observation(known):
    (finding,) = findings(History(begin=16), known=known)
    assert not finding.is_fault and finding.part == "node n06"
    assert (
        " since late in the scan or after it (6 of 6 pairs, measured alone)"
        in finding.text
    )
    assert finding.details[0].startswith("traffic of others that began meanwhile")


def test_a_node_that_is_always_slow_has_no_beginning():
    (finding,) = findings(History())
    assert (
        finding.is_fault and "since" not in finding.text and finding.data["since"] == 0
    )


@pytest.mark.parametrize("kind", ["host", "host sends", "cable"])
def test_what_begins_is_named_and_nothing_else(kind):
    trial = Trial(kind, 0.3, 32, history="begins")
    assert [outcome(trial, seed)[0] for seed in range(3)] == ["right"] * 3


@pytest.mark.parametrize("seed", [1000, 1003, 1004])
def test_a_cable_that_is_always_slow_is_no_node_that_became_slow(seed):
    """A receiver's last pair that was fast was one of its leaf, which does not use the cable."""
    assert outcome(Trial("cable", 0.2, 32, known="nothing"), seed)[0] == "right"


def test_a_node_that_comes_and_goes_is_an_observation():
    (finding,) = findings(History(period=3))
    assert not finding.is_fault
    assert (
        finding.part == "node n06"
        and "is intermittent: at 69 % of its own rate in " in finding.text
    )
    assert re.fullmatch(
        r"from round \d+ to \d+ of \d+; others vary so much in at most \d % of .*",
        finding.details[0],
    )


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_cable_that_comes_and_goes_is_an_observation_where_routes_are_known(
    seed, known
):
    """And none of the nodes whose pairs it carries is said to."""
    wiring, of_fabric = wired("fat tree 2", 32, "d-mod-k")
    output = run(
        Fabric(
            wiring,
            of_fabric,
            Noise(0.03),
            seed,
            arcs={4: 0.5, 5: 0.5},
            history=History(period=3),
        )
    )
    found = evaluation.of_run(output, known=of_fabric if known else None).findings
    past = [each for each in found if each.kind == "past"]
    assert not any(each.is_fault for each in found)
    if known:
        (finding,) = past
        assert finding.part == f"cable {of_fabric.cables[2]}" and finding.hosts == ()
        assert re.match(
            rf"{finding.part} is intermittent: at \d\d % of its own rate in ",
            finding.text,
        )
        assert finding.advice.startswith("look at the cable")
    else:
        assert not any("cable" in each.part for each in past)


def with_tests(slow_test, **faults):
    """Return what is found in a run whose slowest tests are below the best by noise, and as a function
    says."""
    wiring, of_fabric = wired("fat tree 2", 32, "d-mod-k")
    output, random = (
        run(Fabric(wiring, of_fabric, Noise(0.03), 1, **faults)),
        np.random.default_rng(1),
    )
    phases = {
        phase: replace(
            part,
            slowest_MBps=part.MBps
            * np.exp(-np.ptp(random.normal(0, 0.04, (3, len(part))), axis=0)),
        )
        for phase, part in output.phases.items()
    }
    for part in phases.values():
        part.slowest_MBps[slow_test(part)] *= 0.6
    return evaluation.of_run(replace(output, phases=phases), known=of_fabric).findings


def test_a_node_that_becomes_slow_within_a_measurement_is_named_with_since_when(golden):
    """Of a real run on eight nodes: n8 was shaped between the two tests of what n7 sent to it."""
    text = golden("rotate/mpich-5.0.2.mid-scan.txt")
    (finding,) = evaluation.of_run(evaluation.read(text)).findings
    assert finding.is_fault and (finding.part, finding.side) == ("node n8", "receiving")
    assert (
        "since about 62 % of the scan (round 2) (7 of 7 pairs, measured alone)"
        in finding.text
    )
    # Had both tests been as fast, it would have begun after the scan.
    (finding,) = evaluation.of_run(
        evaluation.read(changed(text, "18.4653 11.7038", "18.4653 18.1"))
    ).findings
    assert (
        not finding.is_fault
        and finding.part == "node n8"
        and "since late in the scan or after it" in finding.text
    )


@pytest.mark.parametrize("side", ["both", "sending", "receiving"])
def test_a_node_that_comes_and_goes_within_measurements_is_an_observation(side):
    def slow_test(part):
        sends, receives = part.sender == RANK, part.receiver == RANK
        own = {"both": sends | receives, "sending": sends, "receiving": receives}[side]
        return own & (np.arange(len(own)) % 2 == 0)

    (finding,) = [each for each in with_tests(slow_test) if each.kind == "past"]
    assert not finding.is_fault and (finding.part, finding.side) == ("node n06", side)
    assert (
        "node n06 is intermittent: at 5" in finding.text
        and " of its own rate in " in finding.text
    )


def test_a_node_whose_measurements_alone_vary_is_not_blamed():
    """Pairs that are slow only some of the time do not show what they have in common."""
    slow = {"receivers": {RANK: 0.8}}
    (steady,) = with_tests(lambda part: np.zeros(len(part), dtype=bool), **slow)
    assert steady.is_fault and (steady.part, steady.side) == ("node n06", "receiving")
    (varies,) = with_tests(
        lambda part: (part.receiver == RANK) & (np.arange(len(part)) % 2 == 0), **slow
    )
    assert (
        varies.kind == "past"
        and not varies.is_fault
        and "node n06 is intermittent" in varies.text
    )
    (pair,) = with_tests(
        lambda part: (part.sender == RANK) & (part.receiver == 16),
        pairs={(RANK, 16): 0.7},
    )
    assert pair.is_fault and (pair.kind, pair.ranks) == ("pair", (RANK, 16)), (
        "four measurements do not tell"
    )


@pytest.mark.parametrize(
    "slow_test",
    [
        lambda part: np.zeros(len(part), dtype=bool),
        lambda part: np.arange(len(part)) % 7 == 0,  # of all nodes alike
        lambda part: (
            (part.sender == RANK) & (part.receiver == RANK + 10)
        ),  # with one partner only
        lambda part: (part.sender == RANK) & (part.round == 0),  # once
    ],
)
def test_tests_that_are_slow_by_chance_or_for_all_are_no_node_that_comes_and_goes(
    slow_test,
):
    assert not [each for each in with_tests(slow_test) if each.kind == "past"]


def test_a_healthy_run_has_no_history():
    assert findings(History(begin=np.inf)) == []


def test_one_measurement_in_a_hundred_at_half_hides_nothing():
    for kind in ("host", "cable", "pair", "healthy"):
        trial = Trial(kind, 0.2, 32, noise="1 % at half")
        assert [outcome(trial, seed)[0] for seed in range(1000, 1003)] == ["right"] * 3


@pytest.mark.parametrize(
    "lows, is_of_paths", [((0, 12, 0), True), ((0, 4, 9), False), ((2, 4, 9), False)]
)
def test_what_is_low_with_nodes_of_one_other_switch_only_is_of_paths(lows, is_of_paths):
    """Node 0 receives from nodes at its switch and at two others: behind a lossy cable 12 of 12 measurements
    with one of these are low, and none of 34 with the other."""
    counts = (3, 12, 34)
    leaf = np.repeat(range(3), counts)
    low = np.concatenate(
        [np.arange(count) < own for count, own in zip(counts, lows, strict=True)]
    )
    pairs = np.arange(len(leaf))
    mapped = SimpleNamespace(
        evidence=SimpleNamespace(sender=pairs + 1),
        leaf=np.zeros(1),
        within=leaf == 0,
        from_leaf=leaf,
        to_leaf=np.zeros(len(leaf)),
    )
    ratio = intermittent._of_paths(mapped, 0, pairs, low, 0.03)
    assert (ratio > 2 * SETTINGS.as_good) is is_of_paths
