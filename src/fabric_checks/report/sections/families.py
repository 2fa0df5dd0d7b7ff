# SPDX-License-Identifier: BSD-3-Clause
"""The sections of the families: every curve, every value over the number of processes, every other value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.text import clean, size_text, value_text
from fabric_checks.report.blocks import Cell, Column, Picture, Section, Table, number
from fabric_checks.report.drawing import Panel
from fabric_checks.report.figures import by_size, label, layout_of, line, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import pairs
from fabric_checks.report.texts import COMPARED, COMPARED_NOTE, ends_and_worst
from fabric_checks.report.values import Results, Value, case_text

#: The sizes whose values are drawn over the number of processes.
_SIZES_B = (8, 1024**2)
#: So many machines have a column each in one table.
_COLUMNS = 6
#: A value is drawn over the number of processes if it was measured in so many layouts.
_LEAST_LAYOUTS = 3

#: Quantities of several nodes, or of several peers, in one case.
_COUNTED = re.compile(r"(loop_time|efficiency|ppn_gap|communication_share|\w+_time_to)_(\d+)(?:x(\d+))?")

#: The descriptions of the figures.
_CURVES = "By message size in bytes (K = 1024, M = 1024 K); a panel for each quantity and layout."
_COUNTS = "By the number of nodes, or of partners of one process, at the smallest message."
_PROCESSES = (
    "By the number of processes, at 8 B and 1 MiB where there are sizes; one line for each number of processes a node."
)

_Key = tuple[str, ...]


def sections(results: Results, provenance: Provenance, folders: Sequence[Path] = ()) -> list[Section]:
    """Return a section for each family of which something was measured, in the order of the families.

    :param folders: folders of results, whose kept outputs have the values of all pairs.
    """
    by_family: dict[str, list[Value]] = {}
    for value in results.values:
        if not value.record["compared"]:
            by_family.setdefault(value.family, []).append(value)
    found: list[Section] = []
    for family in sorted(by_family, key=families.order):
        maps = pairs.FAMILIES.get(family)
        intro, blocks, shown = maps(results, folders) if maps else ("", [], frozenset())
        rest = [value for value in by_family[family] if value.record["check"] not in shown]
        key = tag(family) or "family"
        key += "" if all(key != section.key for section in found) else f"-{len(found)}"
        blocks += _blocks(results, key, rest, provenance)
        found.append(Section(key, family, tuple(blocks), (intro,) if intro else ()))
    return found


def _blocks(results: Results, key: str, values: Sequence[Value], provenance: Provenance) -> Iterable[Picture | Table]:
    """Yield for each check its curves, its values over a number of something, and its other values."""
    for number_, (check, of) in enumerate(_grouped(values, lambda value: (str(value.record["check"]),))):
        name, at = clean(check[0]), f"{key}-{number_}"
        counted = [value for value in of if _COUNTED.fullmatch(value.quantity)]
        rest = [value for value in of if not _COUNTED.fullmatch(value.quantity)]
        scalars = [value for value in rest if value.size_B is None]
        figures = (
            (at, name, _CURVES, _panels(results, [value for value in rest if value.size_B is not None])),
            (f"{at}-counted", f"{name} by number", _COUNTS, _by_number(results, counted)),
            (f"{at}-over", f"{name} over processes", _PROCESSES, _over_processes(results, rest)),
        )
        yield from filter(None, (picture(*figure, provenance) for figure in figures))
        yield from _tables(results, f"{at}-values", name, scalars)


def _grouped(values: Iterable[Value], key: Callable[[Value], _Key]) -> list[tuple[_Key, list[Value]]]:
    """Return values by a key, in the order of its first appearance."""
    found: dict[_Key, list[Value]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return list(found.items())


def _parameters(value: Value) -> str:
    """Return the parameters of a test; a number has the name of its parameter."""
    return " ".join(f"{name}={text}" if text.isdecimal() else text for name, text in value.parameters.items())


def _panels(results: Results, values: Sequence[Value]) -> list[Panel]:
    panels = []
    for (quantity, parameters, layout, unit), of in sorted(
        _grouped(values, lambda v: (v.quantity, _parameters(v), v.layout, v.unit)),
        key=lambda item: (item[0][1], item[0][0], _layout_key(item[0][2])),
    ):
        lines = [by_size(label(results, machine), each) for (machine,), each in _grouped(of, lambda v: (v.machine,))]
        panels.append(Panel(_title(quantity, parameters, layout), tuple(filter(None, lines)), unit))
    return panels


def _title(quantity: str, *more: str) -> str:
    return ", ".join([clean(quantity).replace("_", " "), *(text for text in more if text)])


def _layout_key(text: str) -> tuple[int, int]:
    layout = layout_of(text)
    return (layout.nodes, layout.ppn) if layout else (0, 0)


def _over_processes(results: Results, values: Sequence[Value]) -> list[Panel]:
    """Return the values that were measured in several layouts with the same number of processes a node."""
    chosen = [value for value in values if value.size_B in (None, *_SIZES_B)]
    panels = []
    for (quantity, size, parameters, unit), of in _grouped(
        chosen, lambda v: (v.quantity, "" if v.size_B is None else size_text(v.size_B), _parameters(v), v.unit)
    ):
        lines = []
        for (machine, ppn), each in _grouped(of, lambda v: (v.machine, str(v.record["ppn"]))):
            points = {float(v.record["tasks"] or 0): v for v in each}
            if len(points) >= _LEAST_LAYOUTS:
                lines.append(line(label(results, machine, f"{ppn} a node"), points.items()))
        if lines:
            at = f" at {size} B" if size else ""
            panels.append(Panel(_title(quantity, parameters) + at, tuple(lines), unit, "count"))
    return panels


def _by_number(results: Results, values: Sequence[Value]) -> list[Panel]:
    """Return the quantities that one case measures for 1, 2, 4, .. nodes or partners."""
    panels = []
    grouped = _grouped(values, lambda v: (_counts(v)[0], _parameters(v), v.layout, v.unit))
    for (quantity, parameters, layout, unit), of in grouped:
        lines = []
        for (machine, ppn), each in _grouped(of, lambda v: (v.machine, _counts(v)[2])):
            points: dict[int, Value] = {}
            for value in sorted(each, key=lambda v: v.size_B or 0, reverse=True):
                points[int(_counts(value)[1])] = value
            name = label(results, machine, f"{ppn} a node" if ppn else "")
            lines.append(line(name, ((float(n), value) for n, value in points.items())))
        panels.append(Panel(_title(quantity, parameters, layout), tuple(lines), unit, "count"))
    return panels


def _counts(value: Value) -> tuple[str, str, str]:
    """Return of ``loop_time_4x2`` the quantity, the number of nodes, and the processes a node."""
    match = _COUNTED.fullmatch(value.quantity)
    assert match
    return match[1], match[2], match[3] or ""


def _tables(results: Results, key: str, name: str, values: Sequence[Value]) -> list[Table]:
    """Return the values that are no curves: a row for each, a column a machine; many machines have several tables."""
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
    """Return the comparisons of one process a node with more; None if there are none."""
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    values = [value for value in results.values if value.record["compared"]]
    values.sort(key=lambda value: (value.machine, case_text(value.record), value.quantity, value.size_B or 0))
    for (machine, case, _), group in groupby(values, key=lambda v: (v.machine, case_text(v.record), v.quantity)):
        points = list(group)
        for value in ends_and_worst(points, lambda each: each.median, points[0].record["better"]):
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
    return Section(
        "processes-a-node", COMPARED, (Table("ppn", COMPARED, "machine", heads, tuple(rows), (COMPARED_NOTE,)),)
    )
