# SPDX-License-Identifier: BSD-3-Clause
"""All that was measured, by families of checks: every curve, every value over the processes, every other value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from fabric_checks.core.text import size_text, value_text
from fabric_checks.report.html.blocks import Cell, Column, Picture, Section, Table, number
from fabric_checks.report.html.curves import by_size, label, layout_of, picture
from fabric_checks.report.html.drawing import Line, Panel
from fabric_checks.report.html.provenance import Provenance
from fabric_checks.report.html.values import Results, Value, case_text, clean

#: The families by their checks; what fits none is among the others.
FAMILIES = (
    (
        "pairs",
        "Pairs of processes",
        r"Osu(Multi|Concurrent|Persistent)?(Latency|Bandwidth|MessageRate)|Imb(PointToPoint|Source|Band|Parallel|P2p)",
    ),
    ("streaming", "Streaming and ping-pong", r"Streaming"),
    ("collectives", "Collectives", r"(Osu|Imb)(Persistent)?(Collective|Barrier|Reduce|Neighbourhood)|ImbLocal"),
    ("non-blocking", "Non-blocking collectives", r"(Osu|Imb)NonBlocking"),
    ("overlap", "Overlap: what is left for other work", r"(Collective)?Overlap"),
    ("one-sided", "One-sided", r"(Osu|Imb)(OneSided|Atomic|Passive|Put|Get|Accumulate|FetchAndOp|CompareAndSwap)"),
    ("busy", "Hot spot, fresh buffers, waiting", r"HotSpot|BufferReuse|Notification|OsuCongestion"),
    ("applications", "LAMMPS and the NAS kernels", r"Lammps|Npb|Nas"),
    ("others", "Others", r""),
)
#: They have a section of their own.
_ELSEWHERE = re.compile(r"Rotate|LatencyMap|.*PpnRatio$")
#: The sizes whose values are drawn over the processes.
_SIZES_B = (8, 1024**2)
#: So many machines have a column each in one table.
_COLUMNS = 6
#: A layout has so many others beside it where a value is drawn over the processes.
_LEAST_LAYOUTS = 3

#: Quantities of several nodes, or of several peers, in one case.
_COUNTED = re.compile(r"(loop_time|efficiency|ppn_gap|communication_share|\w+_time_to)_(\d+)(?:x(\d+))?")

_Key = tuple[str, ...]


def family_of(check: str) -> str:
    """Return the key of the family that a check is of.

    >>> family_of("OsuLatency"), family_of("ImbNonBlockingBarrier"), family_of("MyOwn")
    ('pairs', 'non-blocking', 'others')
    """
    return next(key for key, _, pattern in FAMILIES if re.match(pattern, check))


def sections(results: Results, provenance: Provenance) -> list[Section]:
    """Return a section for each family of which something was measured."""
    by_family: dict[str, list[Value]] = {}
    for value in results.values:
        check = str(value.record["check"])
        if not _ELSEWHERE.match(check) and not value.record["compared"]:
            by_family.setdefault(family_of(check), []).append(value)
    found = []
    for key, title, _ in FAMILIES:
        blocks = _blocks(results, key, by_family.get(key, ()), provenance)
        if blocks:
            found.append(Section(key, title, tuple(blocks)))
    return found


def _blocks(results: Results, key: str, values: Sequence[Value], provenance: Provenance) -> list[Picture | Table]:
    """Return for each check of a family its curves, its values over the processes, and its other values."""
    blocks: list[Picture | Table | None] = []
    for number_, (check, of) in enumerate(_grouped(values, lambda value: (str(value.record["check"]),))):
        name, at = clean(check[0]), f"{key}-{number_}"
        counted = [value for value in of if _COUNTED.fullmatch(value.quantity)]
        rest = [value for value in of if not _COUNTED.fullmatch(value.quantity)]
        curves = [value for value in rest if value.size_B is not None]
        scalars = [value for value in rest if value.size_B is None]
        text = "By message size in bytes (K = 1024, M = 1024 K); a panel for each quantity and layout."
        blocks.append(picture(at, name, text, _panels(results, curves), provenance))
        text = "By the number of nodes, or of partners of one process, at the smallest message."
        blocks.append(picture(f"{at}-counted", f"{name} by number", text, _by_number(results, counted), provenance))
        over = _over_processes(results, rest)
        if over:
            text = (
                "By the number of processes, at 8 B and 1 MiB where there are sizes; one line for each number of "
                "processes a node."
            )
            blocks.append(picture(f"{at}-over", f"{name} over processes", text, over, provenance))
        blocks += _tables(results, f"{at}-values", name, scalars)
    return [block for block in blocks if block]


def _grouped(values: Iterable[Value], key: object) -> list[tuple[_Key, list[Value]]]:
    """Return values by a key, in the order in which the keys come first."""
    found: dict[_Key, list[Value]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)  # type: ignore[operator]
    return list(found.items())


def _parameters(value: Value) -> str:
    """Return what tells the tests of a check apart; a number says of what it is."""
    return " ".join(f"{name}={text}" if text.isdecimal() else text for name, text in value.parameters.items())


def _panels(results: Results, values: Sequence[Value]) -> list[Panel]:
    panels = []
    for (quantity, parameters, layout, unit), of in sorted(
        _grouped(values, lambda v: (v.quantity, _parameters(v), v.layout, v.unit)),
        key=lambda item: (item[0][1], item[0][0], _layout_key(item[0][2])),
    ):
        lines = [by_size(label(results, machine), each) for (machine,), each in _grouped(of, lambda v: (v.machine,))]
        # A point alone is no curve; it has a place in the table of values.
        kept = tuple(line for line in lines if line)
        panels.append(Panel(_title(quantity, parameters, layout), kept, unit))
    return panels


def _title(quantity: str, *more: str) -> str:
    return ", ".join([clean(quantity).replace("_", " "), *(text for text in more if text)])


def _layout_key(text: str) -> tuple[int, int]:
    layout = layout_of(text)
    return (layout.nodes, layout.ppn) if layout else (0, 0)


def _over_processes(results: Results, values: Sequence[Value]) -> list[Panel]:
    """Return what was measured in several layouts of so many processes a node."""
    chosen = [value for value in values if value.size_B in (None, *_SIZES_B)]
    panels = []
    for (quantity, size, parameters, unit), of in _grouped(
        chosen, lambda v: (v.quantity, "" if v.size_B is None else size_text(v.size_B), _parameters(v), v.unit)
    ):
        lines = []
        for (machine, ppn), each in _grouped(of, lambda v: (v.machine, str(v.record["ppn"]))):
            points = {float(v.record["tasks"] or 0): v for v in each}
            if len(points) >= _LEAST_LAYOUTS:
                lines.append(
                    Line(label(results, machine, f"{ppn} a node"), tuple(sorted(points.items(), key=lambda p: p[0])))
                )
        if lines:
            at = f" at {size} B" if size else ""
            panels.append(Panel(_title(quantity, parameters) + at, tuple(lines), unit, "count"))
    return panels


def _by_number(results: Results, values: Sequence[Value]) -> list[Panel]:
    """Return the quantities that are measured for 1, 2, 4, .. of something in one case."""
    panels = []
    grouped = _grouped(values, lambda v: (_counts(v)[0], _parameters(v), v.layout, v.unit))
    for (quantity, parameters, layout, unit), of in grouped:
        lines = []
        for (machine, ppn), each in _grouped(of, lambda v: (v.machine, _counts(v)[2])):
            points: dict[int, Value] = {}
            for value in sorted(each, key=lambda v: v.size_B or 0, reverse=True):
                points[int(_counts(value)[1])] = value
            name = label(results, machine, f"{ppn} a node" if ppn else "")
            lines.append(Line(name, tuple((float(n), value) for n, value in sorted(points.items()))))
        panels.append(Panel(_title(quantity, parameters, layout), tuple(lines), unit, "count"))
    return panels


def _counts(value: Value) -> tuple[str, str, str]:
    """Return of ``loop_time_4x2`` the quantity, the number of nodes, and the processes a node."""
    match = _COUNTED.fullmatch(value.quantity)
    assert match
    return match[1], match[2], match[3] or ""


def _tables(results: Results, key: str, name: str, values: Sequence[Value]) -> list[Table]:
    """Return the values that are no curves: a row for each, a column a machine; of many machines some a table."""
    machines = [machine for machine in results.machines if any(value.machine == machine for value in values)]
    tables = []
    for at in range(0, len(machines), _COLUMNS):
        chosen = machines[at : at + _COLUMNS]
        rows = []
        for (parameters, layout, metric, unit), of in _grouped(
            [value for value in values if value.machine in chosen],
            lambda v: (_parameters(v), v.layout, clean(v.record["metric"]), v.unit),
        ):
            found = {value.machine: value for value in of}
            head = " ".join(filter(None, (parameters, layout, metric)))
            cells = tuple(_cell(found.get(machine)) for machine in chosen)
            rows.append((f"{head}, {unit}" if unit != "1" else head, cells))
        more = f" ({chosen[0]} to {chosen[-1]})" if len(machines) > _COLUMNS else ""
        caption = f"{name}: values{more}"
        tables.append(Table(f"{key}{at or ''}", caption, "value", tuple(map(Column, chosen)), tuple(rows)))
    return tables


def _cell(value: Value | None) -> Cell:
    return number(value) if value else Cell("", missing=True)


def compared(results: Results) -> Section | None:
    """Return one process a node against more: both values and the change; None if nothing was."""
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
    if not rows:
        return None
    heads = (Column("case"), Column("metric"), Column("one a node; more"), Column("change"))
    note = (
        "The change is the second value divided by the first, or their difference. For a curve the table has the "
        "smallest message, the largest, and the one that loses most with more processes."
    )
    table = Table("ppn", "One process a node against more", "machine", heads, tuple(rows), (note,))
    return Section("processes-a-node", "One process a node against more", (table,))
