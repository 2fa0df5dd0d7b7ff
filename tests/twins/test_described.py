# SPDX-License-Identifier: BSD-3-Clause
"""A cluster that microbenchmarks describe, and the table of lab/replay; `test_replay` describes a twin so."""

import pytest

from lab.replay import described
from lab.replay.__main__ import rows


def test_costs_are_read_up_to_the_eager_limit():
    head = "# size_B send_us receive_us eager\n"
    found = described.costs(head + "0 1.000 2.000 1\n1 1.500 2.500 1\n2 900.000 3.000 0\n# complete\n", 2)
    assert found == ({0: 1.0, 1: 1.5}, {0: 2.0, 1: 2.5}, 2)
    with pytest.raises(AssertionError):
        described.costs(head + "0 1.000 2.000 1\n", 0)


def test_the_table_has_each_error_and_names_shared_cores():
    lines = rows({("lj", 2): [1.0, 2.0, 4.0], ("lj", 8): [1.0]}, {("lj", 2): (2.2, 30.0), ("lj", 8): (0.5, 1.0)}, 4)
    assert lines[2] == "| lj | 2 | 2 | 1 to 4 | 2.2 | +10.0 | 30 |"
    assert lines[3] == "| lj | 8, sharing 4 cores | 1 | 1 to 1 | 0.5 | -50.0 | 1 |"
