# SPDX-License-Identifier: BSD-3-Clause
"""The sections of the families: every curve, every value over the number of processes, every other value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.text import clean, size_text
from fabric_checks.report.blocks import Cell, Column, Picture, Section, Table, number, runs_note
from fabric_checks.report.figures import by_size, label, layout_of, line, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import pairs
from fabric_checks.report.svg_panels import Panel
from fabric_checks.report.values import Results, Value

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
    "By the number of processes, at 8 B and 1 MiB where there are sizes; one line for each number of"
    " processes a node."
)

_Key = tuple[str, ...]


def sections(results: Results, provenance: Provenance, folders: Sequence[Path] = ()) -> list[Section]:
    """Return a section for each family of which something was measured, in the order of the families.

    :param folders: folders of results, whose kept outputs have the values of all pairs.
    """
    by_family: dict[str, list[Value]] = {}
    for value in results.values:
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


def _blocks(
    results: Results, key: str, values: Sequence[Value], provenance: Provenance
) -> Iterable[Picture | Table]:
    """Yield for each check its curves, its values over a number of something, and its other values."""
    for number_, (check, of) in enumerate(_grouped(values, lambda value: (str(value.record["check"]),))):
        name, at = clean(check[0]), f"{key}-{number_}"
        counted, rest = _parted(of, lambda value: bool(_COUNTED.fullmatch(value.quantity)))
        scalars, points = _parted(rest, lambda value: value.size_B is None)
        some = [value for value in rest if value.size_B in (None, *_SIZES_B)]
        over = _counted(results, some, _by_processes, _LEAST_LAYOUTS)
        figures = (
            (at, name, _CURVES, _panels(results, points)),
            (f"{at}-counted", f"{name} by number", _COUNTS, _counted(results, counted, _by_number, 1)),
            (f"{at}-over", f"{name} over processes", _PROCESSES, over),
        )
        yield from filter(None, (picture(*figure, provenance) for figure in figures))
        yield from _tables(results, f"{at}-values", name, scalars)


def _parted(values: Iterable[Value], is_of: Callable[[Value], bool]) -> tuple[list[Value], list[Value]]:
    """Return the values that are of a kind, and the others."""
    parts: tuple[list[Value], list[Value]] = ([], [])
    for value in values:
        parts[not is_of(value)].append(value)
    return parts


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
    # The quantities of headlines come first, and then all in the order in which the check declares them.
    quantities: dict[str, int] = {}
    for value in sorted(values, key=lambda v: (v.record["headline"] or {}).get("order", math.inf)):
        quantities.setdefault(value.quantity, len(quantities))
    for (quantity, parameters, layout, unit), of in sorted(
        _grouped(values, lambda v: (v.quantity, _parameters(v), v.layout, v.unit)),
        key=lambda item: (item[0][1], quantities[item[0][0]], _layout_key(item[0][2])),
    ):
        lines = [
            by_size(label(results, machine), each)
            for (machine,), each in _grouped(of, lambda v: (v.machine,))
        ]
        panels.append(Panel(_title(quantity, parameters, layout), tuple(filter(None, lines)), unit))
    return panels


def _title(quantity: str, *more: str) -> str:
    return ", ".join([clean(quantity).replace("_", " "), *(text for text in more if text)])


def _layout_key(text: str) -> tuple[int, int]:
    layout = layout_of(text)
    return (layout.nodes, layout.ppn) if layout else (0, 0)


def _counted(
    results: Results, values: Iterable[Value], describe: Callable[[Value], tuple[str, str, float]], least: int
) -> list[Panel]:
    """Return values over a number of something: a line for each machine and number of processes a node.

    Of a curve it is the value at the smallest message.

    :param describe: returns the title of the panel of a value, the processes a node in words, and its number.
    :param least: the fewest points of a line.
    """
    panels: dict[tuple[str, str], dict[str, dict[float, Value]]] = {}
    for value in sorted(values, key=lambda value: value.size_B or 0):
        title, ppn, at = describe(value)
        lines = panels.setdefault((title, value.unit), {})
        lines.setdefault(label(results, value.machine, ppn), {}).setdefault(at, value)
    return [
        Panel(
            title,
            tuple(line(name, points.items()) for name, points in lines.items() if len(points) >= least),
            unit,
            "count",
        )
        for (title, unit), lines in panels.items()
    ]


def _by_processes(value: Value) -> tuple[str, str, float]:
    """Describe a value that is measured in several layouts, of a curve one for each size."""
    size = "" if value.size_B is None else f" at {size_text(value.size_B)} B"
    title = _title(value.quantity, _parameters(value)) + size
    return title, f"{value.record['ppn']} a node", float(value.record["tasks"] or 0)


def _by_number(value: Value) -> tuple[str, str, float]:
    """Describe a value such as ``loop_time_4x2``, which one case measures for 1, 2, 4, ... nodes or
    partners."""
    quantity, number, ppn = _COUNTED.fullmatch(value.quantity).groups()  # type: ignore[union-attr]  # chosen by it
    return _title(quantity, _parameters(value), value.layout), f"{ppn} a node" if ppn else "", float(number)


def _tables(results: Results, key: str, name: str, values: Sequence[Value]) -> list[Table]:
    """Return the values that are no curves: a row for each, a column a machine; many machines have several
    tables."""
    having = {value.machine for value in values}
    machines = [machine for machine in results.machines if machine in having]
    tables = []
    for at in range(0, len(machines), _COLUMNS):
        chosen = machines[at : at + _COLUMNS]
        own = [value for value in values if value.machine in chosen]
        more = f" ({chosen[0]} to {chosen[-1]})" if len(machines) > _COLUMNS else ""
        heads = tuple(map(Column, chosen))
        tables.append(
            Table(
                f"{key}{at or ''}",
                f"{name}: values{more}",
                "value",
                heads,
                _rows(chosen, own),
                runs_note(own),
            )
        )
    return tables


def _rows(machines: Sequence[str], values: Sequence[Value]) -> tuple[tuple[str, tuple[Cell, ...]], ...]:
    rows = []
    for (parameters, layout, metric, unit), of in _grouped(values, _row_key):
        found = {value.machine: value for value in of}
        head = " ".join(filter(None, (parameters, layout, metric)))
        cells = tuple(_cell(found.get(machine)) for machine in machines)
        rows.append((f"{head}, {unit}" if unit != "1" else head, cells))
    return tuple(rows)


def _row_key(value: Value) -> tuple[str, str, str, str]:
    return _parameters(value), value.layout, clean(value.record["metric"]), value.unit


def _cell(value: Value | None) -> Cell:
    return number(value) if value else Cell("", missing=True)
