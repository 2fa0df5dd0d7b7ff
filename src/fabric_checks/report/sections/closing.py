# SPDX-License-Identifier: BSD-3-Clause
"""The last sections: references, what was not measured, and bad records."""

from __future__ import annotations

from dataclasses import replace

from fabric_checks.core import families
from fabric_checks.core.families import tag
from fabric_checks.core.text import count_text, value_text
from fabric_checks.report.blocks import Lines, Section, Table, grouped, number
from fabric_checks.report.findings import not_run
from fabric_checks.report.values import VERDICTS, Results, bounds_text, case_text

_OF_REFERENCES = ("verdict", "case", "metric", "value", "unit", "reference", "source")


def references(results: Results) -> Section | None:
    """Return the values that have a reference, those that missed it first; None if there are none."""
    judged = []
    for value in results.values:
        if value.verdict:
            order = list(VERDICTS.values()).index(value.verdict)
            judged.append((order, value.machine, case_text(value.record), value))
    if not judged:
        return None
    rows = []
    for _, machine, case, value in sorted(judged, key=lambda each: each[:3]):
        source = value.record["reference_source"] or "not given"
        last = replace(number(value), text=value_text(value.last))
        head = (value.verdict, case, value.record["metric"])
        row = (*head, last, value.unit, bounds_text(value.record), source)
        rows.append((machine, row))
    title = "Last values and their references"
    table = Table("references-judged", title, "machine", _OF_REFERENCES, tuple(rows))
    missed = sum(cells[0] != "met" for _, cells in rows)
    state = f"{len(rows) - missed} met, {missed} not"
    return Section(
        "references",
        "References met and missed",
        (table,),
        state=state,
        is_bad=missed > 0,
    )


def not_measured(results: Results) -> Section:
    """Return the families that a machine lacks, the suites and cases that were not run, and bad records."""
    lacking = [("", line) for line in not_run(results.last)]
    having = {(value.machine, value.family) for value in results.values}
    for family in families.KNOWN:
        without = [
            machine for machine in results.machines if (machine, family) not in having
        ]
        if without:
            whom = "" if len(without) == len(results.machines) else ", ".join(without)
            line = f"{family.partition(':')[0]}: `ci/run --tag {tag(family)}`"
            lacking.append((whom, line))
    title = "What was not measured, and how to measure it"
    groups = tuple(sorted(grouped(lacking)))
    blocks = [Lines("not-measured-list", title, groups, "Nothing.")]
    state = count_text(len(lacking), "line") if lacking else "nothing"
    if results.faults:
        bad = (("", results.faults),)
        blocks.append(Lines("faults", "Bad records that were left out", bad))
        state += f", {count_text(len(results.faults), 'bad record')}"
    is_bad = bool(results.faults)
    return Section(
        "not-measured", "Not measured", tuple(blocks), state=state, is_bad=is_bad
    )
