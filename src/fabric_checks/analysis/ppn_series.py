# SPDX-License-Identifier: BSD-3-Clause
"""Run time of an application by number of nodes, with one process on each and with more.

Source of the question: SAND2005-5199, section 6, Figures 15 and 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from statistics import linear_regression

from fabric_checks.core.layouts import Layout, steps
from fabric_checks.core.metrics import Metric


def launches(largest: Layout) -> list[Layout]:
    """Return the layouts to launch: 1, 2, 4 ... and all nodes, with one process on each, and with as many as
    asked.

    >>> " ".join(map(str, launches(Layout(4, 2))))
    '1x1 1x2 2x1 2x2 4x1 4x2'
    """
    return [
        Layout(nodes, ppn) for nodes in steps(largest.nodes) for ppn in (1, largest.ppn)
    ]


def metrics(largest: Layout) -> list[Metric]:
    """Declare the metrics that :func:`values` returns."""
    layouts = launches(largest)
    gaps = [layout for layout in layouts if layout.ppn > 1]
    found = [
        Metric(
            f"loop_time_{layout}",
            "s",
            "smaller",
            about="Wall time of the time steps in that layout",
        )
        for layout in layouts
    ]
    about = "Time on one node with as many processes a node over that here, adjusted for the work of a node"
    found += [
        Metric(f"efficiency_{layout}", "%", "larger", about=about)
        for layout in layouts
        if layout.nodes > 1
    ]
    about = "How much longer it takes than with one process a node"
    found += [Metric(_gap(layout), "%", "smaller", about=about) for layout in gaps]
    if len(gaps) > 1:
        about = "Slope of the gap: percentage points each time the nodes double"
        found.append(Metric("ppn_gap_per_doubling", "%", "smaller", about=about))
    return found


def values(times_s: Mapping[Layout, float], *, scaled: bool) -> dict[str, float]:
    """Return the values of a series.

    - ``efficiency_NxP``, in per cent: the time on one node with P processes over that on N nodes; the latter
      times N if the problem is the same on any number of nodes.
    - ``ppn_gap_NxP``, in per cent: how much longer it takes with P processes on each of N nodes than with
      one; negative where more processes are faster.
    - ``ppn_gap_per_doubling``, in percentage points: how much that gap grows each time the nodes double: the
      slope of the least-squares line through the gaps over log2 N.

    :param times_s: the run time of each of :func:`launches`, in seconds.
    :param scaled: whether the problem grows with the nodes.
    """
    found = {f"loop_time_{layout}": time for layout, time in times_s.items()}
    for layout, time in times_s.items():
        if layout.nodes > 1:
            work = 1 if scaled else layout.nodes
            found[f"efficiency_{layout}"] = (
                100 * times_s[Layout(1, layout.ppn)] / (work * time)
            )
    gaps = {
        layout: 100 * (time / times_s[Layout(layout.nodes, 1)] - 1)
        for layout, time in times_s.items()
        if layout.ppn > 1
    }
    found |= {_gap(layout): gap for layout, gap in gaps.items()}
    if len(gaps) > 1:
        doublings = [log2(layout.nodes) for layout in gaps]
        found["ppn_gap_per_doubling"] = linear_regression(
            doublings, list(gaps.values())
        ).slope
    return found


def compared(times_s: Mapping[Layout, float]) -> dict[str, dict[str, float]]:
    """Return the two run times behind each gap, by layout, that with one process a node first."""
    ones = {layout: Layout(layout.nodes, 1) for layout in times_s if layout.ppn > 1}
    return {
        _gap(layout): {str(one): times_s[one], str(layout): times_s[layout]}
        for layout, one in ones.items()
    }


def _gap(layout: Layout) -> str:
    return f"ppn_gap_{layout}"
