# SPDX-License-Identifier: BSD-3-Clause
"""Search the history for values that went to a worse level and are still there.

A night is one run of a series, however often its level runs a case: passes within a night are more like each
other than nights are, and taken for runs they would make a change of every night that is a little different.
With thousands of series some seem to change by chance, so that only what stands far out of a series' own
noise is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.comparison.changes import (
    FIELDS,
    OPEN,
    Event,
    events_of,
    find_changes,
    lost,
    stands_out,
)
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import first_of
from fabric_checks.nightly.model import Entry, Night
from fabric_checks.records import reader
from fabric_checks.records.record import SERIES
from fabric_checks.records.series import by_session
from fabric_checks.records.sources import Source
from fabric_checks.report.change_text import circumstance_text


def trends(results: Path, night: Night) -> Night:
    """Return a night with what the history of its series shows: changes for the worse that last.

    Those that began on one night together are one finding; records that cannot be read are warnings.

    :param results: the folder of results, with the records of the night.
    :raises RecordError: if there is none.
    """
    source = Source("history", results, None, None, {"system": night.system})
    loaded = reader.load([source], [*FIELDS, "session"], compact=True)
    nights = loaded.frame["session"].n_unique()
    if nights < MIN_RUNS:
        return night.with_more(warnings=loaded.faults, nights=nights)
    tonight = loaded.frame.filter(
        (pl.col("session") == night.session) & pl.col("metric").is_not_null()
    )
    history = loaded.frame.join(
        tonight.select(SERIES).unique(), on=list(SERIES), how="semi", nulls_equal=True
    )
    runs = by_session(history)
    began = dict(
        runs.select("time", pl.col("session").cast(pl.String)).unique().iter_rows()
    )
    worse = [
        change
        for change in find_changes(runs).changes
        if change.state == OPEN and stands_out(change)
    ]
    events = by_key(events_of(worse), lambda event: began.get(event.at, ""))
    return night.with_more(
        map(_finding, events.values()), warnings=loaded.faults, nights=nights
    )


def _finding(events: Sequence[Event]) -> Entry:
    """Return the entry of the events of one night."""
    text, *others = [event.sentence() for event in events]
    if others:
        text = f"{len(events)} cases are worse than before; the first: {text}"
    details = [
        *first_of(others, ": `fabric-checks changes` lists all"),
        *(
            f"at the same time {circumstance_text(each)}"
            for event in events
            for each in event.circumstances
            if each.field != "collection"
        ),
    ]
    findings = []
    for change in (change for event in events for change in event.changes):
        name = f"{change.test} @{change.machine}"
        findings.append(Finding(
            kind="change", severity=Severity.FAULT, text=text, part=name, size=lost(change),
            key=f"{name}: {change.metric} changed", details=tuple(dict.fromkeys(details)),
        ))  # fmt: skip
    names = frozenset(found.part for found in findings)
    keys = frozenset(f"level of {name}" for name in names)
    return Entry(findings=tuple(findings), keys=keys, cases=names)
