# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a real cluster that are slow in one direction only are named with their side.

`python -m lab.faults.live` tries every kind many times.
"""

import pytest

from lab.faults import live
from tests.guard import despite_load

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def laboratory(machine):
    with live.laboratory() as found:
        yield found


def test_slurm_lists_the_nodes_of_each_switch(laboratory):
    known = laboratory.known
    assert known.switches == ("leaf1", "leaf2")
    assert known.hosts == tuple(f"n{i}" for i in range(1, 9))
    assert known.at.tolist() == [0] * 4 + [1] * 4


@despite_load
def test_the_right_nodes_are_named_with_their_side_and_nobody_else(
    laboratory, report_table
):
    """A node that is slow in both directions, and a healthy cluster, are in test_nights.py."""
    trial = laboratory.try_({"n7": "sending", "n2": "receiving"}, *live.SOON)
    report_table("n7 sending, n2 receiving", trial.words)
    assert trial.is_right, (trial.blamed, trial.words)
