# SPDX-License-Identifier: BSD-3-Clause
"""Print all metrics of a session as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import size_text, test_text, value_text
from fabric_checks.records.record import Record, case_name
from fabric_checks.records.runs import Session
from fabric_checks.report.findings import measured, of_severity
from fabric_checks.report.terminal import screen
from fabric_checks.report.texts import Footnotes, plain, rich_table
from fabric_checks.report.values import bounds_text, is_judged


def reference_text(record: Record, notes: Footnotes) -> str:
    """Return the reference of a value and its verdict; of a simulation first the kind of the value."""
    source = record.get("reference_source")
    text = "no reference"  # other collections' checks give no reason
    if record["no_reference"]:
        text += f": {notes.mark(record['no_reference'])}"
    elif is_judged(record):
        mark = f" {notes.mark(source)}" if source else ""
        text = f"{record['result']}: {bounds_text(record)}{mark}"
    return f"{record['evidence']}; {text}" if record.get("evidence") else text


_HEADER = (
    "system",
    "test",
    "layout",
    "metric",
    "value (of a curve: size in B, then value)",
    "unit",
    "reference",
)
#: A reason stays on one line, as a search needs it: a terminal folds it.
_UNBROKEN = 10_000
_WIDTHS = (16, 26, 6, 30, None, 12, 22)


def table(records: Sequence[Record], notes: Footnotes) -> Table:
    """Return all metrics of all cases; the points of a curve that share their reference's text share a
    row."""
    rows: list[tuple[object, ...]] = []
    for _, group in groupby(records, key=case_name):
        case = list(group)
        of = case[0]
        head: tuple[object, ...] = (
            plain(f"{of['system']}:{of['partition']}", of["environ"]),
            plain(test_text(of["check"], of["parameters"]), f"({of['program']})"),
            of["layout"],
        )
        for row in _rows(case, notes):
            rows.append((*head, *row))
            head = ("", "", "")
    return rich_table(_HEADER, rows, widths=_WIDTHS)


def _rows(
    case: Iterable[Record], notes: Footnotes
) -> Iterable[tuple[str, str, str, str]]:
    """Yield (metric, value, unit, reference); scalars as they are, curves folded."""

    def row(record: Record) -> tuple[str, str, str]:
        name = record["metric"] if record["size_B"] is None else record["quantity"]
        return name, record["unit"], reference_text(record, notes)

    for (name, unit, reference), group in groupby(case, key=row):
        points = list(group)
        if len(points) > 1:
            values = (
                f"{size_text(point['size_B'] or 0)}:{value_text(point['value'])}"
                for point in points
            )
            yield name, " ".join(values), unit, reference
        else:
            yield points[0]["metric"], value_text(points[0]["value"]), unit, reference


def render(session: Session) -> list[Table | Text]:
    """Return the summary, part by part: all metrics, what else was seen, how the run went, and its
    problems."""
    notes, values = Footnotes(), measured(session.records)
    parts: list[Table | Text] = [table(values, notes)] if values else []
    parts += map(plain, notes.lines())
    seen = of_severity(session.records, Severity.NOTE)
    if seen:
        parts.append(Text("What else was seen", style="bold"))
    for each in seen:
        parts += map(plain, (f"- {each.text}", *(f"  {line}" for line in each.details)))
    above = screen.head(session, width=_UNBROKEN)
    below = screen.problems_and_files(session, screen.RunInfo(), _UNBROKEN)
    return [*parts, plain(), *above, plain(), *below]
