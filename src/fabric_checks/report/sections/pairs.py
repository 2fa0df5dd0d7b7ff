# SPDX-License-Identifier: BSD-3-Clause
"""The cross-section and the latency of every pair: maps of the nodes from kept outputs.

Only the kept output of a case has the values of all pairs. A record names its folder, relative to the folder
of results; nothing outside of that is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.families import CROSS_SECTION, LATENCY_MAP
from fabric_checks.core.text import value_text
from fabric_checks.diagnosis.cross_section import evaluation as cross_section
from fabric_checks.diagnosis.latency_map import evaluation as latency_map
from fabric_checks.report import svg_panels
from fabric_checks.report.blocks import Picture
from fabric_checks.report.values import Results, Value

#: The form of a name in a record that may become a part of a path.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
#: So many rows of a map whose values are the worst are named.
_WORST = 3
#: A larger file is no output of these programs.
_LARGEST_B = 200_000_000
_NOT_KEPT = (
    "matrix not kept: the output of that run is not with the records, or is only a link to a file outside"
    " their folder"
)

Evaluated = TypeVar("Evaluated", cross_section.Report, latency_map.Report)
#: The description of a map, and its drawings.
Drawn = tuple[str, tuple[Markup, ...]]


def results_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of outputs: those of a folder of results, given itself or a file or folder of its
    perflogs.

    Outputs of cases that failed, also as expected, stay in ``stage``.
    """
    near = [folder for path in paths for folder in (path, *path.resolve().parents[:4])]
    found = [folder / name for folder in near for name in ("output", "stage")]
    # A link would lead to outputs that are not with the records.
    return list(
        dict.fromkeys(
            folder for folder in found if folder.is_dir() and not folder.is_symlink()
        )
    )


def kept_output(
    series: Value, folders: Sequence[Path], evaluate: Callable[[str, Any], Evaluated]
) -> Evaluated | None:
    """Return the kept output of the last run of a series, evaluated; None if it is not kept or not whole.

    Where a case ran several times in a session only the last output is kept, so the value has to be the same.

    :param folders: of :func:`results_folders`. :param evaluate: returns an output evaluated, with the rate of
        a link.
    """
    parts = Path(series.record["output"] or "").parts[1:]
    if not parts or not all(_NAME.fullmatch(part) for part in parts):
        return None
    for folder in folders:
        try:
            path = folder.joinpath(*parts, "rfm_job.out")
            text = files.read_text(path, folder, _LARGEST_B)
            found = evaluate(text, series.record["link_MBps"])
        except (OSError, FabricError, ValueError):
            continue  # not there, not to be read, or not whole
        if math.isclose(found.metrics()[series.quantity], series.last, rel_tol=1e-6):
            return found
    return None


def pictures(
    results: Results, family: str, key: str, folders: Sequence[Path]
) -> list[Picture]:
    """Return the maps of a family: for each machine that of the most nodes, with one process on each if
    possible.

    :param key: the first part of theirs; :param folders: of :func:`results_folders`.
    """
    if family not in _MAPS:
        return []
    quantity, evaluate, drawn = _MAPS[family]
    pictures: list[Picture] = []
    for machine in results.machines:
        values = results.of(machine, quantity, family=family)
        if not values:
            continue
        last = max(values, key=_preference)
        test = " ".join((*last.parameters.values(), last.layout))
        name = f"Pairs of {results.label(machine, test)}"
        own = f"{key}-map-{len(pictures)}"
        found = kept_output(last, folders, evaluate)
        if found is None:
            pictures.append(Picture(own, name, "Every pair.", absent=_NOT_KEPT))
            continue
        text, drawings = drawn(found)
        notes = (_run_text(last), found.limits_text)
        pictures.append(Picture(own, name, text, drawings, notes))
    return pictures


def _preference(value: Value) -> tuple[bool, int]:
    return value.record["ppn"] == 1, value.record["nodes"] or 0


def _bandwidths(found: cross_section.Report) -> Drawn:
    """Return heat map and histogram of the bandwidths of all pairs."""
    matrix = found.matrix
    senders, receivers = map(matrix.host_labels, (matrix.senders, matrix.receivers))
    text = (
        "Bandwidth of every pair: senders down, receivers across. Number of pairs by bandwidth; dashed: a"
        f" link shared by 1, 2, ... pairs. {_spread_text(matrix.MBps, 'MB/s')}"
    )
    text += _worst_text("senders", -matrix.MBps, senders)
    text += _worst_text("receivers", -matrix.MBps.T, receivers)
    return text, svg_panels.pair_drawings(matrix, found.link_MBps)


def _latencies(found: latency_map.Report) -> Drawn:
    """Return the map of the latencies."""
    hosts, values_us = found.output.hosts, found.latency_us
    text = f"Latency of every pair. {_spread_text(values_us, 'us')}"
    text += _worst_text("nodes", values_us, hosts)
    return text, (svg_panels.heat_map(values_us, hosts, hosts),)


#: By family the quantity whose values have a map, what evaluates an output, and what draws it.
_MAPS: Mapping[str, tuple[str, Callable[[str, Any], Any], Callable[[Any], Drawn]]] = {
    CROSS_SECTION: (
        "median_bandwidth",
        lambda text, link: cross_section.of_run(cross_section.read(text), link),
        _bandwidths,
    ),
    LATENCY_MAP: (
        "median_latency",
        lambda text, _: latency_map.of_run(latency_map.read(text)),
        _latencies,
    ),
}


def _run_text(of: Value) -> str:
    """Return the run that a map is of."""
    time, session, _ = of.runs[-1]
    return f"Of the run {session}{f', {time:%Y-%m-%d}' if time else ''}."


def _spread_text(values: NDArray[np.float64], unit: str) -> str:
    ends = map(value_text, np.nanpercentile(values, (0, 50, 100)).tolist())
    least, median, largest = ends
    return f"Least {least}, median {median}, largest {largest} {unit}."


def _worst_text(kind: str, losses: NDArray[np.float64], names: Sequence[str]) -> str:
    """Return the rows of a map that are the worst, where too many for the names of all; else nothing.

    :param losses: the larger, the worse.
    """
    if len(names) <= svg_panels.NAMED:
        return ""
    means = np.ma.masked_invalid(losses).mean(axis=1).filled(-np.inf)
    worst = np.argsort(-means, kind="stable")[:_WORST]
    return f" Worst {kind}, by their mean: {', '.join(names[at] for at in worst)}."
