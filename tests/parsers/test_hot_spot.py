# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program hot_spot; its form is tried in test_fabric.py."""

from fabric_checks.parsers import fabric, hot_spot
from tests.breakages import refused


def test_other_slaves_than_asked_for_are_refused(golden):
    message = (
        "the row of size_B 64, slaves 1 was expected, found that of size_B 8, slaves 4"
    )
    with refused(message):
        hot_spot.parse(
            golden("hot_spot/mpich-5.0.2.5ranks.txt"),
            fabric.multiples(8, 65536, 8),
            [1, 2, 3],
        )


def test_sizes_and_slaves():
    assert fabric.multiples(8, 65536, 8) == [8, 64, 512, 4096, 32768]
    assert fabric.multiples(1, 63, 8) == [1, 8] and fabric.multiples(1, 64, 8) == [
        1,
        8,
        64,
    ]
    assert hot_spot.slave_counts(2) == [1]
    assert hot_spot.slave_counts(9) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert hot_spot.slave_counts(10) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert hot_spot.slave_counts(17) == [1, 2, 3, 4, 5, 6, 7, 8, 16]
    assert hot_spot.slave_counts(128) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 127]
