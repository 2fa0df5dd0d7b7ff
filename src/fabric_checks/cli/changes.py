# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks changes``: change points of metrics over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

import click

from fabric_checks.cli import selection
from fabric_checks.cli.conditions import GATED, fail_on_option, margin_text
from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    UNUSABLE,
    end_by,
    json_option,
    option,
    sources_argument,
    verb,
)
from fabric_checks.comparison.changes import (
    FIELDS,
    OPEN,
    Changes,
    events_of,
    find_changes,
)
from fabric_checks.comparison.verdicts import WORSE
from fabric_checks.core import console
from fabric_checks.report import change_text

_EPILOG = """
\b
Examples:
  fabric-checks changes                                     in all results of this clone
  fabric-checks changes .fabric/results,system=cbc --json   also every series
  fabric-checks changes --since 2026-11-20 --fail-on worse:5%    every night
"""


@verb("changes", _EPILOG, {FAILED: UNUSABLE, FOUND: GATED})
@sources_argument
@option(
    "--since",
    "Only changes whose first run is at or after this time (UTC).",
    type=click.DateTime(),
)
@fail_on_option(
    "worse, or worse:5%: exit with status 3 if such a change is open.", [WORSE]
)
@json_option
def command(
    sources: tuple[str, ...],
    *,
    since: datetime | None,
    gates: Mapping[str, float],
    as_json: bool,
) -> None:
    """Find where the level of a metric changed, by how much, and what else changed at the time.

    A change is open if the value has been worse since, closed if the value is back where it was, or better.
    One bad run is not a change; three are. Series of fewer than 8 runs are too short.
    """
    loaded = selection.load(sources, FIELDS, compact=True)
    found = find_changes(
        loaded.frame, since=since.replace(tzinfo=timezone.utc) if since else None
    )
    objections = _objections(found, gates)
    events = events_of(found.changes)
    if as_json:
        console.print_json(
            change_text.as_json(found, events, objections, loaded.faults)
        )
    else:
        console.print_rich(change_text.render(found, events))
    end_by(loaded.faults, objections)


def _objections(found: Changes, gates: Mapping[str, float]) -> list[str]:
    """Return why changes fail, a line each; empty if they pass."""
    lines = []
    for margin in gates.values():
        count = sum(
            change.state == OPEN and change.at_least >= margin
            for change in found.changes
        )
        if count:
            lines.append(f"{count} series are worse{margin_text(margin)}")
    return lines
