# SPDX-License-Identifier: BSD-3-Clause
"""What becomes slow, ends, or comes and goes during a run."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from lab.faults.fabric import Fabric, History, Noise, wired
from lab.faults.program import run
from lab.faults.trials import Trial, outcome

RANK = 6


def findings(history, *, nodes=32, seed=1, known=True, share=0.7):
    """Return what is found where a node is slow for a part of the run."""
    wiring, of_fabric = wired("fat tree 2", nodes, "d-mod-k")
    faults = {"senders": {RANK: share}, "receivers": {RANK: share}}
    output = run(Fabric(wiring, of_fabric, Noise(0.03), seed, **faults, history=history))
    return [each for each in evaluation.of_run(output, known=of_fabric if known else None).findings if each.hosts]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("begin", [2, 8, 13])
def test_a_node_that_becomes_slow_is_named_with_since_when(begin, known):
    (finding,) = findings(History(begin=begin), known=known)
    assert finding.is_fault and finding.part == "node n06" and finding.side == "both"
    round_ = int(finding.text.split("(round ")[1].split(")")[0])
    assert begin <= round_ <= begin + 2
    assert f"since about {100 * round_ / 16:.0f} % of the scan" in finding.text and 0 < finding.since < 1


@pytest.mark.parametrize("known", [True, False])
def test_a_node_slow_since_the_scan_is_an_observation(known):
    (finding,) = findings(History(begin=16), known=known)
    assert not finding.is_fault and finding.part == "node n06"
    assert " since late in the scan or after it, 4 of 4 pairs measured alone" in finding.text
    assert finding.details[0].startswith("traffic of others that began meanwhile")


def test_a_node_that_is_always_slow_has_no_beginning():
    (finding,) = findings(History())
    assert finding.is_fault and "since" not in finding.text and finding.since == 0


@pytest.mark.parametrize("kind", ["host", "host sends", "cable"])
def test_what_begins_is_named_and_nothing_else(kind):
    trial = Trial(kind, 0.3, 32, history="begins")
    assert [outcome(trial, seed)[0] for seed in range(3)] == ["right"] * 3


@pytest.mark.parametrize("seed", [1000, 1003, 1004])
def test_a_cable_that_is_always_slow_is_no_node_that_became_slow(seed):
    """A receiver's last pair that was fast was one of its leaf, which does not use the cable."""
    assert outcome(Trial("cable", 0.2, 32, known="nothing"), seed)[0] == "right"


def test_a_node_that_was_slow_is_an_observation():
    (finding,) = findings(History(begin=3, end=12))
    assert finding.kind == "past" and not finding.is_fault
    assert finding.text == f"node n06 was slow, at {finding.share:.2f} of the rate of others, for some of the run only"
    assert "from round 3 to 11 of" in finding.details[0]


def test_half_the_rate_for_a_time_is_sharing_unless_the_routes_are_known():
    past = History(begin=3, end=12)
    assert findings(past, known=False, share=0.5) == [] and len(findings(past, known=False, share=0.75)) == 1


def test_a_node_that_comes_and_goes_is_an_observation():
    (finding,) = findings(History(period=3))
    assert not finding.is_fault
    assert finding.part == "node n06" and "comes and goes: at 0.69 of the rate of others" in finding.text


def test_a_healthy_run_has_no_history():
    assert findings(History(begin=np.inf)) == []


def test_one_measurement_in_a_hundred_at_half_hides_nothing():
    for kind in ("host", "cable", "pair", "healthy"):
        trial = Trial(kind, 0.2, 32, noise="1 % at half")
        assert [outcome(trial, seed)[0] for seed in range(1000, 1003)] == ["right"] * 3
