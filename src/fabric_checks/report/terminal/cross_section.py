# SPDX-License-Identifier: BSD-3-Clause
"""Read, print and draw saved outputs of ``rotate``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import count_text, one_line, value_text
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_SWITCHES
from fabric_checks.diagnosis.fabric_map.model import FabricMap
from fabric_checks.report import drawing
from fabric_checks.report.pair_drawing import pair_bandwidths

Reports = Mapping[Path, Report]


def load(paths: Sequence[Path], link_MBps: float | None, known: FabricMap | None = None) -> dict[Path, Report]:
    """Read and analyse saved outputs.

    :param link_MBps: the rate of a link in MB/s, if it is known; :param known: the map of the fabric, likewise.
    :raises OutputError: for a file that is not the whole output of ``rotate``; the file is named.
    """
    reports = {}
    for path in paths:
        try:
            reports[path] = evaluation.of_text(files.read_text(path), link_MBps=link_MBps, known=known)
        except OutputError as error:
            raise OutputError(f"{path}: {error}") from None
    return reports


def as_lines(reports: Reports) -> list[str]:
    """Return values and findings of the runs, line by line."""
    lines = []
    for path, found in reports.items():
        lines.append(f"{path}: {found.output.pattern}, {len(found.output.hosts)} nodes, {len(found.output.scan)} pairs")
        values = found.metrics()
        lines += [
            f"  {metric.name:30} {value_text(values[metric.name]):>10} {_unit(metric)}".rstrip()
            for metric in (*METRICS, *OF_SWITCHES)
            if metric.name in values
        ]
        for note in found.notes():
            lines += [f"  {one_line(note['text'])}", *(f"    {one_line(more)}" for more in note.get("details", ()))]
        if not found.findings:
            lines.append("  nothing stands out in what was measured")
    return lines


def _unit(metric: Metric) -> str:
    return "" if metric.unit == "1" else metric.unit


def as_json(reports: Reports) -> str:
    """Return the same as JSON."""
    runs = {str(path): {"metrics": found.metrics(), "notes": found.notes()} for path, found in reports.items()}
    named = {name for run in runs.values() for name in run["metrics"]}
    units = {metric.name: metric.unit for metric in (*METRICS, *OF_SWITCHES) if metric.name in named}
    return json.dumps({"units": units, "runs": runs}, indent=1)


def draw(reports: Reports, folder: Path) -> None:
    """Write ``pairs.svg``, heat map and histogram, into ``folder``; of several runs into a folder each."""
    for path, found in reports.items():
        own = folder if len(reports) == 1 else folder / path.stem
        own.mkdir(parents=True, exist_ok=True)
        title = f"{found.output.pattern}, {count_text(len(found.output.hosts), 'node')}"
        drawing.save(own / "pairs.svg", pair_bandwidths(title, found.matrix, found.link_MBps))
