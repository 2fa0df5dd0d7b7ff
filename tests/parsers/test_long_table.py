# SPDX-License-Identifier: BSD-3-Clause
"""Long tables: every row is of the columns, or the first that is not is named."""

import polars as pl
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import long_table

TYPES = {"round": pl.Int32, "MBps": pl.Float64}
HEAD = "# fabric-checks rotate 1\n# columns: round MBps\n"


def parse(body, rows=2):
    text = f"{HEAD}{body}# ranks: 1\n# rank 0: host a\n# complete: {rows} rows\n"
    return long_table.parse(text, "rotate", TYPES, pl.col("MBps") > 0, "a rate above 0 was expected")[1]


@pytest.mark.parametrize("body", ["0 10.5\n1 20\n", "\n0 10.5\n\n\n1 20\n"])
def test_blank_lines_between_rows_are_passed_over(body):
    assert parse(body).rows() == [(0, 10.5), (1, 20.0)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("0 10.5\n1\n", "line 4: a row of the columns round MBps was expected, found '1'"),
        ("0 10.5 3\n", "line 3: a row of the columns"),
        ("a 10.5\n", "line 3: a row of the columns"),
        ("0  10.5\n", "line 3: a row of the columns"),
        ("0 1\n\n0 fast\n", "line 5: a row of the columns"),
        ("0 1\n\n1 -2\n", "line 5: a rate above 0 was expected, found '1 -2'"),
        ("0 1\n", "counts 2 rows, found 1"),
    ],
)
def test_a_damaged_row_is_refused_at_its_line(body, message):
    with pytest.raises(OutputError, match=message):
        parse(body)


def test_other_columns_are_refused():
    with pytest.raises(OutputError, match="the table has 'MBps' where 'round' was expected"):
        long_table.parse(
            HEAD.replace("round MBps", "MBps round") + "1 0\n# complete: 1 rows\n", "rotate", TYPES, pl.lit(True), ""
        )
