# SPDX-License-Identifier: BSD-3-Clause
"""A node of a real cluster that is slow in one direction only is named with its side; a healthy cluster is quiet.

`python -m tests.faults.live` tries every kind many times.
"""

import pytest

from tests.faults import live
from tests.guard import despite_load

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def place(machine):
    with live.laboratory() as found:
        yield found


def test_slurm_says_which_nodes_are_at_which_switch(place):
    assert (place.known.switches, place.known.hosts) == (("leaf1", "leaf2"), tuple(f"n{i}" for i in range(1, 9)))
    assert place.known.at.tolist() == [0] * 4 + [1] * 4


@pytest.mark.parametrize(
    ("kind", "node"), [("healthy", "n1"), ("sending", "n7"), ("receiving", "n2"), ("half rate", "n5")]
)
@despite_load
def test_the_right_node_is_named_with_its_side_and_nobody_else(place, report_table, kind, node):
    trial = place.try_(kind, node, *live.SOON)
    report_table(f"{kind}, {node}", trial.words or ["quiet"])
    assert trial.is_right, (trial.blamed, trial.words)
