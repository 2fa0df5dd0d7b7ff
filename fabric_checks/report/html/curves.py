# SPDX-License-Identifier: BSD-3-Clause
"""A figure of curves and its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from fabric_checks.report.html.blocks import Cell, Column, Picture, Table, number
from fabric_checks.report.html.values import Results, Value
from fabric_checks.text import size_text

if TYPE_CHECKING:
    from fabric_checks.report.html.plots import Line, Panel

#: The axis of time counts days since 1970, as Matplotlib does.
DAY_S = 86400

#: Returns the number under which a value's provenance stands in the page.
NumberOf = Callable[[Value], int]


def label(results: Results, machine: str, what: str = "") -> str:
    """Return the name of a line: the machine, what is beside it, and whether it is simulated."""
    name = f"{machine}, {what}" if what else machine
    return f"{name} (simulated)" if results.simulated(machine) else name


def by_size(name: str, values: Sequence[Value]) -> Line | None:
    """Return a line over message sizes, or None without values."""
    from fabric_checks.report.html.plots import Line  # noqa: PLC0415  (slow to import)

    points = tuple((float(value.size_B), value) for value in values if value.size_B is not None)
    return Line(name, points) if points else None


def picture(
    key: str, title: str, description: str, panels: Sequence[Panel], number_of: NumberOf, *, notes: Sequence[str] = ()
) -> Picture:
    """Return a figure of curves and its data, or one that says that nothing was measured."""
    from fabric_checks.report.html import plots  # noqa: PLC0415  (slow to import)

    shown = [panel for panel in panels if panel.lines]
    if not shown:
        return Picture(key, title, description, None, (), tuple(notes))
    data = tuple(_data(f"{key}-data-{index}", title, panel) for index, panel in enumerate(shown))
    return Picture(key, title, description, plots.draw(key, shown, number_of), data, tuple(notes))


def _data(key: str, title: str, panel: Panel) -> Table:
    """Return the points of a panel: a row for each place across, a column for each line."""
    places = sorted({x for line in panel.lines for x, _ in line.points})
    points = [dict(line.points) for line in panel.lines]
    columns, marked = [], []
    for line in panel.lines:
        kinds = {value.evidence for _, value in line.points}
        units = {value.unit for _, value in line.points}
        columns.append(Column(line.label, ", ".join(sorted(units)), next(iter(kinds)) if len(kinds) == 1 else ""))
        marked.append(len(kinds) > 1)
    rows = tuple(
        (
            _place(panel, x),
            tuple(
                number(at[x], marked=each or at[x].verdict not in ("", "met")) if x in at else Cell("", missing=True)
                for at, each in zip(points, marked, strict=True)
            ),
        )
        for x in places
    )
    corner = {"size": "size, B", "nodes": "nodes"}.get(panel.x, panel.x_label)
    return Table(key, f"{title}: {panel.title}", corner, tuple(columns), rows, (), wide=len(columns) > 8)


def _place(panel: Panel, x: float) -> str:
    if panel.x == "size":
        return size_text(int(x))
    if panel.x == "time":
        return f"{datetime.fromtimestamp(x * DAY_S, timezone.utc):%Y-%m-%d %H:%M}"
    return f"{x:g}"
