# SPDX-License-Identifier: BSD-3-Clause
"""Overlap, hot spot, buffer reuse, and one process a node against more."""

from __future__ import annotations

import re
from itertools import groupby

from fabric_checks.report.html.blocks import Cell, Column, Picture, Section, Table, column_of, number
from fabric_checks.report.html.curves import NumberOf, by_size, label, picture
from fabric_checks.report.html.figures import Way, panel
from fabric_checks.report.html.plots import Line, Panel
from fabric_checks.report.html.scaling import layout_of
from fabric_checks.report.html.tables import BETWEEN
from fabric_checks.report.html.values import Results, Value, case_text, clean
from fabric_checks.text import size_text, value_text

#: Sizes that stand for small, medium and long messages.
_SIZES_B = (8, 8192, 131072, 1048576)
_TRANSFERS = ("isend", "irecv")


def overlap(results: Results, number_of: NumberOf) -> Section:
    """Return how much of the host is left for work, with and without MPI_Test inside it, and during collectives."""
    rows: list[tuple[str, tuple[Value | None, ...]]] = []
    for machine in results.machines:
        for poll in ("none", "test"):
            found = [
                {
                    value.size_B: value
                    for value in results.of(machine, "Overlap", f"{name}_availability", BETWEEN, poll=poll)
                }
                for name in _TRANSFERS
            ]
            if any(found):
                what = ", MPI_Test in the work" if poll == "test" else ""
                rows.append((f"{machine}{what}", tuple(at.get(size) for at in found for size in _SIZES_B)))
    tables: list[Table | Picture] = []
    if rows:
        columns = list(zip(*(values for _, values in rows), strict=True))
        names = [f"MPI_{name.capitalize()} {size_text(size)} B" for name in _TRANSFERS for size in _SIZES_B]
        kept = [index for index, column in enumerate(columns) if any(column)]
        heads = tuple(Column(names[index], "%") for index in kept)
        cells = tuple((head, tuple(number(values[index]) for index in kept)) for head, values in rows)
        tables.append(Table("overlap-share", "Host availability", "machine", heads, cells))
    collectives = [_collective(results, name) for name in ("iallreduce", "ialltoall", "ibcast")]
    if any(each.lines for each in collectives):
        text = "The share of the time of a collective that is left for work by message size."
        title = "Host availability during collectives"
        tables.append(picture("overlap-collectives", title, text, collectives, number_of))
    intro = ("The share of the transfer time that is left for work; Figures 12 to 14 show the curves.",)
    return Section("overlap", "Overlap", tuple(tables), intro if tables else ("Overlap: not measured.",))


def _collective(results: Results, name: str) -> Panel:
    """Return the host availability during a collective, of each machine on the most processes."""
    lines = []
    for machine in results.machines:
        values = results.of(machine, "CollectiveOverlap", f"{name}_availability")
        layouts = [layout for layout in (layout_of(value.layout) for value in values) if layout]
        if layouts:
            layout = str(max(layouts, key=lambda each: (each.tasks, each.nodes)))
            line = by_size(label(results, machine, layout), [value for value in values if value.layout == layout])
            lines += [line] if line else []
    return Panel(f"MPI_{name.capitalize()}", tuple(lines), "host availability, %")


def hot_spot(results: Results, number_of: NumberOf) -> Section:
    """Return what a busy node costs, and what a fresh buffer costs."""
    blocks: list[Table | Picture] = []
    panels = [_slaves(results, operation) for operation in ("send", "send_receive")]
    growth = [
        [_growth(results, machine, operation) for machine in results.machines] for operation in ("send", "send_receive")
    ]
    if any(each.lines for each in panels):
        columns = [column_of(column, compared=False) for column in growth]
        rows = tuple((machine, tuple(c[i] for c in columns)) for i, machine in enumerate(results.machines))
        heads = (Column("sending"), Column("collecting"))
        note = "How many times as long all slaves take as one, at the smallest message: 1 is no hot spot."
        blocks.append(Table("hot-spot-growth", "Hot spot: growth", "machine", heads, rows, (note,)))
        text = "Time of one master with 1, 2, ... slaves, at the smallest message."
        blocks.append(picture("hot-spot", "Hot spot: time by the number of slaves", text, panels, number_of))
    blocks += _buffers(results, number_of)
    intro = ("One master and more and more slaves; and messages from memory that was never used (Liu et al., 2003).",)
    missing = tuple(
        f"{name}: not measured."
        for name, key in (("Hot spot", "hot-spot"), ("Buffer reuse", "buffer-reuse"))
        if not any(block.key == key for block in blocks)
    )
    return Section("hot-spot-and-buffers", "Hot spot and buffer reuse", tuple(blocks), (*intro, *missing))


def _spot_layout(results: Results, machine: str) -> str:
    layouts = [layout_of(value.layout) for value in results.of(machine, "HotSpot", "send_growth")]
    single = [layout for layout in layouts if layout and layout.ppn == 1]
    return str(max(single)) if single else ""


def _growth(results: Results, machine: str, operation: str) -> Value | None:
    layout = _spot_layout(results, machine)
    return next(iter(results.of(machine, "HotSpot", f"{operation}_growth", layout)), None) if layout else None


def _slaves(results: Results, operation: str) -> Panel:
    lines = []
    for machine in results.machines:
        layout = _spot_layout(results, machine)
        points: dict[int, Value] = {}
        for value in results.of(machine, "HotSpot", layout=layout) if layout else ():
            match = re.fullmatch(rf"{operation}_time_to_(\d+)", value.quantity)
            if match and (int(match[1]) not in points or (value.size_B or 0) < (points[int(match[1])].size_B or 0)):
                points[int(match[1])] = value
        if points:
            line = tuple((float(slaves), value) for slaves, value in sorted(points.items()))
            lines.append(Line(label(results, machine, layout), line))
    title = {"send": "sending to all", "send_receive": "collecting from all"}[operation]
    return Panel(title, tuple(lines), "time, us", "nodes", "slaves", log_y=True)


def _buffers(results: Results, number_of: NumberOf) -> list[Table | Picture]:
    names = {"fresh_buffer_latency_ratio": "latency", "fresh_buffer_bandwidth_ratio": "bandwidth"}
    columns: list[list[Value | None]] = [
        [next(iter(results.of(machine, "BufferReuse", metric, BETWEEN)), None) for machine in results.machines]
        for metric in names
    ]
    if not any(value for column in columns for value in column):
        columns = [
            [next(iter(results.of(machine, "BufferReuse", metric)), None) for machine in results.machines]
            for metric in names
        ]
    if not any(value for column in columns for value in column):
        return []
    cells = [column_of(column) for column in columns]
    rows = tuple((machine, tuple(column[i] for column in cells)) for i, machine in enumerate(results.machines))
    note = "The figure with buffers that are all new over that with one buffer, the worst message size."
    heads = tuple(Column(name) for name in names.values())
    layout = next(value.layout for column in columns for value in column if value)
    panels = [
        panel(
            results,
            f"latency, {percent} % reused",
            layout,
            [Way("BufferReuse", f"latency_reuse_{percent}", "")],
            "time, us",
            log_y=True,
        )
        for percent in (0, 100)
    ] + [
        panel(
            results,
            f"bandwidth, {percent} % reused",
            layout,
            [Way("BufferReuse", f"bandwidth_reuse_{percent}", "")],
            "bandwidth, MB/s",
        )
        for percent in (0, 100)
    ]
    text = "Latency and bandwidth by message size when all buffers are new, and when one is used again and again."
    return [
        Table("buffer-reuse-ratio", "Buffer reuse: fresh against reused", "machine", heads, rows, (note,)),
        picture("buffer-reuse", "Buffer reuse", text, panels, number_of),
    ]


def compared(results: Results) -> Section:
    """Return one process a node against more: both values and the change."""
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    values = [value for value in results.values if value.record["compared"]]
    values.sort(key=lambda value: (value.machine, case_text(value.record), value.quantity, value.size_B or 0))
    for (machine, case, _), group in groupby(values, key=lambda v: (v.machine, case_text(v.record), v.quantity)):
        points = list(group)
        if len(points) > 2:
            worst = (max if points[0].record["better"] == "smaller" else min)(points, key=lambda value: value.median)
            points = [point for point in points if point is worst or point in (points[0], points[-1])]
        for value in points:
            of = value.record["compared"]
            both = "; ".join(f"{clean(layout)}: {value_text(float(v))}" for layout, v in of["values"].items())
            size = "" if value.size_B is None else f" at {size_text(value.size_B)} B"
            cells = (
                Cell(case),
                Cell(f"{clean(of['quantity'])}{size}"),
                Cell(f"{both} {clean(of['unit'])}"),
                number(value),
            )
            rows.append((machine, cells))
    heads = (Column("case"), Column("figure"), Column("one a node; more"), Column("change"))
    note = (
        "The change is the second value over the first, or their difference. Of a curve the table has the smallest "
        "message, the largest, and the one that loses most with more processes."
    )
    blocks = (Table("ppn", "One process a node against more", "machine", heads, tuple(rows), (note,)),) if rows else ()
    intro = ("Tables 7 to 9 and Figures 8 to 11 have what runs within a node.",)
    missing = () if rows else ("One process a node against more: not measured in one allocation.",)
    return Section("processes-a-node", "One process a node against more", blocks, (*intro, *missing))
