# SPDX-License-Identifier: BSD-3-Clause
"""How many bytes a program moved between nodes: against what ports of the test cluster counted."""

from fabric_checks.core.metrics import powers_of_two
from fabric_checks.ports.expected_bytes import (
    osu_bandwidth_B,
    rotate_B,
    stated_B,
)
from tests.breakages import refused


def test_what_our_own_programs_say():
    assert (
        stated_B("1 2 3\n# moved: 257075990 bytes\n# complete: 25 rows\n")
        == 257_075_990
    )
    assert stated_B("# complete: 25 rows\n") is None is stated_B("# moved: -1 bytes\n")


def test_osu_bandwidth():
    assert osu_bandwidth_B([0, 1, 8192]) == 64 * 110 * 8193
    assert osu_bandwidth_B([16384], pairs=3, both_ways=True) == 64 * 22 * 16384 * 6
    # Counted at the sender of a run of osu_bw on two nodes: 0.2 % more.
    assert 1 < 11_926_701_143 / osu_bandwidth_B(powers_of_two(1, 4 * 1024**2)) < 1.003


def test_rotate():
    options = (
        "size 4194304 messages 6 tests 3 pattern shift shifts 0 seed 1 confirm yes"
    )
    pairs = [(0, 1), (1, 0)] * 18
    assert rotate_B(options, ["a", "b"], pairs) == 36 * 18 * 4194304
    assert 1 < 2_725_173_113 / rotate_B(options, ["a", "b"], pairs) < 1.003
    with refused("does not have size, messages and tests"):
        rotate_B("size 4194304 messages 6", ["a", "b"], pairs)


def test_rotate_with_two_ranks_on_a_node():
    """Of the twelve pairs, four stay on their node."""
    options, hosts = "size 1048576 messages 8 tests 3", ["n1", "n1", "n2", "n2"]
    every = [
        (sender, receiver)
        for sender in range(4)
        for receiver in range(4)
        if sender != receiver
    ]
    assert rotate_B(options, hosts, every) == 8 * 24 * 1048576
