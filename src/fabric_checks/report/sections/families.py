# SPDX-License-Identifier: BSD-3-Clause
"""The sections of the families: maps of all pairs, every curve, every value over the number of processes,
every other value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text, message_size_text
from fabric_checks.report.blocks import (
    Picture,
    Section,
    Table,
    figure,
    number,
    side_by_side,
)
from fabric_checks.report.sections import meanings, pairs
from fabric_checks.report.svg_panels import Panel, line
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


def sections(results: Results, folders: Sequence[Path] = ()) -> list[Section]:
    """Return a section for each family of which something was measured, in the order of the families.

    :param folders: folders of results, whose kept outputs have the values of all pairs.
    """
    by_family = by_key(results.values, lambda value: value.family)
    found: list[Section] = []
    for family in sorted(by_family, key=families.order):
        key = tag(family) or "family"
        key += "" if all(key != section.key for section in found) else f"-{len(found)}"
        maps = pairs.pictures(results, family, key, folders)
        blocks = (*maps, *_blocks(results, key, by_family[family]))
        state, missed = _state(by_family[family])
        found.append(Section(key, family, blocks, state=state, is_bad=missed > 0))
    return found


def _state(values: Sequence[Value]) -> tuple[str, int]:
    """Return what a family has, in a few words, and how many of its references were missed."""
    checks = {value.record["check"] for value in values}
    texts = [count_text(len(checks), "check"), count_text(len(values), "value")]
    missed = sum(value.verdict == "missed" for value in values)
    if missed:
        texts.append(f"{count_text(missed, 'reference')} missed")
    return ", ".join(texts), missed


def _blocks(
    results: Results, key: str, values: Sequence[Value]
) -> Iterator[Picture | Table]:
    """Yield for each check its curves, its values over a number of something, and its other values."""
    by_check = by_key(values, lambda value: str(value.record["check"]))
    for at, (name, of) in enumerate(by_check.items()):
        own = f"{key}-{at}"
        kinds = by_key(of, _kind)
        counted, points, scalars = (
            kinds.get(kind, []) for kind in ("counted", "point", "scalar")
        )
        counted += [each for each in (*scalars, *points) if each.size_B in _SIZES_B]
        over = _over(results, counted)
        shown: list[Picture | Table] = [
            *figure(own, name, _CURVES, _curves(results, points)),
            *figure(f"{own}-over", f"{name} by number", _COUNTS, over),
        ]
        rows = [
            (row, {each.machine: number(each) for each in cells})
            for row, cells in by_key(scalars, _row_name).items()
        ]
        shown += side_by_side(f"{own}-values", f"{name}: values", rows)
        about = meanings.of_check(of)
        for block in shown:
            yield replace(block, check=name, about=about)
            about = ()


def _kind(value: Value) -> str:
    if _COUNTED.fullmatch(value.quantity):
        return "counted"
    return "scalar" if value.size_B is None else "point"


def _test(value: Value) -> str:
    """Return the parameters of a test; a number has the name of its parameter."""
    return " ".join(
        f"{name}={text}" if text.isdecimal() else text
        for name, text in value.parameters.items()
    )


def _row_name(value: Value) -> str:
    """Return the name of the row of a value that is no point of a curve."""
    words = (_test(value), value.layout, value.record["metric"])
    unit = "" if value.unit == "1" else f", {value.unit}"
    return " ".join(filter(None, words)) + unit


def _title(quantity: str, *more: str) -> str:
    return ", ".join([quantity.replace("_", " "), *filter(None, more)])


def _order(value: Value) -> tuple[str, float, str, int, int]:
    """Return the key that sorts the panels of a check: of each test the quantities of headlines first."""
    headline = (value.record["headline"] or {}).get("order", math.inf)
    nodes, ppn = (value.record[name] or 0 for name in ("nodes", "ppn"))
    return _test(value), headline, value.quantity, nodes, ppn


def _curves(results: Results, values: Sequence[Value]) -> list[Panel]:
    def title(value: Value) -> tuple[str, str]:
        return _title(value.quantity, _test(value), value.layout), value.unit

    spans = {
        quantity: (min(value.median for value in of), max(value.median for value in of))
        for quantity, of in by_key(values, lambda value: value.quantity).items()
    }
    found = []
    for (name, unit), of in by_key(sorted(values, key=_order), title).items():
        lines = []
        for machine, each in by_key(of, lambda value: value.machine).items():
            points = ((float(value.size_B or 0), value) for value in each)
            lines.append(line(results.label(machine), points))
        span = spans[of[0].quantity]
        found.append(Panel(name, tuple(lines), unit, span=span))
    return found


def _over(results: Results, values: Sequence[Value]) -> list[Panel]:
    """Return values over a number of something: a line for each machine and number of processes a node.

    Of a curve such as ``send_time_to_4`` it is the value at the smallest message.
    """
    ordered = sorted(values, key=lambda value: value.size_B or 0)
    panels = by_key(ordered, lambda value: (_place(value)[0], value.unit))
    found = []
    for (title, unit), of in panels.items():
        drawn = []
        by_line = by_key(of, lambda value: (value.machine, _place(value)[1]))
        for (machine, ppn), each in by_line.items():
            points = {_place(value)[2]: value for value in reversed(each)}
            if len(points) >= _LEAST_LAYOUTS or _kind(each[0]) == "counted":
                drawn.append(line(results.label(machine, ppn), points.items()))
        found.append(Panel(title, tuple(drawn), unit, "count"))
    return found


def _place(value: Value) -> tuple[str, str, float]:
    """Return where a value is drawn over a number: the title of its panel, the processes a node of its line,
    and the number."""
    if counted := _COUNTED.fullmatch(value.quantity):
        quantity, at, ppn = counted.groups()
        title = _title(quantity, _test(value), value.layout)
    else:
        at, ppn = value.record["tasks"] or 0, value.record["ppn"]
        size = "" if value.size_B is None else f" at {message_size_text(value.size_B)}"
        title = _title(value.quantity, _test(value)) + size
    return title, f"{ppn} a node" if ppn else "", float(at)
