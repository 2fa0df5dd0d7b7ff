# SPDX-License-Identifier: BSD-3-Clause
"""The table of a session's metrics, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import one_line, range_text, size_text, test_text, value_text
from fabric_checks.records import runs
from fabric_checks.records.record import Record, bounds, case_name, is_success
from fabric_checks.records.runs import Case, Session
from fabric_checks.report.terminal import ppn_table


@dataclass
class Footnotes:
    """Reasons that many rows share, numbered in order of appearance."""

    reasons: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """Return the mark of a reason, such as ``[1]``."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"[{self.reasons.index(reason) + 1}]"


def reference_text(record: Record, notes: Footnotes) -> str:
    """Return what a value was held to, and how that ended; of a simulation first what kind of value it is."""
    evidence = f"{record['evidence']}; " if record.get("evidence") else ""
    reference = record["reference"]
    if record["no_reference"]:
        return f"{evidence}no reference: {notes.mark(record['no_reference'])}"
    if reference is None:
        return f"{evidence}no reference"  # of a check that is not ours, which need not say why
    within = range_text(*bounds(record)) or "without bounds"
    source = f" {notes.mark(record['reference_source'])}" if record.get("reference_source") else ""
    return f"{evidence}{record['result']}: {value_text(reference)}, {within}{source}"


def plain(*lines: object) -> Text:
    """Return lines of untrusted text for the terminal: no markup is read from one, and none becomes two."""
    return Text("\n".join(one_line(str(line)) for line in lines))


def table(records: Sequence[Record], notes: Footnotes) -> Table:
    """Return all metrics of all cases; the points of a curve that share their reference's text share a row."""
    out = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True, header_style="bold")
    for title, width in (("system", 16), ("test", 26), ("layout", 6), ("metric", 30)):
        out.add_column(title, max_width=width, overflow="fold")
    out.add_column("value (of a curve: message size in B, then value)", ratio=1, min_width=24, overflow="fold")
    out.add_column("unit", max_width=12, overflow="fold")
    out.add_column("reference", max_width=22, overflow="fold")
    measured = [record for record in records if record["metric"] is not None and not ppn_table.is_comparison(record)]
    for _, group in groupby(measured, key=case_name):
        case = list(group)
        out.add_section()
        for position, (metric, value, unit, reference) in enumerate(_rows(case, notes)):
            first = position == 0
            record = case[0]
            out.add_row(
                plain(*place_lines(record) if first else ""),
                plain(*_test_lines(record) if first else ""),
                plain(record["layout"] if first else ""),
                plain(metric),
                plain(value),
                plain(unit),
                plain(reference),
            )
    return out


def place_lines(record: Record) -> tuple[str, str]:
    """Return where a record is from, as two lines of a cell."""
    return f"{record['system']}:{record['partition']}", str(record["environ"])


def _test_lines(record: Record) -> tuple[str, str]:
    return test_text(record["check"], record["parameters"]), f"({record['program']})"


def _rows(case: Iterable[Record], notes: Footnotes) -> list[tuple[str, str, str, str]]:
    """Return (metric, value, unit, reference) rows; scalars as they are, curves folded."""
    rows: list[tuple[str, str, str, str]] = []
    for (quantity, unit, on_curve, reference), points in groupby(
        case,
        key=lambda record: (
            record["quantity"],
            record["unit"],
            record["size_B"] is not None,
            reference_text(record, notes),
        ),
    ):
        listed = list(points)
        if not on_curve:
            rows += [(record["metric"], value_text(record["value"]), unit, reference) for record in listed]
            continue
        if len(listed) == 1:
            values = value_text(listed[0]["value"])
        else:
            values = " ".join(f"{size_text(record['size_B'])}:{value_text(record['value'])}" for record in listed)
        rows.append((quantity if len(listed) > 1 else listed[0]["metric"], values, unit, reference))
    return rows


def _not_offered(records: Iterable[Record]) -> list[str]:
    """Return a line for each suite that an environment of the session does not have."""
    lines = [
        f"{suite} in {record['environ']}: {why}"
        for record in records
        for suite, why in (record["not_offered"] or {}).items()
    ]
    return list(dict.fromkeys(lines))


def _findings(records: Iterable[Record]) -> list[str]:
    """Return what the analysis says of each case: its name, and below it a line for each finding."""
    by_case: dict[str, dict[str, None]] = {}
    for record in records:
        texts = [f"  {finding['text']}" for finding in record.get("findings") or ()]
        if texts:
            by_case.setdefault(case_name(record), {}).update(dict.fromkeys(texts))
    return [line for case, texts in by_case.items() for line in (case, *texts)]


def _why(case: Case) -> list[str]:
    """Return why a case failed; the text of a reason of several lines stays below it."""
    if case.result == "fail_deps":
        return ["was not run: something it depends on failed; see there"]
    return f"in {case.phase}: {case.reason}".split("\n")


def render(session: Session) -> list[Table | Text]:
    """Return the whole summary, part by part: metrics, notes, what was not run, failures, and a count of cases."""
    notes = Footnotes()
    parts: list[Table | Text] = []
    compared = [record for record in session.records if ppn_table.is_comparison(record)]
    if any(record["metric"] is not None and not ppn_table.is_comparison(record) for record in session.records):
        parts.append(table(session.records, notes))
    if compared:
        parts.append(
            ppn_table.table(compared, plain, place_lines, _test_lines, lambda record: reference_text(record, notes))
        )
        parts.append(plain(ppn_table.NOTE))
    parts += [plain(f"[{number}] {reason}") for number, reason in enumerate(notes.reasons, 1)]
    findings = _findings(session.records)
    if findings:
        parts += [plain(), plain("Findings:"), *(plain(f"  {line}") for line in findings)]
    not_offered = _not_offered(session.records)
    if not_offered:
        parts += [plain(), plain("Not run:"), *(plain(f"  {line}") for line in not_offered)]
    failed = runs.failed(session)
    if failed:
        parts += [plain(), plain("Failed:")]
        for case in failed:
            parts += [plain(f"  {case.name}"), *(plain(f"    {line}") for line in _why(case))]
    cases = [case for case in session.cases if not case.fixture]
    passed = sum(is_success(case.result) for case in cases)
    parts += [plain(), plain(f"{len(cases)} cases ran, {passed} passed; {len(session.records)} records.")]
    parts += [
        plain(f"warning: passed only when rerun: {case.name}")
        for case in session.cases
        if case.failed_before and case not in failed
    ]
    parts += [plain(f"warning: {line}") for line in session.unreadable]
    parts += [plain(f"error: {fault}") for fault in runs.other_faults(session)]
    return parts
