# SPDX-License-Identifier: BSD-3-Clause
"""A figure: small panels side by side with one legend. The page's script makes tables of its data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric_checks.core.layouts import Layout
from fabric_checks.report.html import drawing
from fabric_checks.report.html.blocks import Picture
from fabric_checks.report.html.drawing import Line, Panel
from fabric_checks.report.html.provenance import Provenance
from fabric_checks.report.html.values import Results, Value


def layout_of(text: str) -> Layout | None:
    """Return a layout, or None for what is not one."""
    try:
        return Layout.of(text)
    except ValueError:
        return None


def largest(values: Iterable[Value]) -> str:
    """Return the layout of the most nodes with one process each that values are of, or of the most at all."""
    layouts = [layout for layout in (layout_of(value.layout) for value in values) if layout]
    single = [layout for layout in layouts if layout.ppn == 1] or layouts
    return str(max(single)) if single else ""


def first(values: Iterable[Value]) -> Value | None:
    """Return the first of values, None if there is none."""
    return next(iter(values), None)


def label(results: Results, machine: str, what: str = "") -> str:
    """Return the name of a line: the machine, what is beside it, and whether it is simulated."""
    name = f"{machine}, {what}" if what else machine
    return f"{name} (simulated)" if results.simulated(machine) else name


def by_size(name: str, values: Sequence[Value]) -> Line | None:
    """Return a line over message sizes, or None without values."""
    points = sorted(((float(v.size_B), v) for v in values if v.size_B is not None), key=lambda point: point[0])
    return Line(name, tuple(points)) if points else None


def picture(key: str, title: str, description: str, panels: Sequence[Panel], provenance: Provenance) -> Picture | None:
    """Return a figure, or None where nothing was measured."""
    shown = [panel for panel in panels if any(line.points for line in panel.lines)]
    if not shown:
        return None
    labels = list(dict.fromkeys(line.label for panel in shown for line in panel.lines))
    looks = {text: number for number, text in enumerate(labels)}
    svgs = tuple(drawing.panel(panel, looks, provenance.series_of) for panel in shown)
    styles = tuple(
        (text, f"l{at % drawing.COLOURS} d{at // drawing.COLOURS % drawing.DASHES}") for text, at in looks.items()
    )
    return Picture(key, title, description, svgs, styles)
