# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of results, SVG or PNG by the name of the file: curves, the pair matrix as a heat map, and histograms.

The colours can be told apart by colour-blind readers and in print (cividis; the palette of Okabe and Ito with a marker
of its own for each curve), and the same values give the same file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.files import replacing
from fabric_checks.core.text import one_line, size_text, value_text
from fabric_checks.diagnosis.cross_section.bandwidths import histogram
from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.cross_section.matrix import PairMatrix, name_of
from fabric_checks.diagnosis.latency_map.evaluation import Report as LatencyReport

#: Okabe and Ito, Color Universal Design, 2008; yellow is left out because it is too light on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "fabric-checks",  # names of clip paths: the same from run to run
    "svg.fonttype": "none",  # text stays text, which can be searched and read aloud
    "text.parse_math": False,  # a host name may contain a dollar sign
    "font.size": 10,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "axes.axisbelow": True,
}
#: More names than this on an axis cannot be read.
_MOST_LABELS = 40

#: A longer text would leave no room for the figure.
_LONGEST = 140

Curve = Mapping[int, float]


def label(text: str) -> str:
    """Return untrusted text as a title or a name in a picture: one printable line that is not too long."""
    line = one_line(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def save(figure: Figure, path: Path) -> str:
    """Write a figure, `.svg` or `.png`, and return the name of the file; without an ending it is SVG.

    :raises FabricError: if the ending is that of no picture. :raises OSError: if the file cannot be written.
    """
    kind = path.suffix[1:].lower() or "svg"
    if kind not in figure.canvas.get_supported_filetypes():
        raise FabricError(f"{path}: no picture can be written as {quoted(path.suffix)}; end the name in .svg or .png")
    with replacing(path) as place:
        # Without a date, the same values give the same file.
        figure.savefig(place, format=kind, metadata={"Date": None} if kind == "svg" else {})
    return path.name


def curves(
    path: Path,
    title: str,
    curves_by_name: Mapping[str, Curve],
    y_label: str,
    *,
    log_y: bool = False,
    marks_B: Sequence[int] = (),
) -> str:
    """Draw curves over message sizes.

    :param path: the file to write, `.svg` or `.png`.
    :param curves_by_name: for each curve its value by message size in bytes.
    :param y_label: quantity and unit.
    :param log_y: whether the values have a logarithmic axis; zeros are then left out.
    :param marks_B: message sizes to mark with a line, such as a switch of protocol.
    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        for index, (name, curve) in enumerate(curves_by_name.items()):
            points = sorted((size, value) for size, value in curve.items() if value > 0 or not log_y)
            axes.plot(
                [_place(size) for size, _ in points],
                [value for _, value in points],
                label=label(name),
                color=COLOURS[index % len(COLOURS)],
                marker=_MARKERS[index % len(_MARKERS)],
                linestyle=("-", "--", "-.", ":")[index % 4],
                markersize=4,
                linewidth=1.2,
            )
        for size in marks_B:
            axes.axvline(_place(size), color="#777777", linewidth=0.8, linestyle=":")
        _size_axis(axes, max(size for curve in curves_by_name.values() for size in curve))
        if log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: value_text(value)))
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(bottom=0)
        axes.set_ylabel(y_label)
        axes.set_title(label(title))
        axes.legend()
        return save(figure, path)


def _place(size_B: int) -> float:
    """Return where a message size lies on its axis: powers of two are evenly spaced, and 0 B comes before 1 B."""
    return math.log2(size_B) + 1 if size_B else 0.0


def _size_axis(axes: Axes, largest_B: int) -> None:
    powers = [2**k for k in range(largest_B.bit_length())]
    step = 1 if len(powers) <= 12 else 2
    ticks = [0, *powers[::step]]
    axes.set_xticks([_place(size) for size in ticks], [size_text(size) for size in ticks], fontsize=9)
    axes.set_xlabel("message size, B (K = 1024, M = 1024 K)")


def heat_map(path: Path, title: str, matrix: PairMatrix) -> str:
    """Draw the bandwidth of every pair, senders down and receivers across, with the names of the hosts.

    What was not measured stays white and hatched.

    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        rows, columns = matrix.MBps.shape
        width = min(max(4.5, 0.22 * columns + 2.5), 14)
        height = min(max(3.5, 0.22 * rows + 1.5), 12)
        figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
        axes = figure.subplots()
        _draw_matrix(figure, axes, matrix, _MOST_LABELS)
        axes.set_title(label(title))
        return save(figure, path)


def _draw_matrix(figure: Figure, axes: Axes, matrix: PairMatrix, most_labels: int) -> None:
    axes.set_facecolor("white")
    axes.patch.set(hatch="///", edgecolor="#BBBBBB")
    image = axes.imshow(matrix.MBps, cmap="cividis", interpolation="nearest", aspect="auto", vmin=0)
    figure.colorbar(image, ax=axes, label="bandwidth, MB/s (10^6 bytes a second)")
    for axis, ranks in ((axes.xaxis, matrix.receivers), (axes.yaxis, matrix.senders)):
        step = -(-len(ranks) // most_labels)
        names = [label(name) for name in matrix.host_labels(ranks[::step])]
        axis.set_ticks(range(0, len(ranks), step), names)
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_xlabel("receiver")
    axes.set_ylabel("sender")


def bandwidth_histogram(path: Path, title: str, matrix: PairMatrix, link_MBps: float) -> str:
    """Draw how many pairs have which bandwidth, with the rates at which two, three, ... pairs share a link.

    :param link_MBps: the rate of a link in MB/s.
    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.8), layout="constrained")
        axes = figure.subplots()
        _draw_histogram(axes, matrix, link_MBps)
        axes.set_title(label(title))
        return save(figure, path)


def _draw_histogram(axes: Axes, matrix: PairMatrix, link_MBps: float) -> None:
    counts, edges = histogram(matrix)
    axes.bar(edges[:-1], counts, width=np.diff(edges), align="edge", color=COLOURS[0], edgecolor="white")
    for sharing in range(1, 7):
        level = link_MBps / sharing
        if edges[0] < level <= edges[-1] and level >= matrix.measured.min() * 0.9:
            axes.axvline(level, color=COLOURS[1], linewidth=1, linestyle="--")
            axes.annotate(
                f"link/{sharing}",
                (level, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-2, -3),
                textcoords="offset points",
                ha="right",
                va="top",
                rotation=90,
                fontsize=8,
                color=COLOURS[1],
            )
    axes.set_xlim(0, edges[-1] * 1.02)
    axes.set_xlabel("bandwidth of a pair, MB/s (10^6 bytes a second)")
    axes.set_ylabel("number of pairs")


def cross_section(folder: Path, title: str, found: Report) -> list[str]:
    """Write the heat map and the histogram of a cross-section run into a folder and return their names."""
    return [
        heat_map(folder / "matrix.svg", title, found.matrix),
        bandwidth_histogram(folder / "histogram.svg", title, found.matrix, found.link_MBps),
    ]


def latency_map(path: Path, title: str, found: LatencyReport) -> str:
    """Draw the latency of every pair as a heat map, nodes in the order of their ranks, and return the file's name."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 5.2), layout="constrained")
        axes = figure.subplots()
        axes.grid(visible=False)
        axes.set_facecolor("white")
        axes.patch.set(hatch="///", edgecolor="#BBBBBB")
        image = axes.imshow(found.latency_us, cmap="cividis", interpolation="nearest", aspect="auto")
        figure.colorbar(image, ax=axes, label="latency, us (half of a ping-pong)")
        hosts = found.output.hosts
        step = -(-len(hosts) // 32)
        names = [label(name_of(hosts, rank)) for rank in range(0, len(hosts), step)]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(range(0, len(hosts), step), names)
        axes.tick_params(axis="x", labelrotation=90)
        axes.set_title(label(title))
        return save(figure, path)


def pair_bandwidths(path: Path, title: str, matrix: PairMatrix, link_MBps: float) -> str:
    """Draw the heat map and the histogram side by side, for a text that has room for one picture.

    :param link_MBps: the rate of a link in MB/s.
    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 4), layout="constrained", dpi=150)
        left, right = figure.subplots(1, 2)
        left.grid(visible=False)
        _draw_matrix(figure, left, matrix, 16)
        _draw_histogram(right, matrix, link_MBps)
        # Room for the names of the levels above the highest bar.
        right.margins(y=0.25)
        figure.suptitle(label(title), fontsize=11)
        return save(figure, path)


def distributions(
    path: Path, title: str, rates_MBps: Mapping[str, NDArray[np.float64]], remarks: Mapping[str, str]
) -> str:
    """Draw how the bandwidths of the pairs are distributed, a row for each name, all on one axis.

    A row has the share of pairs in each bin, its median as a line and its slowest pair as a triangle.

    :param rates_MBps: the bandwidths of the pairs in MB/s by name.
    :param remarks: what to write beside a row.
    :returns: the name of the file.
    """
    with mpl.rc_context(STYLE):
        top = 1.05 * max(float(values.max()) for values in rates_MBps.values())
        edges = np.linspace(0, top, 61)
        figure = Figure(figsize=(8, 1.1 + 0.95 * len(rates_MBps)), layout="constrained")
        rows = figure.subplots(len(rates_MBps), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, values) in zip(rows, rates_MBps.items(), strict=True):
            counts, _ = np.histogram(values, bins=edges)
            axes.bar(edges[:-1], 100 * counts / len(values), np.diff(edges), align="edge", color=COLOURS[0])
            axes.axvline(float(np.median(values)), color=COLOURS[6], linewidth=1, linestyle="--")
            axes.plot(float(values.min()), 0, marker="^", color=COLOURS[1], markersize=8, clip_on=False, zorder=3)
            axes.set_ylim(0, 105)
            axes.set_yticks([0, 50, 100])
            axes.set_title(label(f"{name}: {remarks.get(name, '')}".removesuffix(": ")), loc="left", fontsize=9)
        axes = rows[-1]
        axes.set_xlim(0, top)
        axes.set_xlabel("bandwidth of a pair, MB/s (10^6 bytes a second); dashed: median, triangle: slowest pair")
        figure.supylabel("share of the pairs, %", fontsize=10)
        figure.suptitle(label(title), fontsize=11)
        return save(figure, path)
