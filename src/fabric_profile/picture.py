# SPDX-License-Identifier: BSD-3-Clause
"""The picture of a profile: messages by size, time by call, time by rank, and who sends to whom.

After Figures 2 to 5 of the DYNA paper: what messages an application has, and how much of its time they take.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fabric_checks.core.text import size_text
from fabric_checks.report.pictures.charts import COLOURS, STYLE, label, save
from fabric_profile import evaluation as analysis
from fabric_profile.profile import Profile

_MOST_CALLS = 10
#: In this order from below.
_KINDS = ("outside", "send", "receive", "wait", "collective", "one-sided", "making")


def draw(profile: Profile, path: Path, title: str) -> str:
    """Draw a profile and return the name of the file, `.svg` or `.png`."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7.5), layout="constrained", dpi=120)
        ((messages, calls), (ranks, partners)) = figure.subplots(2, 2)
        _draw_messages(messages, profile)
        _draw_calls(calls, profile)
        _draw_ranks(ranks, profile)
        _draw_partners(figure, partners, profile)
        figure.suptitle(label(title), fontsize=11)
        return save(figure, path)


def _draw_messages(axes: Axes, profile: Profile) -> None:
    found = analysis.histogram(profile, analysis.is_message)
    axes.set_title("messages by size", fontsize=10)
    axes.set_ylabel("share, %")
    axes.set_xlabel("size of a message, B: from this to twice of it (K = 1024)")
    if not found:
        axes.text(0.5, 0.5, "none", ha="center", va="center", transform=axes.transAxes)
        return
    sizes = range(max(size.bit_length() for size in found) + 1)
    for index, name in enumerate(("of the messages", "of their bytes")):
        all_of_it = sum(each[index] for each in found.values())
        shares = [100 * found.get(2 ** (k - 1) if k else 0, (0, 0))[index] / (all_of_it or 1) for k in sizes]
        axes.bar([k + 0.4 * index - 0.2 for k in sizes], shares, 0.4, color=COLOURS[index], label=name)
    step = 1 if len(sizes) <= 10 else 2 if len(sizes) <= 20 else 4
    axes.set_xticks(list(sizes)[::step], [size_text(2 ** (k - 1) if k else 0) for k in sizes][::step])
    axes.legend()


def _draw_calls(axes: Axes, profile: Profile) -> None:
    totals = analysis.by_call(profile)[:_MOST_CALLS][::-1]
    axes.barh([each.call for each in totals], [each.share_percent for each in totals], color=COLOURS[2])
    axes.set_title("time by call", fontsize=10)
    axes.set_xlabel("share of the run time of all ranks, %")


def _draw_ranks(axes: Axes, profile: Profile) -> None:
    times = analysis.time_by_kind(profile)
    below = np.zeros(len(times))
    for index, kind in enumerate(_KINDS):
        heights = np.array([of.get(kind, 0.0) for of in times])
        if heights.any():
            name = "outside of MPI" if kind == "outside" else kind
            axes.bar(range(len(times)), heights, 0.9, bottom=below, color=_colour(index), label=name)
            below = below + heights
    axes.set_title("time by rank", fontsize=10)
    axes.set_xlabel("rank")
    axes.set_ylabel("s")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.15))


def _colour(index: int) -> str:
    return "#CCCCCC" if index == 0 else COLOURS[index - 1]


def _draw_partners(figure: Figure, axes: Axes, profile: Profile) -> None:
    count = len(profile.ranks)
    sent = np.full((count, count), np.nan)
    for rank, each in enumerate(profile.ranks):
        for to, (_, moved) in each.partners.items():
            if 0 <= to < count:
                sent[rank, to] = moved / 1e6
    axes.grid(visible=False)
    axes.set_facecolor("white")
    axes.set_title("messages from rank to rank", fontsize=10)
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    image = axes.imshow(sent, cmap="cividis", interpolation="nearest", aspect="auto", vmin=0)
    figure.colorbar(image, ax=axes, label="MB (10^6 bytes)")
