# SPDX-License-Identifier: BSD-3-Clause
"""The section of the references: values that met or missed them."""

from __future__ import annotations

from dataclasses import replace

from fabric_checks.core.text import clean, value_text
from fabric_checks.report.blocks import Cell, Column, Section, Table, number
from fabric_checks.report.values import Results, bounds_text, case_text

#: The verdicts, the worst first.
VERDICTS = ("missed", "unexpectedly met", "expected miss", "met")


def references(results: Results) -> Section | None:
    """Return the values that have a reference, those that missed it first; None if there are none."""
    judged = [value for value in results.values if value.verdict]
    judged.sort(
        key=lambda value: (
            VERDICTS.index(value.verdict),
            value.machine,
            case_text(value.record),
        )
    )
    if not judged:
        return None
    rows = []
    for value in judged:
        source = clean(value.record["reference_source"] or "not given")
        case, metric = case_text(value.record), clean(value.record["metric"])
        last = replace(number(value), text=value_text(value.last))
        others = (value.unit, bounds_text(value), source)
        rows.append(
            (
                value.machine,
                (*map(Cell, (value.verdict, case, metric)), last, *map(Cell, others)),
            )
        )
    columns = tuple(
        map(
            Column,
            ("verdict", "case", "metric", "value", "unit", "reference", "source"),
        )
    )
    table = Table(
        "references-judged",
        "Last values and their references",
        "machine",
        columns,
        tuple(rows),
    )
    return Section("references", "References met and missed", (table,))
