# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks changes``: change points of metrics over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone

import click

from fabric_checks.cli import selection
from fabric_checks.cli.conditions import GATED, UNUSABLE, Gate, end_by, fail_on_option, only_option
from fabric_checks.cli.verb import FAILED, FOUND, Verb, csv_option, json_option, sources_argument
from fabric_checks.comparison.changes import FIELDS, OPEN, STATES, Changes, events_of, find_changes
from fabric_checks.core import console
from fabric_checks.core.text import csv_of
from fabric_checks.report import change_text

_EPILOG = """
\b
Examples:
  fabric-checks changes                                     in all results of this clone
  fabric-checks changes .fabric/results,system=cbc --json   also every series
  fabric-checks changes --since 2026-11-20 --fail-on worse:5%    every night
  fabric-checks changes /archive/2026 --only open --json
"""


@click.command("changes", cls=Verb, epilog=_EPILOG, statuses={FAILED: UNUSABLE, FOUND: GATED})
@sources_argument
@click.option(
    "--since", type=click.DateTime(), help="Only changes whose first run is at or after this time (UTC)."
)
@only_option(STATES)
@fail_on_option("worse, or worse:5%: exit with status 3 if such a change is open.")
@json_option
@csv_option
def command(
    sources: tuple[str, ...],
    *,
    since: datetime | None,
    only: tuple[str, ...],
    gates: tuple[Gate, ...],
    as_json: bool,
    as_csv: bool,
) -> None:
    """Find where the level of a metric changed, by how much, and what else changed at the time.

    A change is open if the value has been worse since, closed if the value is back where it was, or better.
    One bad run is not a change; three are. Series of fewer than 8 runs are too short.
    """
    if other := [gate.kind for gate in gates if gate.kind != "worse"]:
        raise click.BadParameter(f"{other[0]!r}: only `worse` is possible here", param_hint="--fail-on")
    loaded = selection.load(sources, FIELDS, compact=True)
    with console.doing("searching .."):
        found = find_changes(loaded.frame, since=since.replace(tzinfo=timezone.utc) if since else None)
    objections = _objections(found, gates)
    events = events_of(change for change in found.changes if not only or change.state in only)
    if as_json:
        console.print_json(change_text.as_json(found, events, objections, loaded.faults))
    elif as_csv:
        console.print_document(csv_of([asdict(change) for event in events for change in event.changes]))
    else:
        console.print_rich(change_text.render(found, events))
    end_by(loaded.faults, objections)


def _objections(found: Changes, gates: Sequence[Gate]) -> list[str]:
    """Return why changes fail, a line each; empty if they pass."""
    lines = []
    for gate in gates:
        count = sum(
            change.state == OPEN and change.at_least >= gate.margin_percent for change in found.changes
        )
        if count:
            margin = f" by at least {gate.margin_percent:g} % for certain" if gate.margin_percent else ""
            lines.append(f"{count} series are worse{margin}")
    return lines
