# SPDX-License-Identifier: BSD-3-Clause
"""What runs take: durations of cases, and estimates from them."""

import json

import msgspec
import pytest

from fabric_checks.cli.cost import lines
from fabric_checks.core.errors import RecordError
from fabric_checks.records import cost
from fabric_checks.records.cost import Expected, Plan, PlannedCase
from tests.builders import failed, load, record, write

CASE = PlannedCase("s", "p", "e", "A %layout=4x2", nodes=4)
NAME = "A %layout=4x2 @s:p+e"


def ran(run=0, **fields):
    """Return the records of a case: two metrics."""
    common = {
        "elapsed_s": 10.0,
        "test": "A %layout=4x2",
        "layout": "4x2",
        "nodes": 4,
        "ppn": 2,
    } | fields
    return [record(run, metric=metric, **common) for metric in ("one", "two")]


@pytest.fixture
def loaded(tmp_path):
    def of(*cases):
        return load(
            write(
                tmp_path / "a.jsonl", [each for records in cases for each in records]
            ),
            cost.COLUMNS,
        ).frame

    return of


def test_a_case_takes_the_median_of_its_latest_runs(loaded):
    frame = loaded(
        *(ran(run, elapsed_s=time) for run, time in enumerate([9.0, 10.0, 99.0])),
        ran(5, environ="f"),
    )
    assert cost.durations(frame) == {NAME: 10.0, "A %layout=4x2 @s:p+f": 10.0}
    assert (
        cost.durations(
            loaded(
                *(ran(run, elapsed_s=10.0 if run < 20 else 30.0) for run in range(29))
            )
        )[NAME]
        == 30
    )


def test_a_case_without_values_or_time_tells_no_duration(loaded):
    early = failed(1, test="A %layout=4x2", layout="4x2", elapsed_s=0.5)
    assert cost.durations(loaded([early], ran(elapsed_s=None))) == {}


PAST = {NAME: 10.0, "A %layout=2x1 @s:p+e": 12.0}


def estimated(past, *cases, passes=1):
    """Return the estimate of cases, and its lines as one text."""
    found = cost.estimate(Plan("s", passes, cases), past)
    return found, "\n".join(lines(found))


def test_an_estimate_is_by_durations():
    wider = PlannedCase("s", "p", "e", "A %layout=8x2", nodes=8)
    found, text = estimated(
        PAST | {"A %layout=8x2 @s:p+e": 12.0}, CASE, wider, passes=5
    )
    assert found.jobs == 10
    assert found.nodes == 8
    assert found.timed_jobs == 10
    assert found.unknown_jobs == 0
    assert found.node_minutes == pytest.approx(5 * (40 + 8 * 12) / 60, abs=1e-3)
    assert found.job_minutes == pytest.approx(5 * (10 + 12) / 60, abs=1e-3)
    assert "node-minutes: 11.33" in text and "10 jobs in 5 passes" in text
    found, text = estimated(PAST, CASE, wider)
    assert found.unknown_jobs == 1
    assert "node-minutes: 0.667, without 1 job that never ran" in text


def test_without_history_a_cost_is_unknown_and_it_says_what_to_run():
    _, text = estimated({}, CASE)
    assert "node-minutes: unknown" in text
    assert "at most" not in text.partition("in a job")[2]
    assert (
        "none of these cases has run; `ci/run --mode smoke` first gives durations"
        in text
    )


def test_a_plan_is_read_as_it_was_written(tmp_path):
    plan = Plan("s", 5, (CASE,))
    plan.write(tmp_path / "plan.json")
    assert cost.read_plan(tmp_path / "plan.json") == plan
    for text in ("[]", "{}", '{"cases": [{}]}'):
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(
            RecordError, match="not the plan of a run; ci/run --cost writes one"
        ):
            cost.read_plan(tmp_path / "plan.json")


def test_the_verb_estimates_a_plan(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from fabric_checks.cli.main import cli

    write(tmp_path / "perflogs/A.jsonl", [*ran(0), *ran(1)])
    Plan("s", 2, (CASE,)).write(tmp_path / "plan.json")
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    planned = (
        CliRunner()
        .invoke(cli, ["cost", "--json", "--plan", str(tmp_path / "plan.json")])
        .stdout
    )
    assert json.loads(planned)["node_minutes"] == pytest.approx(2 * 40 / 60, abs=1e-3)


def test_what_scans_take_is_computed_where_nothing_has_run():
    scan = PlannedCase(
        "s", "p", "e", "Scan", 1000, Expected(least_s=30, output_B=9_000_000)
    )
    found, text = estimated({}, CASE, scan, passes=2)
    assert (found.scan_minutes, found.output_MB) == (1, 18)
    assert "1 minutes at the rate of a link, computed; 18 MB of output" in text
    assert "of all pairs" not in estimated({}, CASE)[1]
    plan = Plan("s", 1, (CASE, scan))
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
