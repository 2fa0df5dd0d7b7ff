# SPDX-License-Identifier: BSD-3-Clause
"""What was held to references, what failed, what was found, what was not run, and what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fabric_checks.core.text import range_text, value_text
from fabric_checks.records.record import bounds
from fabric_checks.report.html.blocks import Cell, Column, Lines, Section, Table, number
from fabric_checks.report.html.values import Results, Value, case_text, clean
from fabric_checks.report.terminal.look_at import DESCRIBING

VERDICTS = ("met", "missed", "expected miss", "unexpectedly met")


def verdicts(results: Results, machine: str) -> Counter[str]:
    """Return how many values of a machine met their reference, missed it, ..."""
    return Counter(value.verdict for value in results.values if value.machine == machine and value.verdict)


def bounds_text(value: Value) -> str:
    """Return the reference of a value and its bounds, in the value's unit; empty without one."""
    record = value.record
    if value.derived or record["reference"] is None or record["no_reference"]:
        return ""
    within = range_text(*bounds(record))
    return value_text(float(record["reference"])) + (f" ({within})" if within else "")


def references(results: Results) -> Section:
    """Return how many values of each machine met their references, and those that did not."""
    rows = []
    for machine in results.machines:
        counts = verdicts(results, machine)
        recorded = sum(value.machine == machine for value in results.values) - sum(counts.values())
        rows.append((machine, tuple(Cell(str(n)) for n in (*(counts[name] for name in VERDICTS), recorded))))
    heads = (*(Column(name) for name in VERDICTS), Column("no reference"))
    blocks = [Table("references-count", "Values compared with their references", "machine", heads, tuple(rows))]
    for key, title, wanted in (
        ("missed", "References missed", ("missed", "unexpectedly met")),
        ("expected", "References missed as expected", ("expected miss",)),
        ("met", "References met", ("met",)),
    ):
        found = [value for value in results.values if value.verdict in wanted]
        found.sort(key=lambda value: (value.machine, case_text(value.record)))
        if found:
            lines = tuple((value.machine, _judged(value)) for value in found)
            columns = ("case", "metric", "value", "unit", "reference", "source")
            blocks.append(Table(f"references-{key}", title, "machine", tuple(map(Column, columns)), lines))
    return Section("references", "References met and missed", tuple(blocks), ("The last run of each value is judged.",))


def _judged(value: Value) -> tuple[Cell, ...]:
    record = value.record
    source = clean(record["reference_source"] or "not given")
    return (
        Cell(case_text(record)),
        Cell(clean(record["metric"])),
        number(value),
        Cell(value.unit),
        Cell(bounds_text(value)),
        Cell(source),
    )


def findings(results: Results, opened: Sequence[str] = ()) -> Section:
    """Return what the analysis says: first what it blames, then what it describes.

    :param opened: what is open after all nights, and who has acknowledged it, a line each.
    """
    blamed: list[tuple[str, tuple[str, ...]]] = []
    described: list[tuple[str, tuple[str, ...]]] = []
    for machine in results.machines:
        lines = results.findings.get(machine, ())
        for kinds, groups in ((False, blamed), (True, described)):
            chosen = tuple(f"{case}: {text}" for case, kind, text in lines if (kind in DESCRIBING) is kinds)
            if chosen:
                groups.append((machine, chosen))
    return Section(
        "findings",
        "Findings",
        (
            Lines(
                "findings-faults",
                "What is slow",
                tuple(blamed),
                "Nothing is blamed: no node or path is certain to be slow.",
            ),
            *((Lines("findings-open", "Open after all nights", (("", tuple(map(clean, opened))),)),) if opened else ()),
            Lines("findings-notes", "What else was seen", tuple(described), "Nothing.", folded=True),
        ),
    )


def failures(results: Results) -> Section:
    """Return the cases that failed."""
    failed: dict[str, list[str]] = {}
    expected: dict[str, list[str]] = {}
    for failure in results.failures:
        when = f" ({failure.when:%Y-%m-%d})" if failure.when else ""
        groups = expected if failure.expected else failed
        groups.setdefault(failure.machine, []).append(f"{failure.case}{when}: {failure.why}")

    def grouped(groups: dict[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((machine, tuple(lines)) for machine, lines in groups.items())

    return Section(
        "failed",
        "Failed",
        (
            Lines("failed-cases", "Failed cases", grouped(failed), "No case failed."),
            Lines("expected-failures", "Failed as expected", grouped(expected), "None.", folded=True),
        ),
    )


def faults(results: Results) -> Section | None:
    """Return the records that could not be read, None without any."""
    if not results.faults:
        return None
    return Section(
        "bad-records",
        "Bad records",
        (Lines("faults", "What was left out", (("", results.faults),)),),
    )
