# SPDX-License-Identifier: BSD-3-Clause
"""Results on disk, good and bad."""

import json

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.records import runs as records
from fabric_checks.records.record import FIELDS

NAME = "20260101T000000Z-abcd"


def record(**changes):
    values = {
        "format": 2, "session": NAME, "time": "2026-01-01T00:00:00+00:00",
        "system": "s", "partition": "p", "environ": "e", "check": "A", "test": "A %layout=1x2",
        "metric": "t", "quantity": "t", "value": 1.0, "unit": "us", "layout": "1x2", "result": "pass", "program": "x",
        "no_reference": "why", "case_result": "pass",
    } | changes  # fmt: skip
    return dict.fromkeys(FIELDS) | values


def case(name="A %layout=1x2", result="pass", fixture=False):
    return {
        "display_name": name, "name": name, "system": "s", "partition": "p", "environ": "e", "result": result,
        "fail_phase": "run" if result == "fail" else None, "fail_reason": "no" if result == "fail" else None,
        "fixture": fixture,
        "perfvalues": {} if fixture or result == "fail" else {"s:p:t": [1.0, 0, None, None, "us", "pass"]},
    }  # fmt: skip


@pytest.fixture
def results(tmp_path):
    """Return a function that writes a session's results and loads it."""

    def write(*cases, lines=(), log=""):
        (tmp_path / "reports").mkdir(exist_ok=True)
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "perflogs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{NAME}.log").write_text(log)
        (tmp_path / "perflogs" / "A.jsonl").write_text("".join(line + "\n" for line in lines))
        content = {"session_info": {"log_files": [f"/x/{NAME}.log"]}, "runs": [{"testcases": list(cases)}]}
        (tmp_path / "reports" / "run-report-0.json").write_text(json.dumps(content))
        return records.load_session(tmp_path)

    return write


def depending(name, result, *others):
    """Return a case that depends on others."""
    return case(name, result) | {"unique_name": name, "dependencies_actual": [[other, "s:p", "e"] for other in others]}


def test_what_is_not_run_because_of_a_chain_of_dependencies(results):
    """Not the case's own fault, however long the chain: ReFrame calls what is behind the second link skipped."""
    chain = [
        depending("A", "fail"),
        depending("B", "fail_deps", "A"),
        depending("C", "skip", "B"),
        depending("D", "skip", "C"),
    ]
    own = depending("E", "skip", "F")
    session = results(
        *chain[::-1], own, depending("F", "pass"), depending("G", "skip") | {"dependencies_actual": [["A", 1], 2]}
    )
    found = {each.name.split()[0]: each.result for each in session.cases}
    assert found == dict(A="fail", B="fail_deps", C="fail_deps", D="fail_deps", E="skip", F="pass", G="skip")


def test_a_good_session(results):
    session = results(
        case(), case("Build", fixture=True), lines=[json.dumps(record()), json.dumps(record(session="other"))]
    )
    assert session.name == NAME
    assert [r["session"] for r in session.records] == [NAME]
    assert records.verdict(session) == []


def test_bad_lines_are_named_and_the_good_ones_used(results):
    bad = ["{broken", "[1, 2]", json.dumps({"session": NAME}), '{"half":']
    session = results(case(), lines=[json.dumps(record()), *bad, json.dumps(record(metric="u"))])
    assert [r["metric"] for r in session.records] == ["t", "u"]
    problems = session.unreadable
    assert records.verdict(session) == []  # nothing of this session is lost
    assert [problem.split("/")[-1].split(": ")[0] for problem in problems] == [f"A.jsonl:{n}" for n in (2, 3, 4, 5)]
    assert "the record has no 'format'" in problems[2]


@pytest.mark.parametrize(
    ("cases", "lines", "fault"),
    [
        ([], [], "no case ran"),
        ([case("Build", fixture=True)], [], "no case ran"),
        ([case(result="skip")], [], "no case ran"),
        ([case(result="fail")], [json.dumps(record())], "fail: A %layout=1x2 @s:p+e"),
        ([case(result="abort")], [json.dumps(record())], "abort: A"),
        ([case()], [], "not in the perflog: 1 of 1 metrics of A %layout=1x2 @s:p+e"),
        ([case()], [json.dumps(record(metric="u"))], "not in the perflog: 1 of 1 metrics of A"),
        ([case()], [json.dumps(record())[:-9]], "not in the perflog: 1 of 1 metrics of A"),
        ([case(), case("Build", "fail", fixture=True)], [json.dumps(record())], "fail: Build"),
    ],
)
def test_what_is_no_success(results, cases, lines, fault):
    assert any(found.startswith(fault) for found in records.verdict(results(*cases, lines=lines)))


def test_a_pass_without_a_value_is_no_success(results):
    """As --skip-performance-check makes them."""
    session = results(case() | {"perfvalues": {}}, lines=[json.dumps(record(metric=None, value=None))])
    assert records.verdict(session) == ["nothing was measured: A %layout=1x2 @s:p+e passed without a value"]


def test_a_retry_shows_all_cases_and_what_failed_before(results, tmp_path):
    results(lines=[json.dumps(record()), json.dumps(record(test="B"))])
    runs = [{"testcases": [case(result="fail"), case("B")]}, {"testcases": [case()]}]
    content = {"session_info": {"log_files": [f"/x/{NAME}.log"]}, "runs": runs}
    (tmp_path / "reports" / "run-report-0.json").write_text(json.dumps(content))
    session = records.load_session(tmp_path)
    assert {c.name: (c.result, c.failed_before) for c in session.cases} == {
        "A %layout=1x2 @s:p+e": ("pass", True),
        "B @s:p+e": ("pass", False),
    }
    assert records.verdict(session) == []


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_of_several_passes_each_counts(results, tmp_path, bad):
    """As with --reruns: all cases run in each, and one that failed once has failed."""
    results(lines=[json.dumps(record()), json.dumps(record(test="B"))])
    runs = [{"testcases": [case(result="fail" if number == bad else "pass"), case("B")]} for number in range(3)]
    content = {"session_info": {"log_files": [f"/x/{NAME}.log"]}, "runs": runs}
    (tmp_path / "reports" / "run-report-0.json").write_text(json.dumps(content))
    session = records.load_session(tmp_path)
    assert {c.name: (c.result, c.failed_before) for c in session.cases} == {
        "A %layout=1x2 @s:p+e": ("fail", False),
        "B @s:p+e": ("pass", False),
    }
    assert records.verdict(session) == ["fail: A %layout=1x2 @s:p+e"]


def test_a_value_that_is_no_number_is_left_out(results):
    session = results(case(), lines=[json.dumps(record(value="abc"))])
    assert "'value' is 'abc', not a finite number" in session.unreadable[0]
    assert records.verdict(session) != []


def test_a_check_that_was_passed_over_is_no_success(results):
    log = "[now] warning: reframe: WARNING: skipping test file 'x.py': import error\n"
    session = results(case(), lines=[json.dumps(record())], log=log)
    assert records.verdict(session) == ["skipping test file 'x.py': import error"]


def test_no_results(tmp_path):
    with pytest.raises(RecordError, match="no run has left results here; start one with ci/run"):
        records.load_session(tmp_path)
    with pytest.raises(RecordError, match="no run called 'nonsense'"):
        records.load_session(tmp_path, "nonsense")


def test_the_log_alone_tells_that_a_session_began_and_ran_nothing(results, tmp_path):
    results(case(), lines=[json.dumps(record())])
    (tmp_path / "logs" / "20260102T000000Z-ffff.log").write_text("")
    session = records.load_session(tmp_path, "20260102T000000Z-ffff")
    assert session.cases == ()
    assert any(fault.startswith("no case ran") for fault in records.verdict(session))


def test_of_a_session_that_was_killed_the_records_are_shown(results, tmp_path):
    """It has a log and no report."""
    results(case(), lines=[json.dumps(record()), json.dumps(record(session="20260102T000000Z-ffff"))] * 2)
    (tmp_path / "logs" / "20260102T000000Z-ffff.log").write_text("")
    session = records.load_session(tmp_path, "20260102T000000Z-ffff")
    assert (session.cases, len(session.records)) == ((), 2)
    (fault,) = records.verdict(session)
    assert fault.startswith("ReFrame ended before it could write its report") and "those of 1 cases that had" in fault


def test_a_broken_report_of_another_session_does_not_matter(results, tmp_path):
    results(case(), lines=[json.dumps(record())])
    (tmp_path / "reports" / "run-report-1.json").write_text("{")
    assert records.load_session(tmp_path).name == NAME
