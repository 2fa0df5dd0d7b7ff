# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of a report: sections of tables, pictures and lists, without any HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

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
    :param missing: whether there is no value.
    :param curve: the whole curve that the value is of, in block characters.
    """

    text: str
    value: Value | None = None
    mark: str = ""
    missing: bool = False
    curve: str = ""


def runs_note(values: Iterable[Value]) -> tuple[str, ...]:
    """Return how many runs the medians in a table are of; nothing where each is of one run."""
    most = max((len(value.runs) for value in values), default=1)
    return (f"Each value is the median of up to {most} runs.",) if most > 1 else ()


def number(value: Value | None) -> Cell:
    """Return the cell of a value, its median over the runs; ``not measured`` for None."""
    if value is None:
        return Cell(NOT_MEASURED, missing=True)
    words = [value.evidence, value.verdict if value.verdict not in ("", "met") else ""]
    return Cell(value_text(value.median), value, ", ".join(filter(None, words)))


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
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Picture:
    """A figure.

    :param description: what it shows, in words, for readers who do not see it.
    :param svgs: its panels, drawn by :mod:`fabric_checks.report.svg_panels`; none where there is only a
        sentence.
    :param legend: (name, classes of the page's style) of each line.
    :param absent: the sentence shown if there is no drawing.
    """

    key: str
    title: str
    description: str
    svgs: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = NOT_MEASURED
    kind: ClassVar = "picture"


@dataclass(frozen=True)
class Lines:
    """Sentences by subject."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    empty: str = ""
    folded: bool = False
    kind: ClassVar = "lines"


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
    key: str,
    caption: str,
    rows: Sequence[tuple[str, Mapping[str, Cell]]],
    notes: tuple[str, ...] = (),
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
            (
                head,
                tuple(cells.get(machine, Cell("", missing=True)) for machine in shown),
            )
            for head, cells in rows
            if not cells.keys().isdisjoint(shown)
        )
        columns = tuple(map(Column, shown))
        tables.append(
            Table(
                f"{key}{at or ''}", f"{caption}{more}", "value", columns, listed, notes
            )
        )
    return tables


def grouped(
    lines: Iterable[tuple[str, str]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (subject, line) pairs as the groups of :class:`Lines`, each line once, in the order of the
    subjects."""
    groups: dict[str, dict[str, None]] = {}
    for subject, line in lines:
        groups.setdefault(subject, {})[line] = None
    return tuple((subject, tuple(of)) for subject, of in groups.items())
