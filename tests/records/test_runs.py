# SPDX-License-Identifier: BSD-3-Clause
"""Runs on disk, good and bad."""

import os

import pytest

from fabric_checks.core.errors import RecordError
from fabric_checks.core.verdict import Verdict
from fabric_checks.records import runs
from fabric_checks.records.record import was_disturbed
from fabric_checks.report import findings
from tests.builders import SESSION, bare, case, write_session

NAME = "A %layout=1x2 @s:p+e"
LATER = "20260102T000000Z-ffff"


@pytest.fixture
def results(tmp_path):
    """Return a function that writes a session of one pass, and loads it."""

    def write(*cases, records=(), log=""):
        write_session(tmp_path, list(cases), records=records, log=log)
        return runs.load_session(tmp_path)

    return write


def test_a_run_that_ended_early_says_how(tmp_path):
    write_session(
        tmp_path,
        [
            case(),
            case("B", "abort"),
            case("C", "abort"),
            case("D", "skip", fixture=True),
        ],
    )
    assert (
        runs.ended_early(tmp_path, SESSION)
        == "the run was interrupted: 1 of 3 cases ran"
    )
    write_session(tmp_path, [case(), case("B", "fail")])
    assert not runs.ended_early(tmp_path, SESSION) and not runs.ended_early(
        tmp_path, "another"
    )
    (tmp_path / f"reports/run-report-{SESSION}-0.json").unlink()
    assert runs.ended_early(tmp_path, SESSION).startswith("ReFrame was killed")


def depending(name, result, *others):
    return case(
        name,
        result,
        unique_name=name,
        dependencies_actual=[[other, "s:p", "e"] for other in others],
    )


def test_a_chain_of_skipped_dependents_has_failed_dependencies(results):
    """ReFrame calls what is behind the second link skipped."""
    chain = [
        depending("A", "fail"),
        depending("B", "fail_deps", "A"),
        depending("C", "skip", "B"),
        depending("D", "skip", "C"),
    ]
    others = [
        depending("E", "skip", "F"),
        depending("F", "pass"),
        depending("G", "skip"),
    ]
    found = {
        each.name.split()[0]: each.result
        for each in results(*chain[::-1], *others).cases
    }
    assert found == dict(
        A="fail",
        B="fail_deps",
        C="fail_deps",
        D="fail_deps",
        E="skip",
        F="pass",
        G="skip",
    )


def test_a_good_session_is_a_success_with_its_own_records(results):
    session = results(
        case(), case("Build", fixture=True), records=[bare(), bare(session="other")]
    )
    assert session.name == SESSION
    assert [record["session"] for record in session.records] == [SESSION]
    assert runs.verdict(session) == []


def test_a_skipped_case_is_no_failure_and_has_its_reason(results):
    session = results(
        case(),
        case("B", "skip", skip_reason="not in /apps/osu", perfvalues={}),
        records=[bare()],
    )
    assert runs.verdict(session) == [] and runs.failed(session) == []
    assert [each.reason for each in session.cases] == [None, "not in /apps/osu"]


def test_a_case_that_the_allocation_had_no_time_for_was_not_run(results):
    reason = "not run: too little time of job 5 was left"
    session = results(
        case(),
        case("B", "skip", skip_reason=reason, perfvalues={}),
        records=[bare()],
    )
    assert [(each.result, each.reason) for each in session.cases][1] == (
        "abort",
        reason,
    )
    assert runs.verdict(session) == ["abort: B @s:p+e"]
    assert findings.verdict_of(session) is Verdict.INCOMPLETE
    assert findings.not_run(session) == [f"1 case {reason}"]


def test_bad_lines_are_named_and_the_good_ones_used(results):
    bad = [
        b"{broken\n",
        b"[1, 2]\n",
        f'{{"session": "{SESSION}"}}\n'.encode(),
        b'{"half":\n',
        b'{"a": 1}\n',
    ]
    session = results(case(), records=[bare(), *bad, bare(metric="u", jobid="2")])
    assert [record["metric"] for record in session.records] == ["t", "u"]
    assert runs.verdict(session) == []  # nothing of this session is lost
    assert [line.split("/")[-1].split(": ")[0] for line in session.unreadable] == [
        f"A.jsonl:{n}" for n in (2, 3, 4, 5, 6)
    ]
    assert "missing required field `format`" in session.unreadable[2]


@pytest.mark.parametrize(
    "cases, records, fault",
    [
        ([], [], "no case ran"),
        ([case("Build", fixture=True)], [], "no case ran"),
        ([case(result="skip")], [], "no case ran: every one was skipped"),
        ([case(result="fail")], [bare()], f"fail: {NAME}"),
        ([case(result="abort")], [bare()], "abort: A"),
        ([case()], [], f"not in the perflog: 1 of 1 metrics of {NAME}"),
        ([case()], [bare(metric="u")], "not in the perflog: 1 of 1 metrics of A"),
        ([case()], [bare(value="abc")], "not in the perflog: 1 of 1 metrics of A"),
        ([case(), case("Build", "fail", fixture=True)], [bare()], "fail: Build"),
        # As --skip-performance-check makes it.
        (
            [case(perfvalues={})],
            [bare(metric=None, value=None)],
            f"nothing was measured: {NAME} passed without a value",
        ),
    ],
)
def test_a_session_that_is_no_success_says_why(results, cases, records, fault):
    assert any(
        found.startswith(fault)
        for found in runs.verdict(results(*cases, records=records))
    )


@pytest.mark.parametrize(
    "passes, result, failed_before",
    [
        # --max-retries runs again what failed; the last counts.
        ([[case(result="fail"), case("B")], [case()]], "pass", True),
        # --reruns runs all again, and each counts.
        *(
            (
                [
                    [case(result="fail" if n == bad else "pass"), case("B")]
                    for n in range(3)
                ],
                "fail",
                False,
            )
            for bad in range(3)
        ),
    ],
)
def test_retries_and_reruns_count(tmp_path, passes, result, failed_before):
    write_session(tmp_path, *passes, records=[bare(), bare(test="B")])
    session = runs.load_session(tmp_path)
    assert {c.name: (c.result, c.failed_before) for c in session.cases} == {
        NAME: (result, failed_before),
        "B @s:p+e": ("pass", False),
    }
    assert runs.verdict(session) == ([] if result == "pass" else [f"fail: {NAME}"])


def test_a_check_that_was_not_loaded_is_no_success(results):
    log = "[now] warning: reframe: WARNING: skipping test file 'x.py': import error\n"
    session = results(case(), records=[bare()], log=log)
    assert runs.verdict(session) == ["skipping test file 'x.py': import error"]


def test_no_results_are_an_error_with_the_remedy(tmp_path):
    with pytest.raises(
        RecordError, match="no run has left results here; start one with ci/run"
    ):
        runs.load_session(tmp_path)
    with pytest.raises(RecordError, match="no run called 'nonsense'"):
        runs.load_session(tmp_path, "nonsense")
    (tmp_path / "perflogs/s/p").mkdir(parents=True)
    (tmp_path / "perflogs/s/p/A.jsonl").touch()
    with pytest.raises(
        RecordError, match="only records, and no report of a run: name .*/perflogs$"
    ):
        runs.load_session(tmp_path)


def test_a_log_without_report_is_a_session_that_ran_nothing(results, tmp_path):
    results(case(), records=[bare()])
    (tmp_path / f"logs/{LATER}.log").write_text("")
    session = runs.load_session(tmp_path, LATER)
    assert session.cases == () and runs.verdict(session)[0].startswith(
        "nothing was recorded: ReFrame ended before its first case"
    )


def test_a_log_of_no_case_names_the_selection(results, tmp_path):
    results(case(), records=[bare()])
    (tmp_path / f"logs/{LATER}.log").write_text(
        "[now] info: reframe: [==========] Running 0 check(s)\n"
    )
    (fault,) = runs.verdict(runs.load_session(tmp_path, LATER))
    assert fault.startswith("no case ran: no check matches the selection")
    assert "doctor --system NAME` says why others are left out" in fault


def test_a_killed_session_has_its_records_and_is_named(results, tmp_path):
    results(case(), records=[bare(), bare(session=LATER)] * 2)
    (tmp_path / f"logs/{LATER}.log").write_text("")
    session = runs.load_session(tmp_path, LATER)
    assert session.cases == ()
    assert len(session.records) == 1
    (fault,) = runs.verdict(session)
    assert fault.startswith("ReFrame ended before it could write its report")
    assert "those of 1 cases that had" in fault


def test_a_broken_report_of_another_session_does_not_matter(results, tmp_path):
    results(case(), records=[bare()])
    (tmp_path / f"reports/run-report-{LATER}-1.json").write_text("{")
    os.utime(tmp_path / f"reports/run-report-{LATER}-1.json", (1, 1))
    assert runs.load_session(tmp_path).name == SESSION


def test_the_latest_run_is_that_of_the_newest_report(tmp_path):
    for number, name in enumerate((LATER, SESSION)):
        write_session(tmp_path, [case()], session=name, number=number)
        os.utime(
            tmp_path / f"reports/run-report-{name}-{number}.json", (number, number)
        )
    (tmp_path / f"logs/{SESSION}.log").unlink()  # as somebody makes room
    assert runs.load_session(tmp_path).name == SESSION
    newest = tmp_path / f"reports/run-report-{LATER}-0.json"
    os.utime(newest, (2, 2))
    assert runs.load_session(tmp_path).name == LATER
    assert runs.verdict(runs.load_session(tmp_path)) != []
    newest.write_text(newest.read_text()[:-9])
    (tmp_path / f"logs/{LATER}.log").unlink()
    (tmp_path / "logs").rmdir()
    assert not runs.only_records(tmp_path) and runs.only_records(tmp_path / "reports")
    assert newest.name in runs.ended_early(tmp_path, LATER)


@pytest.mark.parametrize(
    "before, after, ppn, disturbed",
    [(3, 3, 2, False), (4, 4, 2, True), (9, 3, 2, False)],
)
def test_a_case_is_disturbed_if_its_ranks_and_others_lack_cores(
    before, after, ppn, disturbed
):
    found = {
        "runnable_processes_before": before,
        "runnable_processes_after": after,
        "ppn": ppn,
        "host_cores": 4,
    }
    assert was_disturbed(found) == disturbed
