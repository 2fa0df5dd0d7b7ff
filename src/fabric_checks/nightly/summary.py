# SPDX-License-Identifier: BSD-3-Clause
"""A night as Markdown, for people, and as JUnit's XML, for what shows test results."""

from __future__ import annotations

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

TEMPLATES = ROOT / "perflogs-templates" / "nightly"


@dataclass(frozen=True)
class Told:
    """A night with what is new of it.

    :param files: what there is to look at: names with paths, as the reader is to open them.
    """

    night: Night
    news: News
    files: dict[str, str]

    @property
    def all_quiet(self) -> bool:
        """Whether there is nothing to say: nothing is wrong, over, or not looked at, and there is no warning."""
        news = self.news
        return self.night.status is Status.QUIET and not (news.closed or news.unseen or self.night.warnings)


def markdown(told: Told) -> str:
    """Return the summary of a night."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = plain
    text = environment.get_template("summary.md.jinja").render(
        night=told.night,
        news=told.news,
        files=told.files,
        headline=headline(told),
        enough=MIN_RUNS,
        when=when,
        known=known,
    )
    return text.strip() + "\n"


def headline(told: Told) -> str:
    """Return how the night ended, in a few words."""
    news = told.news
    counts = [
        f"{len(entries)} {word}"
        for entries, word in (
            (news.new, "new"),
            (news.still, "still open"),
            (news.closed, "closed"),
            (news.acknowledged, "acknowledged"),
        )
        if entries
    ]
    found = f" ({', '.join(counts)})" if counts else ""
    if told.night.status is Status.FAILED:
        return f"the night failed{found}"
    if told.night.status is Status.FOUND:
        many = len(told.night.alarming)
        return f"{count_text(many, 'finding')}{found}"
    return f"quiet{found}"


def known(entry: Open) -> str:
    """Return who acknowledged a finding, when, why and until when, or why that does not hold; empty if nobody did."""
    if entry.beyond:
        return f"more than was acknowledged: {'; '.join(entry.beyond)}"
    if entry.known is None:
        return ""
    said = entry.known
    return f"{said.ticket}: {said.reason} ({said.by}, {said.at[:10]}, until {said.until})"


def lines_of(found: Sequence[Open]) -> tuple[str, ...]:
    """Return a line for each finding that is open: since when, and what is known of it."""
    lines = []
    for entry in found:
        said = f"; acknowledged, {known(entry)}" if entry.known else f"; {known(entry)}" if entry.beyond else ""
        lines.append(one_line(f"{entry.id}, since {when(entry.since)}: {entry.finding.title}{said}"))
    return tuple(lines)


def as_dict(entry: Open) -> dict[str, Any]:
    """Return a finding that is open as plain data."""
    return entry.finding.as_dict() | {
        "id": entry.id,
        "since": entry.since,
        "last": entry.last,
        "nights": entry.nights,
        "acknowledged": entry.known.as_dict() if entry.known else None,
        "beyond": list(entry.beyond),
    }


def when(session: str) -> str:
    """Return the date of a session's name, as in ``2026-11-20 21:00``; the name itself if it has none."""
    if len(session) < 13 or not session[:8].isdigit() or session[8] != "T" or not session[9:13].isdigit():
        return session
    return f"{session[:4]}-{session[4:6]}-{session[6:8]} {session[9:11]}:{session[11:13]}"


def junit(told: Told, cases: Path) -> JUnitXml:
    """Return the cases of the run as ReFrame wrote them, and a suite with the findings and failures of the night.

    :param cases: ReFrame's file; where there is none, there is that suite alone.
    """
    try:
        whole = JUnitXml.fromstring(files.read_bytes(cases)) if cases.exists() else JUnitXml()
        whole.update_statistics()  # type: ignore[no-untyped-call]  # junitparser has no type for it
    except (JUnitXmlError, SyntaxError, ValueError, OSError):
        # What the parser beneath raises for broken XML is a SyntaxError, of times that are none a ValueError.
        whole = JUnitXml()
    if isinstance(whole, TestSuite):
        single, whole = whole, JUnitXml()
        whole.add_testsuite(single)
    suite = TestSuite(f"night of {told.night.system}")
    verdict = TestCase("the night ran to its end", classname="night")
    if told.night.failures:
        verdict.result = [SuiteError(printable("\n".join(told.night.failures)))]
    suite.add_testcase(verdict)
    for entry in (*told.news.new, *told.news.still):
        suite.add_testcase(_case(entry))
    for entry in told.news.acknowledged:
        known_one = TestCase(printable(f"acknowledged: {entry.finding.title}"), classname="finding")
        known_one.result = [Skipped(printable(known(entry)))]
        suite.add_testcase(known_one)
    for entry in told.news.closed:
        suite.add_testcase(TestCase(printable(f"closed: {entry.finding.title}"), classname="finding"))
    whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]  # junitparser has no type for it
    return whole


def _case(entry: Open) -> Any:
    case = TestCase(printable(entry.finding.title), classname="finding")
    lines: Sequence[str] = (f"since {when(entry.since)}", *entry.finding.details)
    case.result = [Failure(printable("\n".join(lines)))]
    return case
