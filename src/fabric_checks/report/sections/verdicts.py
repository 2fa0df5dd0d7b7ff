# SPDX-License-Identifier: BSD-3-Clause
"""Sections of verdicts: references met and missed, findings, failures, and bad records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import clean, value_text
from fabric_checks.report.blocks import Cell, Column, Lines, Section, Table, grouped, number
from fabric_checks.report.values import Results, Value, bounds_text, case_text

#: The verdicts, the worst first.
VERDICTS = ("missed", "unexpectedly met", "expected miss", "met")


def references(results: Results) -> Section | None:
    """Return the values that have a reference, those that missed it first; None if there are none."""
    judged = [value for value in results.values if value.verdict]
    judged.sort(key=lambda value: (VERDICTS.index(value.verdict), value.machine, case_text(value.record)))
    if not judged:
        return None
    columns = tuple(map(Column, ("verdict", "case", "metric", "value", "unit", "reference", "source")))
    rows = tuple((value.machine, _cells(value)) for value in judged)
    table = Table("references-judged", "Values compared with their references", "machine", columns, rows)
    return Section(
        "references", "References met and missed", (table,), ("The last run of each value is judged.",)
    )


def _cells(value: Value) -> tuple[Cell, ...]:
    record = value.record
    source = clean(record["reference_source"] or "not given")
    case, metric = Cell(case_text(record)), Cell(clean(record["metric"]))
    judged = replace(number(value), text=value_text(value.last))
    return (
        Cell(value.verdict),
        case,
        metric,
        judged,
        Cell(value.unit),
        Cell(bounds_text(value)),
        Cell(source),
    )


def findings(results: Results, opened: Sequence[str] = ()) -> Section | None:
    """Return the findings of the analysis: first those that blame, then those that describe; None without
    any.

    :param opened: the open findings of all nights, and their acknowledgements, a line each.
    """
    blaming: list[tuple[str, str]] = []
    describing: list[tuple[str, str]] = []
    for machine in results.machines:
        for seen in results.findings.get(machine, ()):
            line = (machine, f"{seen.case}: {seen.text}")
            (describing if seen.severity is Severity.NOTE else blaming).append(line)
    if not (blaming or describing or opened):
        return None
    nothing = "Nothing is blamed: no node or path is certain to be slow."
    blocks = [Lines("findings-faults", "What is slow", grouped(blaming), nothing)]
    if opened:
        blocks.append(Lines("findings-open", "Open after all nights", (("", tuple(map(clean, opened))),)))
    blocks.append(Lines("findings-notes", "What else was seen", grouped(describing), "Nothing.", folded=True))
    return Section("findings", "Findings", tuple(blocks))


def failures(results: Results) -> Section | None:
    """Return the cases that failed; None without any."""
    if not results.failures:
        return None
    failed: list[tuple[str, str]] = []
    expected: list[tuple[str, str]] = []
    for each in results.failures:
        when = f" ({each.when:%Y-%m-%d})" if each.when else ""
        (expected if each.expected else failed).append((each.machine, f"{each.case}{when}: {each.why}"))
    blocks = (
        Lines("failed-cases", "Failed cases", grouped(failed), "No case failed."),
        Lines("expected-failures", "Failed as expected", grouped(expected), "None.", folded=True),
    )
    return Section("failed", "Failed", blocks)


def faults(results: Results) -> Section | None:
    """Return the records that could not be read, None without any."""
    if not results.faults:
        return None
    return Section(
        "bad-records", "Bad records", (Lines("faults", "What was left out", (("", results.faults),)),)
    )
