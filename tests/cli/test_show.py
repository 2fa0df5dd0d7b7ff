# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks show`: any run, of a folder of results or of records alone."""

import json

import pytest
from click.testing import CliRunner

from fabric_checks.cli.main import cli
from fabric_checks.core.errors import FabricError
from fabric_checks.records import archiving, runs
from tests.references.records import record, write

NAMES = [record(day)["session"] for day in range(3)]


def invoke(*arguments):
    done = CliRunner().invoke(cli, ["show", *map(str, arguments)])
    if done.exception and not isinstance(done.exception, SystemExit | FabricError):
        raise done.exception
    return done


@pytest.fixture
def results(tmp_path):
    """Three runs: one that passed, one with a case that failed, one that ran none."""
    folder = write(tmp_path / "results", [record(0), record(1), record(1, metric="latency_0B")])
    (folder / "logs").mkdir()
    (folder / "reports").mkdir()
    for at, name in enumerate(NAMES):
        (folder / "logs" / f"{name}.log").write_text("")
        case = {
            "display_name": "OsuLatency %layout=2x1", "name": "x", "system": "yours", "partition": "compute",
            "environ": "mpich-cray", "result": ("pass", "fail")[at % 2], "fail_phase": "performance",
            "fail_reason": "slow",
            "fixture": False, "perfvalues": {"yours:compute:latency_8B": [1.3, 0, None, None, "us", "pass"]},
        }  # fmt: skip
        content = {"session_info": {"log_files": [f"/x/{name}.log"]}, "runs": [{"testcases": [case]}]}
        if at < 2:
            (folder / "reports" / f"run-report-{at}.json").write_text(json.dumps(content, indent=2))
    return folder


def test_all_runs_are_listed(results):
    done = invoke("--results", results, "--list")
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert rows[0] == ["session", "started", "systems", "cases", "passed"]
    assert rows[-3:] == [
        [NAMES[0], "2026-11-01", "03:00:00", "yours", "1", "1"],
        [NAMES[1], "2026-11-02", "03:00:00", "yours", "1", "0"],
        [NAMES[2], "2026-11-03", "03:00:00", "none"],
    ]
    listed = json.loads(invoke("--results", results, "--list", "--json").stdout)
    assert [each["session"] for each in listed] == NAMES
    assert listed[1] == {
        "session": NAMES[1], "started": "2026-11-02T03:00:00+00:00", "systems": ["yours"], "cases": 1, "passed": 0,
    }  # fmt: skip


def test_a_run_is_found_by_how_its_name_begins(results):
    assert f"session:  {NAMES[1]}" in invoke("--results", results, "--session", "20261102").stdout
    assert "3 runs begin with '2026110': " in str(invoke("--results", results, "--session", "2026110").exception)
    assert "no run called 'x'" in str(invoke("--results", results, "--session", "x").exception)
    (results / "logs" / f"{NAMES[1]}5.log").write_text("")  # a name that begins another is itself
    assert f"session:  {NAMES[1]}\n" in invoke("--results", results, "--session", NAMES[1]).stdout


@pytest.fixture
def archive(results, tmp_path):
    folder = tmp_path / "archive"
    archiving.add(results, folder)
    return folder


@pytest.mark.parametrize("kind", ["archive", "perflogs"])
def test_records_alone_will_do(results, archive, kind):
    path = {"archive": archive, "perflogs": results / "perflogs"}[kind]
    listed = json.loads(invoke("--results", path, "--list", "--json").stdout)
    assert [(each["session"], each["systems"], each["cases"]) for each in listed] == [
        (NAMES[0], ["yours"], 1),
        (NAMES[1], ["yours"], 1),
    ]
    shown = invoke("--results", path, "--gate")
    assert shown.exit_code == 0, shown.output
    assert "1 case ran, 1 passed; 2 records." in shown.stdout and "error" not in shown.stdout
    assert f"session:  {NAMES[1]}\nrecords:  {path}" in shown.stdout
    # Nothing of a record is lost on the way.
    content = json.loads(invoke("--results", path, "--session", NAMES[0][:8], "--json").stdout)
    assert content == json.loads(json.dumps(list(runs.load_session(results, NAMES[0]).records)))


def test_what_failed_is_known_from_records_alone(tmp_path):
    failed = record(0, None, metric=None, case_result="fail", fail_reason="it\nbroke", unit=None)
    path = write(tmp_path, [failed])
    shown = invoke("--results", path, "--gate")
    assert shown.exit_code == 1
    assert "in its job: it broke" in shown.stdout and "1 case ran, 0 passed" in shown.stdout
