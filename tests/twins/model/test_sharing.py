# SPDX-License-Identifier: BSD-3-Clause
"""Rates by the number of pairs on a cable, for pairs that are so few that they can be counted by hand."""

from types import SimpleNamespace

from fabric_twins.model import sharing
from tests.twins.simulation import shipped


def scan(*rows):
    return SimpleNamespace(
        **{name: [row[at] for row in rows] for at, name in enumerate(("round", "sender", "receiver", "MBps"))}
    )


def test_pairs_of_one_leaf_share_nothing_and_rounds_are_counted_apart():
    file = str(shipped("feynman").file)
    # 0 and 1, 2 and 3 are on the first leaf; 0 to 127 goes over two cables, in a round of its own.
    found = sharing.by_sharing(file, scan((0, 0, 1, 670.0), (0, 2, 3, 670.0), (1, 0, 127, 600.0), (2, 1, 127, 500.0)))
    assert found == {1: [670.0, 670.0, 600.0, 500.0]}


def test_pairs_from_one_leaf_to_one_host_share_a_cable():
    """A leaf with a destination table sends all messages for one host over one cable."""
    file = str(shipped("feynman").file)
    found = sharing.by_sharing(file, scan((0, 0, 127, 480.0), (0, 1, 127, 490.0), (0, 32, 33, 670.0)))
    assert found == {2: [480.0, 490.0], 1: [670.0]}
