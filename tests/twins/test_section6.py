# SPDX-License-Identifier: BSD-3-Clause
"""Section 6 of SAND2005-5199 by replay: the kept traces, the tables made of them, and what the report says in
words."""

import json

import pytest

from fabric_twins import replay
from fabric_twins.simulate import Bounds
from lab import section6
from lab.section6.statements import STATEMENTS
from tests.twins.simulation import shipped, simgrid

RECORDED = json.loads(section6.RUN_TIMES.read_text())


@pytest.mark.parametrize("speed", list(RECORDED["lj"]))
@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_the_report_is_met_or_not_for_a_known_reason(statement, speed):
    assert statement.is_as_expected(RECORDED, speed)


@simgrid
def test_the_kept_traces_give_the_recorded_times(tmp_path):
    """On one twin, up to eight ranks: all of it is `python -m lab.section6 replay`."""
    for problem, traces in section6.unpacked(tmp_path).items():
        few = {ranks: trace for ranks, trace in traces.items() if ranks in (2, 8)}
        (series,) = replay.run(few, [("", shipped("red-squall"))], (1, 2), 1, Bounds())
        assert set(map(str, series.points)) == {"2x1", "1x2", "8x1", "4x2"}
        for layout, point in series.points.items():
            assert point.run_s == pytest.approx(
                RECORDED[problem]["1"]["red-squall"][str(layout)], rel=1e-6
            )


def test_the_documentation_has_these_tables():
    text = (section6.ROOT / "lab/applications.md").read_text()
    lines = [line for line in section6.tables(RECORDED) if line]
    missing = [line for line in lines if line not in text.splitlines()]
    assert not missing, (
        "stale; take the tables that `python -m lab.section6 replay` prints"
    )
