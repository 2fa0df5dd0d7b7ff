# SPDX-License-Identifier: BSD-3-Clause
"""What some rounds of the tournament leave out, for the tests of it."""

import numpy as np

from lab.rotate import patterns

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
