# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program buffer_reuse; its form is tried in test_fabric.py."""

from fabric_checks.parsers import buffer_reuse, fabric
from tests.breakages import refused


def test_other_shares_than_asked_for_are_refused(golden):
    text = golden("buffer_reuse/mpich-5.0.2.txt")
    with refused(
        "the row of size_B 1024, reuse_percent 50 was expected, found that of"
    ):
        buffer_reuse.parse(text, fabric.multiples(1024, 4194304, 4), [0, 50, 100])


def test_sizes():
    assert fabric.multiples(1024, 4194304, 4) == [
        1024,
        4096,
        16384,
        65536,
        262144,
        1048576,
        4194304,
    ]
    assert fabric.multiples(1, 15, 4) == [1, 4]
