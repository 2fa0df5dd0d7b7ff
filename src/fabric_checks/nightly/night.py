# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a night. Each can be repeated; one that goes wrong is reported, and the others are still tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.nightly import carriers, journal, retention, summary
from fabric_checks.nightly.model import Acknowledgement, Night
from fabric_checks.nightly.observed import Observed, observed
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.running import run
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.trends import Trends, trends
from fabric_checks.nightly.wall.showing import Wall
from fabric_checks.records import runs
from fabric_checks.records.record import is_success
from fabric_checks.records.runs import Session


def spend(plan: Plan, lock: int) -> Summary:
    """Run the level, judge its results, keep them and write the night down.

    :param lock: the descriptor of the lock, which the run inherits.
    """
    trouble = Trouble()
    trouble.attempt("the folder of the night", lambda: plan.files.mkdir(parents=True, exist_ok=True))
    wall = Wall(plan, trouble)
    found: list[str] = []
    _warn_of_cut_night(plan, journal.read(plan.journal, found), trouble)
    elapsed_s = run(plan, lock, trouble) if plan.runs else None
    ran = elapsed_s is not None or not plan.runs
    loaded = trouble.attempt("the results", lambda: runs.load_session(plan.results, plan.session)) if ran else None
    session = loaded or Session(plan.session, None)
    wall.records = session.records
    seen = observed(session) if loaded else Observed()
    kept, history = _keep(plan, trouble) if seen.measured else (False, Trends())
    found += [line for line in (*history.warnings, *seen.notes) if line not in found]
    known = plan.folder / "known-warnings.json"
    due = trouble.attempt("the warnings", lambda: retention.due(found, known, datetime.now(timezone.utc)))
    due = [*trouble.warnings, *(found if due is None else due)]
    warnings = [*due, *(line for line in found if line not in due)]
    trouble.failures += seen.failures
    cases = [case for case in session.cases if not case.fixture and case.result != "skip"]
    night = Night(
        plan.session,
        plan.system,
        plan.level,
        findings=(*seen.findings, *history.findings),
        failures=tuple(trouble.failures),
        warnings=tuple(warnings),
        due=tuple(due),
        cases=len(cases),
        passed=sum(is_success(case.result) for case in cases),
        records=sum(record["metric"] is not None for record in session.records),
        measured=seen.measured,
        limits=seen.limits,
        blind=seen.blind,
        nights=history.nights,
        elapsed_s=elapsed_s,
        simulated=any(record["evidence"] for record in session.records),
    )
    # Read again: somebody may have acknowledged a finding while the night ran.
    news = journal.news(journal.read(plan.journal, []), night)
    quiet = [each.finding for each in news.acknowledged]
    night = replace(night, acknowledged=tuple(each for each in night.findings if each in quiet))

    def report(page: Path) -> None:
        archive = plan.archive if kept else None
        retention.write_report(plan.results, plan.system, page, archive=archive, left_out=history.warnings)

    return _write(plan, Summary(night, news, {}), trouble, report, wall)


def _warn_of_cut_night(plan: Plan, entries: Sequence[journal.Entry | Acknowledgement], trouble: Trouble) -> None:
    """Warn if the last night was cut short, as by a reboot."""
    nights = [entry for entry in entries if isinstance(entry, journal.Entry)]
    if nights and not nights[-1].ended and nights[-1].session != plan.session:
        session = nights[-1].session
        trouble.warnings.append(
            f"the last night, {session}, was cut short: its values are kept, but were not judged; `ci/nightly "
            f"--system {plan.system} --session {session}` judges it"
        )


def _keep(plan: Plan, trouble: Trouble) -> tuple[bool, Trends]:
    """Archive all results, and search the history; return whether they were archived, and the history."""
    archive, system, session = plan.archive, plan.system, plan.session
    faults = trouble.attempt("the archive", lambda: retention.archive_results(plan.results, archive, session))
    if faults is None:
        return False, Trends()
    found = trouble.attempt("the history", lambda: trends(archive, system, session)) or Trends()
    moved = trouble.attempt("the ports of cases", lambda: carriers.changes(archive, system, session)) or ()
    return True, replace(found, findings=(*found.findings, *moved), warnings=(*faults, *found.warnings))


def _write(plan: Plan, judged: Summary, trouble: Trouble, report: Callable[[Path], object], wall: Wall) -> Summary:
    """Write journal, report, JUnit and JSON; let `latest` be this night; show it on the wall; write the summary.

    What fails is added to the night.
    """
    trouble.attempt("the journal", lambda: journal.end(plan.journal, judged.night))
    if judged.night.measured:
        trouble.attempt("the report", lambda: report(plan.files / "report.html"))

    def write() -> None:
        junit = summary.junit(judged, plan.files / "cases.xml")
        with files.replacing(plan.files / "junit.xml") as path:
            junit.write(str(path))
        files.write_text(plan.files / "night.json", summary.as_json(judged))
        link = plan.folder / ".latest"
        link.unlink(missing_ok=True)
        link.symlink_to(plan.session)
        link.replace(plan.folder / "latest")

    def with_failures(written: Summary) -> Summary:
        return replace(written, night=replace(written.night, failures=tuple(trouble.failures)))

    trouble.attempt("the test results", write)
    if lines := wall.show(with_failures(judged)):
        night = judged.night
        judged = replace(judged, night=replace(night, warnings=(*lines, *night.warnings), due=(*lines, *night.due)))
    names = {"report": "report.html", "log": "run.log", "test results": "junit.xml"}
    there = {name: str(plan.files / file) for name, file in names.items() if (plan.files / file).exists()}
    whole = with_failures(replace(judged, files=there))
    text = summary.markdown(whole)
    trouble.attempt("the summary", lambda: files.write_text(plan.files / "summary.md", text))
    return with_failures(whole)
