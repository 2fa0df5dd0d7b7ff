# SPDX-License-Identifier: BSD-3-Clause
"""The cases of ReFrame's database as records, from a database as ReFrame writes it."""

import json
import sqlite3

import pytest

from fabric_checks.records import database

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


def test_what_is_known_of_a_check_that_is_not_ours(tmp_path):
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


def test_builds_have_no_records_and_what_ran_nothing_has_no_tasks(tmp_path):
    (found,) = records(
        tmp_path, {"fixture": True}, {"num_tasks": 0, "perfvalues": {}, "job_completion_time_unix": None}
    )
    assert (found["tasks"], found["metric"], found["time"]) == (None, None, None)
