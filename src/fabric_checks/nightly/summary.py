# SPDX-License-Identifier: BSD-3-Clause
"""Write a night for a terminal, as Markdown, as JSON, and as JUnit's XML, for services that show test
results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from junitparser import Error as SuiteError
from junitparser import Failure, JUnitXml, JUnitXmlError, Skipped, TestCase, TestSuite

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.core import files
from fabric_checks.core.text import count_text, first_of, one_line, printable
from fabric_checks.core.text import markdown as escaped
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import News, Open
from fabric_checks.nightly.model import Night
from fabric_checks.records.sessions import started


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
        """Return whether there is nothing to report: no open, closed or unseen finding, and no warning that
        is due."""
        news = self.news
        return not (self.night.verdict.exit_status or news.closed or news.unseen or self.night.due)


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph of a summary; :param label: its first words, which stand out."""

    label: str
    text: str
    lines: tuple[str, ...] = ()


def _paragraphs(summary: Summary) -> Iterator[_Paragraph]:
    """Yield what is to be said of a night, the worst first."""
    night = summary.night
    for failure in night.failures:
        yield _Paragraph("The night failed:", failure)
    yield from _of_news(summary.news)
    if night.warnings:
        lines = first_of([f"warning: {line}" for line in night.warnings], ": night.json has all", 7)
        yield _Paragraph("", "", tuple(lines))
    yield _Paragraph("", _counts(night))
    if summary.files:
        yield _Paragraph("", "", tuple(f"{name}: {path}" for name, path in summary.files.items()))


def _of_news(news: News) -> Iterator[_Paragraph]:
    for entry in news.new:
        yield _of_entry("New:", entry, known(entry))
    for entry in news.still:
        noted = f"its acknowledgement has ended: {known(entry)}" if known(entry) else ""
        yield _of_entry(f"Since {when(entry.since)}, {entry.nights} nights:", entry, noted)
    for entry in news.acknowledged:
        yield _Paragraph("Acknowledged:", f"{entry.finding.title}; {known(entry)}.")
    for entry in news.closed:
        why = "tonight's run would have shown it, and did not"
        yield _Paragraph("Closed:", f"{entry.finding.subject}, {_dates(entry)}: {why}.")
    for entry in news.unseen:
        text = f"{entry.finding.subject}: {entry.why_open}. {_dates(entry).capitalize()}."
        yield _Paragraph("Open, not looked at tonight:", text)


def _of_entry(label: str, entry: Open, noted: str) -> _Paragraph:
    return _Paragraph(label, f"{entry.finding.title}.", (*([noted] if noted else []), *entry.finding.details))


def _dates(entry: Open) -> str:
    return f"open since {when(entry.since)}, last seen {when(entry.last)}"


def _counts(night: Night) -> str:
    """Return what ran and was measured, and how long the history is."""
    values = count_text(night.records, "simulated value" if night.simulated else "value")
    took = "" if night.elapsed_s is None else f"; {night.elapsed_s / 60:.1f} min"
    text = f"{count_text(night.cases, 'case')} ran, {night.passed} passed; {values}{took}."
    if not night.nights:
        return text
    more = f"; changes of level are looked for from {MIN_RUNS} on" if night.nights < MIN_RUNS else ""
    return f"{text} The history has {count_text(night.nights, 'run')}{more}."


def _rendered(summary: Summary, title: str, label: str, safe: Callable[[str], str]) -> str:
    """Return the summary as text; :param title, label: the forms of these; :param safe: makes text
    harmless."""
    night = summary.night
    parts = [title.format(safe(f"{night.system}, {when(night.session)}, {night.level}: {headline(summary)}"))]
    for each in _paragraphs(summary):
        words = filter(None, (label.format(each.label) if each.label else "", safe(each.text)))
        lines = (f"- {safe(line)}" for line in each.lines)
        parts.append("\n".join(filter(None, (" ".join(words), *lines))))
    return "\n\n".join(parts) + "\n"


def markdown(summary: Summary) -> str:
    """Return the summary of a night as Markdown."""
    return _rendered(summary, "# {}", "**{}**", escaped)


def terminal(summary: Summary) -> str:
    """Return the summary of a night as lines for a terminal."""
    return _rendered(summary, "{}", "{}", one_line)


def headline(summary: Summary) -> str:
    """Return the verdict on the night, and what there is, in a few words."""
    night, news = summary.night, summary.news
    kinds = {
        "new": news.new,
        "still open": news.still,
        "open, not looked at": news.unseen,
        "closed": news.closed,
        "acknowledged": news.acknowledged,
    }
    counts = ", ".join(f"{len(entries)} {word}" for word, entries in kinds.items() if entries)
    is_found = night.verdict is Verdict.FINDINGS
    text = count_text(len(night.alarming), "finding") if is_found else str(night.verdict.value)
    text = f"{text} ({counts})" if counts else text
    if night.blind:
        text += "" if night.verdict is Verdict.BLIND else ", and blind"
        text += f": {'; '.join(night.blind)}"
    return f"{text}: {night.busy}" if night.verdict is Verdict.BUSY else text


def known(entry: Open) -> str:
    """Return who acknowledged a finding, when, why and until when, or why that does not hold; empty if nobody
    did."""
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
    fields = (
        "session",
        "system",
        "level",
        "failures",
        "blind",
        "busy",
        "warnings",
        "cases",
        "passed",
        "records",
    )
    return json.dumps(
        {
            **{name: getattr(night, name) for name in (*fields, "elapsed_s", "simulated")},
            "verdict": night.verdict.value,
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
    """Return the cases of the run as ReFrame wrote them, and a suite with the findings and failures of the
    night.

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
