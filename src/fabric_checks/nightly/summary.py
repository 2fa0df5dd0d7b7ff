# SPDX-License-Identifier: BSD-3-Clause
"""Write a night for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.core.templates import filled
from fabric_checks.core.text import count_text, first_of, one_line
from fabric_checks.core.text import markdown as escaped
from fabric_checks.core.verdict import Verdict, verdict
from fabric_checks.nightly.journal import Open, State
from fabric_checks.nightly.model import Night
from fabric_checks.records.sessions import started

_TEMPLATE = Path(__file__).with_name("summary.jinja")
#: The members of a night and of a finding that programs get.
_OF_NIGHT = (
    "session", "system", "level", "failures", "incomplete", "blind", "busy", "warnings", "unconfirmed",
    "cases", "passed", "records", "elapsed_s", "simulated",
)  # fmt: skip
_OF_FINDING = ("title", "kind", "subject", "hosts", "details")
_OF_OPEN = ("id", "since", "last", "nights", "acknowledged", "beyond", "why_open")


@dataclass(frozen=True)
class Summary:
    """A night with its news.

    :param due: the warnings of the night that none of the week before had.
    :param files: the files for the reader: names with paths.
    """

    night: Night
    news: Sequence[Open] = ()
    due: Sequence[str] = ()
    files: dict[str, str] = field(default_factory=dict)

    def of(self, *states: State) -> list[Open]:
        """Return the findings in some states."""
        return [each for each in self.news if each.state in states]

    @property
    def verdict(self) -> Verdict:
        """How the night ended, by what it saw and nobody has acknowledged."""
        night, alarming = self.night, self.of(State.NEW, State.STILL)
        return verdict(
            failed=night.failures,
            incomplete=night.incomplete,
            findings=alarming,
            blind=night.blind,
            busy=night.busy,
        )

    @property
    def all_quiet(self) -> bool:
        """Whether there is nothing to report: no open, closed or unseen finding, and no warning that is
        due."""
        return not (
            self.verdict.exit_status or self.of(State.CLOSED, State.UNSEEN) or self.due
        )


def headline(summary: Summary) -> str:
    """Return the verdict on the night, and what there is, in a few words."""
    night, word = summary.night, summary.verdict
    states = Counter(each.state for each in summary.news)
    text = word.value
    if word is Verdict.FINDINGS:
        text = count_text(states[State.NEW] + states[State.STILL], "finding")
    if word is Verdict.INCOMPLETE:
        text += f": {night.incomplete}"
    if states:
        text += f" ({', '.join(f'{states[each]} {each.value}' for each in State if states[each])})"
    if night.blind:
        text += "" if word is Verdict.BLIND else ", and blind"
        text += f": {'; '.join(night.blind)}"
    return f"{text}: {night.busy}" if word is Verdict.BUSY else text


def markdown(summary: Summary) -> str:
    """Return the summary of a night as Markdown."""
    return _rendered(summary, heading="# ", bold="**")


def terminal(summary: Summary) -> str:
    """Return the summary of a night as lines for a terminal."""
    return _rendered(summary, heading="", bold="")


def _rendered(summary: Summary, *, heading: str, bold: str) -> str:
    warnings = first_of(
        [f"warning: {line}" for line in summary.night.warnings],
        ": night.json has all",
        7,
    )
    unconfirmed = first_of(list(summary.night.unconfirmed), ": night.json has all", 7)
    safe = escaped if bold else one_line
    text = filled(
        _TEMPLATE, {"safe": safe, "when": when, "note": note},
        summary=summary, night=summary.night, State=State, headline=headline(summary), warnings=warnings,
        unconfirmed=unconfirmed, least_runs=MIN_RUNS, heading=heading, bold=bold,
    )  # fmt: skip
    return f"{text.rstrip()}\n"


def note(entry: Open) -> str:
    """Return who acknowledged a finding, when, why and until when, or why that does not hold; empty if nobody
    did."""
    if entry.beyond:
        return f"more than was acknowledged: {'; '.join(entry.beyond)}"
    known = entry.acknowledged
    if known is None:
        return ""
    return f"acknowledged until {known.until}, {known.ticket}: {known.reason} ({known.by}, {known.at[:10]})"


def lines_of(found: Iterable[Open]) -> list[str]:
    """Return a line for each open finding: since when, its title, and its acknowledgement."""
    return [
        one_line(
            "; ".join(
                filter(
                    None,
                    [
                        f"{each.id}, since {when(each.since)}: {each.finding.title}",
                        note(each),
                    ],
                )
            )
        )
        for each in found
    ]


def as_dict(entry: Open) -> dict[str, Any]:
    """Return an open finding as plain data."""
    data = {name: getattr(entry.finding, name) for name in _OF_FINDING}
    data |= {name: getattr(entry, name) for name in _OF_OPEN}
    data |= {"findings": [each.as_dict() for each in entry.finding.findings]}
    return dict(msgspec.to_builtins({**data, "cases": sorted(entry.finding.cases)}))


def as_json(summary: Summary) -> str:
    """Return a night as JSON text."""
    data = {name: getattr(summary.night, name) for name in _OF_NIGHT}
    data |= {"verdict": summary.verdict.value, "headline": headline(summary)}
    data["runs_in_history"] = summary.night.nights
    data |= {
        state.name.lower(): [as_dict(entry) for entry in summary.of(state)]
        for state in State
    }
    return json.dumps(data, indent=1)


def when(session: str) -> str:
    """Return the date of a session's name, as in ``2026-11-20 21:00``; the name itself if it has none."""
    began = started(session)
    return f"{began:%Y-%m-%d %H:%M}" if began else session
