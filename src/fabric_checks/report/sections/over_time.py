# SPDX-License-Identifier: BSD-3-Clause
"""The section over time: the headline values of a machine run by run, and where values changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from fabric_checks.comparison.changes import OPEN, events_of, find_changes
from fabric_checks.core.text import clean, shortened, test_text
from fabric_checks.report.blocks import Lines, Picture, Section, grouped
from fabric_checks.report.collecting import with_machines
from fabric_checks.report.drawing import DAY_S, Panel
from fabric_checks.report.figures import label, line, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.texts import circumstance_text
from fabric_checks.report.values import Results, Value, case_text

#: As many drawings for a machine.
_MOST = 24


@dataclass(frozen=True)
class Changed:
    """Values of one case that changed at about one time.

    :param case: which; :param text: when, by how much, and what else changed then.
    :param is_open: whether they are worse since and still are.
    :param at: the first run after it. :param series: (test, metric) of the values.
    """

    machine: str
    case: str
    text: str
    is_open: bool
    at: datetime
    series: frozenset[tuple[str, str]]


def change_points(frame: pl.DataFrame) -> list[Changed]:
    """Return the changes of every series of every machine, see :func:`fabric_checks.comparison.changes.find_changes`.

    :param frame: records, with the columns that :func:`fabric_checks.report.collecting.collect` needs.
    """
    changed = []
    for (machine,), records in with_machines(frame).partition_by("machine", as_dict=True).items():
        for event in events_of(find_changes(records.drop("machine")).changes):
            causes = "; ".join(map(circumstance_text, event.circumstances))
            also = f"What else changed: {causes}" if causes else "Nothing else changed in the records."
            series = frozenset((change.test, change.metric) for change in event.changes)
            text = clean(f"{event.sentence()}. {also}")
            first = event.changes[0]
            case = clean(f"{test_text(first.check, first.parameters)} {first.layout}")
            changed.append(Changed(str(machine), case, text, event.state == OPEN, event.at, series))
    return changed


def section(results: Results, provenance: Provenance, changes: Sequence[Changed] | None) -> Section | None:
    """Return the headline values of each machine that has several runs, None if there is none.

    :param changes: of all machines; None if they were not searched for.
    """
    blocks: list[Picture | Lines] = []
    for index, machine in enumerate(results.machines):
        panels = [_panel(results, value, changes or ()) for value in _chosen(results, machine)]
        text = "Each point is one run; a dotted line marks a change. The axis of a panel does not begin at zero."
        if made := picture(f"time-{index}", f"Runs of {machine}", text, panels, provenance):
            blocks.append(made)
    if not blocks:
        return None
    empty = "No value changed for certain." if changes is not None else "Changes were not searched for."
    listed = grouped((change.machine, change.text) for change in changes or ())
    return Section("over-time", "Over time", (Lines("changes", "Changes", listed, empty), *blocks))


def _chosen(results: Results, machine: str) -> list[Value]:
    """Return the series of a machine that are drawn: its headline values, or others if it has none."""
    cells = (row.cells.get(machine) for row in results.headlines)
    headlines: list[Value] = [cell.record["value_of"] for cell in cells if cell and cell.record]
    several = [value for value in results.of_machine(machine) if _is_dated(value)]
    scalars = [value for value in several if value.size_B is None]
    return (list(filter(_is_dated, headlines)) or scalars or several)[:_MOST]


def _is_dated(value: Value) -> bool:
    return sum(time is not None for time, _, _ in value.runs) > 1


def _panel(results: Results, value: Value, changes: Sequence[Changed]) -> Panel:
    """Return the runs of a value, with marks where it changed."""
    points = (
        (time.timestamp() / DAY_S, replace(value, median=each, low=None, high=None, runs=((time, session, each),)))
        for time, session, each in value.runs
        if time
    )
    series = (str(value.record["test"]), str(value.record["metric"]))
    marks = tuple(c.at.timestamp() / DAY_S for c in changes if c.machine == value.machine and series in c.series)
    title = shortened(f"{case_text(value.record)}: {value.record['metric']}", 62)
    return Panel(title, (line(label(results, value.machine), points),), value.unit, "time", marks)
