# SPDX-License-Identifier: BSD-3-Clause
"""The latency map: values of every machine, and heat map and findings of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fabric_checks.core.text import value_text
from fabric_checks.diagnosis.latency_map.evaluation import Report
from fabric_checks.report.html import drawing
from fabric_checks.report.html.blocks import Cell, Column, Lines, Picture, Section, Table, of_machines
from fabric_checks.report.html.curves import first, label, largest
from fabric_checks.report.html.matrices import latencies_of
from fabric_checks.report.html.rotate import NOT_KEPT
from fabric_checks.report.html.values import Results, Value, clean

_METRICS = {
    "median_latency": "median pair",
    "largest_pair_latency": "largest pair",
    "latency_spread": "spread",
    "faults": "faults",
}


def section(results: Results, folders: Sequence[Path]) -> Section | None:
    """Return the latency map of each machine, of its layout of the most nodes with one process each, or of the most.

    None if none was measured.

    :param folders: where outputs are kept, see :func:`fabric_checks.report.html.matrices.roots`.
    """
    found = {machine: largest(results.of(machine, "LatencyMap", "median_latency")) for machine in results.machines}
    layouts = {machine: layout for machine, layout in found.items() if layout}
    blocks: list[Table | Picture | Lines] = [_table(results, layouts)] if layouts else []
    for index, (machine, layout) in enumerate(layouts.items()):
        median = results.of(machine, "LatencyMap", "median_latency", layout)[0]
        blocks.append(_map(f"latency-map-{index}", label(results, machine, layout), median, folders))
    intro = (
        "Half the time of an 8-byte ping-pong between every two nodes: nodes on the same switch are nearer to each "
        "other."
    )
    return Section("latency-map", "Latency map", tuple(blocks), (intro,)) if blocks else None


def _table(results: Results, layouts: dict[str, str]) -> Table:
    rows = {
        f"{machine}, {layout}": [first(results.of(machine, "LatencyMap", metric, layout)) for metric in _METRICS]
        for machine, layout in layouts.items()
    }
    return of_machines("latency-map-figures", "Latency of all pairs", _METRICS, rows)


def _map(key: str, name: str, median: Value, folders: Sequence[Path]) -> Picture:
    found = latencies_of(median, folders)
    if found is None:
        return Picture(key, f"Latencies of {name}", "The latency of every pair.", absent=NOT_KEPT)
    hosts = list(found.output.hosts)
    values = [value_text(float(value)) for value in np.percentile(found.measured_us, (0, 50, 100))]
    marked = "Simulated. " if median.evidence else ""
    run = median.runs[-1]
    when = f", {run[0]:%Y-%m-%d}" if run[0] else ""
    return Picture(
        key,
        f"Latency map of {name}",
        f"Latency of every pair. Least {values[0]}, median {values[1]}, largest {values[2]} us.",
        (drawing.heat_map(found.latency_us, hosts, hosts),),
        (),
        (_nodes(f"{key}-data", name, found),),
        (f"{marked}Of the run {run[1]}{when}.", *(clean(note["text"]) for note in found.notes())),
    )


def _nodes(key: str, name: str, found: Report) -> Table:
    """Return what a node has to the others: the least, the median and the largest."""
    lines = [
        (clean(host), tuple(Cell(value_text(float(value))) for value in np.nanpercentile(row, (0, 50, 100))))
        for host, row in zip(found.output.hosts, found.latency_us, strict=True)
        if not np.isnan(row).all()
    ]
    columns = (Column("nearest", "us"), Column("median", "us"), Column("farthest", "us"))
    return Table(key, f"Nodes of {name}", "node", columns, tuple(lines))
