# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of a report: sections of tables, pictures and lists, without any HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from fabric_checks.core.text import value_text
from fabric_checks.report.svg_panels import Panel, looks
from fabric_checks.report.values import Value


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than a text.

    :param text: of the cell; :param value: that it shows, for its provenance.
    :param mark: a word next to the value, such as the kind of a simulated value.
    :param curve: the whole curve that the value is of, in block characters.
    :param before: what the value is compared with; :param change: from that to the value.
    :param trend: ``better`` or ``worse``, if the change is one.
    """

    text: str
    value: Value | None = None
    mark: str = ""
    curve: str = ""
    before: str = ""
    change: str = ""
    trend: str = ""


def number(value: Value) -> Cell:
    """Return the cell of a value, its median over the runs."""
    words = [value.evidence, value.verdict if value.verdict != "met" else ""]
    return Cell(value_text(value.median), value, ", ".join(filter(None, words)))


@dataclass(frozen=True)
class Table:
    """A table whose first cell of each row names it.

    :param key: its identity in the page; :param caption: its title.
    :param corner: the head of the first column; :param rows: for each its head and cells, None where nothing
        was measured.
    :param notes: sentences below it.
    :param compared: whether what its values are compared with, and the change, have columns.
    :param divisible: whether many columns may be divided among tables, as where each is a machine.
    :param check: that its values are of; :param about: what they mean and what is usual, before it.
    """

    key: str
    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | str | None, ...]], ...]
    notes: tuple[str, ...] = ()
    compared: bool = False
    divisible: bool = False
    check: str = ""
    about: tuple[str, ...] = ()
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Picture:
    """A figure.

    :param description: what it shows, in words, for readers who do not see it.
    :param panels: curves, which the page draws, or drawings; none where there is only a sentence.
    :param absent: that sentence. :param check, about: see :class:`Table`.
    """

    key: str
    title: str
    description: str
    panels: tuple[Panel, ...] | tuple[Markup, ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = ""
    check: str = ""
    about: tuple[str, ...] = ()
    kind: ClassVar = "picture"

    @property
    def looks(self) -> dict[str, str]:
        """The look of each line, by its name; none for drawings."""
        return looks([panel for panel in self.panels if isinstance(panel, Panel)])


def figure(
    key: str, title: str, description: str, panels: Iterable[Panel]
) -> list[Picture]:
    """Return a figure of the panels that have lines; none where no panel has."""
    shown = tuple(panel for panel in panels if panel.lines)
    return [Picture(key, title, description, shown)] if shown else []


@dataclass(frozen=True)
class Lines:
    """Sentences by subject."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    empty: str = ""
    folded: bool = False
    check: ClassVar = ""
    about: ClassVar = ()
    kind: ClassVar = "lines"


@dataclass(frozen=True)
class Section:
    """A part of the page, folded unless it has a verdict.

    :param state: what is in it, in a few words; :param is_bad: whether that needs attention.
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
    state: str = ""
    is_bad: bool = False


def side_by_side(
    key: str,
    caption: str,
    rows: Sequence[tuple[str, Mapping[str, Cell]]],
    notes: tuple[str, ...] = (),
) -> list[Table]:
    """Return a table with a column for each machine; none without rows.

    :param rows: heads, and the cells by machine.
    """
    machines = tuple(sorted({machine for _, cells in rows for machine in cells}))
    compared = any(cell.before for _, cells in rows for cell in cells.values())
    listed = tuple(
        (head, tuple(cells.get(machine, "") for machine in machines))
        for head, cells in rows
    )
    table = Table(key, caption, "value", machines, listed, notes, compared, True)
    return [table] if rows else []


def grouped(
    lines: Iterable[tuple[str, str]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (subject, line) pairs as the groups of :class:`Lines`, each line once, in the order of the
    subjects."""
    groups: dict[str, dict[str, None]] = {}
    for subject, line in lines:
        groups.setdefault(subject, {})[line] = None
    return tuple((subject, tuple(of)) for subject, of in groups.items())
