# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a night. Each can be repeated; one that goes wrong is reported, and the others are still
tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.nightly import carriers, journal, retention, summary
from fabric_checks.nightly.model import Acknowledgement, Night
from fabric_checks.nightly.observed import observed
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.supervision import run
from fabric_checks.nightly.trends import trends
from fabric_checks.nightly.wall import gauges, news
from fabric_checks.records import runs
from fabric_checks.records.record import Record


def spend(plan: Plan, lock: int) -> Summary:
    """Run the level, judge its results, keep them and write the night down.

    :param lock: the descriptor of the lock, which the run inherits.
    """
    trouble = Trouble()
    trouble.attempt("the folder of the night", lambda: plan.files.mkdir(parents=True, exist_ok=True))
    found: list[str] = []
    _warn_of_cut_night(plan, journal.read(plan.journal, found), trouble)
    elapsed_s = run(plan, lock, trouble) if plan.runs else None
    ran = elapsed_s is not None or not plan.runs
    session = (
        trouble.attempt("the results", lambda: runs.load_session(plan.results, plan.session)) if ran else None
    )
    night = Night(plan.session, plan.system, plan.level, warnings=tuple(found), elapsed_s=elapsed_s)
    night = observed(night, session) if session else night
    kept = _keep(plan, night, trouble) if night.measured else None
    left_out = kept.warnings[len(night.warnings) :] if kept else ()
    night = kept or night
    night = _with_due(plan, night, trouble)
    # Read again: somebody may have acknowledged a finding while the night ran.
    changes = journal.news(journal.read(plan.journal, []), night)
    quiet = [each.finding for each in changes.acknowledged]
    night = replace(night, acknowledged=tuple(each for each in night.findings if each in quiet))

    def report(page: Path) -> None:
        archive = plan.archive if kept else None
        retention.write_report(plan.results, plan.system, page, archive=archive, left_out=left_out)

    return _write(plan, Summary(night, changes, {}), trouble, report, session.records if session else ())


def _with_due(plan: Plan, night: Night, trouble: Trouble) -> Night:
    """Return a night with all that went wrong so far, and the warnings that are due."""
    known = plan.folder / "known-warnings.json"
    due = trouble.attempt(
        "the warnings", lambda: retention.due(night.warnings, known, datetime.now(timezone.utc))
    )
    due = [*trouble.warnings, *(night.warnings if due is None else due)]
    trouble.failures += night.failures
    warnings = tuple(dict.fromkeys((*due, *night.warnings)))
    return replace(night, failures=tuple(trouble.failures), warnings=warnings, due=tuple(due))


def _warn_of_cut_night(plan: Plan, entries: Sequence[Night | Acknowledgement], trouble: Trouble) -> None:
    """Warn if the last night was cut short, as by a reboot."""
    nights = [entry for entry in entries if isinstance(entry, Night)]
    if nights and not nights[-1].ended and nights[-1].session != plan.session:
        session = nights[-1].session
        trouble.warnings.append(
            f"the last night, {session}, was cut short: its values are kept, but were not judged; `ci/nightly"
            f" --system {plan.system} --session {session}` judges it"
        )


def _keep(plan: Plan, night: Night, trouble: Trouble) -> Night | None:
    """Archive all results, and return the night with what the history shows; None if they could not be
    archived."""
    step = partial(retention.archive_results, plan.results, plan.archive, plan.session)
    faults = trouble.attempt("the archive", step)
    if faults is None:
        return None
    night = night.with_more(warnings=faults)
    night = trouble.attempt("the history", partial(trends, plan.archive, night)) or night
    return trouble.attempt("the ports of cases", partial(carriers.changes, plan.archive, night)) or night


def _write(
    plan: Plan, judged: Summary, trouble: Trouble, report: Callable[[Path], object], records: Sequence[Record]
) -> Summary:
    """Write journal, report, test results, gauges and summary; tell the news; let `latest` be this night.

    What fails is added to the night.
    """

    def so_far() -> Summary:
        return replace(judged, night=replace(judged.night, failures=tuple(trouble.failures)))

    trouble.attempt("the journal", lambda: journal.end(plan.journal, judged.night))
    if judged.night.measured:
        trouble.attempt("the report", lambda: report(plan.files / "report.html"))
    trouble.attempt("the test results", lambda: _write_results(plan, so_far()))
    folder = plan.metrics or plan.folder
    found = gauges.of_night(judged.night, judged.news, records)
    lines = trouble.attempt("the gauges", lambda: gauges.write(folder, "night", plan.system, found)) or []
    lines += news.tell(plan.on_finding, so_far(), plan.files / "night.json")
    night = judged.night
    judged = replace(
        judged, night=replace(night, warnings=(*lines, *night.warnings), due=(*lines, *night.due))
    )
    names = {"report": "report.html", "log": "run.log", "test results": "junit.xml"}
    there = {name: str(plan.files / file) for name, file in names.items() if (plan.files / file).exists()}
    judged = replace(judged, files=there)
    trouble.attempt("the summary", lambda: _write_summary(plan, so_far()))
    return so_far()


def _write_results(plan: Plan, judged: Summary) -> None:
    junit = summary.junit(judged, plan.files / "cases.xml")
    with files.replacing(plan.files / "junit.xml") as path:
        junit.write(str(path))
    files.write_text(plan.files / "night.json", summary.as_json(judged))
    link = plan.folder / ".latest"
    link.unlink(missing_ok=True)
    link.symlink_to(plan.session)
    link.replace(plan.folder / "latest")


def _write_summary(plan: Plan, judged: Summary) -> None:
    files.write_text(plan.files / "night.json", summary.as_json(judged))
    files.write_text(plan.files / "summary.md", summary.markdown(judged))
