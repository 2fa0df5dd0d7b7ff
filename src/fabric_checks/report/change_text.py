# SPDX-License-Identifier: BSD-3-Clause
"""Print changes as paragraphs, or write them as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.text import Text

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.comparison.changes import (
    BETTER,
    OPEN,
    STATES,
    Changes,
    Circumstance,
    Event,
)
from fabric_checks.core.text import shortened
from fabric_checks.report.texts import plain

#: The colour of a state.
_STYLES = {OPEN: "bold red", BETTER: "green"}


def render(found: Changes, events: Sequence[Event]) -> list[Text]:
    """Return a paragraph for each event, and counts at the end."""
    parts: list[Text] = []
    for event in events:
        state = Text(f"{event.state:6}", style=_STYLES.get(event.state, ""))
        parts.append(Text.assemble(state, plain(f"  {event.sentence()}")))
        causes = map(circumstance_text, event.circumstances)
        for cause in list(causes) or ["nothing else changed in the records"]:
            parts.append(plain(f"    {cause}"))
    return [*parts, *map(plain, counts(found, events))]


def circumstance_text(circumstance: Circumstance) -> str:
    """Return a change of a circumstance, as in ``mpi: MPICH 4.2 -> MPICH 4.3``."""
    before, after = (
        shortened(", ".join(each) or "none", 70)
        for each in (circumstance.before, circumstance.after)
    )
    return f"{circumstance.field}: {before} -> {after}"


def counts(found: Changes, events: Sequence[Event]) -> list[str]:
    """Return how many series were searched, how many changed, and how many would by chance alone."""
    shown = [change for event in events for change in event.changes]
    parts = [
        f"{sum(change.state == state for change in shown)} {state}" for state in STATES
    ]
    lines = [
        f"{found.series} series searched: {len(shown)} changes in {len(events)} events: {', '.join(parts)}"
    ]
    if found.by_chance:
        chance = (
            "less than 1" if found.by_chance < 1 else f"about {found.by_chance:.0f}"
        )
        lines.append(
            f"if nothing had changed, {chance} of the series would show a change by chance"
        )
    if found.too_short:
        lines.append(
            f"{found.too_short} series are too short: fewer than {MIN_RUNS} runs"
        )
    return lines


def as_json(found: Changes, events: Sequence[Event], faults: Sequence[str]) -> str:
    """Return changes as a JSON object.

    :param events: those that are wanted, with their changes.
    :param faults: records that could not be used.
    """
    content = {
        "series": found.series,
        "too_short": found.too_short,
        "by_chance": found.by_chance,
        "faults": list(faults),
        "events": [
            asdict(event) | {"state": event.state, "text": event.sentence()}
            for event in events
        ],
    }
    return json.dumps(
        content, indent=1, allow_nan=False, default=lambda time: time.isoformat()
    )
