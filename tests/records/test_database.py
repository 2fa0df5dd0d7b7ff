# SPDX-License-Identifier: BSD-3-Clause
"""The database that ReFrame itself keeps, made by real sessions of it."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.records import archiving, database
from fabric_checks.records.record import FIELDS
from tests.builders import load
from tests.conftest import GOLDEN, TESTS
from tests.guard import GUARD_S

REFRAME = Path(sys.executable).with_name("reframe")
FOREIGN = """\
import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, parameter

class Base(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo speed 12.5"

    @sanity_function
    def is_there(self):
        return sn.assert_found(self.word, self.stdout)

    @performance_function("GFLOP/s")
    def speed(self):
        return sn.extractsingle(r"speed (\\S+)", self.stdout, 1, float)

@rfm.simple_test
class Triad(Base):
    word = "speed"
    size = parameter([1, 2])
    num_tasks = 1
    reference = {"*": {"speed": (10, -0.1, None, "GFLOP/s")}}

@rfm.simple_test
class Broken(Base):
    word = "nothing"
"""


def session(folder, *arguments, **environment):
    """Run ReFrame with its storage."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RFM_")} | environment
    env |= {"RFM_ENABLE_RESULTS_STORAGE": "1", "RFM_SQLITE_DB_FILE": str(folder / "results.db")}
    env |= {"RFM_PREFIX": str(folder / "prefix"), "RFM_REPORT_FILE": str(folder / "report-{sessionid}.json")}
    subprocess.run([REFRAME, *map(str, arguments), "-r"], env=env, cwd=folder, capture_output=True, timeout=GUARD_S)
    return folder / "results.db"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Return the database of a session of checks that are not ours: two that pass, and one that fails."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "triad.py").write_text(FOREIGN)
    return session(folder, "-c", folder / "triad.py")


def test_checks_that_are_not_ours(foreign):
    loaded = load(foreign)
    assert loaded.faults == ()
    rows = sorted(loaded.frame.to_dicts(), key=lambda row: row["test"])
    assert [(row["check"], row["test"], row["metric"], row["value"], row["unit"]) for row in rows] == [
        ("Broken", "Broken", None, None, None),
        ("Triad", "Triad %size=1", "speed", 12.5, "GFLOP/s"),
        ("Triad", "Triad %size=2", "speed", 12.5, "GFLOP/s"),
    ]
    assert (rows[0]["case_result"], rows[0]["fail_reason"].splitlines()[0]) == (
        "fail",
        "sanity error: pattern 'nothing' not found in 'rfm_job.out'",
    )
    one = rows[1]
    assert (one["system"], one["partition"], one["environ"], one["tasks"]) == ("generic", "default", "builtin", 1)
    assert (one["reference"], one["lower"], one["upper"], one["result"]) == (10.0, -0.1, None, "pass")
    assert one["reframe"].startswith("4.") and one["better"] is None and json.loads(one["nodelist"])
    report = json.loads(next(foreign.parent.glob("report-*.json")).read_text())
    assert one["session"] == report["session_info"]["uuid"]
    (ended,) = (
        case["job_completion_time_unix"] for case in report["runs"][0]["testcases"] if "=1" in case["display_name"]
    )
    assert one["time"].timestamp() == pytest.approx(ended, abs=1e-5)


def test_an_archive_of_it_says_the_same(foreign, tmp_path):
    outcome = archiving.add(foreign, tmp_path / "archive")
    assert (outcome.added, outcome.faults) == (3, ())
    columns = ["test", "metric"]
    assert load(tmp_path / "archive").frame.sort(columns).equals(load(foreign).frame.sort(columns))


def test_of_our_checks_the_records_are_those_of_the_perflog(tmp_path):
    """The real reframe, launcher and probe; the program plays back an output."""
    output = GOLDEN / "osu-py/4.1.2/osu_latency.txt"
    environment = {"FABRIC_RESULTS": str(tmp_path), "FABRIC_MPI": "mpich", "PLAYBACK": str(output)}
    session(
        tmp_path, "-C", TESTS / "playback/settings.py", "-c", TESTS.parent / "checks", "-n", "OsuLatency", **environment
    )
    (path,) = (tmp_path / "prefix/perflogs").rglob("*.jsonl")
    expected = [json.loads(line) for line in path.read_text().splitlines()]

    def report(number, cause):
        raise AssertionError(f"{number}: {cause}")

    found = [record for _, record in database.records(tmp_path / "results.db", report)]
    assert len(expected) == 24 and found == expected
    assert all(tuple(record) == FIELDS for record in found)
    one, other = load(path), load(tmp_path / "results.db")
    assert one.frame.equals(other.frame) and (one.faults, other.faults) == ((), ())


def changed(foreign, tmp_path, change):
    """Return a copy of a database whose session is changed."""
    with sqlite3.connect(foreign) as source, sqlite3.connect(tmp_path / "results.db") as target:
        source.backup(target)
        uuid, text = target.execute("SELECT uuid, json_blob FROM sessions").fetchone()
        target.execute("UPDATE sessions SET json_blob = ?", [change(text)])
        good = "INSERT INTO sessions SELECT 'good', session_start_unix + 1, session_end_unix, ?, '' FROM sessions"
        target.execute(good, [text])
    return tmp_path / "results.db", uuid


def test_a_malformed_session_is_named_and_the_others_are_used(foreign, tmp_path):
    path, uuid = changed(foreign, tmp_path, lambda text: text[:100])
    loaded = load(path)
    assert loaded.frame.height == 3
    assert loaded.faults == (f"{path}:1: session '{uuid}' is not a run report (JSONDecodeError); it is left out",)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda case: case.pop("system"), "a case of session '{}' is incomplete (KeyError('system'))"),
        (lambda case: case.update(perfvalues={"speed": ["fast", 0, None, None, "1"]}), "'value' is 'fast', not a"),
        (lambda case: case.update(perfvalues={"speed": [1]}), "a case of session '{}' is incomplete (ValueError"),
        (lambda case: case.update(perfvalues=[1]), "a case of session '{}' is incomplete (AttributeError"),
        (lambda case: case.update(job_completion_time_unix="noon"), "the record has no 'time'"),
        (lambda case: case.update(job_completion_time_unix=1e300), "a case of session '{}' is incomplete (Overflow"),
        (lambda case: case.update(facts={"check": 1, "session": "x", "metrics": 3}), "is incomplete"),
    ],
)
def test_a_bad_case_is_named_and_the_others_are_used(change, cause, foreign, tmp_path):
    def edit(text):
        report = json.loads(text)
        change(report["runs"][0]["testcases"][1])
        return json.dumps(report)

    path, uuid = changed(foreign, tmp_path, edit)
    loaded = load(path)
    assert loaded.frame.height == 3 + 2
    (fault,) = loaded.faults
    assert fault.startswith(f"{path}:2: ") and cause.format(uuid) in fault


#: A case of a check that is not of this collection, as a run report has it.
CASE = {
    "system": "s", "partition": "p", "environ": "e", "name": "Triad_1", "display_name": "Triad %size=1",
    "result": "pass", "num_tasks": 4, "job_nodelist": ["n1"], "jobid": "7", "job_completion_time_unix": 1767225600.5,
    "perfvalues": {"s:p:speed": [12.5, 10.0, -0.1, None, "GFLOP/s", "pass"]},
}  # fmt: skip


def records(tmp_path, *cases):
    path = tmp_path / "results.db"
    session = {"session_info": {"version": "4.10.4"}, "runs": [{"testcases": [CASE | each for each in cases]}]}
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE sessions(uuid TEXT, session_start_unix REAL, json_blob TEXT)")
        made.execute("INSERT INTO sessions VALUES('u', 1, ?)", [json.dumps(session)])

    def report(number, cause):
        raise AssertionError(f"{number}: {cause}")

    return [record for _, record in database.records(path, report)]


def test_a_foreign_check_gives_the_fields_that_its_report_has(tmp_path):
    (found,) = records(tmp_path, {})
    assert (found["check"], found["test"], found["session"], found["tasks"]) == ("Triad", "Triad %size=1", "u", 4)
    assert found["parameters"] == {"size": "1"}
    assert (found["metric"], found["quantity"], found["value"], found["unit"]) == ("speed", "speed", 12.5, "GFLOP/s")
    assert (found["reference"], found["lower"], found["upper"], found["result"]) == (10.0, -0.1, None, "pass")
    assert (found["nodelist"], found["jobid"], found["reframe"]) == (["n1"], "7", "4.10.4")
    assert found["time"] == "2026-01-01T00:00:00.500000+00:00"


@pytest.mark.parametrize(
    ("bounds", "reference"), [((0, None, None), None), ((0, -0.1, None), 0), ((0, None, 0.1), 0), ((5, None, None), 5)]
)
def test_a_reference_of_0_without_bounds_is_none(tmp_path, bounds, reference):
    (found,) = records(tmp_path, {"perfvalues": {"s:p:speed": [12.5, *bounds, "GFLOP/s", "pass"]}})
    assert found["reference"] == reference


def test_of_a_check_of_ours_the_facts_are_taken_as_they_are(tmp_path):
    facts = {"check": "Ours", "session": "own", "time": "2026-01-01T00:00:00+00:00", "metrics": {}}
    perfvalues = {"s:p:speed": [12.5, 0, None, None, "GFLOP/s", "pass"]}
    (found,) = records(tmp_path, {"facts": facts, "perfvalues": perfvalues})
    assert (found["check"], found["session"], found["time"]) == ("Ours", "own", "2026-01-01T00:00:00+00:00")
    assert found["reference"] == 0


def test_builds_have_no_records_and_cases_that_ran_nothing_no_tasks(tmp_path):
    (found,) = records(
        tmp_path, {"fixture": True}, {"num_tasks": 0, "perfvalues": {}, "job_completion_time_unix": None}
    )
    assert (found["tasks"], found["metric"], found["time"]) == (None, None, None)
