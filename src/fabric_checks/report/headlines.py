# SPDX-License-Identifier: BSD-3-Clause
"""Headline values as rows, from the headline that a record carries (``core.metrics.Headline``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import PAIR, Headline
from fabric_checks.core.text import size_text, test_text, value_text
from fabric_checks.records.record import Record, machine_name

#: The sizes at the ends of a curve.
_ENDS_B = (8, 1024**2)
WITHIN, BETWEEN = "Within a node", "Between nodes"

#: The name of a machine, which has a column of its own.
Machine = str
#: The points of a curve by message size in bytes; a value that is no point has the size -1.
Points = Mapping[int, Record]

#: The keys that sort layouts, the preferred first, by ``Headline.layouts``.
_PREFERENCES: Mapping[str, Callable[[Layout], tuple[int, ...]]] = {
    "smallest": lambda layout: (
        layout.ppn if layout.nodes > 1 else 0,
        layout.nodes,
        layout.ppn,
    ),
    "largest": lambda layout: (-layout.tasks, -layout.nodes),
    "most nodes": lambda layout: (-layout.nodes, layout.ppn),
}


@dataclass(frozen=True)
class Cell:
    """A value in a table.

    :param texts: the value, or two of a curve, each with its size where the title of the row does not say it.
    :param curve: all values of the curve, by size; :param missed: whether one of them missed its reference.
    :param records: the record of each text.
    """

    texts: tuple[str, ...]
    curve: tuple[float, ...]
    missed: bool
    records: list[Record] = field(compare=False)

    @property
    def record(self) -> Record:
        """The record of the first text."""
        return self.records[0]


@dataclass(frozen=True)
class Row:
    """One program's value in one layout: a cell for each machine that has it.

    :param section: the heading above the row.
    """

    title: str
    unit: str
    layout: str
    program: str
    cells: Mapping[Machine, Cell]
    section: str


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
        preference = _PREFERENCES.get(self.headline.layouts, _PREFERENCES["largest"])
        layout = (-number for number in preference(self.layout))
        return (len(self.by_machine), *layout, -self.headline.rank)


class Values:
    """The values of a run by headline.

    :param records: of the perflog; only those with a value count, and no comparison of two layouts does.
    :param machine_of: returns the machine of a record, which has a column of its own.
    """

    def __init__(
        self,
        records: Iterable[Record],
        machine_of: Callable[[Record], Machine] = machine_name,
    ) -> None:
        self._series: dict[tuple[str, ...], dict[Machine, dict[int, Record]]] = {}
        machines: dict[Machine, None] = {}
        for record in records:
            machine = machine_of(record)
            machines.setdefault(machine)
            if record["value"] is None or not math.isfinite(record["value"]):
                continue
            if record.get("compared"):
                continue
            check, quantity, layout = (
                str(record[name]) for name in ("check", "quantity", "layout")
            )
            key = (check, test_text(check, record["parameters"]), quantity, layout)
            points = self._series.setdefault(key, {}).setdefault(machine, {})
            points[-1 if record["size_B"] is None else record["size_B"]] = record
        #: All machines of the run, in its order, whether or not they have values.
        self.machines = tuple(machines)

    def rows(self) -> list[Row]:
        """Return the rows in their order: of each one program in one layout, the one that most machines
        have."""
        candidates = list(self._candidates())
        best: dict[tuple[str, str], _Candidate] = {}
        for each in candidates:
            name = (each.section, each.headline.title)
            best[name] = max(best.get(name, each), each, key=lambda one: one.merit)
        orders: dict[str, int] = {}  # of a section: that of its first row
        for of in sorted(
            (each.headline for each in candidates), key=lambda of: of.order
        ):
            orders.setdefault(of.section, of.order)

        def position(each: _Candidate) -> tuple[int, str, bool, int, str]:
            of, is_second = each.headline, each.section == BETWEEN
            return orders[of.section], of.section, is_second, of.order, of.title

        return [
            _row(each.headline, each.section, each.by_machine)
            for each in sorted(best.values(), key=position)
        ]

    def _candidates(self) -> Iterable[_Candidate]:
        """Return the candidates for all rows; of several series of a machine the first."""
        found: dict[tuple[str | int, ...], _Candidate] = {}
        for (check, _, quantity, text), by_machine in self._series.items():
            record = _any_record(by_machine)
            headline = headline_of(record)
            layout = Layout(record["nodes"] or 1, record["ppn"] or 1)
            if headline is None:
                continue
            section, least_tasks = headline.section, headline.least_tasks
            if section == PAIR:
                section = BETWEEN if layout.nodes > 1 else WITHIN
                least_tasks = max(least_tasks, 2)
            if layout.tasks >= least_tasks:
                key = (section, headline.title, headline.rank, check, quantity, text)
                candidate = found.setdefault(key, _Candidate(headline, section, layout))
                candidate.by_machine.update(by_machine | candidate.by_machine)
        return found.values()

    def series(self) -> list[Row]:
        """Return every curve, at its largest size, and every value of the run, by test."""
        return [
            _row(Headline(quantity, quantity, test, 0, point="last"), test, by_machine)
            for (_, test, quantity, _), by_machine in self._series.items()
        ]


def _row(of: Headline, section: str, by_machine: Mapping[Machine, Points]) -> Row:
    record = _any_record(by_machine)
    cells = {machine: cell(points, of.point) for machine, points in by_machine.items()}
    unit, layout = str(record["unit"]), str(record["layout"])
    return Row(of.title, unit, layout, program_text(record), cells, section)


def _any_record(by_machine: Mapping[Machine, Points]) -> Record:
    return next(iter(next(iter(by_machine.values())).values()))


def headline_of(record: Record) -> Headline | None:
    """Return the headline that a record carries; None without one."""
    given = record.get("headline")
    return msgspec.convert(given, Headline) if given else None


def cell(points: Points, point: str) -> Cell:
    """Return how a value is shown.

    :param point: ``value`` or ``first``: that of the smallest size; ``last``: of the largest; ``peak``: the
        best; ``ends``: those of 8 B and 1 MiB, or of the sizes next to them.
    """
    sizes = sorted(points)
    values = [float(points[size]["value"]) for size in sizes]
    chosen = _chosen(points, point)
    texts = []
    for size in chosen:
        is_named = point == "last" or (point == "ends" and size not in _ENDS_B)
        at = f" @{size_text(size)}" if is_named and len(sizes) > 1 else ""
        texts.append(f"{value_text(points[size]['value'])}{at}")
    missed = any(each["result"] == "fail" for each in points.values())
    curve = tuple(values) if len(values) > 2 else ()
    return Cell(tuple(texts), curve, missed, [points[size] for size in chosen])


def _chosen(points: Points, point: str) -> list[int]:
    """Return the sizes whose values are shown, see :func:`cell`."""
    if point == "ends":
        nearest = (min(points, key=lambda size: abs(size - end)) for end in _ENDS_B)
        return list(dict.fromkeys(nearest))
    if point == "peak":
        is_less = next(iter(points.values()))["better"] == "smaller"
        best = min if is_less else max
        return [best(sorted(points), key=lambda size: points[size]["value"])]
    return [max(points) if point == "last" else min(points)]


def program_text(record: Record) -> str:
    """Return the program of a record, short: ``own`` is one of this collection."""
    program = str(record.get("program") or "")
    return "own" if program.startswith("fabric-checks") else program or "?"
