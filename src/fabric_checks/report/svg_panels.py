# SPDX-License-Identifier: BSD-3-Clause
"""Draw small SVG panels, for the page and for files of their own.

A line is one element, however many points it has; the page's script shows the origin of a point by the number
of its series (:mod:`.provenance`). Where things stand is computed here; ``templates/drawings.svg.jinja`` has
the elements. The same values give the same drawing.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix
from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.text import clean, shortened, size_text, value_text
from fabric_checks.report.markup import TEMPLATES, drawn
from fabric_checks.report.values import Value

#: The axis of time counts days since 1970.
DAY_S = 86400
#: The numbers of colours and dashes in the style: together, lines that differ.
COLOURS, DASHES = 7, 3
#: The edges of the axes within a panel, as the template has them.
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 312, 24, 160
#: The texts of the ticks across, by the kind of the axis.
_TEXTS: Mapping[str, Callable[[float], str]] = {
    "size": lambda size_B: size_text(int(size_B)),
    "time": lambda day: f"{datetime.fromtimestamp(day * DAY_S, timezone.utc):%Y-%m-%d}",
}
#: Cividis (Nunez, Anderton and Renslow, 2018), which readers of all colour vision read in the same order.
_CIVIDIS = (
    "00224e",
    "123570",
    "3b496c",
    "575d6d",
    "707173",
    "8a8678",
    "a59c74",
    "c3b369",
    "e1cc55",
    "fee838",
)
#: The side of a heat map, and so many of its rows and columns have a name.
_SIDE, NAMED = 300, 16
#: A heat map of more rows or columns shows blocks of them.
_MOST_BLOCKS = 100


@dataclass(frozen=True)
class Line:
    """A line of a drawing.

    :param label: its name; the same label has the same look in all panels. :param points: (x, y).
    :param values: the value of each point, for its provenance; none in a file.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    :param y_label: quantity and unit. :param x: the axis across: ``size`` (bytes), ``count`` (nodes or
        processes, powers of two), ``number`` (of a run or a rank), ``time`` (days). :param marks: positions
        across to mark. :param span: the least and the largest value that its axis has in any case.
    """

    title: str
    lines: tuple[Line, ...]
    y_label: str
    x: str = "size"
    marks: tuple[float, ...] = ()
    span: tuple[float, ...] = ()

    @property
    def name(self) -> str:
        """Its title, with quantity and unit."""
        return (
            self.title if self.y_label in ("", "1") else f"{self.title}, {self.y_label}"
        )


#: The position of each value, and the ticks: (text, position).
_Axis = tuple[Callable[[float], float], list[tuple[str, float]]]


def line(name: str, points: Iterable[tuple[float, Value]]) -> Line:
    """Return a line of values, in the order of their positions."""
    listed = sorted(points, key=lambda point: point[0])
    places = tuple((x, value.median) for x, value in listed)
    return Line(name, places, tuple(value for _, value in listed))


def looks(panels: Iterable[Panel]) -> dict[str, str]:
    """Return the look of each label in panels: classes of the style."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    return {
        label: f"l{number % COLOURS} d{number // COLOURS % DASHES}"
        for number, label in enumerate(labels)
    }


def panel(
    of: Panel,
    looks: Mapping[str, str],
    series_of: Callable[[Line, str], int | None] = lambda line, x: None,
) -> Markup:
    """Return a panel as an SVG element.

    :param looks: the look of each label.
    :param series_of: returns the number of a line's series in the page, None in a file.
    """
    across, ticks_across = _across(
        of.x, {x for line in of.lines for x, _ in line.points}
    )
    kind = "share" if of.y_label == "%" else of.x
    up, ticks_up = _up(
        kind, [*of.span, *(y for line in of.lines for _, y in line.points)]
    )
    lines = []
    for line in of.lines:
        points = [(round(across(x)), round(up(y))) for x, y in line.points]
        lines.append((looks[line.label], points, series_of(line, of.x)))
    return drawn(
        "panel",
        of.name,
        shortened(clean(of.name), 56),
        ticks_up,
        ticks_across,
        of.x,
        list(map(across, of.marks)),
        lines,
    )


def _across(kind: str, values: set[float]) -> _Axis:
    """Return the axis of message sizes, counts, numbers or days: each has the same room, as powers of two
    have on a logarithmic axis."""
    known = sorted(values)
    margin, most = (26, 3) if kind == "time" else (8, 8)  # a date is wide
    places = np.linspace(_LEFT + margin, _RIGHT - margin, len(known)).tolist()
    every = -(-len(known) // most)
    texts = map(_TEXTS.get(kind, "{:g}".format), known[::every])
    ticks = list(zip(texts, places[::every], strict=True))
    return lambda value: float(np.interp(value, known, places)), ticks


def _up(across: str, values: Sequence[float]) -> _Axis:
    """Return the axis of values: logarithmic where they span more than a factor of twenty; its ticks are its
    ends and its middle.

    :param across: the kind of the other axis, or ``share`` of values in per cent, which is never logarithmic.
    """
    low, high = min(values), max(values)
    to: Callable[[float], float] = float
    if across in ("size", "count") and low > 0 and high / low > 20:
        to = math.log10
    elif across != "time" and low > 0:
        low = 0.0
    if low == high:
        high += abs(high) or 1.0
    middle = (low + high) / 2 if to is float else math.sqrt(low * high)
    ends, places = (to(low), to(high)), (_BOTTOM - 3, _TOP + 3)

    def position(value: float) -> float:
        return float(np.interp(to(value), ends, places))

    return position, [(value_text(at), position(at)) for at in (low, middle, high)]


def heat_map(
    values: NDArray[np.float64],
    senders: Sequence[str],
    receivers: Sequence[str],
    worst: np.ufunc = np.fmax,
) -> Markup:
    """Draw a value of every pair, senders down and receivers across, in the colours of their own range; pairs
    that were not measured are left out.

    Of many rows or columns a point of the map is a block of pairs, and has the worst of their values.

    :param values: senders x receivers, NaN where there is none.
    :param worst: which of two values is worse, ``np.fmin`` or ``np.fmax``.
    """
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    for axis, size in enumerate(values.shape):
        starts = np.arange(0, size, -(-size // _MOST_BLOCKS))
        values = worst.reduceat(values, starts, axis=axis)
    shares = np.nan_to_num((values - low) / ((high - low) or 1.0))
    levels = np.minimum(shares * len(_CIVIDIS), len(_CIVIDIS) - 1).astype(int)
    levels[np.isnan(values)] = -1
    areas: list[list[tuple[int, int, int]]] = [[] for _ in (*_CIVIDIS, "none")]
    for y, row in enumerate(levels.tolist()):
        x = 0
        for level, run in groupby(row):
            length = len(list(run))
            areas[level].append((x, y, length))
            x += length
    scale = [
        (value_text(low + share * (high - low)), 8 + _SIDE * (1 - share))
        for share in (0, 0.5, 1)
    ]
    names = map(_named, (senders, receivers))
    return drawn(
        "heat_map",
        dict(zip(_CIVIDIS, areas, strict=False)),
        *values.shape,
        *names,
        scale,
    )


def _named(names: Sequence[str]) -> list[tuple[str, float]]:
    """Return the first characters of names, as many as can be read, and where they stand on a side."""
    return [
        (clean(names[at])[:10], (at + 0.5) * _SIDE / len(names))
        for at in range(0, len(names), -(-len(names) // NAMED))
    ]


def histogram(
    counts: Sequence[int], edges: Sequence[float], levels: Sequence[tuple[str, float]]
) -> Markup:
    """Draw how many pairs have which bandwidth.

    :param edges: of the bins in MB/s, one more than ``counts``. :param levels: rates to mark, with their
        names.
    """
    most = max(counts)

    def across(rate_MBps: float) -> float:
        return float(np.interp(rate_MBps, (0, 1.03 * edges[-1]), (_LEFT, _RIGHT)))

    def up(count: int) -> float:
        return float(np.interp(count, (0, 1.2 * max(most, 1)), (_BOTTOM, _TOP)))

    bars = [
        (across(low), across(high), up(count))
        for count, low, high in zip(counts, edges, edges[1:], strict=False)
        if count
    ]
    ticks = [edges[-1] * share for share in (0, 0.5, 1)]
    return drawn(
        "histogram",
        bars,
        (most, up(most)),
        [(name, across(level)) for name, level in levels],
        [(value_text(at), across(at)) for at in ticks],
    )


def pair_drawings(matrix: PairMatrix, link_MBps: float) -> tuple[Markup, Markup]:
    """Return the heat map, and the histogram with the bandwidths at which 1, 2, .. 6 pairs share a link.

    :param link_MBps: the rate of a link in MB/s.
    """
    senders, receivers = map(matrix.host_labels, (matrix.senders, matrix.receivers))
    counts, edges = bandwidths.histogram(matrix)
    levels = [(f"link/{pairs}", link_MBps / pairs) for pairs in range(1, 7)]
    least = 0.9 * matrix.measured.min()
    shown = [level for level in levels if least <= level[1] <= edges[-1]]
    return (
        heat_map(matrix.MBps, senders, receivers, np.fmin),
        histogram(counts.tolist(), edges.tolist(), shown),
    )


def pair_bandwidths(title: str, matrix: PairMatrix, link_MBps: float) -> str:
    """Return heat map and histogram as one SVG file.

    :param link_MBps: the rate of a link in MB/s.
    """
    caption = "bandwidth of every pair, MB/s: senders down, receivers across"
    drawings = zip((caption, ""), pair_drawings(matrix, link_MBps), strict=True)
    return document(title, list(drawings))


def document(
    title: str,
    drawings: Sequence[tuple[str, Markup]],
    legend: Mapping[str, str] | None = None,
) -> str:
    """Return drawings as an SVG file, two in a row, with a title and a legend above them.

    :param drawings: (caption, SVG element). :param legend: the look of each label, of :func:`looks`.
    """
    keys = list((legend or {}).items())
    top, placed = 32 + 16 * -(-len(keys) // 4), []
    for at in range(0, len(drawings), 2):
        bottoms = []
        for x, (caption, svg) in zip((8, 408), drawings[at : at + 2], strict=False):
            lines = textwrap.wrap(clean(caption), 64)
            width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
            tall, y = round(384 * height / width), top + 4 + 14 * len(lines)
            placed.append((x, top, lines, y, tall, svg))
            bottoms.append(y + tall + 8)
        top = max(bottoms)
    css = (TEMPLATES / "drawing.css").read_text()
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", css))
    # Not every viewer knows var().
    css = re.sub(r"var\(--([\w-]+)\)", lambda match: colours[match[1]], css)
    title = shortened(clean(title), 120)
    return (
        drawn("document", title, css, colours["paper"], keys, placed, top).strip()
        + "\n"
    )


def save(path: Path, text: str) -> str:
    """Write an SVG file and return its name.

    :raises FabricError: if the name has the ending of another format. :raises OSError: if it cannot be
        written.
    """
    if path.suffix.lower() not in ("", ".svg"):
        raise FabricError(
            f"{path}: no picture can be written as {quoted(path.suffix)}; end the name in .svg"
        )
    files.write_text(path, text)
    return path.name
