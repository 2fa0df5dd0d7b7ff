# SPDX-License-Identifier: BSD-3-Clause
"""The steps of a night. Each can be repeated; one that goes wrong is reported, and the others are still
tried."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from msgspec import structs

from fabric_checks.core import files
from fabric_checks.nightly import journal, retention, summary
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.observed import observed
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.supervision import run
from fabric_checks.nightly.trends import trends
from fabric_checks.nightly.wall import gauges, news
from fabric_checks.records import runs
from fabric_checks.records.runs import Session

#: A warning that so many nights before did not have is reported also by a night that is quiet.
NIGHTS_OF_A_WARNING = 7


def spend(plan: Plan, lock: int) -> Summary:
    """Run the level, judge its results, keep them and write the night down.

    :param lock: the descriptor of the lock, which the run inherits.
    """
    trouble = Trouble()
    trouble.attempt(
        "the folder of the night", lambda: plan.files.mkdir(parents=True, exist_ok=True)
    )
    warnings: list[str] = []
    before = [
        each for each in journal.read(plan.journal, warnings) if isinstance(each, Night)
    ]
    warnings += _cut_short(plan, before[-1:])
    elapsed_s = run(plan, lock, trouble) if plan.runs else None
    session = None
    if elapsed_s is not None or not plan.runs:
        session = trouble.attempt(
            "the results", lambda: runs.load_session(plan.results, plan.session)
        )
    night = Night(
        plan.session,
        plan.system,
        plan.level,
        warnings=tuple(warnings),
        elapsed_s=elapsed_s,
    )
    if session:
        night = observed(night, session)
        trouble.failures += night.failures
    if night.measured:
        step = partial(trends, plan.results, night)
        night = trouble.attempt("the history", step) or night
    known = {line for each in before[-NIGHTS_OF_A_WARNING:] for line in each.warnings}
    due = [line for line in night.warnings if line not in known]
    # What later steps add to the failures is the night's, too.
    warnings = [*due, *(line for line in night.warnings if line in known)]
    night = structs.replace(night, failures=trouble.failures, warnings=tuple(warnings))
    # Read again: somebody may have acknowledged a finding while the night ran.
    judged = Summary(night, journal.news(journal.read(plan.journal, []), night), due)
    trouble.attempt("the journal", lambda: journal.append(plan.journal, night))
    if night.measured:
        trouble.attempt(
            "the report",
            lambda: retention.write_report(
                plan.results, plan.system, plan.files / "report.html", session=session
            ),
        )
    return _written(plan, judged, trouble, session)


def _cut_short(plan: Plan, last: list[Night]) -> list[str]:
    """Return the warning that the last night was cut short, as by a reboot."""
    return [
        f"the last night, {each.session}, was cut short: its values are kept, but were not judged;"
        f" `ci/nightly --system {plan.system} --session {each.session}` judges it"
        for each in last
        if not each.ended and each.session != plan.session
    ]


def _written(
    plan: Plan, judged: Summary, trouble: Trouble, session: Session | None
) -> Summary:
    """Write gauges and summary, tell the news, and let `latest` be this night; what fails is added to it."""
    found = gauges.of_night(judged, session.records if session else ())
    folder = plan.metrics or plan.folder
    trouble.attempt("the gauges", lambda: found.write(folder, "night"))
    told = news.tell(plan.on_finding, judged, plan.files / "night.json")
    night = structs.replace(judged.night, warnings=(*told, *judged.night.warnings))
    names = {"report": "report.html", "log": "run.log", "test results": "junit.xml"}
    there = {
        name: str(plan.files / file)
        for name, file in names.items()
        if (plan.files / file).exists()
    }
    judged = replace(judged, night=night, due=[*told, *judged.due], files=there)
    trouble.attempt("the summary", lambda: _write_summary(plan, judged))
    return judged


def _write_summary(plan: Plan, judged: Summary) -> None:
    files.write_text(plan.files / "night.json", summary.as_json(judged))
    files.write_text(plan.files / "summary.md", summary.markdown(judged))
    link = plan.folder / ".latest"
    link.unlink(missing_ok=True)
    link.symlink_to(plan.session)
    link.replace(plan.folder / "latest")
