# SPDX-License-Identifier: BSD-3-Clause
"""Replay one program, traced on 1, 2, 4 ... ranks, on the nodes of a twin, with one process on each and with more.

Source of the question: SAND2005-5199, section 6, Figures 15 and 16.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import value_text
from fabric_twins import replay
from fabric_twins.errors import TwinError
from fabric_twins.lines import aligned
from fabric_twins.model.description import Twin
from fabric_twins.model.reading import sources_by_kind
from fabric_twins.processes import run_all, slot
from fabric_twins.replay import Point
from fabric_twins.simulate import Bounds


@dataclass(frozen=True)
class Series:
    """The replays of all traces on a cluster, by layout; its name includes the alternative."""

    name: str
    twin: Twin
    points: Mapping[Layout, Point]

    def gap_percent(self, layout: Layout) -> float | None:
        """Return how much longer it takes than with one process on each of the same nodes; None if that is unknown."""
        return self._longer(layout, Layout(layout.nodes, 1))

    def spread_percent(self, layout: Layout) -> float | None:
        """Return how much longer it takes than with as many processes on a node each; None if that is unknown."""
        return self._longer(layout, Layout(layout.tasks, 1))

    def _longer(self, layout: Layout, one: Layout) -> float | None:
        if layout.ppn == 1 or one not in self.points:
            return None
        return 100 * (self.points[layout].run_s / self.points[one].run_s - 1)


def is_series(folder: Path) -> bool:
    """Return whether a folder has traces of several numbers of ranks, a folder each, and is no trace itself."""
    return folder.is_dir() and any(each.is_dir() for each in folder.iterdir())


def load(folder: Path) -> dict[int, replay.Trace]:
    """Read the traces of a program, a folder each in this one, and return them by the number of their ranks.

    :raises FabricError: if there are none, two of as many ranks, or one that cannot be replayed.
    """
    found: dict[int, replay.Trace] = {}
    for each in sorted(folder.iterdir() if folder.is_dir() else []):
        if each.is_dir():
            trace = replay.load(each)
            ranks = len(trace.ranks)
            if ranks in found:
                raise FabricError(
                    f"{each}: has {ranks} ranks, and so does {found[ranks].folder}; leave one of them out"
                )
            found[ranks] = trace
    if not found:
        raise FabricError(f"{folder}: has no folders with traces; put one for each number of ranks into it")
    return dict(sorted(found.items()))


def layouts(twin: Twin, ranks: Sequence[int], ppns: Sequence[int]) -> list[Layout]:
    """Return the layouts that these numbers of ranks fill on a twin, with these numbers of processes a node."""
    found = {Layout(count // ppn, ppn) for count in ranks for ppn in ppns if count % ppn == 0}
    return sorted(each for each in found if each.nodes <= twin.nodes and each.ppn <= twin.cpus_per_node)


def run(
    traces: Mapping[int, replay.Trace],
    clusters: Sequence[tuple[str, Twin]],
    ppns: Sequence[int],
    cpu_speed: float,
    bounds: Bounds,
) -> list[Series]:
    """Replay all traces on all clusters, in all layouts that they fill; no more at once than there are processors.

    :param clusters: name and twin of each.
    :param cpu_speed: how many times as fast a processor computes as the traced one.
    :raises FabricError: if one of them fails, or nothing fits a twin; the others are ended.
    """
    filled = [layouts(twin, list(traces), ppns) for _, twin in clusters]
    for (_, twin), own in zip(clusters, filled, strict=True):
        if not own:
            raise TwinError(f"{twin.file}: none of the traces fills nodes of {twin.name}; trace fewer ranks")

    def replayed(twin: Twin, layout: Layout) -> Point:
        trace = traces[layout.tasks]
        with slot():
            return Point(replay.run_s(twin, layout, trace, cpu_speed, bounds), trace.compute_s / cpu_speed)

    keys = [(number, layout) for number, own in enumerate(filled) for layout in own]
    points = run_all({(number, layout): partial(replayed, clusters[number][1], layout) for number, layout in keys})
    return [
        Series(name, twin, {layout: points[number, layout] for layout in filled[number]})
        for number, (name, twin) in enumerate(clusters)
    ]


# ------------------------------------------------------------------------------------------------------------ output


def as_lines(folder: Path, found: Sequence[Series], cpu_speed: float) -> list[str]:
    """Return a table for each twin, line by line."""
    lines = [f"PREDICTED by replay of {folder}, not measured; processors {value_text(cpu_speed)} times as fast"]
    for series in found:
        rows = [
            ("", "run time", "communication", "against 1 a node, on", ""),
            ("layout", "s", "%", "as many nodes, %", "as many processes, %"),
        ]
        for layout, point in series.points.items():
            gap, spread = (
                "" if each is None else f"{each:+.2f}"
                for each in (series.gap_percent(layout), series.spread_percent(layout))
            )
            rows.append((str(layout), f"{point.run_s:.6g}", f"{point.communication_percent:.1f}", gap, spread))
        lines += ["", series.name, *aligned(rows), *replay.replaced(series.name, series.twin)]
    return lines


def as_table(folder: Path, series: Series, cpu_speed: float) -> list[str]:
    """Return the values of one twin as our programs print theirs (:mod:`fabric_checks.parsers.replay` reads them)."""
    return [
        "# fabric-checks replay-series 1",
        f"# trace: {folder.name}",
        f"# twin: {series.name}",
        f"# cpu speed: {cpu_speed:g}",
        "# columns: nodes ppn run_s compute_s",
        *(f"{at.nodes} {at.ppn} {point.run_s:.9f} {point.compute_s:.9f}" for at, point in series.points.items()),
        f"# complete: {len(series.points)} rows",
    ]


def as_json(folder: Path, found: Sequence[Series], cpu_speed: float) -> str:
    """Return the results as JSON."""
    twins = [
        {
            "name": series.name,
            "sources": sources_by_kind(series.twin.sources),
            "layouts": {
                str(layout): {
                    "run_s": point.run_s,
                    "communication_percent": point.communication_percent,
                    "against_one_a_node_on_as_many_nodes_percent": series.gap_percent(layout),
                    "against_one_a_node_with_as_many_processes_percent": series.spread_percent(layout),
                }
                for layout, point in series.points.items()
            },
        }
        for series in found
    ]
    return json.dumps({"traces": str(folder), "kind": "predicted", "cpu_speed": cpu_speed, "twins": twins}, indent=1)
