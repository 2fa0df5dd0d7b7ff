# SPDX-License-Identifier: BSD-3-Clause
"""What all parsers require of numbers and rows."""

import pytest

from fabric_checks.parsers.table import require_keys, whole
from tests.breakages import refused


def test_whole_numbers():
    assert whole("0", 1, "a count") == 0
    for text in ("", "1_0", "+1", "1e3", "12x", "012", "9" * 30):
        with refused("a count was expected"):
            whole(text, 1, "a count")


@pytest.mark.parametrize(
    "found, message",
    [
        (
            [(8, 1), (8, 2)],
            "the last 1 of 3 rows are missing, from size_B 64, slaves 1 on",
        ),
        (
            [(8, 1), (64, 1)],
            "the row of size_B 8, slaves 2 was expected, found that of size_B 64, slaves 1",
        ),
        (
            [(8, 1), (8, 2), (64, 1), (64, 2)],
            "an unexpected row of size_B 64, slaves 2",
        ),
        ([], "the last 3 of 3 rows are missing"),
    ],
)
def test_rows_that_were_not_asked_for(found, message):
    with refused(message):
        require_keys(
            list(enumerate(found, 5)), [(8, 1), (8, 2), (64, 1)], ("size_B", "slaves")
        )
