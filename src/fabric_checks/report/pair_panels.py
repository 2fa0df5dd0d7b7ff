# SPDX-License-Identifier: BSD-3-Clause
"""Draw the bandwidths of all pairs of nodes: a heat map and a histogram."""

from __future__ import annotations

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix
from fabric_checks.report import svg_panels


def pair_drawings(matrix: PairMatrix, link_MBps: float) -> tuple[str, str]:
    """Return the heat map, and the histogram with the bandwidths at which 1, 2, .. 6 pairs share a link.

    :param link_MBps: the rate of a link in MB/s.
    """
    senders, receivers = (matrix.host_labels(ranks) for ranks in (matrix.senders, matrix.receivers))
    counts, edges = bandwidths.histogram(matrix)
    levels = [(f"link/{pairs}", link_MBps / pairs) for pairs in range(1, 7)]
    shown = [level for level in levels if 0.9 * matrix.measured.min() <= level[1] <= edges[-1]]
    heat_map = svg_panels.heat_map(matrix.MBps, senders, receivers)
    return heat_map, svg_panels.histogram(counts.tolist(), edges.tolist(), shown)


def pair_bandwidths(title: str, matrix: PairMatrix, link_MBps: float) -> str:
    """Return heat map and histogram as one SVG file.

    :param link_MBps: the rate of a link in MB/s.
    """
    heat_map, histogram = pair_drawings(matrix, link_MBps)
    captions = ("bandwidth of every pair, MB/s: senders down, receivers across", "")
    return svg_panels.document(title, list(zip(captions, (heat_map, histogram), strict=True)), {})
