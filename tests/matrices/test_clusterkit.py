# SPDX-License-Identifier: BSD-3-Clause
"""The text matrices of NVIDIA ClusterKit."""

from random import Random

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import clusterkit
from lab.parsers.mutations import mutated
from tests.matrices.made import clusterkit_text, matrix

VALUES = matrix(6, 1, usual=42000.0)
TEXT = clusterkit_text(VALUES)
HALVES = ((0, 10.0, 20.0), (30.0, 0, 40.0), (50.0, 60.0, 0))


def test_every_pair_is_read_once_where_both_halves_are_equal():
    (table,) = clusterkit.parse(TEXT)
    assert len(table) == 15 and table.both_ways and table.alone is False and table.metric == "bandwidth"
    assert table.ends[5].host == "node5"
    expected = np.round(VALUES, 2)[table.sender, table.receiver]
    assert table.value == pytest.approx(expected)


def test_different_halves_are_directions():
    rows = "".join(f"  {rank} (a{rank}): {' '.join(map(str, row))}\n" for rank, row in enumerate(HALVES))
    (table,) = clusterkit.parse(f"Average bandwidth: 35 MB/s\nRank: 0 1 2\n{rows}")
    assert len(table) == 6 and not table.both_ways
    assert table.value.tolist() == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]


def test_latencies_and_processes_of_one_host_are_read():
    text = clusterkit_text(matrix(4, 1, usual=1.7), "latency", "usec").replace("node1", "node0")
    (table,) = clusterkit.parse(text)
    assert table.metric == "latency"
    assert [str(end) for end in table.ends[:3]] == ["node0 process 0", "node0 process 1", "node2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"Nodes": ["a"], "Links": [[0, 1.0]]}', "JSON is not published: give bandwidth.txt and latency.txt"),
        (TEXT + TEXT, "2 times the line 'Rank: 0 1 ...'"),
        (TEXT.replace("bandwidth:", "rate:"), "one line like 'Average bandwidth: 42107 MB/s'"),
        (TEXT.replace("MB/s", "usec"), "a bandwidth in 'usec' is none"),
        (TEXT.replace(" 4 ", " 5 ", 1), "the ranks of the columns are not 0, 1, 2"),
        (TEXT.rsplit("\n", 2)[0] + "\n", "the matrix has 5 of 6 rows: the file is cut"),
        (TEXT.replace("2 (node2)", "7 (node2)"), "the row of rank 2 with 6 values was expected"),
        (TEXT.replace(TEXT.split()[-2], "41999.00", 1), "line 10: ranks 4 and 5 have"),
        (TEXT.replace("Average bandwidth: 4", "Average bandwidth: 9"), "is printed, but the matrix has"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(text, message):
    assert clusterkit.recognizes(text)
    with pytest.raises(OutputError) as caught:
        clusterkit.parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_damaged_text_raises_nothing_else():
    for number in range(400):
        text = mutated(TEXT, Random(number), ["nothing\n"])
        try:
            for table in clusterkit.parse(text):
                assert (table.value > 0).all() and (table.sender != table.receiver).all()
        except OutputError as error:
            assert "\n" not in str(error)
