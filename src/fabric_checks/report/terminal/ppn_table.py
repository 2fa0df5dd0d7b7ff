# SPDX-License-Identifier: BSD-3-Clause
"""Print the comparisons of one process a node with more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import size_text, value_text
from fabric_checks.records.record import Record, case_name

TITLE = "One process a node against more"
NOTE = (
    "The change is the second value divided by the first or, where it has a sign, their difference. For a curve the "
    "table has the smallest message, the largest, and the one that loses most with more processes."
)


def is_comparison(record: Record) -> bool:
    """Tell whether a record belongs into this table: it has the two values that its own is computed from."""
    return bool(record.get("compared"))


def table(
    records: Sequence[Record],
    plain: Callable[..., Text],
    place_lines: Callable[[Record], Sequence[str]],
    test_lines: Callable[[Record], Sequence[str]],
    held_to: Callable[[Record], str],
) -> Table:
    """Return both values and their ratio or difference, for each comparison.

    :param plain: makes lines of untrusted text fit for the terminal.
    :param place_lines: system and environment of a record. :param test_lines: the name of its test.
    :param held_to: returns the text about a record's reference.
    """
    out = Table(
        box=box.SIMPLE, pad_edge=False, collapse_padding=True, header_style="bold", title=TITLE, title_justify="left"
    )
    for title, width in (("system", 16), ("test", 26), ("metric", 24), ("bytes", 6), ("unit", 12)):
        out.add_column(title, max_width=width, overflow="fold")
    for title in ("one a node", "more", "change"):
        out.add_column(title, justify="right", overflow="fold")
    out.add_column("reference", max_width=22, overflow="fold")
    for _, group in groupby(records, key=case_name):
        out.add_section()
        for position, record in enumerate(_rows(group)):
            of, values = record["compared"], record["compared"]["values"]
            first = position == 0
            out.add_row(
                plain(*place_lines(record) if first else ""),
                plain(*test_lines(record) if first else ""),
                plain(of["quantity"]),
                plain("" if record["size_B"] is None else size_text(record["size_B"])),
                plain(of["unit"]),
                *(plain(f"{layout}: {value_text(value)}") for layout, value in values.items()),
                plain(_change(record)),
                plain(held_to(record)),
            )
    return out


def _change(record: Record) -> str:
    """Return the ratio, or with its sign and unit the difference."""
    if not record["can_be_zero"]:
        return value_text(record["value"])
    sign = "+" if record["value"] >= 0 else ""
    return f"{sign}{value_text(record['value'])} {record['unit']}"


def _rows(case: Iterable[Record]) -> list[Record]:
    """Return the records of a case that the table shows: of a curve the ends and the worst."""
    shown: list[Record] = []
    for (_, on_curve), group in groupby(case, key=lambda record: (record["quantity"], record["size_B"] is not None)):
        points = list(group)
        if on_curve:
            points.sort(key=lambda record: record["size_B"])
            worst = (max if points[0]["better"] == "smaller" else min)(points, key=lambda record: record["value"])
            points = [point for point in points if point is worst or point in (points[0], points[-1])]
        shown += points
    return shown
