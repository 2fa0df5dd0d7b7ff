# SPDX-License-Identifier: BSD-3-Clause
"""What SAND2005-5199 says in section 6, against LAMMPS's lj and rhodo, replayed; rhodo stands for the report's stouch.

The report's figures are not public, and their transcription does not say what the two curves have in common. So both
readings are tried: two processes a node against one on as many nodes, and with as many processes.
"""

import json
from math import log2
from statistics import linear_regression

import pytest

from fabric_twins import replay
from fabric_twins.simulate import Bounds
from lab import section6
from lab.section6 import traces as tracing
from tests.twins.simulation import shipped, simgrid

NODES, PROCESSES = False, True
READINGS = pytest.mark.parametrize("ranks_alike", [NODES, PROCESSES], ids=["as many nodes", "as many processes"])
RECORDED = json.loads(section6.RUN_TIMES.read_text())
SPEEDS = pytest.mark.parametrize("speed", list(RECORDED["lj"]))


def not_so(reason):
    """Mark what the twins do not do; if they ever do, the reason is out of date."""
    return pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)


NO_MEMORY = (
    "computation takes what it took traced, on however many processors of a node: no description can say otherwise"
)
ONE_BUS = (
    "two processes share the adapter, whose bus has one rate for both ways: without it, 8.6 % of 16 processes are 2.4"
)
WITHIN = "two messages at once within a node share 1318 MB/s: with ten times all rates, 9.4 % of 16 processes are 0.3"
ADAPTER = "two processes share the adapter: with ten times its rate, 2.5 % of 16 processes are 0.1"
MORE_MESSAGES = "what two processes of a node share weighs more as more of the time goes to messages, on every twin"


def gaps(problem, name, speed, ranks_alike):
    """Return how much longer two processes a node take than one, in %."""
    return section6.gaps(RECORDED[problem][speed][name], ranks_alike)


@SPEEDS
@pytest.mark.parametrize(
    ("problem", "name", "better", "ranks_alike"),
    [
        ("lj", "red-squall", 2, NODES),
        ("lj", "cbc", 2, NODES),
        pytest.param("lj", "red-squall", 2, PROCESSES, marks=not_so(ONE_BUS)),
        pytest.param("lj", "cbc", 2, PROCESSES, marks=not_so(ADAPTER)),
        ("rhodo", "red-squall", 2, NODES),
        pytest.param("rhodo", "cbc", 1, NODES, marks=not_so(NO_MEMORY)),
        pytest.param("rhodo", "escher", 1, NODES, marks=not_so(NO_MEMORY)),
        pytest.param("rhodo", "red-squall", 2, PROCESSES, marks=not_so(WITHIN)),
        ("rhodo", "cbc", 1, PROCESSES),
        ("rhodo", "escher", 1, PROCESSES),
    ],
)
def test_one_or_two_processes_a_node_are_better(problem, name, better, ranks_alike, speed):
    values = gaps(problem, name, speed, ranks_alike).values()
    assert all(value < 0 for value in values) if better == 2 else all(value > 0 for value in values)


def growth(values):
    """Return by how many percentage points a gap grows each time the nodes, or the processes, double."""
    return linear_regression([log2(count) for count in values], list(values.values())).slope


@READINGS
@SPEEDS
def test_the_gap_of_rhodo_grows_on_cbc(ranks_alike, speed):
    assert growth(gaps("rhodo", "cbc", speed, ranks_alike)) > 0.2


@not_so(MORE_MESSAGES)
@READINGS
@SPEEDS
@pytest.mark.parametrize("name", ["red-squall", "escher"])
def test_the_gap_of_rhodo_is_constant_elsewhere(name, ranks_alike, speed):
    assert growth(gaps("rhodo", name, speed, ranks_alike)) == pytest.approx(0, abs=0.2)


@simgrid
def test_the_kept_traces_give_the_recorded_times(tmp_path):
    """On one twin, up to eight ranks: all of it is `python -m lab.section6 replay`."""
    for problem, traces in section6.unpacked(tmp_path).items():
        few = {ranks: trace for ranks, trace in traces.items() if ranks in (2, 8)}
        (series,) = replay.run(few, [("", shipped("red-squall"))], (1, 2), 1, Bounds())
        assert set(map(str, series.points)) == {"2x1", "1x2", "8x1", "4x2"}
        for layout, point in series.points.items():
            assert point.run_s == pytest.approx(RECORDED[problem]["1"]["red-squall"][str(layout)], rel=1e-6)


def test_the_documentation_has_these_tables():
    text = (section6.ROOT / "lab" / "applications.md").read_text()
    lines = [line for line in section6.tables(RECORDED) if line]
    missing = [line for line in lines if line not in text.splitlines()]
    assert not missing, "stale; take the tables that `python -m lab.section6 replay` prints"


def test_the_least_of_runs_and_the_time_steps():
    head = ["# fabric-checks trace 1", "# rank: 0 of 2", "# flops/s: 1000000000"]
    steps = ["compute 123456", "send 1 0 8", "compute 7", "wait 1 0 0"]
    words = ["init", "barrier", "compute 5", "barrier", *steps, "barrier", "compute 9", "barrier", "finalize"]
    found = tracing.loop([*head, *(f"0 {each}" for each in words), "# complete: 13 actions"])
    assert found == [each.split() for each in steps]
    slower = [["compute", "200000"], *found[1:2], ["compute", "6"], ["wait", "0", "1", "0"]]
    assert tracing.least([found, slower]) == [["compute", "123000"], found[1], ["compute", "6"], found[3]]
    with pytest.raises(AssertionError, match="differ in more than time"):
        tracing.least([found, [found[0], ["send", "1", "0", "9"], *found[2:]]])
