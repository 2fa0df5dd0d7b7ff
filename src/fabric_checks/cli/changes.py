# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks changes``: change points of metrics over time."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    UNUSABLE,
    ending,
    json_option,
    option,
    sources_argument,
    verb,
)
from fabric_checks.comparison.changes import FIELDS, events_of, find_changes
from fabric_checks.core import console
from fabric_checks.records import reader
from fabric_checks.records.sources import chosen
from fabric_checks.report import change_text

_EPILOG = """
\b
Examples:
  fabric-checks changes                                     in all results of this clone
  fabric-checks changes .fabric/results,system=cbc --json   also every series
  fabric-checks changes --since 2026-11-20                  that began on that day or later
"""


@verb(
    "changes",
    _EPILOG,
    {
        FAILED: UNUSABLE,
        FOUND: "a metric is worse and stays so, beyond noise and chance",
    },
)
@sources_argument
@option(
    "--since",
    "Only changes whose first run is at or after this time (UTC).",
    type=click.DateTime(),
)
@json_option
def command(
    sources: tuple[str, ...],
    *,
    since: datetime | None,
    as_json: bool,
) -> None:
    """Find where the level of a metric changed, by how much, and what else changed at the time.

    A change is open if the value has been worse since, closed if the value is back where it was, or better.
    One bad run is not a change; three are. Series of fewer than 8 runs are too short.
    """
    loaded = reader.load(chosen(sources), FIELDS, compact=True)
    found = find_changes(
        loaded.frame, since=since.replace(tzinfo=timezone.utc) if since else None
    )
    events = events_of(found.changes)
    if as_json:
        console.print_json(change_text.as_json(found, events, loaded.faults))
    else:
        console.print_rich(change_text.render(found, events))
    console.warn(loaded.faults)
    raise ending(found=any(map(found.is_news, events)), failed=loaded.faults)
