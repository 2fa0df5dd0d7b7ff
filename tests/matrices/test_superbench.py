# SPDX-License-Identifier: BSD-3-Clause
"""Results of superbench's ib-traffic."""

import pytest

from fabric_checks.matrices import formats
from tests.matrices import samples
from tests.matrices.reading import cells, refusal


def test_the_client_sends_and_what_failed_is_named():
    (table,) = formats.parse(samples.superbench())
    expected = {
        ("node3", "node0", 0): 24500.0,
        ("node2", "node1", 0): 24250.0,
        ("node1", "node0", 0): 12125.0,
    }
    assert cells(table) == expected
    assert [row.round for row in table.rows] == [0, 0, 1] and table.alone is False
    assert table.title == "ib_write_bw gpu-to-gpu, 8M bytes"
    assert "'node3 to node2': -1 in place of a value" in table.cannot_tell[-1]


def test_lines_of_one_pair_ran_alone():
    (table,) = formats.parse(samples.superbench((("0_0", 24.5), ("1_0", 24.0))))
    assert table.alone is True and len(table.cannot_tell) == 1


def test_reads_go_from_the_server_and_adapters_are_kept_apart():
    text = samples.superbench().replace("ib_write_bw", "ib_read_lat")
    text += text.replace(':0": 24.5', ':1": 30.5').replace("-1.0", "2.5")
    (table,) = formats.parse(text)
    assert table.metric == "latency"
    assert cells(table)["node0 rank 1", "node3 rank 1", 0] == 30.5
    assert cells(table)["node2 rank 0", "node3 rank 0", 0] == 2.5


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (":node0_node3:0", ":node0_node3:06", "does not end in SERVER_CLIENT"),
        (":node0_node3:0", "", "does not end in SERVER_CLIENT"),
        ("node0_node3", "node_0_node3", "does not end in SERVER_CLIENT, names without an underscore"),
        ("24.5", '"24.5"', "has no number: \"'24.5'\""),
        ("24.5", "true", "has no number: 'True'"),
        ("24.5", "NaN", "has no number: 'nan'"),
        ("24.5", "-2", "-2000"),
        ("}", "", "line 1: the JSON that begins here is damaged or cut off"),
    ],
)
def test_what_names_no_pair_or_has_no_number_is_refused(old, new, cause):
    assert cause in refusal(samples.superbench().replace(old, new))
