# SPDX-License-Identifier: BSD-3-Clause
"""Drawings for the page: SVG whose colours are those of the page, and whose points know where they come from.

Matplotlib draws with colours that stand for names; these become CSS variables, so that one drawing serves light, dark
and paper. Text goes through :func:`fabric_checks.report.html.values.clean` and is never read as markup or mathematics.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from fabric_checks.report.html.svg import INK, LINES, PAPER, RULE, page_svg
from fabric_checks.report.html.values import Value, clean
from fabric_checks.text import size_text, value_text

#: As many as there are before a colour and a marker come together again.
_MARKERS = "osD^vPX<>phd*"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fabric-checks",  # the same names from run to run
    "svg.fonttype": "none",  # text stays text, which can be searched and read aloud
    "text.parse_math": False,  # a host name may contain a dollar sign
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": RULE,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Line:
    """A line of a drawing.

    :param label: its name; :param points: (x, value); the same label has the same look in all panels.
    """

    label: str
    points: tuple[tuple[float, Value], ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    :param x: what is across: ``size`` (message sizes in bytes), ``nodes`` (powers of two), ``time`` (days).
    :param marks: places across to mark.
    """

    title: str
    lines: tuple[Line, ...]
    y_label: str
    x: str = "size"
    x_label: str = "message size, B (K = 1024, M = 1024 K)"
    log_y: bool = False
    marks: tuple[float, ...] = ()


def draw(key: str, panels: Sequence[Panel], number_of: Any) -> str:
    """Draw panels side by side with one legend.

    :param key: makes the names in the drawing its own. :param number_of: returns the number of a value's provenance.
    :returns: an SVG element.
    """
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines))
    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / columns)
    # In inches, a character of the legend takes 0.08 and its sign 0.6.
    longest = max((len(label) for label in labels), default=1)
    legend_columns = max(1, min(4, int((9 if columns > 1 else 6.2) / (0.08 * longest + 0.6))))
    legend_rows = math.ceil(len(labels) / legend_columns)
    with mpl.rc_context(_STYLE):
        size = (9.2 if columns > 1 else 6.4, 3.4 * rows + 0.24 * legend_rows + 0.2)
        figure = Figure(figsize=size, layout="constrained")
        points: dict[str, list[int]] = {}
        handles = {}
        for index, (axes, panel) in enumerate(
            zip(figure.subplots(rows, columns, squeeze=False).flat, panels, strict=False)
        ):
            for line in panel.lines:
                look = labels.index(line.label)
                kept = [(x, value) for x, value in line.points if value.median > 0 or not panel.log_y]
                name = f"line-{index}-{look}"
                (handles[line.label],) = axes.plot(
                    [_place(x) if panel.x == "size" else x for x, _ in kept],
                    [value.median for _, value in kept],
                    gid=name,
                    color=LINES[look % len(LINES)],
                    marker=_MARKERS[look % len(_MARKERS)],
                    linestyle=("-", "--", ":")[look // len(LINES) % 3],
                    markersize=4.5,
                    linewidth=1.3,
                )
                points[name] = [number_of(value) for _, value in kept]
            _axes(axes, panel)
        for axes in figure.axes[len(panels) :]:
            axes.set_axis_off()
        # Matplotlib leaves labels out that begin with an underscore.
        texts = [re.sub(r"^_", " _", clean(label)) for label in handles]
        figure.legend(list(handles.values()), texts, loc="outside lower center", ncols=legend_columns, fontsize=9)
        return page_svg(figure, key, points)


def _axes(axes: Axes, panel: Panel) -> None:
    values = [value.median for line in panel.lines for _, value in line.points]
    xs = [x for line in panel.lines for x, _ in line.points]
    if panel.x == "size":
        _size_axis(axes, int(max(xs, default=1)))
    elif panel.x == "nodes":
        axes.set_xscale("log", base=2)
        ticks = [2**k for k in range(int(max(xs, default=1)).bit_length())]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif panel.x == "time":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415  (only over time)

        locator = AutoDateLocator(minticks=2, maxticks=8)  # type: ignore[no-untyped-call]  # no annotations
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # no annotations
    for mark in panel.marks:
        axes.axvline(mark, color=INK, linewidth=1.2, linestyle=":")
    axes.set_xlabel(panel.x_label)
    if panel.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: value_text(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif panel.x != "time" and min(values, default=0) >= 0:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(clean(panel.y_label))
    axes.set_title(clean(panel.title))


def _place(size_B: float) -> float:
    """Return where a message size stands on its axis: powers of two are evenly spaced, and 0 B comes before 1 B."""
    return math.log2(size_B) + 1 if size_B else 0.0


def _size_axis(axes: Axes, largest_B: int) -> None:
    powers = [2**k for k in range(largest_B.bit_length())]
    ticks = [0, *powers[:: 1 if len(powers) <= 8 else 2 if len(powers) <= 14 else 4]]
    axes.set_xticks([_place(size) for size in ticks], [size_text(size) for size in ticks])


def heat_map(
    key: str,
    values: NDArray[np.float64],
    senders: Sequence[str],
    receivers: Sequence[str],
    *,
    what: str = "bandwidth, MB/s",
    ends: tuple[str, str] = ("sender", "receiver"),
) -> str:
    """Draw a figure of every pair, senders down and receivers across; what was not measured is left out.

    :param values: senders x receivers, NaN where there is none. :param what: the figure and its unit.
    :param ends: what the rows are, and the columns.
    """
    with mpl.rc_context(_STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(4.6, 3.8), layout="constrained")
        axes = figure.subplots()
        # From zero, so that a picture of pairs that are all alike is of one colour.
        image = axes.imshow(values, cmap="cividis", interpolation="nearest", aspect="auto", vmin=0)
        bar = figure.colorbar(image, ax=axes, label=what)
        outline: Any = bar.outline  # what matplotlib's releases say of its type differs
        outline.set_visible(False)
        for axis, names in ((axes.xaxis, receivers), (axes.yaxis, senders)):
            step = -(-len(names) // 16)
            axis.set_ticks(range(0, len(names), step), [clean(name)[:24] for name in names[::step]])
        axes.tick_params(axis="x", labelrotation=90)
        axes.set_ylabel(ends[0])
        axes.set_xlabel(ends[1])
        return page_svg(figure, key, {})


def histogram(key: str, counts: Sequence[int], edges: Sequence[float], levels: Sequence[tuple[str, float]]) -> str:
    """Draw how many pairs have which bandwidth.

    :param edges: of the bins in MB/s, one more than ``counts``. :param levels: rates to mark, with their names.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(4.6, 3.8), layout="constrained")
        axes = figure.subplots()
        axes.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=LINES[0], edgecolor=PAPER)
        axes.margins(y=0.25)
        for name, level in levels:
            axes.axvline(level, color=LINES[1], linewidth=1.2, linestyle="--")
            axes.annotate(
                clean(name),
                (level, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-3, -3),
                textcoords="offset points",
                ha="right",
                va="top",
                rotation=90,
                fontsize=8,
            )
        axes.set_xlim(0, edges[-1] * 1.03)
        axes.set_xlabel("bandwidth of a pair, MB/s")
        axes.set_ylabel("number of pairs")
        return page_svg(figure, key, {})
