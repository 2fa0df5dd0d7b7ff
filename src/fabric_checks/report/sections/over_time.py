# SPDX-License-Identifier: BSD-3-Clause
"""The section over time: the headline values of a machine run by run, and where values changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from fabric_checks.comparison.changes import OPEN, Event, events_of, find_changes, stands_out
from fabric_checks.core.text import clean, shortened
from fabric_checks.report.blocks import Lines, Picture, Section, grouped
from fabric_checks.report.change_text import circumstance_text
from fabric_checks.report.collection import with_machines
from fabric_checks.report.figures import label, line, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.svg_panels import DAY_S, Panel
from fabric_checks.report.values import Results, Value, case_text

#: As many drawings for a machine.
_MOST = 24


@dataclass(frozen=True)
class Changed:
    """A change of the values of one case.

    :param text: its time and size, and the circumstances that changed at that time.
    :param chance: how many series of the machine changed, and how many would by chance alone, in words.
    :param is_news: whether it is to be looked at: it is for the worse and still there, and stands out of the
        noise of its series, or more series have changed than would by chance.
    """

    machine: str
    event: Event
    text: str
    chance: str = ""
    is_news: bool = True

    def is_of(self, value: Value) -> bool:
        """Return whether the series of a value is among those that changed."""
        series = (value.record["test"], value.record["metric"])
        return self.machine == value.machine and any((c.test, c.metric) == series for c in self.event.changes)


def change_points(frame: pl.DataFrame) -> list[Changed]:
    """Return the changes of every series of every machine, see
    :func:`fabric_checks.comparison.changes.find_changes`.

    :param frame: records, with the columns that :func:`fabric_checks.report.collection.collect` needs.
    """
    changed = []
    for (machine,), records in with_machines(frame).partition_by("machine", as_dict=True).items():
        found = find_changes(records.drop("machine"))
        chance = (
            f"{len(found.changes)} of {found.series} series changed; about {found.by_chance:.0f} would by"
            " chance."
        )
        for event in events_of(found.changes):
            causes = "; ".join(map(circumstance_text, event.circumstances))
            also = f"Also changed: {causes}" if causes else "Nothing else changed in the records."
            is_news = event.state == OPEN and (found.exceed_chance or any(map(stands_out, event.changes)))
            text = clean(f"{event.sentence()}. {also}")
            changed.append(Changed(str(machine), event, text, f"{machine}: {chance}", is_news))
    return changed


def section(results: Results, provenance: Provenance, changes: Sequence[Changed]) -> Section | None:
    """Return the headline values of each machine that has several runs, None if there is none.

    :param changes: of all machines.
    """
    blocks: list[Picture | Lines] = []
    for index, machine in enumerate(results.machines):
        panels = [_panel(results, value, changes) for value in _chosen(results, machine)]
        text = (
            "Each point is one run; a dotted line marks a change. The axis of a panel does not begin at zero."
        )
        if made := picture(f"time-{index}", f"Runs of {machine}", text, panels, provenance):
            blocks.append(made)
    if not blocks:
        return None
    listed = Lines(
        "changes",
        "Changes",
        grouped((each.machine, each.text) for each in changes),
        "No value changed for certain.",
    )
    return Section(
        "over-time", "Over time", (listed, *blocks), tuple(dict.fromkeys(each.chance for each in changes))
    )


def _chosen(results: Results, machine: str) -> list[Value]:
    """Return the series of a machine that are drawn: its headline values, or others if it has none."""
    cells = (row.cells.get(machine) for row in results.headlines)
    headlines: list[Value] = [cell.record["value_of"] for cell in cells if cell]
    several = [value for value in results.of_machine(machine) if _is_dated(value)]
    scalars = [value for value in several if value.size_B is None]
    return (list(filter(_is_dated, headlines)) or scalars or several)[:_MOST]


def _is_dated(value: Value) -> bool:
    return sum(time is not None for time, _, _ in value.runs) > 1


def _panel(results: Results, value: Value, changes: Sequence[Changed]) -> Panel:
    """Return the runs of a value, with marks where it changed."""
    points = (
        (
            time.timestamp() / DAY_S,
            replace(value, median=each, low=None, high=None, runs=((time, session, each),)),
        )
        for time, session, each in value.runs
        if time
    )
    marks = tuple(change.event.at.timestamp() / DAY_S for change in changes if change.is_of(value))
    title = shortened(f"{case_text(value.record)}: {value.record['metric']}", 62)
    return Panel(title, (line(label(results, value.machine), points),), value.unit, "time", marks)
