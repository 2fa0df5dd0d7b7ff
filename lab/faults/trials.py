# SPDX-License-Identifier: BSD-3-Clause
"""Trials: a fault is drawn from a seed, a run of it is analysed, and what is blamed is held against the
fault."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.fabric_map.model import of_switches
from lab.faults.fabric import Fabric, History, Noise, wired
from lab.faults.program import round_robin, rounds_of, run

#: What is measured repeats to 3 %; the other noises come on top of that.
NOISES = {
    "3 %": Noise(0.03),
    "pairs differ by 3 %": Noise(0.03, pair=0.03),
    "nodes differ by 3 %": Noise(0.03, host=0.03),
    "all drifts by 10 %": Noise(0.03, drift=0.10),
    "bursts of others' traffic": Noise(0.03, bursts=1.0),
    "5 %": Noise(0.05),
    "10 %": Noise(0.10),
    "all of these": Noise(0.05, 0.03, 0.03, 0.05, 1.0),
    "1 % at half": Noise(0.03, tail=0.01),
}


@dataclass(frozen=True)
class Trial:
    """What is tried: a kind of fault at a severity, on a shape of so many nodes with a kind of tables."""

    kind: str
    severity: float
    nodes: int
    shape: str = "fat tree 2"
    table: str = "d-mod-k"
    noise: str = "3 %"
    #: How much of the fabric the analysis knows: its routes, its switches, or nothing.
    known: str = "routes"
    #: When the fault is there: always, from some part of the scan on, until one, or half of the time.
    history: str = "always"
    #: Healthy hosts of another kind: their share of all, the share of the rate that they have, and which they
    #: are.
    kinds: tuple = ()


def outcome(trial, seed):
    """Return what became of a trial, as a word, what was blamed wrongly, and the rounds that it took.

    ``right``: all that is at fault, and nothing else; ``among``: the same, beside parts that explain as much,
    in any order; ``part``: some of what is at fault and nothing else; ``symptom``: pairs that pass through it
    and no part; ``wrong``: something else; ``missed``: nothing.
    """
    wiring, known = wired(trial.shape, trial.nodes, trial.table)
    random = np.random.default_rng([seed, trial.nodes, 5])
    shares, expected = draw(trial, wiring, known, random)
    history, kinds = circumstances(
        trial, wiring, np.random.default_rng([seed, trial.nodes, 6])
    )
    fabric = Fabric(
        wiring, known, NOISES[trial.noise], seed, **shares, history=history, kinds=kinds
    )
    output = run(fabric)
    report = evaluation.of_run(output, known=known_part(trial, wiring, known))
    rounds = rounds_of(output)
    blamed = [finding for finding in report.findings if finding.is_fault]
    other = [
        each for each in blamed if not any(_names(each, fits) for fits in expected)
    ]
    symptoms = [
        each for each in other if each.kind == "pair" and slowed(fabric, each.ranks)
    ]
    wrong = [each.part for each in other if each not in symptoms]
    named = sum(any(_names(each, fits) for each in blamed) for fits in expected)
    if wrong:
        return "wrong", wrong[0], rounds
    if not expected:
        return "right", "", rounds
    if not named:
        return "symptom" if symptoms else "missed", "", rounds
    if named < len(expected):
        return "part", "", rounds
    return ("among" if any(each.others for each in blamed) else "right"), "", rounds


def _names(finding, fits):
    """Tell whether a finding names a part, itself or as one that explains as much."""
    return any(
        fits(replace(finding, part=name)) for name in (finding.part, *finding.others)
    )


def slowed(fabric, pair):
    """Tell whether a pair passes through a part that is at fault."""
    if pair in fabric.pairs:
        return True
    way = fabric.ways(np.array([pair[0]]), np.array([pair[1]]))[0]
    faulty = [*fabric.senders, *(rank + fabric.nodes for rank in fabric.receivers)]
    faulty += [arc + 2 * fabric.nodes for arc in fabric.arcs]
    return bool(np.isin(way, faulty).any())


def known_part(trial, wiring, known):
    """Return the map that the analysis gets."""
    if trial.known == "routes":
        return known
    if trial.known == "nothing":
        return None
    members = {}
    for host, switch in zip(wiring.hosts, wiring.at, strict=True):
        members.setdefault(wiring.switches[switch], []).append(host)
    return of_switches("Slurm", members, known.routing)


def circumstances(trial, wiring, random):
    """Return the history of the faults, and the hosts of another kind with their share of the rate."""
    scan, at = trial.nodes / 2, random.random()
    history = {
        "always": History(),
        "begins": History(begin=0.9 * scan * at),
        "ends": History(end=scan * (0.1 + 0.8 * at)),
        "flaps": History(begin=-scan * at, period=scan * (0.1 + 0.4 * random.random())),
    }[trial.history]
    if not trial.kinds:
        return history, {}
    share, rate, which = trial.kinds
    count = round(share * trial.nodes)
    ranks = {
        "at random": lambda: random.choice(trial.nodes, count, replace=False),
        "every k-th": lambda: np.arange(0, trial.nodes, round(1 / share)),
        "by leaf": lambda: np.argsort(wiring.at, kind="stable")[:count],
    }[which]()
    return history, {int(rank): rate for rank in ranks}


def draw(trial, wiring, known, random):
    """Return the shares of a fabric with a fault, and for each part at fault what a finding has to be to name
    it."""
    share = 1 - trial.severity
    nodes = trial.nodes
    rank = int(random.integers(nodes))
    name = wiring.hosts[rank]
    cable = int(random.integers(len(wiring.cables)))
    single = {
        "healthy": lambda: ({}, []),
        "host": lambda: (
            {"senders": {rank: share}, "receivers": {rank: share}},
            [_node(name, "both")],
        ),
        "host sends": lambda: ({"senders": {rank: share}}, [_node(name, "sending")]),
        "host receives": lambda: (
            {"receivers": {rank: share}},
            [_node(name, "receiving")],
        ),
        "pair": lambda: _pair_at_fault(nodes, wiring, random, share),
        "cable": lambda: (
            {"arcs": {2 * cable: share, 2 * cable + 1: share}},
            [_cable(trial, known, wiring, cable)],
        ),
        "cable, one way": lambda: (
            {"arcs": {2 * cable + int(random.integers(2)): share}},
            [_cable(trial, known, wiring, cable)],
        ),
        "switch": lambda: _switch(
            trial, wiring, known, int(known.ends[2 * cable]), share
        ),
        "leaf": lambda: _switch(trial, wiring, known, int(known.at[rank]), share),
    }
    if trial.kind != "host and cable":
        if trial.kind == "several":
            return _several(nodes, wiring, random, share)
        return single[trial.kind]()
    one, both = single["host sends"](), single["cable, one way"]()
    return one[0] | both[0], one[1] + both[1]


def _several(nodes, wiring, random, share):
    """Two to six hosts at fault, each by a loss of its own from the given one on."""
    ranks = random.choice(nodes, int(random.integers(2, 7)), replace=False)
    shares = {int(rank): share * (1 - 0.4 * random.random()) for rank in ranks}
    return {"senders": shares, "receivers": shares}, [
        _node(wiring.hosts[rank], "both") for rank in shares
    ]


def _node(name, side):
    return lambda finding: finding.part == f"node {name}" and finding.side == side


def _pair_at_fault(nodes, wiring, random, share):
    """A pair that the scan measures: of others nobody knows."""
    _, sender, receiver = round_robin(nodes)
    at = int(random.integers(len(sender)))
    pair = int(sender[at]), int(receiver[at])
    name = " to ".join(wiring.hosts[rank] for rank in pair)
    return {"pairs": {pair: share}}, [lambda finding: finding.part == name]


def _cable(trial, known, wiring, cable):
    if trial.known == "routes":
        return lambda finding: finding.part == f"cable {known.cables[cable]}"
    if trial.known == "nothing":
        return lambda finding: finding.kind in ("group", "pair")
    leaves = {
        wiring.switches[end]
        for end in (known.starts[2 * cable], known.ends[2 * cable])
        if end in wiring.at
    }
    if not leaves:
        return lambda finding: "above" in finding.part
    return lambda finding: any(
        finding.part.startswith(f"an uplink of {leaf}") for leaf in leaves
    )


def _switch(trial, wiring, known, switch, share):
    arcs = np.flatnonzero((known.starts == switch) | (known.ends == switch))
    shares = {"arcs": {int(arc): share for arc in arcs}}
    name, is_leaf = wiring.switches[switch], switch in wiring.at
    if trial.known == "nothing":
        return shares, [lambda finding: finding.kind in ("group", "pair")]
    if is_leaf:
        return shares, [
            lambda finding: (
                finding.part
                in (
                    f"all uplinks of {name}",
                    f"all cables to other switches of {name}",
                    f"switch {name}",
                )
            )
        ]
    if trial.known == "switches":
        return shares, [lambda finding: "above" in finding.part]
    return shares, [lambda finding: finding.part == f"switch {name}"]


def outcomes(task):
    """Return how often each outcome came, what was blamed wrongly, and the mean of the rounds.

    :param task: a trial and its seeds.
    """
    trial, seeds = task
    found, wrong, rounds = Counter(), Counter(), []
    for seed in seeds:
        word, blamed, taken = outcome(trial, seed)
        found[word] += 1
        rounds.append(taken)
        if blamed:
            wrong[blamed.split()[0]] += 1
    return trial, found, wrong, float(np.mean(rounds))
