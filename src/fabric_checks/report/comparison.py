# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of sets of results as tables for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table as RichTable
from rich.text import Text

from fabric_checks.comparison import verdicts
from fabric_checks.comparison.compare import Comparison, worst
from fabric_checks.comparison.verdicts import (
    CONFIDENCE,
    MIN_RUNS,
    NO_DIFFERENCE,
    TOO_FEW,
    VERDICTS,
)
from fabric_checks.core.text import (
    count_text,
    names_text,
    range_text,
    signed,
    test_text,
    value_text,
)
from fabric_checks.report.texts import plain, rich_table

#: The colour of a verdict on a terminal.
_STYLES = {
    verdicts.WORSE: "bold red",
    verdicts.BETTER: "green",
    verdicts.MISSING: "yellow",
    verdicts.NOT_COMPARABLE: "yellow",
    verdicts.TOO_FEW: "dim",
}
#: The largest widths of the columns on a terminal.
_WIDTHS = (14, 26, 6, 32, 32, 32, 12, None, 24)

_HEADER = ("verdict", "test", "layout", "metric", "unit", "change", "note")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """A comparison as untrusted texts.

    :param tables: by title one for each set that is compared with the baseline: its header, and rows of cells
        of which the first is the verdict.
    :param notes: lines on what is missing, and that count the verdicts.
    """

    tables: Mapping[str, Sequence[tuple[str, ...]]]
    notes: tuple[str, ...]


def page(comparison: Comparison, chosen: pl.DataFrame) -> Page:
    """Return a comparison as texts: a row for the worst of several values, and a line for what a side lacks.

    :param chosen: its rows, see :func:`fabric_checks.comparison.compare.select`.
    """
    is_missing = pl.col("verdict") == verdicts.MISSING
    lines = [*_missing(comparison, chosen.filter(is_missing)), *counts(comparison)]
    rows = worst(chosen.filter(~is_missing))
    tables = {}
    for side in comparison.sides:
        own = list(rows.filter(pl.col("side") == side).iter_rows(named=True))
        # The title names the system that all rows share.
        places = {_where(row) for row in own}
        title = f"{side} against {comparison.baseline}" + (
            f": {places.pop()}" if len(places) == 1 else ""
        )
        header = (
            *_HEADER[:4],
            f"median, {comparison.baseline}",
            f"median, {side}",
            *_HEADER[4:],
        )
        cells = [_cells(row, has_place=bool(places)) for row in own]
        tables[title] = [header, *cells]
    return Page(tables, tuple(lines))


def _missing(comparison: Comparison, rows: pl.DataFrame) -> list[str]:
    """Return of how many tests each set lacks values, a line each.

    :param rows: those that one side lacks.
    """
    lines = []
    for side in comparison.sides:
        of = rows.filter(pl.col("side") == side)
        for label, where in (
            (comparison.baseline, "where_baseline"),
            (side, "where_side"),
        ):
            lacking = of.filter(pl.col(where).is_null()).unique(
                "test", maintain_order=True
            )
            tests = [
                test_text(*each)
                for each in lacking.select("check", "parameters").iter_rows()
            ]
            if tests:
                count = count_text(len(tests), "test")
                lines.append(
                    f"not in {label}: {count} ({names_text(tests)}); --csv lists them"
                )
    return lines


def counts(comparison: Comparison) -> list[str]:
    """Return the number of values of each verdict, and how many chance alone would produce, as lines."""
    lines = []
    for side in comparison.sides:
        found = Counter(comparison.frame.filter(pl.col("side") == side)["verdict"])
        parts = [
            f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict]
        ]
        lines.append(
            f"{side} against {comparison.baseline}: {found.total()} metrics: {', '.join(parts)}"
        )
    if comparison.by_chance:
        lines.append(
            f"{comparison.bootstrapped} were judged by intervals at {100 * CONFIDENCE:g} %: if"
            f" nothing had changed, about {comparison.by_chance:.2g} would differ by chance, half of them for"
            " the worse"
        )
    if comparison.count(TOO_FEW):
        lines.append(
            f"too few runs: fewer than {MIN_RUNS} on a side show no spread; `ci/run --reruns={MIN_RUNS - 1}`"
            " makes enough"
        )
    return lines


def _cells(row: Row, *, has_place: bool) -> tuple[str, ...]:
    evidence = {row["evidence_baseline"], row["evidence_side"]}
    simulated = "" if evidence == {"measured"} else "simulated"
    return (
        row["verdict"],
        test_text(row["check"], row["parameters"])
        + (f" ({_where(row)})" if has_place else ""),
        row["layout"],
        _metric(row),
        _median(row, "baseline"),
        _median(row, "side"),
        row["unit"] or "",
        _change(row),
        "; ".join(filter(None, (simulated, row["why"], row["note"]))),
    )


def _where(row: Row) -> str:
    """Return where a row was measured, on both sides if they differ."""
    return " against ".join(
        dict.fromkeys(filter(None, (row["where_side"], row["where_baseline"])))
    )


def _metric(row: Row) -> str:
    others = row["values"] - 1
    return f"{row['metric']} and {others} more" if others else str(row["metric"])


def _median(row: Row, side: str) -> str:
    text = value_text(row[f"median_{side}"])
    if row[f"low_{side}"] is not None:
        text += f" ({range_text(row[f'low_{side}'], row[f'high_{side}'])})"
    return f"{text}, n {row[f'n_{side}']}"


def _change(row: Row) -> str:
    if row["change"] is None:
        return ""
    unit = "%"
    if row["by_difference"]:
        unit = {"%": "points", "1": ""}.get(row["unit"], str(row["unit"]))
    text = f"{signed(row['change'])} {unit}".rstrip()
    if row["verdict"] == NO_DIFFERENCE:
        least = f"{row['detectable']:.2g} {unit}".rstrip()
        return f"{text}; {least} would be detected"
    if row["change_low"] is not None:
        text += f" ({signed(row['change_low'])} to {signed(row['change_high'])})"
    return text


def render(page: Page) -> list[RichTable | Text]:
    """Return the tables of a page for a terminal, and the notes below them."""
    parts: list[RichTable | Text] = []
    for title, (header, *rows) in page.tables.items():
        listed = [
            (Text(verdict, style=_STYLES.get(verdict, "")), *cells)
            for verdict, *cells in rows
        ]
        parts.append(plain(title if rows else f"{title}: nothing to compare"))
        parts += [rich_table(header, listed, widths=_WIDTHS)] if rows else []
    return [*parts, *map(plain, page.notes)]


def as_json(
    comparison: Comparison,
    rows: pl.DataFrame,
    objections: Sequence[str],
    faults: Sequence[str],
) -> str:
    """Return a comparison as a JSON object.

    :param rows: those of its frame that are wanted.
    :param objections: why a gate fails; :param faults: records that could not be used.
    """
    names = ("baseline", "sides", "bootstrapped", "by_chance")
    content = {
        **{name: getattr(comparison, name) for name in names},
        "counts": {verdict: comparison.count(verdict) for verdict in VERDICTS},
        "objections": objections,
        "faults": faults,
        "rows": rows.to_dicts(),
    }
    return json.dumps(content, indent=1, allow_nan=False)
