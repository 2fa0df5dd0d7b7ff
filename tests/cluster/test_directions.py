# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a real cluster that are slow in one direction only are named with their side; a healthy cluster is
quiet.

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
    assert (known.switches, known.hosts) == (
        ("leaf1", "leaf2"),
        tuple(f"n{i}" for i in range(1, 9)),
    )
    assert known.at.tolist() == [0] * 4 + [1] * 4


#: What is broken, by node. That of both sides is in test_nights.py.
BROKEN = {"nothing": {}, "two": {"n7": "sending", "n2": "receiving"}}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@despite_load
def test_the_right_nodes_are_named_with_their_side_and_nobody_else(
    laboratory, report_table, broken
):
    trial = laboratory.try_(broken, *live.SOON)
    report_table(
        ", ".join(f"{node} {kind}" for node, kind in broken.items()) or "healthy",
        trial.words or ["quiet"],
    )
    assert trial.is_right, (trial.blamed, trial.words)
