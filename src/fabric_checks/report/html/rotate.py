# SPDX-License-Identifier: BSD-3-Clause
"""The cross-section: values of every machine, and heat map, histogram and findings of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fabric_checks.core.text import value_text
from fabric_checks.diagnosis.cross_section import bandwidths
from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.report.html import drawing
from fabric_checks.report.html.blocks import Cell, Column, Lines, Picture, Section, Table, of_machines
from fabric_checks.report.html.curves import first, label, largest
from fabric_checks.report.html.matrices import matrix_of
from fabric_checks.report.html.values import Results, Value, clean

#: The patterns in the order in which they are shown.
_PATTERNS = ("rotate", "round-robin", "shift", "bisection")
_METRICS = {
    "median_bandwidth": "median pair",
    "p5_bandwidth": "5th percentile",
    "slowest_pair_bandwidth": "slowest pair",
    "slowest_to_median": "slowest to median",
    "aggregate_bandwidth": "aggregate",
    "perceived_aggregate_bandwidth": "perceived aggregate",
    "full_rate_share": "pairs at full rate",
    "faults": "faults",
}
#: In a table of their own, for paper is narrow.
_SEEN = {
    "measured_pairs": "pairs measured",
    "one_way_nodes": "nodes one way only",
    "smallest_node_fault": "smallest slow node named",
    "smallest_pair_fault": "smallest slow pair named",
    "smallest_cable_fault": "smallest slow cable named",
    "median_within_switches": "median within switches",
    "median_between_switches": "median between switches",
}
NOT_KEPT = (
    "matrix not kept: the output of that run is not beside the records, or is only a link to a place outside their "
    "folder"
)
#: A matrix with more rows is too large to be read as a table.
_MOST_ROWS = 16


def layout_of(results: Results, machine: str, pattern: str) -> str:
    """Return the layout on which a pattern is shown, see :func:`fabric_checks.report.html.curves.largest`."""
    return largest(results.of(machine, "Rotate", "median_bandwidth", pattern=pattern))


def pattern_of(results: Results, machine: str) -> str:
    """Return the pattern that stands for a machine: the source's own, or that of its nights if only that was run."""
    return next((pattern for pattern in _PATTERNS if layout_of(results, machine, pattern)), _PATTERNS[0])


def section(results: Results, folders: Sequence[Path]) -> Section | None:
    """Return the cross-section of each machine, None if none was measured.

    :param folders: where outputs are kept, see :func:`fabric_checks.report.html.matrices.roots`.
    """
    blocks: list[Table | Picture | Lines] = []
    pictured = 0
    for pattern in _PATTERNS:
        layouts = {machine: layout_of(results, machine, pattern) for machine in results.machines}
        shown = [machine for machine in results.machines if layouts[machine]]
        if shown:
            blocks += _tables(results, pattern, {machine: layouts[machine] for machine in shown})
        for machine in shown:
            if pattern == pattern_of(results, machine):
                median = results.of(machine, "Rotate", "median_bandwidth", layouts[machine], pattern=pattern)[0]
                blocks += _machine(f"rotate-{pictured}", label(results, machine, layouts[machine]), median, folders)
                pictured += 1
    intro = (
        "Every pair of nodes while all others communicate too. An exchange over all pairs takes as long as its "
        "slowest pair: the perceived aggregate is pairs x slowest (Naegle, cross-sectional bandwidth testing, e-mails "
        "of June 2004).",
    )
    return Section("cross-section", "Cross-section: all pairs at once", tuple(blocks), intro) if blocks else None


def _tables(results: Results, pattern: str, layouts: dict[str, str]) -> list[Table]:
    """Return the tables of a pattern, with the metrics that some machine has."""
    tables = []
    for key, title, metrics in (
        ("", "", _METRICS),
        ("-seen", ": what was measured, and what would have been found", _SEEN),
    ):
        rows = {
            f"{machine}, {layout}": {
                metric: first(results.of(machine, "Rotate", metric, layout, pattern=pattern)) for metric in metrics
            }
            for machine, layout in layouts.items()
        }
        had = {metric: metrics[metric] for metric in metrics if any(row[metric] for row in rows.values())}
        if had:
            chosen = {name: [row[metric] for metric in had] for name, row in rows.items()}
            tables.append(of_machines(f"rotate-{pattern}{key}", f"Pattern {pattern}{title}", had, chosen))
    return tables


def _machine(key: str, name: str, median: Value, folders: Sequence[Path]) -> list[Table | Picture | Lines]:
    found = matrix_of(median, folders)
    if found is None:
        return [Picture(f"{key}-map", f"Pairs of {name}", "The bandwidth of every pair.", absent=NOT_KEPT)]
    if found.matrix.measured.size < 2:
        return [Picture(f"{key}-map", f"Pairs of {name}", "The bandwidth of every pair.", absent="only one pair")]
    counts, edges = bandwidths.histogram(found.matrix)
    senders, receivers = (found.matrix.host_labels(ranks) for ranks in (found.matrix.senders, found.matrix.receivers))
    levels = [(f"link/{k}", found.link_MBps / k) for k in range(1, 7)]
    low = found.matrix.measured.min() * 0.9
    levels = [(text, level) for text, level in levels if low <= level <= edges[-1]]
    run = median.runs[-1]
    marked = "Simulated. " if median.evidence else ""
    origin = f"Of the run {run[1]}{f', {run[0]:%Y-%m-%d}' if run[0] else ''}: {found.output.pairs} pairs a round."
    return [
        Picture(
            f"{key}-map",
            f"Heat map of {name}",
            f"Bandwidth of every pair: senders down, receivers across. {_spread(found)}",
            (drawing.heat_map(found.matrix.MBps, senders, receivers),),
            (),
            (_matrix_table(f"{key}-map-data", name, found, senders, receivers),),
            (f"{marked}{origin}",),
        ),
        Picture(
            f"{key}-histogram",
            f"Histogram of {name}",
            f"Number of pairs by bandwidth; dashed: a link shared by 1, 2, ... pairs. {_spread(found)}",
            (drawing.histogram(counts.tolist(), edges.tolist(), levels),),
            (),
            (_histogram_table(f"{key}-histogram-data", name, counts.tolist(), edges.tolist()),),
            tuple(clean(note["text"]) for note in found.notes()),
        ),
    ]


def _spread(found: Report) -> str:
    values = found.matrix.measured
    texts = [value_text(float(value)) for value in (values.min(), np.median(values), values.max())]
    return f"Slowest {texts[0]}, median {texts[1]}, fastest {texts[2]} MB/s."


def _matrix_table(key: str, name: str, found: Report, senders: Sequence[str], receivers: Sequence[str]) -> Table:
    """Return the matrix, or of a large one the slowest and the median pair of each node."""
    MBps = found.matrix.MBps
    if max(MBps.shape) <= _MOST_ROWS:
        rows = tuple(
            (
                clean(sender),
                tuple(Cell("" if np.isnan(v) else value_text(float(v)), missing=bool(np.isnan(v))) for v in row),
            )
            for sender, row in zip(senders, MBps, strict=True)
        )
        columns = tuple(Column(clean(receiver)) for receiver in receivers)
        return Table(key, f"Pairs of {name}, MB/s", "sender", columns, rows)
    lines = []
    for names, values, role in ((senders, MBps, "sends"), (receivers, MBps.T, "receives")):
        for host, row in zip(names, values, strict=True):
            cells = (Cell(value_text(float(np.nanmin(row)))), Cell(value_text(float(np.nanmedian(row)))))
            lines.append((f"{clean(host)} {role}", cells))
    columns = (Column("slowest pair", "MB/s"), Column("median pair", "MB/s"))
    return Table(key, f"Nodes of {name}", "node", columns, tuple(lines))


def _histogram_table(key: str, name: str, counts: Sequence[int], edges: Sequence[float]) -> Table:
    rows = tuple(
        (f"{value_text(low)} to {value_text(high)}", (Cell(str(count)),))
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
        if count
    )
    return Table(key, f"Pairs of {name} by bandwidth", "MB/s", (Column("pairs"),), rows)
