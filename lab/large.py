# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.large --nodes 4096 --first-seed S --trials 5``: who is named among thousands of nodes.

The fabric is the tree of three levels of :mod:`lab.big_fabric`, whose map is made in memory; a night is that
of :mod:`lab.faults`, with the noise of 3 % that is there. Trials are healthy, of a host that sends and
receives at 80 %, of a scanned pair at 80 %, and of a cable at 75 % both ways that four scanned pairs cross.
*Named*: that part and no other; *blamed*: a part without a fault.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np

from fabric_checks.analysis.max_min import of_rounds
from fabric_checks.core.routing import STATIC
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults
from fabric_checks.fabric_map.model import FabricMap, arcs_of
from lab.big_fabric import Tree
from lab.faults import program
from lab.faults.fabric import LINK_MBps

NOISE = 0.03
TREES = {512: Tree(8, 8, 8), 4096: Tree(16, 16, 16), 10000: Tree(25, 20, 25)}


def map_of(tree):
    """Return the map of a tree."""
    names = tree.switches
    number, ends, cables = {}, [], []
    for switch in range(len(names)):
        for port, (kind, other, far) in enumerate(tree.ports(switch), 1):
            if kind == "S" and other > switch:
                number[switch, port], number[other, far] = len(ends), len(ends) + 1
                ends += [(switch, other), (other, switch)]
                cables.append(
                    f"{names[switch]} port {port} to {names[other]} port {far}"
                )
    towards = np.full((len(names), tree.hosts), -1, dtype=np.int32)
    for switch in range(len(names)):
        most = max(port for at, port in number if at == switch)
        arcs = [number.get((switch, port), -1) for port in range(most + 1)]
        towards[switch] = np.array(arcs)[np.minimum(tree.table(switch), most)]
    starts, reached = np.array(ends, dtype=np.int64).T
    hosts = tuple(f"cn{host:05d}" for host in range(tree.hosts))
    at = np.arange(tree.hosts) // tree.width
    return FabricMap(
        "lab.big_fabric", hosts, tuple(names), at, starts, reached, tuple(cables), towards, routing=STATIC
    )  # fmt: skip


class Large:
    """A fabric of a map, as :class:`lab.faults.fabric.Fabric` is one: of links that are all alike."""

    def __init__(self, known, seed):
        self.known, self.nodes = known, len(known.hosts)
        self.wiring = SimpleNamespace(hosts=known.hosts)
        self.random = np.random.default_rng(seed)
        self.capacity = np.full(2 * self.nodes + len(known.starts) + 1, LINK_MBps)
        self.capacity[-1] = np.inf
        self.pairs, self.time = {}, 0

    def measure(self, round_, sender, receiver):
        """Return measured rates in MB/s; flows of a round, which are numbered in order, run at once."""
        numbers, place = np.unique(round_, return_inverse=True)
        sender, receiver = (
            np.asarray(each, dtype=np.int64) for each in (sender, receiver)
        )
        arcs = arcs_of(self.known, sender, receiver).astype(np.int64)
        arcs = np.where(arcs < 0, len(self.capacity) - 1, arcs + 2 * self.nodes)
        ways = np.column_stack((sender, receiver + self.nodes, arcs))
        rate, _ = of_rounds(ways, self.capacity, place)
        for (one, other), share in self.pairs.items():
            rate[(sender == one) & (receiver == other)] *= share
        self.time += len(numbers)
        return rate * np.exp(NOISE * self.random.standard_normal(len(rate)))


def trial(known, kind, seed):
    """Return a word for what became of a trial, and what was said."""
    rng, fabric = np.random.default_rng([seed, 1]), Large(known, [seed, 2])
    _, sender, receiver = program.round_robin(fabric.nodes)
    one = int(rng.integers(len(sender)))
    one, other = int(sender[one]), int(receiver[one])
    part = ""
    if kind == "host":
        fabric.capacity[[one, fabric.nodes + one]] *= 0.8
        part = f"node {known.hosts[one]}"
    if kind == "pair":
        fabric.pairs = {(one, other): 0.8}
        part = f"{known.hosts[one]} to {known.hosts[other]}"
    if kind == "cable":
        crossed = (
            arcs_of(known, sender.astype(np.int64), receiver.astype(np.int64)) // 2
        )
        count = np.bincount(crossed[crossed >= 0])
        cable = int(rng.choice(np.flatnonzero(count >= 4)))
        fabric.capacity[2 * fabric.nodes + 2 * cable + np.arange(2)] *= 0.75
        part = f"cable {known.cables[cable]}"
    output = program.run(fabric)
    began = time.process_time()
    report = evaluation.of_run(output, known=known)
    took_s = time.process_time() - began
    found = faults(report.findings)
    said = [each.text for each in found]
    parts = [[each.part, *each.others] for each in found]
    word = "quiet" if not found else "blamed"
    if part:
        is_named = [part in each for each in parts]
        word = "missed" if not found else "named" if all(is_named) else "blamed"
        if word == "named" and parts != [[part]]:
            word = "among"
    return word, part, said, took_s, report.limits


def main():
    """Print a line for each trial, and a table."""
    parser = argparse.ArgumentParser(prog="python -m lab.large", description=__doc__)
    parser.add_argument("--nodes", type=int, default=4096, choices=TREES)
    parser.add_argument("--trials", type=int, default=5, help="of each kind")
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument(
        "--kinds", nargs="*", default=["host", "pair", "cable", "healthy"]
    )
    given = parser.parse_args()
    known = map_of(TREES[given.nodes])
    counts = {kind: Counter() for kind in given.kinds}
    for seed in range(given.first_seed, given.first_seed + given.trials):
        for kind in given.kinds:
            word, part, said, took_s, limits = trial(known, kind, seed)
            counts[kind][word] += 1
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
            print(f"{kind} {seed}: {word}; {part}: {said}; {limits}; {took_s:.0f} s of a processor,"
                  f" {peak:.1f} GB at most", flush=True)  # fmt: skip
    for kind, words in counts.items():
        print(f"| {given.nodes} | {kind} | {dict(words)} |")


if __name__ == "__main__":
    main()
