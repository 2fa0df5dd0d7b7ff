# SPDX-License-Identifier: BSD-3-Clause
"""What history says: values that went to a worse level and are still there.

A night is one run of a series, however often its level runs a case: passes within a night are more like each other than
nights are, and taken for runs they would make a change of every night that is a little different. With thousands of
series some seem to change by chance, so that only what stands far out of a series' own noise is a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.comparison.changes import FIELDS, OPEN, Change, find_changes
from fabric_checks.comparison.events import Event, events_of
from fabric_checks.nightly.model import Finding
from fabric_checks.nightly.watch import watched
from fabric_checks.records import reading
from fabric_checks.records.record import SERIES
from fabric_checks.records.series import by_session
from fabric_checks.records.sources import Source

#: A change is a finding if it is worse by this at least, in per cent, of values in per cent in points, ...
LEAST_PERCENT = 10.0
#: ... and by so many times the noise of one run.
LEAST_NOISE = 6.0
#: How many cases a finding names.
MOST_SHOWN = 6


@dataclass(frozen=True)
class Trends:
    """What history says.

    :param findings: changes for the worse that still are, those that began on one night together.
    :param nights: how many runs of the system there are; :param searched: how many series have enough of them.
    :param watched: values that are far from all nights before, a line a case; see :mod:`fabric_checks.nightly.watch`.
    :param warnings: what could not be read, a line each.
    """

    findings: tuple[Finding, ...] = ()
    nights: int = 0
    searched: int = 0
    watched: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def trends(archive: Path, system: str, session: str, told: Collection[str] = ()) -> Trends:
    """Search the history of what a session measured.

    :param archive: the archive, with the records of the session.
    :param told: cases that a finding is about already; they are not watched.
    :raises RecordError: if there is none.
    """
    source = Source("history", archive, None, None, {"system": system})
    loaded = reading.load([source], [*FIELDS, "session"], compact=True)
    nights = loaded.frame["session"].n_unique()
    tonight = loaded.frame.filter((pl.col("session") == session) & pl.col("metric").is_not_null())
    history = loaded.frame.join(tonight.select(SERIES).unique(), on=list(SERIES), how="semi", nulls_equal=True)
    runs = by_session(history)
    if nights < MIN_RUNS:
        return Trends(nights=nights, watched=watched(runs, session, told), warnings=loaded.faults)
    found = find_changes(runs)
    began = dict(runs.select("time", pl.col("session").cast(pl.String)).unique().iter_rows())
    worse = [change for change in found.changes if change.state == OPEN and stands_out(change)]
    findings = tuple(_findings(worse, began))
    told = {*told, *(case for finding in findings for case in finding.cases)}
    return Trends(findings, nights, found.series, watched(runs, session, told), loaded.faults)


def stands_out(change: Change) -> bool:
    """Tell whether a change is far enough out of the noise of its series to be no chance."""
    noise = change.noise if change.by_difference else 100 * change.noise
    if abs(change.change) < LEAST_NOISE * noise:
        return False
    in_percent = not change.by_difference or change.unit == "%"
    scale = 1.0 if in_percent else max(abs(change.median_before), abs(change.median_after)) / 100
    return abs(change.change) >= LEAST_PERCENT * scale


def _findings(changes: Iterable[Change], began: dict[object, str]) -> list[Finding]:
    """Return a finding for the events of each night."""
    by_night: dict[str, list[Event]] = {}
    for event in events_of(changes):
        by_night.setdefault(began.get(event.at, ""), []).append(event)
    return [_finding(events) for events in by_night.values()]


def _finding(events: Sequence[Event]) -> Finding:
    sentences = [event.sentence(with_state=False) for event in events]
    others = {
        f"{each.field} changed from {', '.join(each.before)} to {', '.join(each.after)}": None
        for event in events
        for each in event.circumstances
        if each.field not in ("nodelist", "placement", "collection")
    }
    shown = sentences[1:] if len(sentences) <= MOST_SHOWN else sentences[1:MOST_SHOWN]
    left_out = len(sentences) - 1 - len(shown)
    more = [f"and {left_out} more: `fabric-checks changes` lists all"] if left_out else []
    many = "" if len(events) == 1 else f"{len(events)} cases are worse than before; the first: "
    cases = frozenset(f"{change.test} @{change.machine}" for event in events for change in event.changes)
    return Finding(
        title=many + sentences[0],
        details=(*shown, *more, *(f"at the same time {other}" for other in others)),
        keys=frozenset(f"change:{case}" for case in cases),
        cases=cases,
        signs={
            f"{each.test} @{each.machine}: {each.metric} changed": _lost(each)
            for event in events
            for each in event.changes
        },
    )


def _lost(change: Change) -> float:
    """Return by what share of the level before a value is worse, of values in per cent in points."""
    if not change.by_difference or change.unit == "%":
        return abs(change.change) / 100
    scale = max(abs(change.median_before), abs(change.median_after))
    return abs(change.change) / scale if scale else 0.0
