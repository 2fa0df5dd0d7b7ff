# SPDX-License-Identifier: BSD-3-Clause
"""Search the history for values that went to a worse level and are still there.

A night is one run of a series, however often its level runs a case: passes within a night are more like each other than
nights are, and taken for runs they would make a change of every night that is a little different. With thousands of
series some seem to change by chance, so that only what stands far out of a series' own noise is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.comparison.changes import FIELDS, OPEN, Change, Event, events_of, find_changes
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import first_of
from fabric_checks.nightly.model import Entry, Night
from fabric_checks.records import reading
from fabric_checks.records.record import SERIES
from fabric_checks.records.series import by_session
from fabric_checks.records.sources import Source

#: A change stands out if it is at least so many per cent (points for values in per cent) ...
LEAST_PERCENT = 10.0
#: ... and so many times the noise of one run.
LEAST_NOISE = 6.0


def trends(archive: Path, night: Night) -> Night:
    """Return a night with what the history of its series shows: changes for the worse that last.

    Those that began on one night together are one finding; records that cannot be read are warnings.

    :param archive: the archive, with the records of the night.
    :raises RecordError: if there is none.
    """
    source = Source("history", archive, None, None, {"system": night.system})
    loaded = reading.load([source], [*FIELDS, "session"], compact=True)
    nights = loaded.frame["session"].n_unique()
    if nights < MIN_RUNS:
        return night.with_more(warnings=loaded.faults, nights=nights)
    tonight = loaded.frame.filter((pl.col("session") == night.session) & pl.col("metric").is_not_null())
    history = loaded.frame.join(tonight.select(SERIES).unique(), on=list(SERIES), how="semi", nulls_equal=True)
    runs = by_session(history)
    began = dict(runs.select("time", pl.col("session").cast(pl.String)).unique().iter_rows())
    worse = [change for change in find_changes(runs).changes if change.state == OPEN and stands_out(change)]
    events: dict[str, list[Event]] = {}
    for event in events_of(worse):
        events.setdefault(began.get(event.at, ""), []).append(event)
    return night.with_more(map(_finding, events.values()), warnings=loaded.faults, nights=nights)


def stands_out(change: Change) -> bool:
    """Tell whether a change is far enough out of the noise of its series to be no chance."""
    noise = change.noise if change.by_difference else 100 * change.noise
    return abs(change.change) >= LEAST_NOISE * noise and 100 * _lost(change) >= LEAST_PERCENT


def _lost(change: Change) -> float:
    """Return the share of the level before by which a value is worse, of values in per cent in points."""
    if not change.by_difference or change.unit == "%":
        return abs(change.change) / 100
    scale = max(abs(change.median_before), abs(change.median_after))
    return abs(change.change) / scale if scale else 0.0


def _finding(events: Sequence[Event]) -> Entry:
    """Return the entry of the events of one night."""
    sentences = [event.sentence(with_state=False) for event in events]
    more = (*first_of(sentences[1:], ": `fabric-checks changes` lists all"), *_circumstances(events))
    changes = [change for event in events for change in event.changes]
    findings = [_of_change(change, sentences[0], more) for change in changes]
    names = frozenset(found.part for found in findings)
    many = "" if len(events) == 1 else f"{len(events)} cases are worse than before; the first: {sentences[0]}"
    keys = frozenset(f"level of {name}" for name in names)
    return Entry(findings=tuple(findings), keys=keys, cases=names, headline=many)


def _of_change(change: Change, text: str, details: tuple[str, ...]) -> Finding:
    name = f"{change.test} @{change.machine}"
    return Finding(
        kind="change", severity=Severity.FAULT, text=text, part=name, size=_lost(change),
        key=f"{name}: {change.metric} changed", details=details,
    )  # fmt: skip


def _circumstances(events: Iterable[Event]) -> Iterable[str]:
    """Return the other changes of that time, each once."""
    fields = [each for event in events for each in event.circumstances]
    return dict.fromkeys(
        f"at the same time {each.field} changed from {', '.join(each.before)} to {', '.join(each.after)}"
        for each in fields
        if each.field != "collection"
    )
