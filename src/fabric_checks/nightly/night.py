# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a night. Each can be repeated; one that goes wrong is reported, and the others are still tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.nightly import journal, keeping, summary
from fabric_checks.nightly.acknowledged import Acknowledgement
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.observed import Observed, observed
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.running import run
from fabric_checks.nightly.trends import Trends, trends
from fabric_checks.nightly.wires import changes
from fabric_checks.records import runs
from fabric_checks.records.record import is_success


def spend(plan: Plan, lock: int) -> summary.Told:
    """Spend a night: run the level, judge what came of it, keep it and write it down.

    :param lock: the descriptor of the lock, which the run inherits.
    """
    trouble = Trouble()
    trouble.attempt("the folder of the night", lambda: plan.files.mkdir(parents=True, exist_ok=True))
    old: list[str] = []
    _tell_cut_short(plan, journal.read(plan.journal, old), trouble)
    elapsed_s = run(plan, lock, trouble) if plan.runs else None
    ran = elapsed_s is not None or not plan.runs
    seen = trouble.attempt("the results", lambda: _seen(plan)) if ran else None
    kept, history = _keep(plan, seen[1], trouble) if seen and seen[1].measured else (False, Trends())
    old += [line for line in (*history.warnings, *(seen[1].blind if seen else ())) if line not in old]
    known = plan.folder / "known-warnings.json"
    trouble.warnings += trouble.attempt("the warnings", lambda: keeping.only_new(old, known)) or []
    night = _night(plan, seen, history, trouble, elapsed_s)
    # Anew: somebody may have acknowledged a finding while the night ran.
    news = journal.news(journal.read(plan.journal, []), night, day_of(plan.session))
    quiet = [each.finding for each in news.acknowledged]
    night = replace(night, acknowledged=tuple(each for each in night.findings if each in quiet))
    archive = plan.archive if kept else None
    return _write(
        plan,
        night,
        news,
        trouble,
        lambda page: keeping.write_report(plan.results, plan.system, page, archive=archive, left_out=history.warnings),
    )


def day_of(session: str) -> date:
    """Return the day of a session by its name, today if that has none; both in UTC."""
    try:
        return datetime.strptime(session[:8], "%Y%m%d").date()
    except ValueError:
        return datetime.now(timezone.utc).date()


def _tell_cut_short(plan: Plan, entries: Sequence[journal.Entry | Acknowledgement], trouble: Trouble) -> None:
    """Say of the last night that it was cut short, as by a reboot."""
    nights = [entry for entry in entries if isinstance(entry, journal.Entry)]
    if nights and nights[-1].session in journal.cut_short(nights, plan.session):
        session = nights[-1].session
        trouble.warnings.append(
            f"the last night, {session}, was cut short: what it measured is kept, but was not judged; `ci/nightly "
            f"--system {plan.system} --session {session}` judges it"
        )


def _seen(plan: Plan) -> tuple[runs.Session, Observed]:
    """Return the session and what it says is wrong."""
    session = runs.load_session(plan.results, plan.session)
    return session, observed(session)


def _keep(plan: Plan, said: Observed, trouble: Trouble) -> tuple[bool, Trends]:
    """Archive all results, and search the history; tell whether they were archived, too."""
    kept = trouble.attempt("the archive", lambda: keeping.keep(plan.results, plan.archive, plan.session))
    found = None
    told = {case for finding in said.findings for case in finding.cases}
    if kept is not None:
        found = trouble.attempt("the history", lambda: trends(plan.archive, plan.system, plan.session, told))
        wires = trouble.attempt("what carried the bytes", lambda: changes(plan.archive, plan.system, plan.session))
        found = replace(found or Trends(), findings=(*(found.findings if found else ()), *(wires or ())))
    found = found or Trends()
    return kept is not None, replace(found, warnings=(*(kept or ()), *found.warnings))


def _night(
    plan: Plan,
    seen: tuple[runs.Session, Observed] | None,
    history: Trends,
    trouble: Trouble,
    elapsed_s: float | None,
) -> Night:
    night = Night(
        plan.session, plan.system, plan.level, failures=tuple(trouble.failures), warnings=tuple(trouble.warnings),
        nights=history.nights, watched=history.watched, elapsed_s=elapsed_s,
    )  # fmt: skip
    if seen is None:
        return night
    session, said = seen
    cases = [case for case in session.cases if not case.fixture]
    return replace(
        night,
        findings=(*said.findings, *history.findings),
        failures=(*trouble.failures, *said.failures),
        cases=len(cases),
        passed=sum(is_success(case.result) for case in cases),
        records=sum(record["metric"] is not None for record in session.records),
        measured=said.measured,
        simulated=any(record["evidence"] for record in session.records),
    )


def _write(
    plan: Plan, night: Night, news: journal.News, trouble: Trouble, report: Callable[[Path], object]
) -> summary.Told:
    """Write the night down: journal, summary, JUnit; and let `latest` be this night.

    :param report: writes the report.
    """
    done = len(trouble.failures)
    trouble.attempt("the journal", lambda: journal.end(plan.journal, night))
    if night.measured:
        page = plan.files / "report.html"
        trouble.attempt("the report", lambda: report(page))
    names = {"report": "report.html", "log": "run.log", "test results": "junit.xml"}
    told = summary.Told(night, news, {})

    def write() -> None:
        junit = summary.junit(told, plan.files / "cases.xml")
        with files.replacing(plan.files / "junit.xml") as place:
            junit.write(str(place))
        keeping.replace_text(plan.files / "night.json", keeping.as_json(told))
        link = plan.folder / ".latest"
        link.unlink(missing_ok=True)
        link.symlink_to(plan.session)
        link.replace(plan.folder / "latest")

    trouble.attempt("the test results", write)
    there = {name: str(plan.files / file) for name, file in names.items() if (plan.files / file).exists()}
    told = summary.Told(replace(night, failures=(*night.failures, *trouble.failures[done:])), news, there)
    trouble.attempt("the summary", lambda: keeping.replace_text(plan.files / "summary.md", summary.markdown(told)))
    return replace(told, night=replace(night, failures=(*night.failures, *trouble.failures[done:])))
