# SPDX-License-Identifier: BSD-3-Clause
"""An application over the nodes: Figures 15 and 16 of SAND2005-5199, and how well it scales."""

from __future__ import annotations

import re

from fabric_checks.layouts import Layout
from fabric_checks.report.html.blocks import Column, Picture, Section, Table, column_of
from fabric_checks.report.html.curves import NumberOf, label, picture
from fabric_checks.report.html.plots import Line, Panel
from fabric_checks.report.html.values import Results, Value

_SCALING = {"fixed": "32,000 atoms in all", "scaled": "32,000 atoms a node"}


def layout_of(text: str) -> Layout | None:
    """Return a layout, or None for what is none."""
    try:
        return Layout.of(text)
    except ValueError:
        return None


def problems(results: Results) -> list[str]:
    """Return the problems that LAMMPS was run on."""
    checks = ("LammpsPpnSeries", "LammpsBench")
    values = [value for machine in results.machines for check in checks for value in results.of(machine, check)]
    return sorted({value.parameters["problem"] for value in values if "problem" in value.parameters})


def series(results: Results, machine: str, problem: str, scaling: str) -> dict[int, list[tuple[int, Value]]]:
    """Return the loop times of a problem: by processes a node, (nodes, value).

    From ``LammpsPpnSeries``, which measures them in one allocation, or else from ``LammpsBench``.
    """
    found: dict[int, dict[int, Value]] = {}
    for value in results.of(machine, "LammpsPpnSeries", problem=problem, scaling=scaling):
        match = re.fullmatch(r"loop_time_(\d+)x(\d+)", value.quantity)
        if match:
            found.setdefault(int(match[2]), {})[int(match[1])] = value
    if not found and scaling == "fixed":
        for value in results.of(machine, "LammpsBench", "loop_time", problem=problem):
            layout = layout_of(value.layout)
            if layout:
                found.setdefault(layout.ppn, {})[layout.nodes] = value
    return {ppn: sorted(by_nodes.items()) for ppn, by_nodes in sorted(found.items())}


def _panel(results: Results, problem: str, scaling: str) -> Panel:
    lines = []
    for machine in results.machines:
        for ppn, points in series(results, machine, problem, scaling).items():
            name = label(results, machine, f"{ppn} process{'es' if ppn > 1 else ''} a node")
            lines.append(Line(name, tuple((float(nodes), value) for nodes, value in points)))
    return Panel(f"{problem}, {_SCALING[scaling]}", tuple(lines), "loop time, s", "nodes", "nodes")


def lammps(results: Results, number_of: NumberOf) -> list[Picture]:
    """Return Figures 15 and 16: the loop time over the nodes, with one process a node and with more."""
    others = [problem for problem in problems(results) if problem != "lj"]
    note = "The source's problem is stouch of LAMMPS 2001, which the collection does not have."
    return [
        picture(
            "figure-15",
            f"Figure 15. LAMMPS in place of stouch: {', '.join(others) or 'chain, eam, chute, rhodo'}",
            "Loop time of 100 steps over the nodes, one process a node against more.",
            [_panel(results, problem, scaling) for problem in others for scaling in _SCALING],
            number_of,
            notes=(note,),
        ),
        picture(
            "figure-16",
            "Figure 16. LAMMPS lj",
            "Loop time of 100 steps over the nodes, one process a node against more.",
            [_panel(results, "lj", scaling) for scaling in _SCALING],
            number_of,
        ),
    ]


def section(results: Results) -> Section:
    """Return how well applications scale: speed-up, efficiency, and what more processes a node change."""
    tables: list[Table] = []
    for problem in problems(results):
        rows: dict[tuple[str, str], dict[str, Value]] = {}
        for machine in results.machines:
            for value in results.of(machine, "LammpsBench", problem=problem):
                if value.quantity in _BENCH:
                    rows.setdefault((machine, value.layout), {})[value.quantity] = value
            for value in results.of(machine, "LammpsPpnSeries", problem=problem):
                match = re.fullmatch(r"(efficiency|ppn_gap)_(\d+x\d+)", value.quantity)
                if match:
                    name = f"{match[1]}, {value.parameters.get('scaling', '')}"
                    rows.setdefault((machine, match[2]), {})[name] = value
        names = [name for name in _NAMES if any(name in row for row in rows.values())]
        if not rows or not names:
            continue
        keys = sorted(rows, key=lambda key: (key[0], layout_of(key[1]) or Layout(1, 1)))
        columns = [[rows[key].get(name) for key in keys] for name in names]
        cells = [column_of(column, compared=False) for column in columns]
        heads = tuple(
            Column(_NAMES[name], next(v.unit for v in column if v)) for name, column in zip(names, columns, strict=True)
        )
        table_rows = tuple(
            (f"{machine}, {layout}", tuple(c[i] for c in cells)) for i, (machine, layout) in enumerate(keys)
        )
        tables.append(Table(f"scaling-{len(tables)}", f"LAMMPS {problem}", "machine, layout", heads, table_rows))
    intro = (
        "Speed-up and efficiency of LAMMPS over nodes x processes a node; Figures 15 and 16 show the times. The gap is "
        "how much longer it takes with more processes a node than with one; negative where it is faster.",
    )
    return Section("scaling", "Scaling", tuple(tables), intro if tables else ("Scaling: not measured.",))


_BENCH = ("speed_up", "parallel_efficiency", "communication_share")
_NAMES = {
    "speed_up": "speed-up",
    "parallel_efficiency": "parallel efficiency",
    "communication_share": "time in communication",
    "efficiency, fixed": "efficiency, one size",
    "efficiency, scaled": "efficiency, size by nodes",
    "ppn_gap, fixed": "gap, one size",
    "ppn_gap, scaled": "gap, size by nodes",
}
