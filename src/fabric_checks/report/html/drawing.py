# SPDX-License-Identifier: BSD-3-Clause
"""Drawings for the page: small SVG panels in the page's own colours, whose points know where they come from.

A line is one element, whatever it has of points; what stands at a point, the page's script tells by the number of its
series (:mod:`.provenance`). Text goes through :func:`fabric_checks.report.html.values.clean` and is escaped.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.text import size_text, value_text
from fabric_checks.report.html.values import Value, clean

#: The axis of time counts days since 1970.
DAY_S = 86400
#: As many colours and dashes as the page's style has: together, lines that differ.
COLOURS, DASHES = 7, 3
_WIDTH, _HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 312, 24, 160
#: Cividis (Nunez, Anderton and Renslow, 2018), which readers of all colour vision read in the same order.
_CIVIDIS = ("00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838")


@dataclass(frozen=True)
class Line:
    """A line of a drawing.

    :param label: its name; the same label has the same look in all panels. :param points: (x, value).
    """

    label: str
    points: tuple[tuple[float, Value], ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    :param y_label: quantity and unit. :param x: what is across: ``size`` (bytes), ``count`` (nodes or processes, powers
        of two), ``time`` (days). :param marks: places across to mark.
    """

    title: str
    lines: tuple[Line, ...]
    y_label: str
    x: str = "size"
    marks: tuple[float, ...] = ()


#: Returns the number of a line's series in the page.
SeriesOf = Callable[[Line, str], int]


def panel(of: Panel, looks: Mapping[str, int], series_of: SeriesOf) -> str:
    """Return a panel as an SVG element.

    :param looks: the number of each label's look.
    """
    xs = [x for line in of.lines for x, _ in line.points]
    ys = [value.median for line in of.lines for _, value in line.points]
    across = _Axis.across(of.x, xs)
    up = _Axis.up(ys, of.x)
    unit = "" if of.y_label == "1" else of.y_label
    title = escape(", ".join(filter(None, (of.title, unit))))
    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{title}">']
    parts.append(f'<text class="title" x="2" y="12">{escape(_short(of.title))}</text>')
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
        look = looks[line.label]
        placed = [(across.place(x), up.place(value.median)) for x, value in line.points]
        joined = " ".join(f"{x:.0f},{y:.0f}" for x, y in placed)
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in placed)
        style = f"l{look % COLOURS} d{look // COLOURS % DASHES}"
        number = series_of(line, of.x)
        parts.append(
            f'<polyline class="{style}" points="{joined}" data-s="{number}"/><path class="{style}" d="{dots}"/>'
        )
    return "".join([*parts, "</svg>"])


def _short(text: str, most: int = 52) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class _Axis:
    """Where values stand, and the ticks: (text, place)."""

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
        # Before the first byte there is a place for messages of none.
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
        """Return the axis of what was measured: logarithmic where it spans more than a factor of twenty."""
        low, high = min(values), max(values)
        if across != "time" and low > 0 and high / low > 20:
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


def heat_map(MBps: NDArray[np.float64], senders: Sequence[str], receivers: Sequence[str]) -> str:
    """Draw the bandwidth of every pair, senders down and receivers across, from 0; what was not measured is left out.

    :param MBps: senders x receivers, NaN where there is none.
    """
    top = float(np.nanmax(MBps)) or 1.0
    with np.errstate(invalid="ignore"):
        levels = np.where(np.isnan(MBps), len(_CIVIDIS), np.minimum(MBps / top * len(_CIVIDIS), len(_CIVIDIS) - 1))
    image = _png(levels.astype(np.uint8))
    rows, columns = MBps.shape
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


def histogram(counts: Sequence[int], edges: Sequence[float], levels: Sequence[tuple[str, float]]) -> str:
    """Draw how many pairs have which bandwidth.

    :param edges: of the bins in MB/s, one more than ``counts``. :param levels: rates to mark, with their names.
    """
    across = _scale(0, edges[-1] * 1.03, _LEFT, _RIGHT)
    up = _scale(0, max([*counts, 1]) * 1.2, _BOTTOM, _TOP)
    parts = [f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Histogram">']
    parts.append(
        f'<text class="tick" x="2" y="12">number of pairs</text><path class="grid" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>'
    )
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
