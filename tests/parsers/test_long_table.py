# SPDX-License-Identifier: BSD-3-Clause
"""Long tables: the rows, or nothing where one is not of the columns."""

import polars as pl
import pytest

from fabric_checks.parsers import long_table
from fabric_checks.parsers.fabric import Frame

TYPES = {"round": pl.Int32, "MBps": pl.Float64}


def frame(body, columns=("round", "MBps")):
    return Frame({}, columns, body, 5, 2)


@pytest.mark.parametrize("body", ["0 10.5\n1 20\n", "\n0 10.5\n\n\n1 20\n"])
def test_rows(body):
    assert long_table.rows(frame(body), TYPES).rows() == [(0, 10.5), (1, 20.0)]


@pytest.mark.parametrize("body", ["0 10.5\n1\n", "0 10.5 3\n", "a 10.5\n", "0  10.5\n", "0 fast\n"])
def test_a_row_that_is_none(body):
    assert long_table.rows(frame(body), TYPES) is None


def test_other_columns():
    assert long_table.rows(frame("0 10.5\n", ("MBps", "round")), TYPES) is None
