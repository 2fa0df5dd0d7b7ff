# SPDX-License-Identifier: BSD-3-Clause
"""The columns of a measured point."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers.points import Point, columns, point, require_keys
from fabric_checks.parsers.table import whole

GOOD = {"send_us": "2", "send_ci_low_us": "1.5", "send_ci_high_us": "2", "send_samples": "30", "send_stop": "ci"}


def test_a_point_and_its_columns():
    assert point(GOOD, "send", 7) == Point(2.0, 1.5, 2.0, 30, "ci")
    assert columns("send") == tuple(GOOD)
    assert columns("send", "wait")[5] == "wait_us"


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("send_us", "0", "line 7: send_us is 0; a time must be positive"),
        ("send_us", "-2", "send_us is -2; a time must be positive"),
        ("send_us", "nan", "not a finite number"),
        ("send_us", "1.4", "send_us lies outside its confidence interval"),
        ("send_us", "2.1", "send_us lies outside its confidence interval"),
        ("send_ci_low_us", "-1", "send_us is -1; a time must be positive"),
        ("send_ci_high_us", "inf", "not a finite number"),
        ("send_samples", "0", "send_us has no samples"),
        ("send_samples", "30.5", "a number of samples of send was expected, found '30.5'"),
        ("send_samples", "-30", "a number of samples of send was expected"),
        ("send_stop", "c", "send_stop must be ci or cap, found 'c'"),
    ],
)
def test_damage(column, cell, message):
    with pytest.raises(OutputError) as error:
        point(GOOD | {column: cell}, "send", 7)
    assert message in str(error.value)


def test_whole_numbers():
    assert whole("0", 1, "a count") == 0
    for text in ("", "1_0", "+1", "1e3", "12x", "012", "9" * 30):
        with pytest.raises(OutputError, match="a count was expected"):
            whole(text, 1, "a count")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([(8, 1), (8, 2)], "the last 1 of 3 rows are missing, from size_B 64, slaves 1 on"),
        ([(8, 1), (64, 1)], "the row of size_B 8, slaves 2 was expected, found that of size_B 64, slaves 1"),
        ([(8, 1), (8, 2), (64, 1), (64, 2)], "an unexpected row of size_B 64, slaves 2"),
        ([], "the last 3 of 3 rows are missing"),
    ],
)
def test_rows_that_were_not_asked_for(found, message):
    with pytest.raises(OutputError) as error:
        require_keys(list(enumerate(found, 5)), [(8, 1), (8, 2), (64, 1)], ("size_B", "slaves"))
    assert message in str(error.value)
