# SPDX-License-Identifier: BSD-3-Clause
"""A comparison of sets of results as tables for a terminal, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.table import Table as RichTable
from rich.text import Text

from fabric_checks.comparison import verdicts
from fabric_checks.comparison.compare import Comparison, aggregate
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
    sizes_text,
    test_text,
    value_text,
)
from fabric_checks.report.texts import Footnotes, plain, rich_table

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
    :param notes: the meaning of the marks in the tables, and lines that count the verdicts.
    """

    tables: Mapping[str, Sequence[tuple[str, ...]]]
    notes: tuple[str, ...]


def page(comparison: Comparison, chosen: pl.DataFrame) -> Page:
    """Return a comparison as texts: a row for all values that agree, and a line for tests that a side never
    ran.

    :param chosen: its rows, see :func:`fabric_checks.comparison.compare.select`.
    """
    notes = Footnotes()
    # A case that failed is missing as well, but somebody has to know.
    never_ran = (pl.col("verdict") == verdicts.MISSING) & pl.all_horizontal(
        pl.col("^failed_.*$").is_null()
    )
    lines = [*_missing(comparison, chosen.filter(never_ran)), *counts(comparison)]
    rows = aggregate(chosen.filter(~never_ran))
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
        cells = [_cells(row, notes, has_place=bool(places)) for row in own]
        tables[title] = [header, *cells]
    return Page(tables, (*notes.lines(), *lines))


def _missing(comparison: Comparison, rows: pl.DataFrame) -> list[str]:
    """Return how many tests each set lacks, a line each.

    :param rows: those of tests that one side never ran.
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
            f"too few runs: fewer than {MIN_RUNS} on a side show no spread; if values are known to repeat"
            " within, for example, 5 %, --repeatable 5 judges by that"
        )
    return lines


def _cells(row: Row, notes: Footnotes, *, has_place: bool) -> tuple[str, ...]:
    marks = [
        notes.mark(text) if len(text) > 24 else text
        for text in (row["why"], row["note"])
        if text
    ]
    return (
        row["verdict"],
        test_text(row["check"], row["parameters"])
        + (f" ({_where(row)})" if has_place else ""),
        row["layout"],
        _metric(row),
        _medians(row, "baseline"),
        _medians(row, "side"),
        row["unit"] or "",
        _change(row),
        " ".join(["simulated"] * bool(row["simulated"]) + marks),
    )


def _where(row: Row) -> str:
    """Return where a row was measured, on both sides if they differ."""
    return " against ".join(
        dict.fromkeys(filter(None, (row["where_side"], row["where_baseline"])))
    )


def _metric(row: Row) -> str:
    metrics = [metric for metric in row["metrics"] if metric is not None]
    if not metrics:
        return "all"
    if len(metrics) == 1:
        return str(metrics[0])
    if row["quantity"] is None:
        return f"{len(metrics)} metrics"
    return ", ".join(filter(None, (row["quantity"], sizes_text(row["sizes_B"]))))


def _medians(row: Row, side: str) -> str:
    least, most = row[f"n_{side}_min"], row[f"n_{side}_max"]
    if least is None:
        return ""
    runs, is_one = f"n {_span(least, most, str)}", len(row["metrics"]) == 1
    if row["unit"] is None or (row["quantity"] is None and not is_one):
        return runs  # values of several kinds have no range
    value = _span(row[f"median_{side}_min"], row[f"median_{side}_max"])
    if is_one and row[f"low_{side}_min"] is not None:
        value += f" ({range_text(row[f'low_{side}_min'], row[f'high_{side}_max'])})"
    return f"{value}, {runs}"


def _change(row: Row) -> str:
    if row["change_min"] is None:
        return ""
    unit = {None: "%", "%": "points"}.get(row["change_unit"], row["change_unit"])
    text = f"{_span(row['change_min'], row['change_max'], signed)} {unit}"
    if row["verdict"] == NO_DIFFERENCE and row["detectable_max"] is not None:
        return f"{text}; {row['detectable_max']:.2g} {unit} would be detected"
    if len(row["metrics"]) == 1 and row["change_low_min"] is not None:
        low, high = signed(row["change_low_min"]), signed(row["change_high_max"])
        text += f" ({low} to {high})"
    return text


def _span(low: float, high: float, text: Callable[[float], str] = value_text) -> str:
    """Return two values as a range, or as one if they are printed alike."""
    return " .. ".join(dict.fromkeys((text(low), text(high))))


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
