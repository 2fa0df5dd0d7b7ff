# SPDX-License-Identifier: BSD-3-Clause
"""Count how often a leaf is named that lost a quarter of its uplinks, where no pair depends on one cable.

    OPENBLAS_NUM_THREADS=1 python -m lab.faults.leaves hashed --nodes 16 --trials 200 --first-seed 4710000

Each seed draws a leaf and its dead cables, and is tried healthy, too. The last columns are what `OF_SHARING`
and `OF_HASH` of the analysis stand on: the spread of healthy leaves, out and in together, over what the nodes
of each differ by, and times the root of a leaf's flows.
"""

import argparse
import sys

import numpy as np

from fabric_checks.core.routing import ADAPTIVE, HASHED
from fabric_checks.diagnosis.cross_section import leaves
from fabric_checks.diagnosis.cross_section.evidence import of_output
from fabric_checks.diagnosis.cross_section.parts import on_map
from fabric_checks.fabric_map.model import of_switches
from lab.faults.fabric import ManyWays, Noise, wired
from lab.faults.program import run

LOST = 0.25


def tried(routing, nodes, seed, *, is_healthy):
    """Return the ways of the leaves of a fabric, the names of those that are blamed, and that of the one at
    fault."""
    wiring, known = wired("fat tree 2", nodes, "d-mod-k")
    at = [int(leaf) for leaf in known.at]
    groups = sorted(set(at))
    draw = np.random.default_rng(seed)
    faulty = int(draw.choice(groups))
    uplinks = np.flatnonzero((known.starts == faulty) & (known.ends != faulty)) // 2
    lost = draw.choice(
        np.unique(uplinks), max(1, round(LOST * len(np.unique(uplinks)))), replace=False
    )
    dead = (
        {}
        if is_healthy
        else {2 * int(cable) + way: 0.0 for cable in lost for way in (0, 1)}
    )
    output = run(
        ManyWays(routing, wiring, known, Noise(0.03), seed, arcs=dead),
        [groups.index(leaf) for leaf in at],
    )
    names = {
        f"leaf-{leaf}": [
            host for host, own in zip(known.hosts, at, strict=True) if own == leaf
        ]
        for leaf in groups
    }
    mapped = on_map(
        of_output(output), output.hosts, of_switches("the laboratory", names, routing)
    )
    ways = leaves.of_output(output, mapped)
    found = [each.part for each in leaves.lost(ways, mapped, []) if each.is_fault]
    return (
        ways,
        found,
        f"all uplinks of leaf-{faulty}",
        len(output.phases["leaf"]) / len(groups) / 2,
    )


def main():
    """Print a line of a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("routing", choices=(ADAPTIVE, HASHED))
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first-seed", type=int, required=True)
    asked = parser.parse_args()
    named = healthy_blamed = quiet = false_limits = 0
    smallest, spreads, errors = [], [], []
    for seed in range(asked.first_seed, asked.first_seed + asked.trials):
        ways, found, name, _ = tried(asked.routing, asked.nodes, seed, is_healthy=False)
        named += found == [name]
        healthy_blamed += bool(set(found) - {name})
        stated = ways.limit
        false_limits += name not in found and stated is not None and stated < LOST
        ways, found, _, flows = tried(asked.routing, asked.nodes, seed, is_healthy=True)
        quiet += not found
        smallest.append(ways.smallest)
        spreads.append(float(np.std(ways.share[:, 2], ddof=1)))
        errors.append(float(ways.error[2]))
    spread = float(np.sqrt(np.mean(np.square(spreads))))
    print(
        "| routing | nodes | named | others blamed | false limits | healthy quiet | stated, % | of error | by"
        " root |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    range_text = " to ".join(
        f"{100 * each:.0f}" for each in (min(smallest), max(smallest))
    )
    ratios = f"{spread / np.mean(errors):.2f} | {spread * np.sqrt(flows):.2f}"
    counts = f"{named} of {asked.trials} | {healthy_blamed} | {false_limits} | {quiet} of {asked.trials}"
    print(f"| {asked.routing} | {asked.nodes} | {counts} | {range_text} | {ratios} |")


if __name__ == "__main__":
    sys.exit(main())
