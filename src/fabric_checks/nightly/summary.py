# SPDX-License-Identifier: BSD-3-Clause
"""Write a night as Markdown, for people, as JSON, and as JUnit's XML, for services that show test results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from junitparser import Error as SuiteError
from junitparser import Failure, JUnitXml, JUnitXmlError, Skipped, TestCase, TestSuite

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.core import files
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import count_text, one_line, printable
from fabric_checks.core.text import markdown as plain
from fabric_checks.nightly.journal import News, Open
from fabric_checks.nightly.model import Night, Status
from fabric_checks.records.sessions import started

TEMPLATES = ROOT / "perflogs-templates" / "nightly"


@dataclass(frozen=True)
class Summary:
    """A night with its news.

    :param files: the files for the reader: names with paths.
    """

    night: Night
    news: News
    files: dict[str, str]

    @property
    def all_quiet(self) -> bool:
        """Return whether there is nothing to report: no open, closed or unseen finding, and no warning that is due."""
        news = self.news
        return self.night.status is Status.QUIET and not (news.closed or news.unseen or self.night.due)


def markdown(summary: Summary) -> str:
    """Return the summary of a night."""
    loader = FileSystemLoader(TEMPLATES)
    environment = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["plain"] = plain
    text = environment.get_template("summary.md.jinja").render(
        night=summary.night,
        news=summary.news,
        files=summary.files,
        headline=headline(summary),
        enough=MIN_RUNS,
        when=when,
        known=known,
    )
    return text.strip() + "\n"


def headline(summary: Summary) -> str:
    """Return how the night ended, in a few words."""
    news = summary.news
    kinds = {
        "new": news.new,
        "still open": news.still,
        "open, not looked at": news.unseen,
        "closed": news.closed,
        "acknowledged": news.acknowledged,
    }
    counts = ", ".join(f"{len(entries)} {word}" for word, entries in kinds.items() if entries)
    text = {
        Status.FAILED: "the night failed",
        Status.FOUND: count_text(len(summary.night.alarming), "finding"),
        Status.QUIET: "quiet",
        Status.BLIND: "blind",
    }[summary.night.status]
    text = f"{text} ({counts})" if counts else text
    if summary.night.blind:
        text += "" if summary.night.status is Status.BLIND else ", and blind"
        text += f": {'; '.join(summary.night.blind)}"
    return text


def known(entry: Open) -> str:
    """Return who acknowledged a finding, when, why and until when, or why that does not hold; empty if nobody did."""
    if entry.beyond:
        return f"more than was acknowledged: {'; '.join(entry.beyond)}"
    if entry.known is None:
        return ""
    noted = entry.known
    return f"{noted.ticket}: {noted.reason} ({noted.by}, {noted.at[:10]}, until {noted.until})"


def lines_of(found: Sequence[Open]) -> tuple[str, ...]:
    """Return a line for each open finding: since when, its title, and its acknowledgement."""
    lines = []
    for entry in found:
        note = f"; {'acknowledged, ' if entry.known else ''}{known(entry)}" if known(entry) else ""
        lines.append(one_line(f"{entry.id}, since {when(entry.since)}: {entry.finding.title}{note}"))
    return tuple(lines)


def as_dict(entry: Open) -> dict[str, Any]:
    """Return an open finding as plain data."""
    return entry.finding.as_dict() | {
        "id": entry.id,
        "since": entry.since,
        "last": entry.last,
        "nights": entry.nights,
        "acknowledged": entry.known.as_dict() if entry.known else None,
        "beyond": list(entry.beyond),
        "why_open": entry.why_open,
    }


def as_json(summary: Summary) -> str:
    """Return a night as JSON text."""
    night, news = summary.night, summary.news
    fields = ("session", "system", "level", "failures", "blind", "warnings", "cases", "passed", "records")
    return json.dumps(
        {
            **{name: getattr(night, name) for name in (*fields, "elapsed_s", "simulated")},
            "status": night.status.name.lower(),
            "headline": headline(summary),
            "runs_in_history": night.nights,
            **{kind: [as_dict(entry) for entry in entries] for kind, entries in vars(news).items()},
        },
        indent=1,
    )


def when(session: str) -> str:
    """Return the date of a session's name, as in ``2026-11-20 21:00``; the name itself if it has none."""
    began = started(session)
    return f"{began:%Y-%m-%d %H:%M}" if began else session


def junit(summary: Summary, cases: Path) -> JUnitXml:
    """Return the cases of the run as ReFrame wrote them, and a suite with the findings and failures of the night.

    :param cases: ReFrame's file; where there is none, there is that suite alone.
    """
    try:
        whole = JUnitXml.fromstring(files.read_bytes(cases)) if cases.exists() else JUnitXml()
        whole.update_statistics()  # type: ignore[no-untyped-call]  # junitparser has no type for it
    except (JUnitXmlError, SyntaxError, ValueError, OSError):
        # For broken XML the parser raises a SyntaxError, for times that are none a ValueError.
        whole = JUnitXml()
    night, news = summary.night, summary.news
    suite = TestSuite(f"night of {night.system}")
    verdict = TestCase("the night ran to its end", classname="night")
    if night.failures:
        verdict.result = [SuiteError(printable("\n".join(night.failures)))]
    suite.add_testcase(verdict)
    if night.blind:
        sees = TestCase("the night would have named a slow node", classname="night")
        sees.result = [Failure(printable("\n".join(night.blind)))]
        suite.add_testcase(sees)
    for entry in (*news.new, *news.still):
        lines = (f"since {when(entry.since)}", *entry.finding.details)
        suite.add_testcase(_case("", entry, Failure(printable("\n".join(lines)))))
    for entry in news.acknowledged:
        suite.add_testcase(_case("acknowledged: ", entry, Skipped(printable(known(entry)))))
    for entry in news.closed:
        suite.add_testcase(_case("closed: ", entry))
    whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]  # junitparser has no type for it
    return whole


def _case(prefix: str, entry: Open, *result: Any) -> TestCase:
    case = TestCase(printable(f"{prefix}{entry.finding.title}"), classname="finding")
    case.result = list(result)
    return case
