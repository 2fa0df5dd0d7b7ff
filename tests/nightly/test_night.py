# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a night and its run, with stand-ins for what takes long."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from msgspec import structs

from fabric_checks.core.errors import RecordError
from fabric_checks.core.paths import ROOT
from fabric_checks.nightly import journal, night, supervision
from fabric_checks.nightly.plan import Trouble
from tests.nightly import samples as nights
from tests.nightly.samples import SESSION, spend


@pytest.fixture
def programs(monkeypatch, plan):
    """Return the stand-in of `ci/run`: its behaviour, and the options that it got."""
    plan.files.mkdir(parents=True)
    (plan.results / "logs").mkdir()
    program = SimpleNamespace(
        status=0, printed="a\n\nthe last words\n\n", logs=True, line=None, env=None
    )

    def start(line, *, env, stdout, **_):
        program.line, program.env = line, env
        stdout.write(program.printed)
        stdout.flush()
        if program.logs:
            (plan.results / "logs" / f"{SESSION}.log").touch()
        return SimpleNamespace(
            wait=lambda *_: program.status, poll=lambda: program.status
        )

    monkeypatch.setattr(supervision.subprocess, "Popen", start)
    monkeypatch.setattr(supervision, "why_no_job_can_start", lambda system: None)
    return program


def run(plan):
    trouble = Trouble()
    return supervision.run(plan, 0, trouble), trouble.failures


def test_the_run_gets_its_options_and_its_session(plan, programs):
    elapsed_s, failures = run(plan)
    assert elapsed_s >= 0 and failures == []
    junit = ["--report-junit", str(plan.files / "junit.xml")]
    assert programs.line == [
        str(ROOT / "ci/run"),
        "--one-job=declared",
        "--system",
        "sys",
        "--mode",
        "nightly",
        *junit,
        *plan.options,
    ]
    assert (programs.env["FABRIC_SESSION"], programs.env["FABRIC_RESULTS"]) == (
        SESSION,
        str(plan.results),
    )
    assert [entry.ended for entry in journal.read(plan.journal, [])] == [False]


@pytest.mark.parametrize(
    "status, logs, printed, failures",
    [
        (1, True, "x\n", []),
        (
            2,
            True,
            "x\n the last words \n\n",
            ["ci/run ended with status 2: the last words"],
        ),
        (-9, True, "", ["ci/run ended with status -9: it printed nothing"]),
        (
            2,
            True,
            "\x1b[31mERROR: none\x1b[0m\nLog saved\n",
            ["ci/run ended with status 2: ERROR: none"],
        ),
        (0, False, "x\ny\n", ["ci/run failed before it could start ReFrame: y"]),
    ],
)
def test_a_run_that_does_not_end_as_one_does_is_a_failure(
    plan, programs, status, logs, printed, failures
):
    programs.status, programs.logs, programs.printed = status, logs, printed
    assert run(plan)[1] == failures


@pytest.mark.parametrize(
    "free_MiB, why, cause",
    [
        (255, None, "255 MiB are free, and a night needs 256; make room"),
        (256, "no node of sys", "no node of sys"),
    ],
)
def test_a_run_that_cannot_begin_is_a_failure_with_its_cause(
    plan, programs, monkeypatch, free_MiB, why, cause
):
    monkeypatch.setattr(
        supervision.shutil,
        "disk_usage",
        lambda _: SimpleNamespace(free=free_MiB * 2**20),
    )
    monkeypatch.setattr(supervision, "why_no_job_can_start", lambda system: why)
    elapsed_s, (failure,) = run(plan)
    assert elapsed_s is None and programs.line is None
    assert failure.startswith("nothing was run: ") and cause in failure


def test_results_of_before_are_judged_only_if_asked_for(plan, results, monkeypatch):
    found = spend(plan, monkeypatch, None).night  # a run that could not begin
    assert (found.cases, found.records, found.measured) == (0, 0, frozenset())
    found = spend(replace(plan, runs=False), monkeypatch, None).night
    assert (found.cases, found.passed, found.records) == (2, 1, 1)
    assert found.measured == {"A @sys:part+mpich"} and not found.simulated


def test_what_the_history_cannot_tell_is_a_failure_and_the_report_is_written(
    plan, results, monkeypatch
):
    def fails(*_):
        raise RecordError("no space")

    monkeypatch.setattr(night, "trends", fails)
    assert spend(plan, monkeypatch, 1.0).night.failures[-1] == "the history: no space"
    assert [each["session"].name for each in results] == [plan.session]


@pytest.mark.parametrize(
    "ended, warned", [((True, False), True), ((False, True), False)]
)
def test_only_the_last_night_is_reported_as_cut_short(
    plan, results, monkeypatch, ended, warned
):
    """An older one was reported the night after it."""
    for number, is_ended in enumerate(ended):
        name = f"2025123{number}T000000Z-aaaa"
        journal.append(
            plan.journal, structs.replace(nights.NIGHT, session=name, ended=is_ended)
        )
    warnings = [
        each
        for each in spend(plan, monkeypatch, 1.0).night.warnings
        if "cut short" in each
    ]
    assert len(warnings) == warned
    assert all(
        each.startswith("the last night, 20251231T000000Z-aaaa, was cut short")
        for each in warnings
    )


def test_a_warning_that_stays_is_in_each_night_and_due_in_the_first(
    plan, results, monkeypatch
):
    """It is again if no night of a week had it."""
    due = []
    for number, lines in enumerate(
        (["a", "b"], ["a", "b"], ["a", "c"], *[["d"]] * 7, ["a"])
    ):
        monkeypatch.setattr(
            night,
            "trends",
            lambda _, found, lines=lines: found.with_more(warnings=lines),
        )
        spent = spend(replace(plan, session=f"{number}"), monkeypatch, 1.0)
        assert set(lines) <= {*spent.night.warnings}
        due.append([line for line in spent.due if len(line) == 1])
    assert due == [["a", "b"], [], ["c"], ["d"], *[[]] * 6, ["a"]]


def test_a_folder_that_cannot_be_written_fails_the_night_and_nothing_else(
    plan, results, monkeypatch, tmp_path
):
    (tmp_path / "metrics").write_text("a file")
    spent = spend(replace(plan, metrics=tmp_path / "metrics"), monkeypatch, 1.0)
    assert spent.night.failures[-1].startswith("the gauges: ") and spent.night.findings
    assert (plan.files / "summary.md").exists()


@pytest.mark.parametrize(
    "error, text",
    [
        (
            FileNotFoundError(2, "No such file or directory", "a.json"),
            "a.json: No such file or directory",
        ),
        (OSError(28, "No space left on device"), "No space left on device"),
        (RecordError("r.json: line 3: no record"), "r.json: line 3: no record"),
    ],
)
def test_a_failing_step_names_its_file_and_the_next_runs(error, text):
    trouble = Trouble()

    def fail():
        raise error

    assert trouble.attempt("a step", fail) is None
    assert trouble.attempt("the next", lambda: 7) == 7
    assert trouble.failures == [f"a step: {text}"]
