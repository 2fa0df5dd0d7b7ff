# SPDX-License-Identifier: BSD-3-Clause
"""What rounds of a tournament leave out by other rules of directions: `python -m lab.faults.directions`."""

import numpy as np

from lab import patterns

NODES = range(2, 201)


def rounds_of(nodes, numbers):
    """Return senders and receivers of some rounds of the tournament, a row a round."""
    return patterns.pairs("round-robin", nodes, np.array(numbers, dtype=np.int32))


def measured(nodes, numbers):
    """Return how often each ordered pair is measured, senders down."""
    counts = np.zeros((nodes, nodes), dtype=int)
    np.add.at(counts, rounds_of(nodes, numbers), 1)
    return counts


def uncovered(counts, group):
    """Return how many ways from group to group, of so many groups, were not measured in that direction."""
    groups = group.max() + 1
    ways = np.zeros((groups, groups), dtype=int)
    np.add.at(
        ways,
        (
            np.broadcast_to(group[:, None], counts.shape),
            np.broadcast_to(group, counts.shape),
        ),
        counts,
    )
    return int((ways == 0).sum() - (np.diag(ways) == 0).sum()), groups * (groups - 1)


def leaves(nodes, size):
    """Return the leaf of each node where so many nodes that follow each other are at one."""
    return np.arange(nodes) // size


def other_rule(nodes, rule):
    """Return what the rounds of a night measure if another rule gives the directions."""
    numbers = np.array(
        patterns.round_robin_rounds(nodes, (nodes + 1) // 2), dtype=np.int32
    )
    low, high = (f(rounds_of(nodes, numbers), axis=0) for f in (np.min, np.max))
    up = rule(low, high)
    counts = np.zeros((nodes, nodes), dtype=int)
    np.add.at(counts, (np.where(up, low, high), np.where(up, high, low)), 1)
    return counts


def main():
    """Print what simpler rules of directions leave out: why the direction goes by the distance from the
    middle."""
    rules = {
        "the lower sends": lambda low, high: np.ones_like(low, dtype=bool),
        "the even of the lower send": lambda low, high: low % 2 == 0,
        "by the distance alone": lambda low, high: (high - low) // 2 % 2 == 0,
    }
    for name, rule in rules.items():
        idle = sum(
            min(c.sum(axis=0).min(), c.sum(axis=1).min()) < 2
            for c in (other_rule(n, rule) for n in NODES)
        )
        ways = sum(
            uncovered(other_rule(nodes, rule), group)[0] > 0
            for nodes in range(32, 201)
            for group in (leaves(nodes, 8), np.arange(nodes) % 4)
        )
        print(
            f"{name}: {idle} of 199 numbers of nodes have one that sends or receives less than twice, "
            f"{ways} of 338 ways of cabling have a way that is missed"
        )


if __name__ == "__main__":
    main()
