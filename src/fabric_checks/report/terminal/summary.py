# SPDX-License-Identifier: BSD-3-Clause
"""Print all metrics of a session as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import count_text, range_text, size_text, test_text, value_text
from fabric_checks.records.record import Record, bounds, case_name, is_success
from fabric_checks.records.runs import Session
from fabric_checks.report.findings import Problem, not_run, of_severity, problems, would_have_found
from fabric_checks.report.texts import Footnotes, load_text, plain


def reference_text(record: Record, notes: Footnotes) -> str:
    """Return the reference of a value and its verdict; of a simulation first the kind of the value."""
    evidence = f"{record['evidence']}; " if record.get("evidence") else ""
    reference = record["reference"]
    if record["no_reference"]:
        return f"{evidence}no reference: {notes.mark(record['no_reference'])}"
    if reference is None:
        return f"{evidence}no reference"  # other collections' checks give no reason
    within = range_text(*bounds(record)) or "without bounds"
    source = f" {notes.mark(record['reference_source'])}" if record.get("reference_source") else ""
    return f"{evidence}{record['result']}: {value_text(reference)}, {within}{source}"


def table(records: Sequence[Record], notes: Footnotes) -> Table:
    """Return all metrics of all cases; the points of a curve that share their reference's text share a
    row."""
    out = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True, header_style="bold")
    for title, width in (("system", 16), ("test", 26), ("layout", 6), ("metric", 30)):
        out.add_column(title, max_width=width, overflow="fold")
    out.add_column(
        "value (of a curve: message size in B, then value)", ratio=1, min_width=24, overflow="fold"
    )
    out.add_column("unit", max_width=12, overflow="fold")
    out.add_column("reference", max_width=22, overflow="fold")
    for _, group in groupby(records, key=case_name):
        case = list(group)
        out.add_section()
        of = case[0]
        head = [
            plain(f"{of['system']}:{of['partition']}", of["environ"]),
            plain(test_text(of["check"], of["parameters"]), f"({of['program']})"),
            plain(of["layout"]),
        ]
        for row in _rows(case, notes):
            out.add_row(*head, *map(plain, row))
            head = [plain("")] * 3
    return out


def _rows(case: Iterable[Record], notes: Footnotes) -> Iterable[tuple[str, str, str, str]]:
    """Yield (metric, value, unit, reference); scalars as they are, curves folded."""

    def of_curve(record: Record) -> tuple[str, str, bool]:
        return record["quantity"], record["unit"], record["size_B"] is not None

    for (_, unit, on_curve), group in groupby(case, key=of_curve):
        points = list(group)
        for reference, same in groupby(points, key=lambda record: reference_text(record, notes)):
            listed = list(same)
            if on_curve and len(listed) > 1:
                values = " ".join(
                    f"{size_text(record['size_B'])}:{value_text(record['value'])}" for record in listed
                )
                yield listed[0]["quantity"], values, unit, reference
            else:
                yield from (
                    (record["metric"], value_text(record["value"]), unit, reference) for record in listed
                )


def render(session: Session) -> list[Table | Text]:
    """Return the summary, part by part: metrics, notes, problems, what else was seen, and what was not
    run."""
    notes = Footnotes()
    load, is_busy = load_text(session.records)
    parts: list[Table | Text] = [plain(f"The machine was busy: {load}")] if is_busy else []
    measured = [record for record in session.records if record["metric"] is not None]
    if measured:
        parts.append(table(measured, notes))
    parts += map(plain, notes.lines())
    if limits := would_have_found(session.records):
        parts.append(plain(limits))
    seen = of_severity(session.records, Severity.NOTE)
    lists = {"What to look at": _lines(problems(session, is_whole=True)), "What else was seen": _lines(seen)}
    for title, lines in (lists | {"Not run": not_run(session)}).items():
        if lines:
            parts += [plain(), plain(f"{title}:"), *(plain(f"  {line}") for line in lines)]
    cases = [case for case in session.cases if not case.fixture and case.result != "skip"]
    passed = sum(is_success(case.result) for case in cases)
    records = count_text(len(session.records), "record")
    return [*parts, plain(), plain(f"{count_text(len(cases), 'case')} ran, {passed} passed; {records}.")]


def _lines(found: Iterable[Problem]) -> list[str]:
    return [line for each in found for line in (each.text, *(f"  {detail}" for detail in each.details))]
