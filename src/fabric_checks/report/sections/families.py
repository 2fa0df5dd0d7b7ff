# SPDX-License-Identifier: BSD-3-Clause
"""The sections of the families: maps of all pairs, every curve, every value over the number of processes,
every other value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.text import clean, size_text
from fabric_checks.report.blocks import (
    Cell,
    Picture,
    Section,
    Table,
    number,
    runs_note,
    side_by_side,
)
from fabric_checks.report.figures import label, line, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections import pairs
from fabric_checks.report.svg_panels import Panel
from fabric_checks.report.values import Results, Value

#: The sizes whose values are drawn over the number of processes.
_SIZES_B = (None, 8, 1024**2)
#: A value is drawn over the number of processes if it was measured in so many layouts.
_LEAST_LAYOUTS = 3
#: Quantities of several nodes, or of several peers, in one case.
_COUNTED = re.compile(
    r"(loop_time|efficiency|ppn_gap|communication_share|\w+_time_to)_(\d+)(?:x(\d+))?"
)
#: The descriptions of the figures.
_CURVES = "By message size in bytes (K = 1024, M = 1024 K); a panel for each quantity and layout."
_COUNTS = (
    "By the number of processes, or else of nodes or of partners of one process; at 8 B and 1 MiB where there"
    " are sizes; one line for each number of processes a node."
)

_Key = TypeVar("_Key")


def sections(
    results: Results, provenance: Provenance, folders: Sequence[Path] = ()
) -> list[Section]:
    """Return a section for each family of which something was measured, in the order of the families.

    :param folders: folders of results, whose kept outputs have the values of all pairs.
    """
    by_family = _grouped(results.values, lambda value: value.family)
    found: list[Section] = []
    for family in sorted(by_family, key=families.order):
        key = tag(family) or "family"
        key += "" if all(key != section.key for section in found) else f"-{len(found)}"
        maps = pairs.pictures(results, family, key, folders)
        blocks = (*maps, *_blocks(results, key, by_family[family], provenance))
        found.append(Section(key, family, blocks))
    return found


def _blocks(
    results: Results, key: str, values: Sequence[Value], provenance: Provenance
) -> Iterator[Picture | Table]:
    """Yield for each check its curves, its values over a number of something, and its other values."""
    for at, (check, of) in enumerate(
        _grouped(values, lambda value: str(value.record["check"])).items()
    ):
        name, key_of = clean(check), f"{key}-{at}"
        kinds = _grouped(of, _kind)
        counted, points, scalars = (
            kinds.get(kind, []) for kind in ("counted", "point", "scalar")
        )
        counted = counted + [
            value for value in (*scalars, *points) if value.size_B in _SIZES_B
        ]
        yield from picture(key_of, name, _CURVES, _curves(results, points), provenance)
        yield from picture(
            f"{key_of}-over",
            f"{name} by number",
            _COUNTS,
            _over(results, counted),
            provenance,
        )
        yield from side_by_side(
            f"{key_of}-values", f"{name}: values", _rows(scalars), runs_note(scalars)
        )


def _kind(value: Value) -> str:
    if _COUNTED.fullmatch(value.quantity):
        return "counted"
    return "scalar" if value.size_B is None else "point"


def _grouped(
    values: Iterable[Value], key: Callable[[Value], _Key]
) -> dict[_Key, list[Value]]:
    """Return values by a key, in the order of its first appearance."""
    found: dict[_Key, list[Value]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found


def _test(value: Value) -> str:
    """Return the parameters of a test; a number has the name of its parameter."""
    return " ".join(
        f"{name}={text}" if text.isdecimal() else text
        for name, text in value.parameters.items()
    )


def _title(quantity: str, *more: str) -> str:
    return ", ".join([clean(quantity).replace("_", " "), *filter(None, more)])


def _curves(results: Results, values: Sequence[Value]) -> list[Panel]:
    # The quantities of headlines come first, and then all in the order in which the check declares them.
    ordered = sorted(
        values,
        key=lambda value: (value.record["headline"] or {}).get("order", math.inf),
    )
    quantities = list(dict.fromkeys(value.quantity for value in ordered))

    def position(value: Value) -> tuple[str, int, int, int]:
        nodes, ppn = (value.record[name] or 0 for name in ("nodes", "ppn"))
        return _test(value), quantities.index(value.quantity), nodes, ppn

    panels = _grouped(
        sorted(values, key=position),
        lambda value: (_title(value.quantity, _test(value), value.layout), value.unit),
    )
    return [
        Panel(
            title,
            tuple(
                line(
                    label(results, machine),
                    ((float(value.size_B or 0), value) for value in each),
                )
                for machine, each in _grouped(of, lambda value: value.machine).items()
            ),
            unit,
        )
        for (title, unit), of in panels.items()
    ]


def _over(results: Results, values: Iterable[Value]) -> list[Panel]:
    """Return values over a number of something: a line for each machine and number of processes a node.

    Of a curve such as ``send_time_to_4`` it is the value at the smallest message.
    """
    panels: dict[tuple[str, str], dict[str, dict[float, Value]]] = {}
    for value in sorted(values, key=lambda value: value.size_B or 0):
        if counted := _COUNTED.fullmatch(value.quantity):
            quantity, at, ppn = counted.groups()
            title = _title(quantity, _test(value), value.layout)
        else:
            at, ppn = value.record["tasks"] or 0, value.record["ppn"]
            size = "" if value.size_B is None else f" at {size_text(value.size_B)} B"
            title = _title(value.quantity, _test(value)) + size
        name = label(results, value.machine, f"{ppn} a node" if ppn else "")
        panels.setdefault((title, value.unit), {}).setdefault(name, {}).setdefault(
            float(at), value
        )
    found = []
    for (title, unit), lines in panels.items():
        drawn = tuple(
            line(name, points.items())
            for name, points in lines.items()
            if len(points) >= _LEAST_LAYOUTS
            or _COUNTED.fullmatch(next(iter(points.values())).quantity)
        )
        found.append(Panel(title, drawn, unit, "count"))
    return found


def _rows(values: Sequence[Value]) -> list[tuple[str, dict[str, Cell]]]:
    """Return the values that are no curves, a row each, by machine."""
    rows = _grouped(
        values,
        lambda value: (
            _test(value),
            value.layout,
            clean(value.record["metric"]),
            value.unit,
        ),
    )
    return [
        (
            " ".join(filter(None, (test, layout, metric)))
            + ("" if unit == "1" else f", {unit}"),
            {value.machine: number(value) for value in of},
        )
        for (test, layout, metric, unit), of in rows.items()
    ]
