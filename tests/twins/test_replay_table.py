# SPDX-License-Identifier: BSD-3-Clause
"""The table of a replay; how it breaks is tried with all checks (tests/checks/test_silent_passes.py)."""

import pytest

from fabric_checks.core.layouts import Layout
from fabric_twins import replay_table
from tests.breakages import refused
from tests.conftest import GOLDEN
from tests.own_outputs import changed

LAYOUTS = [Layout(1, 1), Layout(1, 2), Layout(2, 1), Layout(2, 2)]


@pytest.fixture
def text():
    return (GOLDEN / "replay/lj.2x2.txt").read_text()


def test_times_and_shares(text):
    found = replay_table.parse(text, LAYOUTS)
    assert list(found) == LAYOUTS
    assert found[Layout(2, 1)] == replay_table.Replayed(0.088121, 0.084106004)
    assert found[Layout(2, 1)].communication_percent == pytest.approx(4.5562, abs=1e-4)


def test_a_layout_that_was_not_asked_for(text):
    with refused("an unexpected row of nodes 2, ppn 2"):
        replay_table.parse(text, LAYOUTS[:3])


def test_more_computation_than_time(text):
    with refused("is more than the run time of 0.051238 s"):
        replay_table.parse(changed(text, "0.044456116", "0.144456116"), LAYOUTS)
