# SPDX-License-Identifier: BSD-3-Clause
"""Draw series over time: as a plot of characters, and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import plotext  # type: ignore[import-untyped]  # it has no annotations

from fabric_checks.comparison.history import Line
from fabric_checks.core.text import value_text
from fabric_checks.report import drawing


def plot(line: Line, width: int, height: int = 16) -> str:
    """Return the plot of a series, without colours: runs, median, reference and bounds, and what changed.

    :param width: and :param height: in characters.
    """
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    places = _places(line)
    levels_of_run = levels(line)
    low, high = _range([*line.values, *levels_of_run.values()])
    for name, value in levels_of_run.items():
        if name == "median":
            figure.line(value, style="heavy")
        elif abs(value - line.median) > (high - low) / (height - 3):  # on the row of the median it would hide that
            figure.line(value, style="dotted")
    for at in sorted({change.at for change in line.changes}):
        figure.line(places[at], orientation="v", style="double")
    for marker, wanted in (("o", False), ("X", True)):
        chosen = [at for at in range(len(places)) if (at in line.missed) == wanted]
        if chosen:
            figure.draw(figure.signal([places[at] for at in chosen], [line.values[at] for at in chosen], marker=marker))
    figure.ruler("y").lim(low, high)
    figure.ruler("x").lim(*_range(places))
    ticks = sorted({0, len(places) // 2, len(places) - 1})
    figure.ruler("x").ticks([places[at] for at in ticks], [_label(line, at) for at in ticks])
    if line.by_run:
        figure.label("run")
    text: str = plotext.uncolorize(figure.build().string())
    return "\n".join(row.rstrip() for row in text.splitlines())


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return limits of an axis with some room, also for values that are all the same."""
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _places(line: Line) -> list[float]:
    if line.by_run:
        return [float(at) for at in range(1, len(line.values) + 1)]
    first = line.times[0]
    return [_hours(first, when) for when in line.times]


def _hours(first: datetime | None, when: datetime | None) -> float:
    return (when - first).total_seconds() / 3600 if first and when else 0.0


def _label(line: Line, at: int) -> str:
    when = line.times[at]
    if line.by_run or when is None:
        return str(at + 1)
    first, last = line.times[0], line.times[-1]
    return f"{when:%H:%M}" if first and last and first.date() == last.date() else f"{when:%Y-%m-%d}"


def levels(line: Line) -> dict[str, float]:
    """Return the levels to draw, by name: the median, and of the latest run the reference and its bounds."""
    found = {"median": line.median, "reference": line.references[-1], "low": line.low[-1], "high": line.high[-1]}
    return {name: value for name, value in found.items() if value is not None}


def caption(line: Line) -> list[str]:
    """Return what stands around the plot: title first, then what the levels are, what was missed, what changed."""
    unit = line.series["unit"]
    parts = [f"{name} {value_text(value)}" for name, value in levels(line).items()]
    days = [f"{when:%Y-%m-%d}" for when in line.times if when]
    rows = [
        line.title,
        f"  {len(line.values)} runs {days[0] if days else ''}..{days[-1] if days else ''}, unit {unit}, "
        f"{line.better} is better: {', '.join(parts)}",
    ]
    if line.missed:
        rows.append(f"  X: {len(line.missed)} missed the reference")
    if line.failed:
        rows.append(f"  {line.failed} cases of this test failed before they had values")
    for change in line.changes:
        rows.append(
            f"  | run {change.at + 1} ({_moment(line, change.at)}): {change.what}: {change.before} -> {change.after}"
        )
    return rows


def _moment(line: Line, at: int) -> str:
    when = line.times[at]
    return f"{when:%Y-%m-%d %H:%M}" if when else "time unknown"


def svg(lines: Sequence[Line]) -> str:
    """Return series as an SVG file: runs, median, the reference and the bounds of each run, misses and changes."""
    panels = [_panel(line) for line in lines]
    looks = drawing.looks(panels)
    captions = (" ".join(part.strip() for part in caption(line)) for line in lines)
    drawings = [(text, drawing.panel(panel, looks)) for text, panel in zip(captions, panels, strict=True)]
    return drawing.document("History", drawings, looks)


def _panel(line: Line) -> drawing.Panel:
    days = [when.timestamp() / drawing.DAY_S for when in line.times if when]
    places = [float(at + 1) for at in range(len(line.values))] if line.by_run else days
    held = {"reference": line.references, "bound": line.low, "upper bound": line.high}
    curves = [
        drawing.Line("run", tuple(zip(places, line.values, strict=True))),
        drawing.Line("median", ((places[0], line.median), (places[-1], line.median))),
        *(
            drawing.Line(name, tuple((x, y) for x, y in zip(places, values, strict=True) if y is not None))
            for name, values in held.items()
        ),
        drawing.Line("missed", tuple((places[at], line.values[at]) for at in line.missed), joined=False),
    ]
    shown = tuple(curve for curve in curves if curve.points)
    marks = tuple(sorted({places[change.at] for change in line.changes}))
    return drawing.Panel("", shown, str(line.series["unit"]), "number" if line.by_run else "time", marks)
