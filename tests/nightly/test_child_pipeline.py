# SPDX-License-Identifier: BSD-3-Clause
"""The child pipeline that runs, made from the one that ReFrame generates, and one report of many."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric_checks.cli.child_pipeline import command
from fabric_checks.nightly import child_pipeline
from fabric_checks.nightly.child_pipeline import PipelineError
from fabric_checks.records import runs

SESSION = "20260101T000000Z-1a2b"


def line(name, hashcode, restored=None):
    return " ".join(
        ["reframe --prefix=rfm-stage/${CI_COMMIT_SHORT_SHA} -C /elsewhere/config/settings.py -c checks -R",
         f"--report-file={name}-report.json", f"--restore-session={restored}" if restored else "",
         f"--report-junit={name}-report.xml  -n /{hashcode} -r --mode=nightly"]
    )  # fmt: skip


#: As ReFrame 4.10.4 writes it.
GENERATED = {
    "cache": {"key": "${CI_COMMIT_REF_SLUG}", "paths": ["rfm-stage/${CI_COMMIT_SHORT_SHA}"]},
    "stages": ["rfm-stage-0", "rfm-stage-1"],
    "Programs_1": {"stage": "rfm-stage-0", "script": [line("Programs_1", "6605f6ac")], "needs": []},
    "A_0": {
        "stage": "rfm-stage-1",
        "script": [line("A_0", "30ba734e", "Programs_1-report.json")],
        "needs": ["Programs_1"],
    },
    "B_0": {"stage": "rfm-stage-0", "script": [line("B_0", "f17f10a2")], "needs": []},
}


def child(results="/results", generated=GENERATED, **variables):
    return child_pipeline.child_of(generated, SESSION, Path(results), variables, "here")


def test_a_job_a_case_that_restores_nothing():
    jobs = child_pipeline.jobs_of(child())
    assert list(jobs) == ["A_0", "B_0"]
    assert jobs["A_0"]["script"] == [
        "reframe -C config/settings.py -c checks -R -n /30ba734e -r --mode=nightly "
        f"--report-file=/results/reports/parts/{SESSION}/A_0.json"
    ]
    # One at a time, and without the jobs that are gone.
    assert {job["resource_group"] for job in jobs.values()} == {"fabric-checks-case"}
    assert not any("needs" in job for job in jobs.values())


def test_all_jobs_share_session_results_and_variables():
    found = child(RFM_SYSTEM="x")
    assert found["variables"] == {"FABRIC_SESSION": SESSION, "FABRIC_RESULTS": "/results", "RFM_SYSTEM": "x"}
    assert found["default"] == {"tags": ["here"], "before_script": [". ci/env.sh"]}
    assert "cache" not in found


@pytest.mark.parametrize("script", [["true"], ["reframe -r"], ["reframe -n /30ba734e", "true"], []])
def test_a_job_that_reframe_did_not_write(script):
    with pytest.raises(PipelineError, match="the job 'A_0' is not a single line of `reframe`"):
        child(generated={"A_0": {"script": script}})


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "cannot be read"), ("a: [", "not valid YAML"), ("[]", "has no job"), ("stages: []", "has no job")],
)
def test_a_file_that_is_none(tmp_path, text, says):
    path = tmp_path / "generated.yml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PipelineError, match=says) as raised:
        child_pipeline.read(path)
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)


def report(folder, name, begin, *results):
    """Write the report of a job: a pass for each list of results."""
    (folder / "reports/parts" / SESSION).mkdir(parents=True, exist_ok=True)
    info = {"time_start_unix": begin, "time_end_unix": begin + 5, "time_end": f"t{begin + 5}", "time_elapsed": 5,
            "log_files": [f"/logs/{SESSION}.log"], "num_cases": 1, "num_failures": 0}  # fmt: skip
    runs = [
        {"run_index": index, "num_cases": 1,
         "testcases": [{"name": name, "system": "s", "partition": "p", "environ": "e", "result": result,
                        "fail_phase": None, "fail_reason": None, "fixture": False, "perfvalues": {"m": [1]}}]}
        for index, result in enumerate(results)
    ]  # fmt: skip
    text = json.dumps({"session_info": info, "runs": runs, "restored_cases": []})
    (folder / "reports/parts" / SESSION / f"{name}.json").write_text(text)


def merged(folder):
    """Return the session that a merge leaves, and its report."""
    (folder / "logs").mkdir()
    (folder / "logs" / f"{SESSION}.log").touch()
    assert child_pipeline.merge(child(folder), folder) == (SESSION, [])
    found = runs.load_session(folder, SESSION)
    return found, json.loads(found.report.read_text())


def test_the_reports_of_the_jobs_become_one(tmp_path):
    report(tmp_path, "B_0", 20, "pass", "fail")
    report(tmp_path, "A_0", 10, "pass", "pass")
    found, whole = merged(tmp_path)
    assert {case.name: case.result for case in found.cases} == {"A_0 @s:p+e": "pass", "B_0 @s:p+e": "fail"}
    info = whole["session_info"]
    assert (info["time_start_unix"], info["time_end"], info["time_elapsed"], info["num_cases"]) == (10, "t25", 15, 2)
    assert [(run["run_index"], run["num_cases"]) for run in whole["runs"]] == [(0, 2), (1, 2)]


def test_a_case_that_one_job_ran_more_often_keeps_all_its_runs(tmp_path):
    report(tmp_path, "A_0", 10, "pass")
    report(tmp_path, "B_0", 20, "fail", "pass")
    _, whole = merged(tmp_path)
    assert [[case["name"] for case in run["testcases"]] for run in whole["runs"]] == [["A_0", "B_0"], ["B_0"]]


@pytest.mark.parametrize("left", [None, "", "[]", "{}"])
def test_a_job_that_left_no_report_is_named(tmp_path, left):
    report(tmp_path, "A_0", 10, "pass")
    if left is not None:
        (tmp_path / "reports/parts" / SESSION / "B_0.json").write_text(left)
    assert child_pipeline.merge(child(tmp_path), tmp_path) == (SESSION, ["B_0"])


def test_no_job_left_a_report(tmp_path):
    with pytest.raises(PipelineError, match="none of 2 jobs left a report"):
        child_pipeline.merge(child(tmp_path), tmp_path)


@pytest.mark.parametrize("name", [None, "../../x", ""])
def test_a_pipeline_without_its_session(tmp_path, name):
    with pytest.raises(PipelineError, match="FABRIC_SESSION is not among"):
        child_pipeline.merge({"variables": {"FABRIC_SESSION": name}, "A": {"script": []}}, tmp_path)


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setenv("FABRIC_HOME", "/home/of/all")
    generated, written = tmp_path / "generated.yml", tmp_path / "child.yml"
    generated.write_text(child_pipeline.as_text(GENERATED))
    run = CliRunner().invoke
    done = run(command, [str(generated), "--system", "x", "--session", SESSION])
    assert done.exit_code == 0, done.output
    written.write_text(done.stdout)
    variables = child_pipeline.read(written)["variables"]
    assert (variables["RFM_SYSTEM"], variables["FABRIC_HOME"]) == ("x", "/home/of/all")
    report(tmp_path, "A_0", 10, "pass")
    done = run(command, ["--merge", str(written)])
    assert (done.exit_code, done.stdout) == (1, f"{SESSION}\n")
    assert "B_0: the job left no report" in done.stderr
    done = run(command, ["--merge", str(written), "--json"])
    assert json.loads(done.stdout) == {"session": SESSION, "missing": ["B_0"]}
