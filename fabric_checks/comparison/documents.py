# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from fabric_checks.comparison.analysis import Comparison
from fabric_checks.comparison.table import Page, one_line
from fabric_checks.comparison.verdicts import VERDICTS

_TEMPLATE = Path(__file__).with_name("table.html.jinja")


def as_json(comparison: Comparison, rows: pl.DataFrame, objections: Sequence[str], faults: Sequence[str]) -> str:
    """Return a comparison as a JSON object.

    :param rows: those of its frame that are wanted.
    :param objections: why a gate does not let it pass; :param faults: records that could not be used.
    """
    content: dict[str, Any] = {
        "baseline": comparison.baseline,
        "sides": list(comparison.sides),
        "confidence": comparison.confidence,
        "repeatable": comparison.repeatable,
        "counts": {verdict: comparison.count(verdict) for verdict in VERDICTS},
        "drawn": comparison.drawn,
        "by_chance": comparison.by_chance,
        "objections": list(objections),
        "faults": list(faults),
        "rows": rows.to_dicts(),
    }
    return json.dumps(content, indent=1, allow_nan=False)


def as_csv(rows: pl.DataFrame, cell: Callable[[object], object]) -> str:
    """Return rows of a comparison as CSV.

    :param cell: makes a value fit for a cell, so that no spreadsheet takes it for a formula.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(rows.columns)
    writer.writerows([cell(value) for value in row] for row in rows.iter_rows())
    return out.getvalue()


def as_markdown(page: Page) -> str:
    """Return a page as Markdown; nothing in a cell is taken for markup."""
    lines = []
    for table in page.tables:
        lines += [f"### {_escaped(table.title)}", ""]
        lines += [_row(table.header), _row(("---",) * len(table.header), escape=False)]
        lines += [_row(row) for row in table.rows]
        lines.append("")
    lines += [f"- {_escaped(line)}" for line in (*page.notes, *page.counts)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(_escaped(cell) if escape else cell for cell in cells) + " |"


def _escaped(text: str) -> str:
    # Every character of ASCII punctuation may stand behind a backslash: CommonMark 0.31, section 2.4. An address would
    # become a link by itself, so its colon is an entity.
    return re.sub(r"([\\`*_{}\[\]()#+!|<>&~$@-])", r"\\\1", text).replace("://", "&#58;//")


def as_html(page: Page, title: str) -> str:
    """Return a page as one HTML file that needs nothing else."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return environment.from_string(_TEMPLATE.read_text()).render(page=page, title=one_line(title))
