# SPDX-License-Identifier: BSD-3-Clause
"""Texts and tables that several renderers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import one_line


def plain(*lines: object) -> Text:
    """Return untrusted texts as lines for the terminal, each on one line and without markup."""
    return Text("\n".join(one_line(str(line)) for line in lines))


def rich_table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
    widths: Sequence[int | None] = (),
) -> Table:
    """Return a table for the terminal; a cell is untrusted text, or a styled :class:`rich.text.Text`.

    :param right: the titles of the columns that are aligned to the right.
    :param widths: the largest width of each column, None for any; a table with widths has narrow gaps.
    """
    out = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=bool(widths), header_style="bold")
    for title, width in zip(header, widths or (None,) * len(header), strict=True):
        out.add_column(plain(title), max_width=width, overflow="fold", justify="right" if title in right else "left")
    for row in rows:
        out.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return out


@dataclass
class Footnotes:
    """Reasons that many rows share, numbered in order of appearance."""

    reasons: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """Return the mark of a reason, such as ``[1]``."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"[{self.reasons.index(reason) + 1}]"

    def lines(self) -> list[str]:
        """Return the reasons, each after its mark."""
        return [f"[{number}] {reason}" for number, reason in enumerate(self.reasons, 1)]
