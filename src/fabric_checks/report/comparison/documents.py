# SPDX-License-Identifier: BSD-3-Clause
"""Write a comparison as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from fabric_checks.comparison.compare import Comparison
from fabric_checks.comparison.verdicts import VERDICTS
from fabric_checks.core.text import clean, csv_text, markdown
from fabric_checks.report.comparison.table import Page

_TEMPLATE = Path(__file__).with_name("table.html.jinja")


def as_json(comparison: Comparison, rows: pl.DataFrame, objections: Sequence[str], faults: Sequence[str]) -> str:
    """Return a comparison as a JSON object.

    :param rows: those of its frame that are wanted.
    :param objections: why a gate fails; :param faults: records that could not be used.
    """
    content: dict[str, Any] = {
        "baseline": comparison.baseline,
        "sides": list(comparison.sides),
        "confidence": comparison.confidence,
        "repeatable": comparison.repeatable,
        "counts": {verdict: comparison.count(verdict) for verdict in VERDICTS},
        "bootstrapped": comparison.bootstrapped,
        "by_chance": comparison.by_chance,
        "objections": list(objections),
        "faults": list(faults),
        "rows": rows.to_dicts(),
    }
    return json.dumps(content, indent=1, allow_nan=False)


def as_csv(rows: pl.DataFrame) -> str:
    """Return rows of a comparison as CSV."""
    return csv_text(rows.columns, rows.iter_rows())


def as_markdown(page: Page) -> str:
    """Return a page as Markdown; nothing in a cell is taken for markup."""
    lines = []
    for table in page.tables:
        lines += [f"### {markdown(table.title)}", ""]
        lines += [_row(table.header), _row(("---",) * len(table.header), escape=False)]
        lines += [_row(row) for row in table.rows]
        lines.append("")
    lines += [f"- {markdown(line)}" for line in (*page.notes, *page.counts)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(markdown(cell) if escape else cell for cell in cells) + " |"


def as_html(page: Page, title: str) -> str:
    """Return a page as one HTML file that needs nothing else."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(_TEMPLATE.read_text()).render(page=page, title=clean(title))
