# SPDX-License-Identifier: BSD-3-Clause
"""The right culprit on fabrics whose faults are known, and none on healthy ones."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import evidence, findings, sentences
from fabric_checks.diagnosis.cross_section.inference import Culprit
from fabric_checks.diagnosis.cross_section.intermittent import Change
from fabric_checks.diagnosis.cross_section.parts import Part, on_map
from fabric_checks.parsers import rotate
from tests.diagnosis.cross_section.model import Fabric, run

TRIALS = 20
NOISES = (0.01, 0.03, 0.10)
#: A fault takes this share of the bandwidth.
LOSS = 0.20
SCENARIOS = (
    "healthy",
    "shared links",
    "shared trunks",
    "slow sender",
    "slow receiver",
    "slow pair",
    "sender and receiver",
    "sender and pair",
)


def scenario(name, nodes, seed):
    """Return the faults of a fabric as arguments of `Fabric`, and the findings they ought to give."""
    random = np.random.default_rng([seed, nodes])
    half = nodes // 2
    sender, other = (int(rank) for rank in random.choice(half, 2, replace=False))
    receiver = half + int(random.integers(half))
    share = 1 - LOSS
    return {
        "healthy": ({}, set()),
        "shared links": ({"sharing": (0.5, 0.3, 0.2)}, set()),
        "shared trunks": (
            {"sharing": (0.4, 0.3, 0.2, 0.1), "link_MBps": 968, "single_MBps": 670},
            set(),
        ),
        "slow sender": ({"senders": {sender: share}}, {("sender", sender)}),
        "slow receiver": ({"receivers": {receiver: share}}, {("receiver", receiver)}),
        "slow pair": (
            {"pairs": {(sender, receiver): share}},
            {("pair", sender, receiver)},
        ),
        "sender and receiver": (
            {"senders": {sender: share}, "receivers": {receiver: share}},
            {("sender", sender), ("receiver", receiver)},
        ),
        "sender and pair": (
            {"senders": {sender: share}, "pairs": {(other, receiver): share}},
            {("sender", sender), ("pair", other, receiver)},
        ),
        "sender on shared links": (
            {"senders": {sender: 0.4}, "sharing": (0.7, 0.3)},
            {("sender", sender)},
        ),
    }[name]


def mapped(output):
    """Return the evidence of a run on a fabric of which nothing is known."""
    return on_map(evidence.of_output(output), output.hosts, None)


def found(output):
    """Return the findings of such a run."""
    return findings.find(output, mapped(output))


def blamed(output):
    """Return the parts that are slow for certain, as (kind, ranks...)."""
    return {
        (finding.kind, *finding.ranks) for finding in findings.faults(found(output))
    }


def right_answers(name, nodes, noise, trials=TRIALS):
    """Return in how many trials exactly the right nodes and pairs were blamed."""
    right = 0
    for seed in range(trials):
        faults, expected = scenario(name, nodes, seed)
        right += blamed(run(Fabric(nodes, noise, seed, **faults))) == expected
    return right


@pytest.mark.parametrize("noise", NOISES[:2])
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_right_part_is_blamed_and_no_other(name, noise):
    """Faults of 20 %; `python -m lab.faults` has more trials, more nodes and more noise."""
    assert right_answers(name, 32, noise, trials=5) == 5


def test_more_repeats_find_a_slow_pair_in_strong_noise():
    """Four repeats do not suffice at 10 % noise, sixty-four do."""
    right = 0
    for seed in range(30):
        faults, expected = scenario("slow pair", 32, seed)
        right += blamed(run(Fabric(32, 0.10, seed, **faults), repeats=64)) == expected
    assert right >= 27


def test_a_slow_node_is_found_behind_shared_links():
    assert right_answers("sender on shared links", 64, 0.03, trials=30) >= 29


def test_pairs_that_only_share_are_no_finding():
    assert found(run(Fabric(32, 0.03, 1, sharing=(0.5, 0.3, 0.2)))) == []
    (slow,) = found(run(Fabric(32, 0.01, 1, sharing=(0.8, 0.2), pairs={(3, 20): 0.3})))
    assert slow.hosts == ("n3", "n20")


@pytest.mark.parametrize("sender, receiver", [(0.4, 0.6), (0.6, 0.4)])
def test_the_words_name_hosts_share_and_direction_the_slowest_node_first(
    sender, receiver
):
    output = run(
        Fabric(
            32,
            0.01,
            1,
            senders={3: sender},
            receivers={20: receiver},
            pairs={(9, 25): 0.5},
        )
    )
    texts = [finding.text for finding in found(output) if finding.is_fault]
    words = [
        f"node n3 sends at {100 * sender:.0f} %",
        f"node n20 receives at {100 * receiver:.0f} %",
    ]
    words = [*(words if sender < receiver else words[::-1]), "n9 to n25 runs at 50 %"]
    for text, beginning in zip(texts, words, strict=True):
        assert text.startswith(f"{beginning} of the typical rate (")


def test_more_than_three_slow_pairs_are_one_finding_that_lists_them():
    slow = {(1, 20): 0.7, (5, 29): 0.6, (9, 25): 0.5, (14, 18): 0.65}
    output = run(
        Fabric(
            32,
            0.01,
            1,
            pairs=slow | {pair[::-1]: share for pair, share in slow.items()},
        )
    )
    (group,) = found(output)
    assert group.kind == "group" and group.is_fault
    assert group.text.startswith("8 paths among n1, n5, n9, n14, n18 and 3 more run")
    listed = re.findall(r"(n\d+) and (n\d+) \((\d\d) %\)", group.details[0])
    assert [(int(one[1:]), int(other[1:])) for one, other, _ in listed] == sorted(
        slow, key=slow.get
    )
    assert [int(share) / 100 for *_, share in listed] == pytest.approx(
        sorted(slow.values()), rel=0.05
    )


def test_a_run_without_confirmation_has_no_findings():
    assert (
        found(
            run(
                Fabric(32, 0.01, 1, receivers={20: 0.41}, pairs={(9, 25): 0.5}),
                confirm=False,
            )
        )
        == []
    )


def test_nobody_is_blamed_where_nothing_repeats():
    """A machine with more processes than cores: the same pair has ten times the bandwidth a moment later."""
    for seed in range(20):
        (noise,) = found(run(Fabric(8, 1.5, seed)))
        assert not noise.is_fault
    assert noise.kind == "noise" and "idle nodes" in noise.advice


@pytest.mark.parametrize("nodes, trials", [(8, TRIALS), (32, 5)])
@pytest.mark.parametrize("spread", [0.05, 0.10])
def test_nobody_is_blamed_where_healthy_pairs_differ_as_much(nodes, trials, spread):
    """As on nodes that share cores."""
    blameless = sum(
        blamed(run(Fabric(nodes, 0.02, seed, spread=spread))) == set()
        for seed in range(trials)
    )
    assert blameless >= 0.98 * trials


@pytest.mark.parametrize("spread, trials", [(0.05, 10), (0.10, 30)])
def test_a_node_at_half_rate_is_found_among_pairs_that_differ(spread, trials):
    faults = {"senders": {3: 0.5}}
    runs = [
        run(Fabric(32, 0.02, seed, spread=spread, **faults)) for seed in range(trials)
    ]
    assert sum(("sender", 3) in blamed(output) for output in runs) >= 0.9 * trials


def test_nodes_that_share_cores_have_no_slow_cable(golden):
    """Eight nodes of one machine with two cores: healthy pairs ran at 0.75 of others, and two suspects at
    0.73."""
    (noise,) = found(rotate.parse(golden("rotate/mpich-5.0.2.shared-cores.txt")))
    assert (
        noise.kind == "noise"
        and "healthy pairs by up to" in noise.text
        and not noise.is_fault
    )
    assert "--confirm-repeats" not in noise.advice, "they would change nothing"


def test_findings_are_plain_data():
    (fault,) = findings.faults(found(run(Fabric(32, 0.01, 1, senders={3: 0.6}))))
    assert json.loads(json.dumps(fault.as_dict()))["hosts"] == ["n3"]


def test_a_node_that_comes_and_goes_is_told_with_how_much_others_vary():
    output = run(Fabric(16, 0.01, 1))
    change = Change(3, "sending", 0.5, 2, 7, low=9, of=12, usual=0.8)
    found = sentences.changed(mapped(output), change)
    assert (
        found.text
        == "node n3 is intermittent: at 50 % of its own rate in 9 of 12 measurements"
    )
    rounds = "from round 2 to 7 of"
    assert found.details[0].startswith(rounds) and found.details[0].endswith(
        "in at most 80 % of their measurements"
    )
    assert found.details[1] == "only while it sent" and not found.is_fault


@pytest.mark.parametrize(
    "hosts, nodes", [(("n0",) * 16, 16), (("n0",) * 8 + ("n1",) * 8, 2)]
)
def test_processes_of_one_host_count_as_nodes_and_those_of_several_do_not(hosts, nodes):
    assert (
        evidence.of_output(replace(run(Fabric(16, 0.01, 1)), hosts=hosts)).nodes
        == nodes
    )


def culprit(kind, share, *pairs):
    part = Part(kind, (), 1.0, np.array(pairs), np.zeros(len(pairs)))
    return Culprit(part, (), share, np.empty(0, dtype=np.int64), 0.0, sure=True)


@pytest.mark.parametrize(
    "share, on_route, is_symptom",
    [(0.47, True, True), (0.46, True, False), (0.47, False, False)],
)
def test_a_pair_is_a_symptom_of_slow_parts_on_its_route(share, on_route, is_symptom):
    """Two parts that leave half of the rate together make a pair at 0.93 of that half, and no slower one."""
    pair = culprit("pair", share, 3)
    others = (
        (culprit("sender", 0.8, 1, 2, 3), culprit("arc", 0.625, 3, 4))
        if on_route
        else (culprit("arc", 0.5, 1),)
    )
    assert findings._is_symptom(pair, (pair, *others)) is is_symptom
