# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks history`: the series, its blocks, and the picture."""

import json
from functools import partial
from statistics import median

import pytest

from fabric_checks.cli import history as verb
from fabric_checks.comparison import history
from tests import calling
from tests.references.records import frame, record, write

VALUES = [1.3, 1.31, 1.29, 1.3, 1.6, 1.32]
#: The fifth run missed its reference; the third is the first with another MPI.
RUNS = [
    record(day, value, reference=1.3, upper=0.1, no_reference=None, result="fail" if value > 1.43 else "pass",
           mpi="MPICH 4.2.3" if day < 2 else "MPICH 5.0.0")
    for day, value in enumerate(VALUES)
]  # fmt: skip


invoke = partial(calling.invoke, "history")


@pytest.fixture
def results(tmp_path):
    other = [record(day, 5.0, layout="1x2", test="OsuLatency %layout=1x2") for day in range(3)]
    small = [record(day, 1.2, metric="latency_0B", size_B=0) for day in range(3)]
    failed = record(6, None, metric=None, unit=None, result=None, case_result="fail")
    return write(tmp_path / "results", [*RUNS, *other, *small, failed])


def test_a_series_knows_its_misses_and_changes():
    (line,) = history.lines(frame(reversed(RUNS)))
    assert (line.values, line.median, line.missed) == (VALUES, median(VALUES), [4])
    assert line.changes() == [{"at": 2, "what": "MPI", "before": "MPICH 4.2.3", "after": "MPICH 5.0.0"}]


def rows_of(values, width=100, **changes):
    """Return blocks and marks of a series."""
    (line,) = history.lines(frame([record(day, value, **changes) for day, value in enumerate(values)]))
    return verb.lines_of(line, width)[2:]


def test_every_run_is_a_block_and_marked_where_it_missed_or_something_changed():
    (line,) = history.lines(frame(RUNS))
    _, _, blocks, marks, *_ = verb.lines_of(line, 100)
    assert (blocks, marks) == ("  ▁▂▁▁█▂", "    | X")


@pytest.mark.parametrize("values", [[0.0], [5.0, 5.0], [-1.0, 1e7]])
def test_series_that_are_hard_to_scale(values):
    (blocks,) = rows_of(values)
    assert len(blocks.strip()) == len(values)


def test_more_runs_than_characters_share_them():
    (blocks,) = rows_of([*range(1, 28), 1, 1], width=14)
    assert blocks == "  ▃▅▆▆▇▇▇██▁"


def test_the_caption_says_what_the_plot_shows(results):
    done = invoke("latency_8B", f"{results},layout=2x1")
    assert done.exit_code == 0
    assert "latency_8B of OsuLatency %layout=2x1 @yours:compute+mpich-cray" in done.stdout
    assert (
        "6 runs 2026-11-01..2026-11-06, unit us, smaller is better: median 1.305, reference 1.3, high 1.43"
        in done.stdout
    )
    assert "X: 1 missed the reference" in done.stdout
    assert "1 case of this test failed before values were measured" in done.stdout
    assert "| run 3 (2026-11-03 03:00): MPI: MPICH 4.2.3 -> MPICH 5.0.0" in done.stdout
    assert "5.0" not in done.stdout.replace("MPICH 5.0.0", "")


def test_a_pattern_takes_several_and_too_many_are_listed(results, monkeypatch):
    done = invoke("latency_.*", results)
    assert done.stdout.count("is better: median") == 3
    monkeypatch.setattr(verb, "MOST", 2)
    done = invoke("latency_.*", results)
    assert done.exit_code == 1 and "is better" not in done.stdout
    assert (
        "latency_8B of OsuLatency %layout=1x2 @yours:compute+mpich-cray: 3 runs, median 5, last 5"
        in done.stdout
    )
    assert "3 series are too many to plot; choose at most 2, as in" in done.stderr


def test_json_has_every_run(results):
    content = json.loads(invoke("latency_8B", f"{results},layout=2x1", "--json").stdout)
    (line,) = content["series"]
    assert [run["value"] for run in line["runs"]] == VALUES
    assert [run["result"] for run in line["runs"]] == ["pass"] * 4 + ["fail", "pass"]
    assert [(run["low"], run["high"]) for run in line["runs"]] == [(None, pytest.approx(1.43))] * 6
    assert line["changes"] == [{"at": 2, "what": "MPI", "before": "MPICH 4.2.3", "after": "MPICH 5.0.0"}]
    assert line["runs"][0]["time"] == "2026-11-01T03:00:00+00:00"
    assert content["faults"] == []


def test_an_unknown_metric_says_what_there_is(results):
    assert "no record there has a metric 'latency_9B'" in str(invoke("latency_9B", results).exception)
    assert "is not a regular expression" in str(invoke("latency_(", results).exception)


def test_a_simulated_value_says_so(tmp_path):
    results = write(tmp_path, [record(day, evidence="predicted") for day in range(2)])
    assert "@yours:compute+mpich-cray (predicted)" in invoke("latency_8B", results).stdout
