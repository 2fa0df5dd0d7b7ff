# SPDX-License-Identifier: BSD-3-Clause
"""Headline values as rows, from the headline that a record carries (``core.metrics.Headline``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields

from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import PAIR, Headline
from fabric_checks.core.text import size_text, value_text
from fabric_checks.records.record import Record, machine_name

MiB = 1024**2
WITHIN, BETWEEN = "Within a node", "Between nodes"

#: The name of a machine, which has a column of its own.
Machine = str
#: The points of a curve by message size in bytes; a value that is no point has the size -1.
Points = Mapping[int, Record]
_Parameters = tuple[tuple[str, str], ...]

#: The keys that sort layouts, the preferred first, by ``Headline.layouts``.
_PREFERENCES: Mapping[str, Callable[[Layout], tuple[int, ...]]] = {
    "smallest": lambda layout: (layout.ppn if layout.nodes > 1 else 0, layout.nodes, layout.ppn),
    "largest": lambda layout: (-layout.tasks, -layout.nodes),
    "most nodes": lambda layout: (-layout.nodes, layout.ppn),
}


@dataclass(frozen=True)
class Cell:
    """A value in a table: text before its curve, the values of the curve in its order, and text after it.

    :param missed: whether it missed its reference, or a point of its curve did.
    :param record: the record of the first text.
    """

    before: str
    curve: tuple[float, ...] = ()
    after: str = ""
    missed: bool = False
    record: Record | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Row:
    """One program's value in one layout: a cell for each machine that has it.

    :param section: the heading above the row. :param short: the heading of its column where each machine has
        a row.
    """

    title: str
    unit: str
    layout: str
    program: str
    cells: Mapping[Machine, Cell]
    section: str = ""
    short: str = ""


@dataclass(frozen=True)
class _Candidate:
    """A candidate for a row: the series of one program in one layout, by machine."""

    headline: Headline
    section: str
    layout: Layout
    by_machine: dict[Machine, Points] = field(default_factory=dict)

    @property
    def merit(self) -> tuple[int, ...]:
        """The key that finds the best: the most machines, the preferred layout, the preferred program."""
        preference = _PREFERENCES.get(self.headline.layouts, _PREFERENCES["largest"])(self.layout)
        return (len(self.by_machine), *(-number for number in preference), -self.headline.rank)

    def row(self) -> Row:
        """Return the row of it."""
        of, record = self.headline, _any_record(self.by_machine)
        cells = {machine: cell(points, of.point) for machine, points in self.by_machine.items()}
        unit, program = str(record["unit"]), program_text(record)
        return Row(of.title, unit, str(self.layout), program, cells, self.section, of.short)


class Values:
    """The values of a run by headline.

    :param records: of the perflog; only those with a value count, and no comparison of two layouts does.
    :param machine_of: returns the machine of a record, which has a column of its own.
    """

    def __init__(
        self, records: Iterable[Record], machine_of: Callable[[Record], Machine] = machine_name
    ) -> None:
        self._series: dict[tuple[str, str, str, _Parameters], dict[Machine, dict[int, Record]]] = {}
        machines: dict[Machine, None] = {}
        for record in records:
            machine = machine_of(record)
            machines.setdefault(machine)
            value = record["value"]
            if record["metric"] is None or record.get("compared") or not isinstance(value, (int, float)):
                continue
            if not math.isfinite(value):
                continue
            parameters = tuple(sorted((str(k), str(v)) for k, v in (record["parameters"] or {}).items()))
            key = (str(record["check"]), str(record["quantity"]), str(record["layout"]), parameters)
            points = self._series.setdefault(key, {}).setdefault(machine, {})
            points[-1 if record["size_B"] is None else record["size_B"]] = record
        #: All machines of the run, in its order, whether or not they have values.
        self.machines = tuple(machines)

    def rows(self) -> list[Row]:
        """Return the rows in their order: of each one program in one layout, the one that most machines
        have."""
        best: dict[tuple[str, str], _Candidate] = {}
        for candidate in self._candidates():
            row = (candidate.section, candidate.headline.title)
            if row not in best or candidate.merit > best[row].merit:
                best[row] = candidate
        orders: dict[str, int] = {}  # of a declared section: that of its first row
        for each in best.values():
            section = each.headline.section
            orders[section] = min(each.headline.order, orders.get(section, each.headline.order))

        def position(each: _Candidate) -> tuple[int, str, bool, int, str]:
            headline = each.headline
            return (
                orders[headline.section],
                headline.section,
                each.section != WITHIN,
                headline.order,
                headline.title,
            )

        return [candidate.row() for candidate in sorted(best.values(), key=position)]

    def _candidates(self) -> Iterable[_Candidate]:
        """Return the candidates for all rows; of several series of a machine the first."""
        found: dict[tuple[str | int, ...], _Candidate] = {}
        for (check, quantity, text, _), by_machine in self._series.items():
            headline = headline_of(_any_record(by_machine))
            try:
                layout = Layout.of(text)
            except ValueError:
                continue
            if headline is None or layout.tasks < max(
                headline.least_tasks, 2 if headline.section == PAIR else 1
            ):
                continue
            section = headline.section
            if section == PAIR:
                section = BETWEEN if layout.nodes > 1 else WITHIN
            key = (section, headline.title, headline.rank, check, quantity, text)
            candidate = found.setdefault(key, _Candidate(headline, section, layout))
            for machine, points in by_machine.items():
                candidate.by_machine.setdefault(machine, points)
        return found.values()

    def series(self) -> list[tuple[Record, Row]]:
        """Return every curve and every value of the run, each with a record of it."""
        rows = []
        for (_, quantity, layout, _), by_machine in self._series.items():
            record = _any_record(by_machine)
            cells = {machine: cell(points, "both") for machine, points in by_machine.items()}
            rows.append((record, Row(quantity, str(record["unit"]), layout, program_text(record), cells)))
        return rows


def _any_record(by_machine: Mapping[Machine, Points]) -> Record:
    return next(iter(next(iter(by_machine.values())).values()))


def headline_of(record: Record) -> Headline | None:
    """Return the headline that a record carries; None without one."""
    given = record.get("headline") or {}
    members = {member.name: given[member.name] for member in fields(Headline) if member.name in given}
    return Headline(**members) if members else None


def cell(points: Points, point: str) -> Cell:
    """Return how a value is shown.

    :param point: ``value`` or ``first``: that of the smallest size; ``last``: of the largest; ``peak``: the
        best; ``ends``: those of 8 B and 1 MiB, or of the sizes next to them; ``both``: of the smallest and
        the largest size.
    """
    sizes = sorted(points)
    values = [float(points[size]["value"]) for size in sizes]
    missed = any(points[size]["result"] == "fail" for size in sizes)
    curve = tuple(values) if len(values) > 2 else ()
    if point in ("ends", "both") and len(sizes) > 1:
        wanted = (8, MiB) if point == "ends" else (sizes[0], sizes[-1])
        first, last = (_nearest(sizes, near) for near in wanted)
        before, after = (
            _end(points, size, is_told=point == "both" or size not in wanted) for size in (first, last)
        )
        return Cell(before, curve, after, missed, points[first])
    size = {"last": sizes[-1], "peak": _best(points)}.get(point, sizes[0])
    after = _at(size) if point == "last" and len(sizes) > 1 else ""
    return Cell(value_text(float(points[size]["value"])), curve, after, missed, points[size])


def _nearest(sizes: Iterable[int], near: int) -> int:
    return min(sizes, key=lambda size: abs(size - near))


def _end(points: Points, size: int, *, is_told: bool) -> str:
    """Return a value of a curve; :param is_told: whether its size is."""
    return f"{value_text(float(points[size]['value']))}{_at(size) if is_told else ''}"


def _best(points: Points) -> int:
    """Return the size with the best value."""
    best = min if next(iter(points.values()))["better"] == "smaller" else max
    return best(sorted(points), key=lambda size: float(points[size]["value"]))


def _at(size_B: int) -> str:
    return "" if size_B < 0 else f" @{size_text(size_B)}"


def program_text(record: Record) -> str:
    """Return the program of a record, short: ``own`` is one of this collection."""
    program = str(record.get("program") or "")
    return "own" if program.startswith("fabric-checks") else program or "?"
