# SPDX-License-Identifier: BSD-3-Clause
"""Print all metrics of a session as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import (
    count_text,
    range_text,
    size_text,
    test_text,
    value_text,
)
from fabric_checks.records.record import Record, bounds, case_name
from fabric_checks.records.runs import Session
from fabric_checks.report.findings import (
    Problem,
    counts_text,
    not_run,
    of_severity,
    problems,
    would_have_found,
)
from fabric_checks.report.texts import Footnotes, load_text, plain, rich_table


def reference_text(record: Record, notes: Footnotes) -> str:
    """Return the reference of a value and its verdict; of a simulation first the kind of the value."""
    evidence = f"{record['evidence']}; " if record.get("evidence") else ""
    reference = record["reference"]
    if record["no_reference"]:
        return f"{evidence}no reference: {notes.mark(record['no_reference'])}"
    if reference is None:
        return f"{evidence}no reference"  # other collections' checks give no reason
    within = range_text(*bounds(record)) or "without bounds"
    source = (
        f" {notes.mark(record['reference_source'])}"
        if record.get("reference_source")
        else ""
    )
    return f"{evidence}{record['result']}: {value_text(reference)}, {within}{source}"


_HEADER = (
    "system",
    "test",
    "layout",
    "metric",
    "value (of a curve: size in B, then value)",
    "unit",
    "reference",
)
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
    """Return the summary, part by part: metrics, notes, problems, what else was seen, and what was not
    run."""
    notes = Footnotes()
    load, is_busy = load_text(session.records)
    parts: list[Table | Text] = (
        [plain(f"The machine was busy: {load}")] if is_busy else []
    )
    measured = [record for record in session.records if record["metric"] is not None]
    if measured:
        parts.append(table(measured, notes))
    parts += map(plain, notes.lines())
    if limits := would_have_found(session.records):
        parts.append(plain(limits))
    seen = of_severity(session.records, Severity.NOTE)
    lists = {
        "What to look at": _lines(problems(session, is_whole=True)),
        "What else was seen": _lines(seen),
    }
    for title, lines in (lists | {"Not run": not_run(session)}).items():
        if lines:
            parts += [
                plain(),
                plain(f"{title}:"),
                *(plain(f"  {line}") for line in lines),
            ]
    records = count_text(len(session.records), "record")
    return [*parts, plain(), plain(f"{counts_text(session.cases)}; {records}.")]


def _lines(found: Iterable[Problem]) -> list[str]:
    return [
        line
        for each in found
        for line in (each.text, *(f"  {detail}" for detail in each.details))
    ]
