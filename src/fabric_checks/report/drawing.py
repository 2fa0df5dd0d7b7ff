# SPDX-License-Identifier: BSD-3-Clause
"""Draw small SVG panels, for the page and for files of their own.

A line is one element, however many points it has; the page's script shows the origin of a point by the number of its
series (:mod:`.provenance`). Text goes through :func:`fabric_checks.report.values.clean` and is escaped. The same
values give the same drawing.
"""

from __future__ import annotations

import base64
import math
import re
import struct
import textwrap
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import shortened, size_text, value_text
from fabric_checks.report.values import Value, clean

#: The style of drawings; the page has it, too.
STYLE = ROOT / "perflogs-templates" / "report" / "drawing.css"
#: The axis of time counts days since 1970.
DAY_S = 86400
#: The numbers of colours and dashes in the style: together, lines that differ.
COLOURS, DASHES = 7, 3
_WIDTH, _HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 312, 24, 160
#: Cividis (Nunez, Anderton and Renslow, 2018), which readers of all colour vision read in the same order.
_CIVIDIS = ("00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838")


@dataclass(frozen=True)
class Line:
    """A line of a drawing.

    :param label: its name; the same label has the same look in all panels. :param points: (x, y).
    :param values: what the points are of, one each; none in a file.
    :param joined: whether a line joins the points.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    values: tuple[Value, ...] = ()
    joined: bool = True


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    :param y_label: quantity and unit. :param x: the axis across: ``size`` (bytes), ``count`` (nodes or processes,
        powers of two), ``number`` (of a run or a rank), ``time`` (days). :param marks: positions across to mark.
    """

    title: str
    lines: tuple[Line, ...]
    y_label: str
    x: str = "size"
    marks: tuple[float, ...] = ()


#: Returns the number of a line's series in the page.
SeriesOf = Callable[[Line, str], int]


def looks(panels: Sequence[Panel]) -> dict[str, int]:
    """Return the number of the look of each label in panels."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    return {label: number for number, label in enumerate(labels)}


def style(look: int) -> str:
    """Return the classes of a look."""
    return f"l{look % COLOURS} d{look // COLOURS % DASHES}"


def panel(of: Panel, looks: Mapping[str, int], series_of: SeriesOf | None = None) -> str:
    """Return a panel as an SVG element.

    :param looks: the number of each label's look.
    """
    xs = [x for line in of.lines for x, _ in line.points]
    ys = [y for line in of.lines for _, y in line.points]
    across = _Axis.across(of.x, xs)
    up = _Axis.up(ys, of.x)
    unit = "" if of.y_label == "1" else of.y_label
    title = escape(clean(", ".join(filter(None, (of.title, unit)))))
    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">']
    parts.append(_title(of.title))
    grid = "".join(f"M{_LEFT} {at:.0f}H{_RIGHT}" for _, at in up.ticks)
    parts.append(f'<path class="grid" d="{grid}"/>')
    for text, at in up.ticks:
        parts.append(f'<text class="tick end" x="{_LEFT - 4}" y="{at + 3.5:.0f}">{escape(text)}</text>')
    for text, at in across.ticks:
        parts.append(f'<text class="tick mid" x="{at:.0f}" y="{_BOTTOM + 14}">{escape(text)}</text>')
    parts.append(f'<text class="tick" x="2" y="{_HEIGHT - 3}">{escape(unit)}</text>')
    for mark in of.marks:
        at = across.place(mark)
        parts.append(f'<path class="change" d="M{at:.0f} {_TOP}V{_BOTTOM}"/>')
    for line in of.lines:
        placed = [(across.place(x), up.place(y)) for x, y in line.points]
        look = style(looks[line.label])
        if line.joined:
            joined = " ".join(f"{x:.0f},{y:.0f}" for x, y in placed)
            series = f' data-s="{series_of(line, of.x)}"' if series_of else ""
            parts.append(f'<polyline class="{look}" points="{joined}"{series}/>')
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in placed)
        parts.append(f'<path class="{look}" d="{dots}"/>')
    return "".join([*parts, "</svg>"])


def _title(text: str) -> str:
    return f'<text class="title" x="2" y="12">{escape(shortened(clean(text), 52))}</text>' if text else ""


@dataclass(frozen=True)
class _Axis:
    """The position of each value, and the ticks: (text, position)."""

    place: Callable[[float], float]
    ticks: tuple[tuple[str, float], ...]

    @classmethod
    def across(cls, kind: str, values: Sequence[float]) -> _Axis:
        """Return the axis of message sizes, counts or times."""
        if kind == "time":
            place = _scale(min(values), max(values), _LEFT + 4, _RIGHT - 4)
            ends = dict.fromkeys((min(values), max(values)))
            dates = [f"{datetime.fromtimestamp(day * DAY_S, timezone.utc):%Y-%m-%d}" for day in ends]
            edges = (_LEFT + 24, _RIGHT - 26)
            return cls(place, tuple(zip(dict.fromkeys(dates), edges, strict=False)))
        if kind == "number":
            place = _scale(min(values), max(values), _LEFT + 4, _RIGHT - 4)
            wanted = sorted(set(values))
            return cls(place, tuple((f"{value:g}", place(value)) for value in wanted[:: -(-len(wanted) // 8)]))
        # A message of no bytes stands before the first byte.
        steps = [math.log2(value) if value > 0 else -1.0 for value in values]
        raw = _scale(min(steps), max(steps), _LEFT + 4, _RIGHT - 4)
        wanted = sorted(set(values))
        if kind == "size":
            wanted = [value for value in wanted if value in (0, 1) or math.log2(value) % 5 == 0] or wanted[
                :: len(wanted) - 1 or 1
            ]
        elif len(wanted) > 7:
            wanted = wanted[:: -(-len(wanted) // 7)]
        texts = [size_text(int(value)) if kind == "size" else f"{value:g}" for value in wanted]

        def place_of(value: float) -> float:
            return raw(math.log2(value) if value > 0 else -1.0)

        return cls(place_of, tuple((text, place_of(value)) for text, value in zip(texts, wanted, strict=True)))

    @classmethod
    def up(cls, values: Sequence[float], across: str) -> _Axis:
        """Return the axis of values: logarithmic where they span more than a factor of twenty."""
        low, high = min(values), max(values)
        if across in ("size", "count") and low > 0 and high / low > 20:
            place = _scale(math.log10(low), math.log10(high), _BOTTOM - 3, _TOP + 3)
            powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
            every = -(-len(powers) // 4) or 1
            ticks = [(10.0**k, f"{10.0**k:g}" if k < 6 else f"1e{k}") for k in powers[::every]]
            return cls(lambda value: place(math.log10(value)), tuple((text, place(math.log10(v))) for v, text in ticks))
        room = 0.05 * (high - low) or abs(high) * 0.05 or 1.0
        bottom, top = (low - room, high + room) if across == "time" or low < 0 else (0.0, high or 1.0)
        place = _scale(bottom, top, _BOTTOM, _TOP + 3)
        step = _nice((top - bottom) / 3)
        first = math.ceil(bottom / step)
        ticks = [(k * step, value_text(k * step)) for k in range(first, math.floor(top / step) + 1)]
        return cls(place, tuple((text, place(value)) for value, text in ticks))


def _scale(low: float, high: float, at_low: float, at_high: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: at_low + (value - low) / span * (at_high - at_low)


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= step * 0.99))


def heat_map(values: NDArray[np.float64], senders: Sequence[str], receivers: Sequence[str]) -> str:
    """Draw a value of every pair, senders down and receivers across, from 0; what was not measured is left out.

    :param values: senders x receivers, NaN where there is none.
    """
    top = float(np.nanmax(values)) or 1.0
    with np.errstate(invalid="ignore"):
        levels = np.where(np.isnan(values), len(_CIVIDIS), np.minimum(values / top * len(_CIVIDIS), len(_CIVIDIS) - 1))
    image = _png(levels.astype(np.uint8))
    rows, columns = values.shape
    left, above, side = 70, 8, 300
    parts = [
        f'<svg class="plot map" viewBox="0 0 {left + side + 70} {above + side + 66}" role="img" aria-label="Heat map">'
    ]
    parts.append(
        f'<image x="{left}" y="{above}" width="{side}" height="{side}" preserveAspectRatio="none" href="{image}"/>'
    )
    for names, count, is_row in ((senders, rows, True), (receivers, columns, False)):
        for at in range(0, count, -(-count // 16)):
            middle = (at + 0.5) * side / count
            text = escape(clean(names[at])[:10])
            if is_row:
                parts.append(f'<text class="tick end" x="{left - 4}" y="{above + middle + 3:.0f}">{text}</text>')
            else:
                x, y = left + middle + 3, above + side + 4.0
                parts.append(f'<text class="tick end" transform="translate({x:.0f} {y}) rotate(-90)">{text}</text>')
    for at, colour in enumerate(_CIVIDIS):
        y = above + side - (at + 1) * 30.0
        parts.append(f'<rect x="{left + side + 10}" y="{y:.0f}" width="12" height="30" fill="#{colour}"/>')
    for share in (0, 0.5, 1):
        y = above + side * (1 - share) + 4.0
        parts.append(f'<text class="tick" x="{left + side + 26}" y="{y:.0f}">{value_text(top * share)}</text>')
    return "".join([*parts, "</svg>"])


def _png(levels: NDArray[np.uint8]) -> str:
    """Return an image of palette colours as a data address; the last colour is none."""
    rows, columns = levels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = b"".join(b"\0" + row.tobytes() for row in levels)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", b"".join(map(bytes.fromhex, _CIVIDIS)) + b"\xff\xff\xff"),
            chunk(b"tRNS", b"\xff" * len(_CIVIDIS) + b"\0"),
            chunk(b"IDAT", zlib.compress(pixels, 9)),
            chunk(b"IEND", b""),
        )
    )
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def histogram(
    counts: Sequence[int], edges: Sequence[float], levels: Sequence[tuple[str, float]], title: str = "number of pairs"
) -> str:
    """Draw how many pairs have which bandwidth.

    :param edges: of the bins in MB/s, one more than ``counts``. :param levels: rates to mark, with their names.
    """
    across = _scale(0, edges[-1] * 1.03, _LEFT, _RIGHT)
    up = _scale(0, max([*counts, 1]) * 1.2, _BOTTOM, _TOP)
    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Histogram">']
    parts.append(f'<text class="tick" x="2" y="12">{escape(clean(title))}</text>')
    parts.append(f'<path class="grid" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>')
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        if count:
            parts.append(
                f'<path class="bar" d="M{across(low):.1f} {_BOTTOM}V{up(count):.1f}H{across(high):.1f}V{_BOTTOM}z"/>'
            )
    for name, level in levels:
        x = across(level)
        parts.append(f'<path class="change" d="M{x:.0f} {_TOP}V{_BOTTOM}"/>')
        parts.append(f'<text class="tick end" x="{x - 3:.0f}" y="{_TOP + 8}">{escape(clean(name))}</text>')
    parts.append(f'<text class="tick end" x="{_LEFT - 4}" y="{up(max(counts)) + 3:.0f}">{max(counts)}</text>')
    for share in (0, 0.5, 1):
        x = across(edges[-1] * share)
        parts.append(f'<text class="tick mid" x="{x:.0f}" y="{_BOTTOM + 14}">{value_text(edges[-1] * share)}</text>')
    parts.append(f'<text class="tick" x="2" y="{_HEIGHT - 3}">bandwidth of a pair, MB/s</text>')
    return "".join([*parts, "</svg>"])


# Files


def document(title: str, drawings: Sequence[tuple[str, str]], legend: Mapping[str, int], columns: int = 2) -> str:
    """Return drawings as an SVG file with a title, and a legend below it.

    :param drawings: (caption, SVG element). :param legend: the look of each label, of :func:`looks`.
    """
    width = 400 * columns
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", css := STYLE.read_text()))
    css = re.sub(r"var\(--([\w-]+)\)", lambda match: colours[match[1]], css)  # not every viewer knows var()
    parts, top = [], 8
    for line in textwrap.wrap(clean(title), 60 * columns) or [""]:
        top += 16
        parts.append(f'<text class="title" x="8" y="{top}">{escape(line)}</text>')
    left = 8
    for text, look in legend.items():
        if left > 8 and left + 50 + 6 * len(text) > width:
            left, top = 8, top + 16
        parts.append(f'<g class="key"><path class="{style(look)}" d="M{left} {top + 14}h28"/></g>')
        parts.append(f'<text x="{left + 34}" y="{top + 18}">{escape(clean(text))}</text>')
        left += 50 + 6 * len(text)
    top += 28 if legend else 8
    for at in range(0, len(drawings), columns):
        bottom = top
        for column, (caption, svg) in enumerate(drawings[at : at + columns]):
            lines = textwrap.wrap(clean(caption), 64)
            for number, line in enumerate(lines):
                parts.append(f'<text x="{8 + 400 * column}" y="{top + 12 + 14 * number}">{escape(line)}</text>')
            _, _, own_width, own_height = map(float, re.search(r'viewBox="([^"]+)"', svg)[1].split())  # type: ignore[index]
            height, y = round(384 * own_height / own_width), top + 4 + 14 * len(lines)
            parts.append(svg.replace("<svg ", f'<svg x="{8 + 400 * column}" y="{y}" width="384" height="{height}" ', 1))
            bottom = max(bottom, y + height + 8)
        top = bottom
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" font-family="sans-serif" width="{width}" '
        f'height="{top}" viewBox="0 0 {width} {top}" role="img" aria-label="{escape(clean(title))}">'
        f'<style>{escape(css)}</style><rect width="100%" height="100%" fill="{colours["paper"]}"/>'
    )
    return f"{head}{''.join(parts)}</svg>\n"


def save(path: Path, text: str) -> str:
    """Write an SVG file and return its name.

    :raises FabricError: if the name has the ending of another format. :raises OSError: if it cannot be written.
    """
    if path.suffix.lower() not in ("", ".svg"):
        raise FabricError(f"{path}: no picture can be written as {quoted(path.suffix)}; end the name in .svg")
    files.write_text(path, text)
    return path.name
