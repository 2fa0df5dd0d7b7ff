# SPDX-License-Identifier: BSD-3-Clause
"""Series as a picture, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from fabric_checks.comparison.history import Line
from fabric_checks.core.text import value_text
from fabric_checks.report.pictures.charts import COLOURS, STYLE, label, save


def draw(path: Path, lines: Sequence[Line]) -> str:
    """Draw series with their median, what each run was held to, what missed it, and what changed.

    :param path: the file to write, `.svg` or `.png`.
    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 0.6 + 2.7 * len(lines)), layout="constrained")
        rows = figure.subplots(len(lines), 1, squeeze=False)[:, 0]
        for axes, line in zip(rows, lines, strict=True):
            _draw_line(axes, line)
        return save(figure, path)


def _draw_line(axes: Axes, line: Line) -> None:
    places: list[Any] = list(range(1, len(line.values) + 1)) if line.by_run else list(line.times)
    axes.plot(places, line.values, color=COLOURS[0], marker="o", markersize=4, linewidth=1.0, label="run")
    if line.missed:
        axes.plot(
            [places[at] for at in line.missed],
            [line.values[at] for at in line.missed],
            *("X",),
            color=COLOURS[1],
            markersize=8,
            label="missed its reference",
        )
    median = line.median
    axes.axhline(median, color=COLOURS[6], linewidth=1, linestyle="--", label=f"median {value_text(median)}")
    for values, name, style in ((line.references, "reference", "-"), (line.low, "low", ":"), (line.high, "high", ":")):
        held = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
        if held:
            what = f"{name if name == 'reference' else 'bound'} {value_text(held[-1][1])}"
            axes.step(
                *zip(*held, strict=True), where="post", color=COLOURS[2], linewidth=1, linestyle=style, label=what
            )
            if len(held) == 1:
                axes.axhline(held[0][1], color=COLOURS[2], linewidth=1, linestyle=style)
    for at in sorted({change.at for change in line.changes}):
        what = ", ".join(change.what for change in line.changes if change.at == at)
        axes.axvline(places[at], color="#777777", linewidth=0.8, linestyle=":")
        axes.annotate(
            label(what),
            (places[at], 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            va="top",
        )
    if line.by_run:
        axes.set_xlabel("run")
    else:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # no annotations
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # no annotations
    axes.set_ylabel(str(line.series["unit"]))
    axes.set_title(label(line.title), loc="left", fontsize=8)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
