# SPDX-License-Identifier: BSD-3-Clause
"""Draw a profile: messages by size, time by rank, and the traffic between ranks.

After Figures 2 to 5 of the DYNA paper: the messages of an application, and their share of its time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from markupsafe import Markup

from fabric_checks.report import svg_panels
from fabric_checks.report.svg_panels import Line, Panel
from fabric_profile import evaluation as analysis
from fabric_profile.profile import Profile

_KINDS = ("outside", "send", "receive", "wait", "collective", "making")


def draw(profile: Profile, path: Path, title: str) -> str:
    """Write the picture of a profile, `.svg`, and return the name of the file."""
    panels = [panel for panel in (_messages(profile), _ranks(profile)) if panel.lines]
    looks = svg_panels.looks(panels)
    drawings = [("", svg_panels.panel(panel, looks)) for panel in panels]
    if any(rank.partners for rank in profile.ranks):
        drawings.append(
            (
                "traffic between ranks, MB (10^6 bytes): senders down, receivers across",
                _partners(profile),
            )
        )
    return svg_panels.save(path, svg_panels.document(title, drawings, looks))


def _messages(profile: Profile) -> Panel:
    """Return the shares of messages, and of their bytes, by the lower power of two of the size."""
    found = analysis.histogram(profile, analysis.is_message)
    lines = []
    for index, name in enumerate(("of the messages", "of their bytes")):
        total = sum(each[index] for each in found.values()) or 1
        points = tuple(
            (float(size_B), 100 * each[index] / total)
            for size_B, each in sorted(found.items())
        )
        lines += [Line(name, points)] if points else []
    return Panel("messages by size", tuple(lines), "%")


def _ranks(profile: Profile) -> Panel:
    """Return the time of each rank by kind of call."""
    times = analysis.time_by_kind(profile)
    lines = tuple(
        Line(
            "outside of MPI" if kind == "outside" else kind,
            tuple(enumerate(of.get(kind, 0.0) for of in times)),
        )
        for kind in _KINDS
        if any(of.get(kind) for of in times)
    )
    return Panel("time by rank", lines, "s", "number")


def _partners(profile: Profile) -> Markup:
    count = len(profile.ranks)
    sent_MB = np.full((count, count), np.nan)
    for rank, each in enumerate(profile.ranks):
        for to, (_, moved_B) in each.partners.items():
            if 0 <= to < count:
                sent_MB[rank, to] = moved_B / 1e6
    names = [str(rank) for rank in range(count)]
    return svg_panels.heat_map(sent_MB, names, names)
