# SPDX-License-Identifier: BSD-3-Clause
"""Draw small SVG panels, for the page and for files of their own.

A line is one element, however many points it has; the page's script shows the origin of a point by the number
of its series (:mod:`.provenance`). Text goes through :func:`fabric_checks.report.values.clean` and is
escaped. The same values give the same drawing.
"""

from __future__ import annotations

import base64
import math
import re
import struct
import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix
from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.text import clean, shortened, size_text, value_text
from fabric_checks.report.values import Value

#: The style of drawings; the page has it, too.
STYLE = Path(__file__).with_name("templates") / "drawing.css"
#: The axis of time counts days since 1970.
DAY_S = 86400
#: The numbers of colours and dashes in the style: together, lines that differ.
COLOURS, DASHES = 7, 3
_WIDTH, _HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 312, 24, 160
#: The quantity and unit of the axes across that need one, and the texts of their ticks.
_UNITS_ACROSS = {"size": "message size, B"}
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
        across to mark.
    """

    title: str
    lines: tuple[Line, ...]
    y_label: str
    x: str = "size"
    marks: tuple[float, ...] = ()


#: The position of each value, and the ticks: (text, position).
_Axis = tuple[Callable[[float], float], list[tuple[str, float]]]
#: Returns the number of a line's series in the page.
SeriesOf = Callable[[Line, str], int]


def looks(panels: Sequence[Panel]) -> dict[str, int]:
    """Return the number of the look of each label in panels."""
    labels = dict.fromkeys(line.label for panel in panels for line in panel.lines)
    return {label: number for number, label in enumerate(labels)}


def style(look: int) -> str:
    """Return the classes of a look."""
    return f"l{look % COLOURS} d{look // COLOURS % DASHES}"


def panel(
    of: Panel, looks: Mapping[str, int], series_of: SeriesOf | None = None
) -> str:
    """Return a panel as an SVG element.

    :param looks: the number of each label's look.
    """
    across, ticks_across = _across(
        of.x, [x for line in of.lines for x, _ in line.points]
    )
    up, ticks_up = _up(of.x, [y for line in of.lines for _, y in line.points])
    title = of.title if of.y_label in ("", "1") else f"{of.title}, {of.y_label}"
    parts = [_text(2, 12, shortened(clean(title), 56), "title")]
    for text, at in ticks_up:
        parts += [
            f'<path class="grid" d="M{_LEFT} {at:.0f}H{_RIGHT}"/>',
            _text(_LEFT - 4, at + 3.5, text, "tick end"),
        ]
    parts += (_text(at, _BOTTOM + 14, text, "tick mid") for text, at in ticks_across)
    parts.append(
        _text(
            (_LEFT + _RIGHT) / 2, _HEIGHT - 3, _UNITS_ACROSS.get(of.x, ""), "tick mid"
        )
    )
    parts += (
        f'<path class="change" d="M{across(mark):.0f} {_TOP}V{_BOTTOM}"/>'
        for mark in of.marks
    )
    for line in of.lines:
        placed = [(f"{across(x):.0f}", f"{up(y):.0f}") for x, y in line.points]
        joined, look = " ".join(map(",".join, placed)), style(looks[line.label])
        series = f' data-s="{series_of(line, of.x)}"' if series_of else ""
        dots = "".join(f"M{x} {y}h0" for x, y in placed)
        parts += [
            f'<polyline class="{look}" points="{joined}"{series}/>',
            f'<path class="{look}" d="{dots}"/>',
        ]
    return _svg(_WIDTH, _HEIGHT, title, parts)


def _svg(
    width: int, height: int, label: str, parts: Iterable[str], kind: str = "plot"
) -> str:
    label = escape(clean(label))
    head = f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    return "".join([head, *parts, "</svg>"])


def _text(x: float, y: float, text: str, kind: str = "tick") -> str:
    return (
        f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(clean(text))}</text>'
        if text
        else ""
    )


def _across(kind: str, values: Iterable[float]) -> _Axis:
    """Return the axis of message sizes, counts, numbers or days: each has the same room, as powers of two
    have on a logarithmic axis."""
    known = sorted(set(values))
    margin, most = (26.0, 3) if kind == "time" else (8.0, 8)  # a date is wide
    places = np.linspace(_LEFT + margin, _RIGHT - margin, len(known))
    every = -(-len(known) // most)
    ticks = zip(
        map(_TEXTS.get(kind, "{:g}".format), known[::every]),
        places[::every].tolist(),
        strict=True,
    )
    return lambda value: float(np.interp(value, known, places)), list(ticks)


def _up(across: str, values: Sequence[float]) -> _Axis:
    """Return the axis of values: logarithmic where they span more than a factor of twenty; its ticks are its
    ends and its middle."""
    low, high = min(values), max(values)
    to: Callable[[float], float] = float
    if across in ("size", "count") and low > 0 and high / low > 20:
        to = math.log10
    elif across != "time" and low > 0:
        low = 0.0
    if low == high:
        high += abs(high) or 1.0
    scale = _scale(to(low), to(high), _BOTTOM - 3, _TOP + 3)
    middle = (low + high) / 2 if to is float else math.sqrt(low * high)
    return lambda value: scale(to(value)), [
        (value_text(at), scale(to(at))) for at in (low, middle, high)
    ]


def _scale(
    low: float, high: float, at_low: float, at_high: float
) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: at_low + (value - low) / span * (at_high - at_low)


def heat_map(
    values: NDArray[np.float64], senders: Sequence[str], receivers: Sequence[str]
) -> str:
    """Draw a value of every pair, senders down and receivers across, from 0; pairs that were not measured are
    left out.

    :param values: senders x receivers, NaN where there is none.
    """
    top = float(np.nanmax(values)) or 1.0
    with np.errstate(invalid="ignore"):
        levels = np.where(
            np.isnan(values),
            len(_CIVIDIS),
            np.minimum(values / top * len(_CIVIDIS), len(_CIVIDIS) - 1),
        )
    left, above, side = 70, 8, 300
    at = f'x="{left}" y="{above}" width="{side}" height="{side}"'
    parts = [
        f'<image {at} preserveAspectRatio="none" href="{_png(levels.astype(np.uint8))}"/>'
    ]
    for names, is_row in ((senders, True), (receivers, False)):
        for number in range(0, len(names), -(-len(names) // 16)):
            middle, name = (number + 0.5) * side / len(names), clean(names[number])[:10]
            if is_row:
                parts.append(_text(left - 4, above + middle + 3, name, "tick end"))
            else:
                turned = (
                    f"translate({left + middle + 3:.0f} {above + side + 4}) rotate(-90)"
                )
                parts.append(
                    f'<g transform="{turned}">{_text(0, 0, name, "tick end")}</g>'
                )
    for number, colour in enumerate(_CIVIDIS):
        y = above + side - (number + 1) * 30
        parts.append(
            f'<rect x="{left + side + 10}" y="{y}" width="12" height="30" fill="#{colour}"/>'
        )
    for share in (0, 0.5, 1):
        parts.append(
            _text(
                left + side + 26,
                above + side * (1 - share) + 4,
                value_text(top * share),
            )
        )
    return _svg(left + side + 70, above + side + 66, "Heat map", parts, "plot map")


def _png(levels: NDArray[np.uint8]) -> str:
    """Return an image of palette colours as a data address; the last colour is none."""
    rows, columns = levels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

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
    counts: Sequence[int], edges: Sequence[float], levels: Sequence[tuple[str, float]]
) -> str:
    """Draw how many pairs have which bandwidth.

    :param edges: of the bins in MB/s, one more than ``counts``. :param levels: rates to mark, with their
        names.
    """
    across = _scale(0, edges[-1] * 1.03, _LEFT, _RIGHT)
    up = _scale(0, max([*counts, 1]) * 1.2, _BOTTOM, _TOP)
    parts = [
        _text(2, 12, "number of pairs"),
        f'<path class="grid" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>',
    ]
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        if count:
            outline = f"M{across(low):.1f} {_BOTTOM}V{up(count):.1f}H{across(high):.1f}V{_BOTTOM}z"
            parts.append(f'<path class="bar" d="{outline}"/>')
    for name, level in levels:
        parts.append(
            f'<path class="change" d="M{across(level):.0f} {_TOP}V{_BOTTOM}"/>'
        )
        parts.append(_text(across(level) - 3, _TOP + 8, name, "tick end"))
    parts.append(_text(_LEFT - 4, up(max(counts)) + 3, str(max(counts)), "tick end"))
    for share in (0, 0.5, 1):
        parts.append(
            _text(
                across(edges[-1] * share),
                _BOTTOM + 14,
                value_text(edges[-1] * share),
                "tick mid",
            )
        )
    parts.append(_text(2, _HEIGHT - 3, "bandwidth of a pair, MB/s"))
    return _svg(_WIDTH, _HEIGHT, "Histogram", parts)


def pair_drawings(matrix: PairMatrix, link_MBps: float) -> tuple[str, str]:
    """Return the heat map, and the histogram with the bandwidths at which 1, 2, .. 6 pairs share a link.

    :param link_MBps: the rate of a link in MB/s.
    """
    senders, receivers = (
        matrix.host_labels(ranks) for ranks in (matrix.senders, matrix.receivers)
    )
    counts, edges = bandwidths.histogram(matrix)
    levels = [(f"link/{pairs}", link_MBps / pairs) for pairs in range(1, 7)]
    shown = [
        level
        for level in levels
        if 0.9 * matrix.measured.min() <= level[1] <= edges[-1]
    ]
    drawn = heat_map(matrix.MBps, senders, receivers)
    return drawn, histogram(counts.tolist(), edges.tolist(), shown)


def pair_bandwidths(title: str, matrix: PairMatrix, link_MBps: float) -> str:
    """Return heat map and histogram as one SVG file.

    :param link_MBps: the rate of a link in MB/s.
    """
    matrix_drawn, counts_drawn = pair_drawings(matrix, link_MBps)
    caption = "bandwidth of every pair, MB/s: senders down, receivers across"
    return document(title, [(caption, matrix_drawn), ("", counts_drawn)])


def document(
    title: str,
    drawings: Sequence[tuple[str, str]],
    legend: Mapping[str, int] | None = None,
) -> str:
    """Return drawings as an SVG file, two in a row, with a title and a legend above them.

    :param drawings: (caption, SVG element). :param legend: the look of each label, of :func:`looks`.
    """
    column, width, top = 400, 800, 32
    parts = [_text(8, 24, shortened(clean(title), 120), "title")]
    for at, (text, look) in enumerate((legend or {}).items()):
        left, top = 8 + width // 4 * (at % 4), 52 + 16 * (at // 4)
        parts.append(
            f'<g class="key"><path class="{style(look)}" d="M{left} {top - 14}h28"/></g>'
        )
        parts.append(_text(left + 34, top - 10, text, "label"))
    for at in range(0, len(drawings), 2):
        bottom = top
        for x, (caption, svg) in zip(
            (8, 8 + column), drawings[at : at + 2], strict=False
        ):
            lines = textwrap.wrap(clean(caption), 64)
            parts += [
                _text(x, top + 12 + 14 * number, line, "label")
                for number, line in enumerate(lines)
            ]
            own_width, own_height = map(
                int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0]
            )
            height, y = (
                round((column - 16) * own_height / own_width),
                top + 4 + 14 * len(lines),
            )
            parts.append(
                svg.replace(
                    "<svg ",
                    f'<svg x="{x}" y="{y}" width="{column - 16}" height="{height}" ',
                    1,
                )
            )
            bottom = max(bottom, y + height + 8)
        top = bottom
    css = STYLE.read_text()
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", css))
    css = re.sub(
        r"var\(--([\w-]+)\)", lambda match: colours[match[1]], css
    )  # not every viewer knows var()
    parts = [
        f'<style>{escape(css)}</style><rect width="100%" height="100%" fill="{colours["paper"]}"/>',
        *parts,
    ]
    own = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" width="{width}" height="{top}" '
    return _svg(width, top, title, parts).replace("<svg ", own, 1) + "\n"


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
