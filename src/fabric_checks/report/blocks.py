# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of a report: sections of tables, pictures and lists, without any HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.text import value_text
from fabric_checks.report.values import Value

#: So many machines have a column each in one table.
_COLUMNS = 6
#: The text of a cell without a value.
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    :param text: of the cell; :param value: that it shows, for its provenance.
    :param mark: a word next to the value, such as the kind of a simulated value.
    :param best: whether it is the best of its column; :param missing: whether there is no value.
    :param curve: the whole curve that the value is of, in block characters.
    """

    text: str
    value: Value | None = None
    mark: str = ""
    best: bool = False
    missing: bool = False
    curve: str = ""


def runs_note(values: Iterable[Value]) -> tuple[str, ...]:
    """Return how many runs the medians in a table are of; nothing where each is of one run."""
    most = max((len(value.runs) for value in values), default=1)
    return (f"Each value is the median of up to {most} runs.",) if most > 1 else ()


def number(value: Value | None, *, best: bool = False) -> Cell:
    """Return the cell of a value, its median over the runs; ``not measured`` for None."""
    if value is None:
        return Cell(NOT_MEASURED, missing=True)
    words = [value.evidence, value.verdict if value.verdict not in ("", "met") else ""]
    return Cell(value_text(value.median), value, ", ".join(filter(None, words)), best)


@dataclass(frozen=True)
class Column:
    """The head of a column: its title and its unit."""

    title: str
    unit: str = ""


@dataclass(frozen=True)
class Table:
    """A table whose first cell of each row names it.

    :param key: its identity in the page; :param caption: its title.
    :param corner: the head of the first column; :param rows: for each its head and cells.
    :param notes: sentences below it.
    """

    key: str
    caption: str
    corner: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    notes: tuple[str, ...] = ()
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Picture:
    """A figure.

    :param description: what it shows, in words, for readers who do not see it.
    :param svgs: its panels, drawn by :mod:`fabric_checks.report.svg_panels`; none where there is only a
        sentence.
    :param legend: (name, classes of the page's style) of each line. :param data: tables besides those of the
        lines.
    :param absent: the sentence shown if there is no drawing.
    """

    key: str
    title: str
    description: str
    svgs: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    data: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = NOT_MEASURED
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True)
class Lines:
    """Sentences by subject."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    empty: str = ""
    folded: bool = False
    kind: str = field(default="lines", init=False)


@dataclass(frozen=True)
class Section:
    """A part of the page.

    :param intro: sentences before its blocks. :param verdict: of all results, a word and a sentence, before
        everything.
    :param facts: labels and texts, below the verdict.
    """

    key: str
    title: str
    blocks: tuple[Table | Picture | Lines, ...]
    intro: tuple[str, ...] = ()
    verdict: tuple[str, str] | None = None
    facts: tuple[tuple[str, str], ...] = ()


def side_by_side(
    key: str, caption: str, rows: Sequence[tuple[str, Mapping[str, Cell]]], notes: tuple[str, ...] = ()
) -> list[Table]:
    """Return tables with a column for each machine, so many in each; none without rows.

    :param rows: heads, and the cells by machine.
    """
    machines = sorted({machine for _, cells in rows for machine in cells})
    tables = []
    for at in range(0, len(machines), _COLUMNS):
        shown = machines[at : at + _COLUMNS]
        more = f" ({shown[0]} to {shown[-1]})" if len(machines) > _COLUMNS else ""
        listed = tuple(
            (head, tuple(cells.get(machine, Cell("", missing=True)) for machine in shown))
            for head, cells in rows
            if not cells.keys().isdisjoint(shown)
        )
        columns = tuple(map(Column, shown))
        tables.append(Table(f"{key}{at or ''}", f"{caption}{more}", "value", columns, listed, notes))
    return tables


def grouped(lines: Iterable[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (subject, line) pairs as the groups of :class:`Lines`, each line once, in the order of the
    subjects."""
    groups: dict[str, dict[str, None]] = {}
    for subject, line in lines:
        groups.setdefault(subject, {})[line] = None
    return tuple((subject, tuple(of)) for subject, of in groups.items())


def best_of(values: Sequence[Value | None]) -> str:
    """Return the best median of a column as it is printed; empty if more than half of the column has it."""
    found = [value for value in values if value is not None]
    if not found:
        return ""
    best = min if found[0].record["better"] == "smaller" else max
    text = value_text(best(value.median for value in found))
    return text if 2 * sum(value_text(value.median) == text for value in found) <= len(found) else ""


def column_of(values: Sequence[Value | None]) -> list[Cell]:
    """Return the cells of a column of values of the same metric, the best marked."""
    best = best_of(values)
    return [number(value, best=value is not None and value_text(value.median) == best) for value in values]
