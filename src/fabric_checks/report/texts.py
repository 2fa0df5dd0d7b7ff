# SPDX-License-Identifier: BSD-3-Clause
"""Texts and tables that several renderers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import count_text, one_line
from fabric_checks.records.record import (
    Record,
    case_name,
    other_processes,
    was_disturbed,
)


def plain(*lines: object) -> Text:
    """Return untrusted texts as lines for the terminal, each on one line and without markup."""
    return Text("\n".join(one_line(str(line)) for line in lines))


def mpi_text(text: str) -> str:
    """Return the name and the version of an MPI, of what it reports of itself."""
    found = re.match(r"[^\d,]*\d[\d.]*\d", text)
    return " ".join(
        re.sub(r"Version:|\(R\)", "", found[0] if found else text[:30]).split()
    )


def load_text(of: Iterable[Record]) -> tuple[str, bool]:
    """Return the load of the hosts in a run, empty if unknown, and whether its values are unreliable because
    of it.

    They do if a tenth of the cases, or more, had to share their cores with other processes.
    """
    cases = {
        (record.get("session"), record.get("time"), case_name(record)): record
        for record in of
        if record.get("load_1min_before") is not None and record["host_cores"]
    }
    known = list(cases.values())
    if not known:
        return "", False
    disturbed = list(filter(was_disturbed, known))
    is_busy = 10 * len(disturbed) >= len(known)
    load = median(map(_load, disturbed if is_busy else known))
    text = f"load {load:.1f} on {count_text(known[-1]['host_cores'], 'core')}"
    if not is_busy:
        return text, False
    number = round(median(map(other_processes, disturbed)))
    others = count_text(number, "other process", "other processes")
    where = f"{len(disturbed)} of {count_text(len(known), 'case')}"
    why = f"other programs used these cores in {where} ({text}, {others})"
    return f"{why}: do not rely on the values", True


def _load(record: Record) -> float:
    return float(max(record["load_1min_before"], record["load_1min_after"] or 0.0))


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
    out = Table(
        box=box.SIMPLE,
        pad_edge=False,
        collapse_padding=bool(widths),
        header_style="bold",
    )
    for title, width in zip(header, widths or (None,) * len(header), strict=True):
        out.add_column(
            plain(title),
            max_width=width,
            overflow="fold",
            justify="right" if title in right else "left",
        )
    for row in rows:
        out.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return out
