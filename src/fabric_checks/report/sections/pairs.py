# SPDX-License-Identifier: BSD-3-Clause
"""The cross-section and the latency of every pair: values of each machine, and maps of the nodes from kept
outputs.

Only the kept output of a case has the values of all pairs. A record names its folder, relative to the folder
of results; nothing outside of that is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis import bandwidths
from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.families import CROSS_SECTION, LATENCY_MAP
from fabric_checks.core.text import clean, value_text
from fabric_checks.diagnosis.cross_section import evaluation as cross_section_evaluation
from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.latency_map import evaluation as latency_evaluation
from fabric_checks.report import svg_panels
from fabric_checks.report.blocks import Cell, Column, Picture, Table, number
from fabric_checks.report.figures import label, largest
from fabric_checks.report.pair_panels import pair_drawings
from fabric_checks.report.values import Results, Value

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
_SENSITIVITY = {
    "measured_pairs": "pairs measured",
    "one_way_nodes": "nodes one way only",
    "smallest_node_fault": "smallest slow node named",
    "smallest_pair_fault": "smallest slow pair named",
    "smallest_cable_fault": "smallest slow cable named",
    "median_within_switches": "median within switches",
    "median_between_switches": "median between switches",
}
_LATENCIES = {
    "median_latency": "median pair",
    "largest_pair_latency": "largest pair",
    "latency_spread": "spread",
    "faults": "faults",
}
#: The form of a name in a record that may become a part of a path.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
#: A larger file is no output of these programs.
_LARGEST_B = 200_000_000
_NOT_KEPT = (
    "matrix not kept: the output of that run is not with the records, or is only a link to a file outside"
    " their folder"
)

Block = Table | Picture
#: The first sentences of a section, its blocks, and the checks whose values these show.
Shown = tuple[str, list[Block], frozenset[str]]
Evaluated = TypeVar("Evaluated", Report, latency_evaluation.Report)


def results_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of outputs: those of a folder of results, given itself or a file or folder of its
    perflogs.

    Outputs of cases that failed, also as expected, stay in ``stage``.
    """
    near = [folder for path in paths for folder in (path, *path.resolve().parents[:4])]
    found = [folder / name for folder in near for name in ("output", "stage")]
    # A link would lead to outputs that are not with the records.
    return list(dict.fromkeys(folder for folder in found if folder.is_dir() and not folder.is_symlink()))


def kept_output(
    series: Value, folders: Sequence[Path], evaluate: Callable[[str], Evaluated]
) -> Evaluated | None:
    """Return the kept output of the last run of a series, evaluated; None if it is not kept or not whole.

    Where a case ran several times in a session only the last output is kept, so the value has to be the same.

    :param folders: of :func:`results_folders`.
    """
    parts = Path(series.record["output"] or "").parts[1:]
    if not parts or not all(_NAME.fullmatch(part) for part in parts):
        return None
    for folder in folders:
        try:
            found = evaluate(files.read_text(folder.joinpath(*parts, "rfm_job.out"), folder, _LARGEST_B))
        except (OSError, FabricError, ValueError):
            continue  # not there, not to be read, or not whole
        if math.isclose(found.metrics()[series.quantity], series.runs[-1][-1], rel_tol=1e-6):
            return found
    return None


def cross_section(results: Results, folders: Sequence[Path]) -> Shown:
    """Return the cross-section of each machine, by pattern; the first pattern that it has is drawn.

    :param folders: of kept outputs, see :func:`results_folders`.
    """
    blocks: list[Block] = []
    shown: list[Value] = []
    drawn: set[str] = set()
    for pattern in _PATTERNS:
        medians = _medians(results, CROSS_SECTION, "median_bandwidth", pattern=pattern)
        for key, title, metrics in (
            ("", "", _METRICS),
            ("-seen", ": what was measured, and what would have been found", _SENSITIVITY),
        ):
            blocks += _table(f"rotate-{pattern}{key}", f"Pattern {pattern}{title}", results, medians, metrics)
        for median in medians:
            if median.machine not in drawn:
                name = label(results, median.machine, median.layout)
                blocks.append(_bandwidths(f"rotate-{len(drawn)}", name, median, folders))
                drawn.add(median.machine)
        shown += medians
    intro = (
        "Every pair of nodes while all others communicate too. An exchange over all pairs takes as long as"
        " its slowest pair: the perceived aggregate is pairs x slowest (Naegle, cross-sectional bandwidth"
        " testing, e-mails of June 2004)."
    )
    return intro if blocks else "", blocks, frozenset(str(value.record["check"]) for value in shown)


def latency_map(results: Results, folders: Sequence[Path]) -> Shown:
    """Return the latency of every pair of each machine.

    :param folders: of kept outputs, see :func:`results_folders`.
    """
    medians = _medians(results, LATENCY_MAP, "median_latency")
    if not medians:
        return "", [], frozenset()
    blocks: list[Block] = [
        *_table("latency-map-figures", "Latency of all pairs", results, medians, _LATENCIES)
    ]
    for index, median in enumerate(medians):
        name = label(results, median.machine, median.layout)
        blocks.append(_latencies(f"latency-map-{index}", name, median, folders))
    intro = (
        "Half the time of an 8-byte ping-pong between every two nodes: nodes on the same switch are nearer to"
        " each other."
    )
    return intro, blocks, frozenset(str(median.record["check"]) for median in medians)


#: The families whose sections begin with more than curves and tables of values.
FAMILIES: Mapping[str, Callable[[Results, Sequence[Path]], Shown]] = {
    CROSS_SECTION: cross_section,
    LATENCY_MAP: latency_map,
}


def _medians(results: Results, family: str, quantity: str, **parameters: str) -> list[Value]:
    """Return the median of each machine that has one, in the layout that :func:`largest` chooses."""
    found = []
    for machine in results.machines:
        values = results.of(machine, quantity, family=family, **parameters)
        found += [value for value in values if value.layout == largest(values)][:1]
    return found


def _table(
    key: str, caption: str, results: Results, medians: Sequence[Value], metrics: Mapping[str, str]
) -> list[Table]:
    """Return a table of the metrics of the tests that medians are of, a row a machine; none if none has any.

    The machines differ in their numbers of nodes, so none is the best.

    :param metrics: titles of columns by metric; one that no machine has is left out.
    """
    columns, cells = [], []
    for metric, title in metrics.items():
        values = [
            next(
                iter(
                    results.of(of.machine, metric, of.layout, check=str(of.record["check"]), **of.parameters)
                ),
                None,
            )
            for of in medians
        ]
        if had := [value for value in values if value]:
            columns.append(Column(title, had[0].unit))
            cells.append(map(number, values))
    heads = [f"{of.machine}, {of.layout}" for of in medians]
    rows = tuple(zip(heads, zip(*cells, strict=True), strict=True)) if cells else ()
    return [Table(key, caption, "machine, layout", tuple(columns), rows)] if rows else []


def _origin(median: Value) -> str:
    """Return the run that a map is of."""
    time, session, _ = median.runs[-1]
    marked = "Simulated. " if median.evidence else ""
    return f"{marked}Of the run {session}{f', {time:%Y-%m-%d}' if time else ''}"


def _bandwidths(key: str, name: str, median: Value, folders: Sequence[Path]) -> Picture:
    """Return heat map and histogram of the bandwidths of all pairs."""
    link_MBps = median.record["link_MBps"]
    found = kept_output(
        median,
        folders,
        lambda text: cross_section_evaluation.of_run(cross_section_evaluation.read(text), link_MBps),
    )
    if found is None or found.matrix.measured.size < 2:
        absent = "only one pair" if found else _NOT_KEPT
        return Picture(key, f"Pairs of {name}", "The bandwidth of every pair.", absent=absent)
    counts, edges = bandwidths.histogram(found.matrix)
    bins = tuple(
        (f"{value_text(low)} to {value_text(high)}", (Cell(str(count)),))
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
        if count
    )
    return Picture(
        key,
        f"Pairs of {name}",
        "Bandwidth of every pair: senders down, receivers across. Number of pairs by bandwidth; dashed: a"
        " link shared by 1, 2, ... pairs. Slowest {}, median {}, fastest {} MB/s.".format(
            *_spread(found.matrix.measured)
        ),
        pair_drawings(found.matrix, found.link_MBps),
        (),
        (
            _nodes_table(f"{key}-nodes", name, found),
            Table(f"{key}-bins", f"Pairs of {name} by bandwidth", "MB/s", (Column("pairs"),), bins),
        ),
        (
            f"{_origin(median)}: {found.output.pairs} pairs a round.",
            *(clean(": ".join((each.text, *each.details))) for each in found.all_findings()),
            clean(found.limits_text),
        ),
    )


def _spread(values: NDArray[np.float64]) -> list[str]:
    return [value_text(float(value)) for value in np.percentile(values, (0, 50, 100))]


def _nodes_table(key: str, name: str, found: Report) -> Table:
    """Return the slowest and the median pair of each node, as sender and as receiver."""
    matrix = found.matrix
    rows = []
    for ranks, values, role in (
        (matrix.senders, matrix.MBps, "sends"),
        (matrix.receivers, matrix.MBps.T, "receives"),
    ):
        for host, row in zip(matrix.host_labels(ranks), values, strict=True):
            cells = (Cell(value_text(float(np.nanmin(row)))), Cell(value_text(float(np.nanmedian(row)))))
            rows.append((f"{clean(host)} {role}", cells))
    columns = (Column("slowest pair", "MB/s"), Column("median pair", "MB/s"))
    return Table(key, f"Nodes of {name}", "node", columns, tuple(rows))


def _latencies(key: str, name: str, median: Value, folders: Sequence[Path]) -> Picture:
    """Return the map of the latencies, with the nearest, the median and the farthest node of each."""
    found = kept_output(
        median, folders, lambda text: latency_evaluation.of_run(latency_evaluation.read(text))
    )
    if found is None:
        return Picture(key, f"Latencies of {name}", "The latency of every pair.", absent=_NOT_KEPT)
    hosts = list(found.output.hosts)
    rows = tuple(
        (clean(host), tuple(Cell(text) for text in _spread(row[~np.isnan(row)])))
        for host, row in zip(hosts, found.latency_us, strict=True)
        if not np.isnan(row).all()
    )
    columns = (Column("nearest", "us"), Column("median", "us"), Column("farthest", "us"))
    return Picture(
        key,
        f"Latency map of {name}",
        "Latency of every pair. Least {}, median {}, largest {} us.".format(*_spread(found.measured_us)),
        (svg_panels.heat_map(found.latency_us, hosts, hosts),),
        (),
        (Table(f"{key}-data", f"Nodes of {name}", "node", columns, rows),),
        (
            f"{_origin(median)}.",
            *(clean(": ".join((each.text, *each.details))) for each in found.all_findings()),
            clean(found.limits_text),
        ),
    )
