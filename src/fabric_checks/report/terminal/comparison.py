# SPDX-License-Identifier: BSD-3-Clause
"""Print a comparison."""

from __future__ import annotations

from rich import box
from rich import table as rich_table
from rich.text import Text

from fabric_checks.comparison.verdicts import BETTER, MISSING, NOT_COMPARABLE, TOO_FEW, WORSE
from fabric_checks.report.comparison.table import Page, Table

#: The colour of a verdict.
_STYLES = {WORSE: "bold red", BETTER: "green", MISSING: "yellow", NOT_COMPARABLE: "yellow", TOO_FEW: "dim"}


def render(page: Page) -> list[rich_table.Table | Text]:
    """Return the tables of a page, the notes below them, and the counts last."""
    parts: list[rich_table.Table | Text] = []
    for table in page.tables:
        parts += [Text(table.title), _table(table)] if table.rows else [Text(f"{table.title}: no such rows")]
    parts += [Text(note) for note in page.notes]
    return [*parts, *(Text(line) for line in page.counts)]


def _table(table: Table) -> rich_table.Table:
    out = rich_table.Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True, header_style="bold")
    for title, width in zip(table.header, (14, 26, 6, 32, 32, 32, 12, None, 24), strict=True):
        out.add_column(Text(title), max_width=width, overflow="fold")
    for verdict, *cells in table.rows:
        out.add_row(Text(verdict, style=_STYLES.get(verdict, "")), *(Text(cell) for cell in cells))
    return out
