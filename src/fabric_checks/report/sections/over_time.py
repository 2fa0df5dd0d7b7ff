# SPDX-License-Identifier: BSD-3-Clause
"""The section over time: the headline values of a machine run by run, and where values changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from fabric_checks.comparison.changes import Event, events_of, find_changes
from fabric_checks.core.text import count_text, shortened
from fabric_checks.report.blocks import Lines, Picture, Section, figure, grouped
from fabric_checks.report.change_text import circumstance_text
from fabric_checks.report.collection import with_machines
from fabric_checks.report.svg_panels import DAY_S, Panel, line
from fabric_checks.report.values import Results, Value, case_text

#: As many drawings for a machine.
_MOST = 24
_ABOUT = "Each point is one run; a dotted line marks a change. The axis of a panel does not begin at zero."


@dataclass(frozen=True)
class Changed:
    """A change of the values of one case.

    :param text: its time and size, and the circumstances that changed at that time.
    :param is_news: whether it is to be looked at, see
        :meth:`fabric_checks.comparison.changes.Changes.is_news`.
    """

    machine: str
    event: Event
    text: str
    is_news: bool


def change_points(frame: pl.DataFrame) -> tuple[list[Changed], list[str]]:
    """Return the changes of every series of every machine, see
    :func:`fabric_checks.comparison.changes.find_changes`, and for each machine how many there are.

    :param frame: records, with the columns that :func:`fabric_checks.report.collection.collect` needs.
    """
    changed, counts = [], []
    by_machine = with_machines(frame).partition_by("machine", as_dict=True)
    for (machine,), records in by_machine.items():
        found = find_changes(records.drop("machine"))
        if found.changes:
            counts.append(
                f"{machine}: {len(found.changes)} of {found.series} series changed; about"
                f" {found.by_chance:.0f} would by chance."
            )
        for event in events_of(found.changes):
            is_news = found.is_news(event)
            changed.append(Changed(str(machine), event, _text(event), is_news))
    return changed, counts


def _text(event: Event) -> str:
    causes = "; ".join(map(circumstance_text, event.circumstances))
    also = (
        f"Also changed: {causes}" if causes else "Nothing else changed in the records."
    )
    return f"{event.state}: {event.sentence()}. {also}"


def section(
    results: Results,
    changes: Sequence[Changed],
    counts: Sequence[str],
) -> Section | None:
    """Return the headline values of each machine that has several runs, None if there is none.

    :param changes, counts: of :func:`change_points`.
    """
    pictures: list[Picture] = []
    for index, machine in enumerate(results.machines):
        panels = list(_panels(results, machine, changes))[:_MOST]
        pictures += figure(f"time-{index}", f"Runs of {machine}", _ABOUT, panels)
    if not (pictures or changes):
        return None
    lines = grouped((each.machine, each.text) for each in changes)
    listed = Lines("changes", "Changes", lines, "No value changed for certain.")
    news = sum(each.is_news for each in changes)
    state = count_text(len(changes), "change") if changes else "no change"
    state += f", {news} for the worse and still there" if news else ""
    return Section(
        "over-time",
        "Over time",
        (listed, *pictures),
        tuple(counts),
        state=state,
        is_bad=news > 0,
    )


def _panels(
    results: Results, machine: str, changes: Sequence[Changed]
) -> Iterator[Panel]:
    """Yield the runs of each headline value of a machine that has several."""
    for row in results.headlines:
        cell = row.cells.get(machine)
        if cell and len(cell.record["value_of"].runs) > 1:
            yield _panel(results, cell.record["value_of"], changes)


def _panel(results: Results, value: Value, changes: Sequence[Changed]) -> Panel:
    """Return the runs of a value, with marks where it changed."""
    points = (
        (run[0].timestamp() / DAY_S, replace(value, median=run[2], runs=(run,)))
        for run in value.runs
        if run[0]
    )
    series = (value.record["test"], value.record["metric"])
    marks = tuple(
        change.event.at.timestamp() / DAY_S
        for change in changes
        if change.machine == value.machine
        and series in ((each.test, each.metric) for each in change.event.changes)
    )
    title = shortened(f"{case_text(value.record)}: {value.record['metric']}", 62)
    return Panel(
        title, (line(results.label(value.machine), points),), value.unit, "time", marks
    )
