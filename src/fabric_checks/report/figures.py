# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a report: small panels next to each other, with one legend. The page's script makes tables of
the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric_checks.report import svg_panels
from fabric_checks.report.blocks import Picture, runs_note
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.svg_panels import Line, Panel
from fabric_checks.report.values import Results, Value


def label(results: Results, machine: str, more: str = "") -> str:
    """Return the name of a line: the machine, more about the line, and whether it is simulated."""
    name = f"{machine}, {more}" if more else machine
    return f"{name} (simulated)" if results.simulated(machine) else name


def line(name: str, points: Iterable[tuple[float, Value]]) -> Line:
    """Return a line of values, in the order of their positions."""
    listed = sorted(points, key=lambda point: point[0])
    return Line(
        name,
        tuple((x, value.median) for x, value in listed),
        tuple(value for _, value in listed),
    )


def picture(
    key: str,
    title: str,
    description: str,
    panels: Sequence[Panel],
    provenance: Provenance,
) -> list[Picture]:
    """Return a figure, none where nothing was measured."""
    shown = [panel for panel in panels if panel.lines]
    if not shown:
        return []
    looks = svg_panels.looks(shown)
    notes = runs_note(
        value for panel in shown for line in panel.lines for value in line.values
    )
    svgs = tuple(
        svg_panels.panel(panel, looks, provenance.series_of) for panel in shown
    )
    legend = tuple((text, svg_panels.style(at)) for text, at in looks.items())
    return [Picture(key, title, description, svgs, legend, notes=notes)]
