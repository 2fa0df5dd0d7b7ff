# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV."""

import pytest

from fabric_checks.matrices import formats
from fabric_checks.matrices.model import End
from tests.matrices import samples
from tests.matrices.made import csv_text, matrix
from tests.matrices.reading import cells, refusal

UNIT = "# unit: GB/s, larger is better\n"
LONG = samples.CSV_ROWS


def test_every_cell_of_a_matrix_is_read():
    values = matrix(5, 1)
    (table,) = formats.parse(csv_text(values, "pairs: at once"))
    names = [f"n{rank:02}" for rank in range(5)]
    ends = [(one, to) for one in range(5) for to in range(5) if one != to]
    expected = {
        (names[one], names[to], 0): pytest.approx(1000 * values[one, to], abs=0.06)
        for one, to in ends
    }
    assert cells(table) == expected
    assert (table.metric, table.alone, table.both_ways) == ("bandwidth", False, False)


def test_every_row_of_a_long_table_is_read():
    (table,) = formats.parse(LONG)
    assert cells(table) == {
        ("a", "b", 0): 12500.0,
        ("b", "a", 0): 12100.0,
        ("a", "b", 1): 12400.0,
    }
    assert table.alone is True


def test_tabs_quotes_line_ends_and_marks_are_read():
    text = LONG.replace("a,", '"a",').replace(",", "\t").replace("s\t l", "s, l")
    assert cells(formats.parse("\ufeff" + text.replace("\n", "\r\n"))[0]) == cells(
        formats.parse(LONG)[0]
    )


def test_a_comment_does_not_choose_the_separator():
    unit, rest = LONG.split("\n", 1)
    assert cells(formats.parse(f"{unit}\n#\tmeasured; at night\n{rest}")[0]) == cells(
        formats.parse(LONG)[0]
    )


def test_the_last_cell_of_a_matrix_with_tabs_may_be_lost_with_the_blanks():
    text = csv_text(matrix(3, 1))
    assert cells(
        formats.parse(text.replace(",", "\t").replace("s\t l", "s, l"))[0]
    ) == cells(formats.parse(text)[0])


def test_names_with_a_colon_each_are_hosts_and_devices():
    (table,) = formats.parse(LONG.replace("a,", "a:gpu0,").replace("b,", "b:gpu1,"))
    assert table.ends == (End("a", "gpu0"), End("b", "gpu1"))


def test_names_with_two_colons_are_hosts_as_a_whole():
    (table,) = formats.parse(LONG.replace("a,", "a:1:2,").replace("b,", "b:1:2,"))
    assert table.ends == (End("a:1:2"), End("b:1:2"))


@pytest.mark.parametrize("cell", ["", "-", "nan", "n/a", "N/A"])
def test_cells_without_a_value_were_not_measured(cell):
    assert len(formats.parse(LONG.replace("12.1", cell))[0].rows) == 2


def test_further_matrices_are_repeats_and_empty_cells_are_missing():
    one = csv_text(matrix(3, 1))
    text = (
        one
        + "\n"
        + one.split("\n", 1)[1].replace(one.split("\n")[2].split(",")[2], "-")
    )
    assert (
        sorted(repeat for *_, repeat in cells(formats.parse(text)[0]))
        == [0] * 6 + [1] * 5
    )


def test_latencies_and_both_directions_are_read():
    (table,) = formats.parse(
        "# unit: us, smaller is better\n# directions: both\nfrom,to,value\na,b,1.5\n"
    )
    assert (table.metric, table.both_ways, table.alone, table.rows[0].value) == (
        "latency",
        True,
        None,
        1.5,
    )


@pytest.mark.parametrize(
    "text, message",
    [
        (LONG[:-1], "line 7: the last line does not end"),
        (LONG.replace("GB/s", "frogs"), "'frogs' is no unit"),
        (
            LONG.replace("alone", "lonely"),
            "'# pairs:' is 'lonely'; one of alone, at once was expected",
        ),
        (LONG + "# unit: MB/s\n", "is there twice, with different values"),
        (
            LONG.replace("12.1", "12,1"),
            "line 6: a row of from,to,value was expected, found 4 cells",
        ),
        (LONG.replace("12.1", "fast"), "line 6: 'fast' is not a number"),
        (
            LONG.replace("12.1", "0"),
            "line 6: 'b' to 'a' is 0; two ends and a value above 0",
        ),
        (LONG.replace("from,to,value", "from,to,MBps"), "has the header from,to,value"),
        ("# unit: us\nHost1,Host2,t\na,b,1.2\n", "has the header from,to,value"),
        (UNIT + ";a;b\na;;1,5\nb;1,5;\n", "columns are separated by commas or tabs"),
        (UNIT + "| a | b |\n", "columns are separated by commas or tabs"),
        (UNIT + "   a   b\na 0 1\nb 1 0\n", "columns are separated by commas or tabs"),
        (UNIT, "there is no table"),
        (UNIT + ",a,b\na,,1\n", "in the order of the columns, found 1"),
        (UNIT + ",a,b\na,1\nb,1,\n", "line 3: the matrix is cut"),
        (UNIT + ",a,b\na,,1\nc,1,\n", "line 4: the matrix is cut"),
        (UNIT + ",a,b\na,,1\nb,1,\nc,1,1\n", "in the order of the columns, found 3"),
        (UNIT + ",a,a\na,,1\nb,1,\n", "no name twice"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(text, message):
    assert message in refusal(text)
