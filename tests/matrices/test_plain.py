# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV."""

from random import Random

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import plain
from fabric_checks.matrices.model import End
from lab.parsers.mutations import mutated
from tests.matrices.made import csv_text, matrix

UNIT = "# unit: GB/s, larger is better\n"
LONG = f"{UNIT}# pairs: alone\n# made by hand\nfrom,to,value\na,b,12.5\nb,a,12.1\na,b,12.4\n"


def cells(table):
    """Return the values of a table by the names of both ends and the repeat."""
    ends = [str(end) for end in table.ends]
    rows = zip(table.sender, table.receiver, table.repeat, table.value, strict=True)
    return {(ends[one], ends[other], int(repeat)): float(value) for one, other, repeat, value in rows}


def test_every_cell_of_a_matrix_is_read():
    values = matrix(5, 1)
    (table,) = plain.parse(csv_text(values, "pairs: at once"))
    expected = {
        (f"n{one:02}", f"n{other:02}", 0): pytest.approx(1000 * values[one, other], abs=0.06)
        for one in range(5)
        for other in range(5)
        if one != other
    }
    assert cells(table) == expected
    assert (table.metric, table.alone, table.both_ways) == ("bandwidth", False, False)


def test_every_row_of_a_long_table_is_read():
    (table,) = plain.parse(LONG)
    assert cells(table) == {("a", "b", 0): 12500.0, ("b", "a", 0): 12100.0, ("a", "b", 1): 12400.0}
    assert table.alone is True


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_other_separators_line_ends_and_marks_are_read(separator):
    text = "\ufeff" + LONG.replace(",", separator).replace(f"s{separator} l", "s, l").replace("\n", "\r\n")
    assert cells(plain.parse(text)[0]) == cells(plain.parse(LONG)[0])


def test_names_with_a_colon_each_are_hosts_and_devices():
    (table,) = plain.parse(LONG.replace("a,", "a:gpu0,").replace("b,", "b:gpu1,"))
    assert table.ends == (End("a", "gpu0"), End("b", "gpu1"))


def test_further_matrices_are_repeats_and_empty_cells_are_missing():
    one = csv_text(matrix(3, 1))
    text = one + "\n" + one.split("\n", 1)[1].replace(one.split("\n")[2].split(",")[2], "-")
    (table,) = plain.parse(text)
    assert np.bincount(table.repeat).tolist() == [6, 5]


def test_latencies_and_both_directions_are_told():
    (table,) = plain.parse("# unit: us, smaller is better\n# directions: both\nfrom,to,value\na,b,1.5\n")
    assert (table.metric, table.both_ways, table.alone, table.value[0]) == ("latency", True, None, 1.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG[:-1], "line 7: the last line does not end"),
        (LONG.replace("larger", "smaller"), "line 1: the unit is 'GB/s, smaller is better'; 'GB/s, larger is better'"),
        (LONG.replace("GB/s", "frogs"), "line 1: 'frogs' is no unit"),
        (LONG.replace("alone", "lonely"), "line 2: '# pairs:' is 'lonely'; one of alone, at once was expected"),
        (LONG + UNIT.replace("GB", "MB"), "line 8: '# unit:' is there twice"),
        (LONG.replace("12.1", "12,1"), "line 6: a row of from,to,value was expected, found 4 cells"),
        (LONG.replace("12.1", "fast"), "line 6: 'fast' is not a number"),
        (LONG.replace("12.1", "0"), "line 6: b to a is 0; a value above 0 was expected"),
        (LONG.replace("b,a", '"b,a'), "is no row of a table"),
        (UNIT, "there is no table"),
        (UNIT + ",a,b\na,,1\n", "line 2: there is a column of 'b' but no row: is the matrix cut?"),
        (UNIT + ",a,b\na,,1\nb,1\n", "line 4: a row of 2 values was expected, found 1"),
        (UNIT + ",a,a\na,,1\nb,1,\n", "no name twice"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text, message):
    assert plain.recognizes(text)
    with pytest.raises(OutputError) as caught:
        plain.parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_damaged_text_raises_nothing_else():
    wholes = [LONG, csv_text(matrix(4, 1), "pairs: alone")]
    for number in range(600):
        random = Random(number)
        text = mutated(wholes[number % 2], random, ["nothing\n", wholes[0]])
        try:
            for table in plain.parse(text):
                assert (table.value > 0).all() and (table.sender != table.receiver).all()
        except OutputError as error:
            assert "\n" not in str(error)
