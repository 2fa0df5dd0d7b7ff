# SPDX-License-Identifier: BSD-3-Clause
"""The text matrices of NVIDIA ClusterKit."""

import numpy as np
import pytest

from fabric_checks.matrices import formats
from tests.matrices import samples
from tests.matrices.made import clusterkit_text, matrix
from tests.matrices.reading import cells, refusal

VALUES = matrix(6, 1, usual=42000.0)
TEXT = samples.CLUSTERKIT
HALVES = ((0, 10.0, 20.0), (30.0, 0, 40.0), (50.0, 60.0, 0))


def test_every_pair_is_read_once_where_both_halves_are_equal():
    (table,) = formats.parse(TEXT)
    assert table.both_ways and table.alone is False and table.metric == "bandwidth"
    upper = np.round(VALUES, 2)
    assert cells(table) == {
        (f"node{one}", f"node{to}", 0): upper[one, to]
        for one in range(6)
        for to in range(one + 1, 6)
    }


def test_different_halves_are_directions():
    rows = "".join(
        f"  {rank} (a{rank}): {' '.join(map(str, row))}\n"
        for rank, row in enumerate(HALVES)
    )
    (table,) = formats.parse(f"Average bandwidth: 35 MB/s\nRank: 0 1 2\n{rows}")
    assert list(cells(table).values()) == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert not table.both_ways


def test_a_pair_of_zeros_was_not_measured():
    values = VALUES.copy()
    values[4, 5] = 0.0
    (table,) = formats.parse(clusterkit_text(values))
    assert len(table.rows) == 14 and ("node4", "node5", 0) not in cells(table)


def test_latencies_and_processes_of_one_host_are_read():
    text = clusterkit_text(matrix(4, 1, usual=1.7), "latency", "usec").replace(
        "node1", "node0"
    )
    (table,) = formats.parse(text)
    assert table.metric == "latency"
    assert [str(end) for end in table.ends[:3]] == [
        "node0 task 0",
        "node0 task 1",
        "node2 task 0",
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        (TEXT + TEXT, "2 times the line 'Rank: 0 1 ...'"),
        (
            TEXT.replace("bandwidth:", "rate:"),
            "no line like 'Average bandwidth: 42107 MB/s'",
        ),
        (TEXT.replace("MB/s", "usec"), "of bandwidth in 'usec' are no measurement"),
        (TEXT.replace(" 4 ", " 5 ", 1), "line 10: the matrix is cut or damaged"),
        (TEXT.rsplit("\n", 2)[0] + "\n", "line 10: the matrix is cut or damaged"),
        (TEXT.replace("2 (node2)", "7 (node2)"), "line 8: the matrix is cut"),
        (TEXT + TEXT.splitlines()[-1] + "\n", "in the order of the columns, found 7"),
        (TEXT.replace(TEXT.split()[-2], "0.0Z", 1), "line 10: '0.0Z' is not a number"),
        (TEXT.replace("  0.00  ", "  0.0Z  ", 1), "line 6: '0.0Z' is not a number"),
        (TEXT.replace("(node2)", "node2"), "line 9: the matrix is cut"),
        (TEXT.replace(TEXT.split()[-2], "41999.00", 1), "node5 to node4 has"),
        (TEXT.replace(TEXT.split()[-2], "0.00", 1), "node5 to node4 has"),
        (
            TEXT.replace("Average bandwidth: 42", "Average bandwidth: 43"),
            "but the matrix has",
        ),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(text, message):
    assert message in refusal(text)
