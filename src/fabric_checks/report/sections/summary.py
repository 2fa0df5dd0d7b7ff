# SPDX-License-Identifier: BSD-3-Clause
"""The summary: machines, verdicts, problems, and headline values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from fabric_checks.comparison.changes import OPEN
from fabric_checks.core.text import clean, count_text, first_of, shortened, value_text
from fabric_checks.report import headlines
from fabric_checks.report.blocks import Cell, Column, Lines, Picture, Section, Table, number
from fabric_checks.report.drawing import Panel
from fabric_checks.report.figures import by_size, label, picture
from fabric_checks.report.findings import DESCRIBING
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections.over_time import Changed
from fabric_checks.report.values import Results, Value, bounds_text, case_text

#: The most lines about a machine.
_MOST = 5
#: So many machines have a column each.
_COLUMNS = 6


def section(results: Results, provenance: Provenance, changes: Sequence[Changed] = ()) -> Section:
    """Return the summary.

    :param changes: of the values over time; those that are for the worse are to be looked at.
    """
    return Section(
        "summary",
        "Summary",
        (
            Lines(
                "look-at",
                "What to look at",
                _findings(results, changes),
                "Nothing: no case failed, no reference was missed, no node or path is certain to be slow.",
            ),
            *_curves(results, provenance),
            *_at_a_glance(results),
            _machines(results),
        ),
        tuple(_sentences(results)),
    )


def _machines_text(results: Results) -> str:
    """Return how many machines there are; one with several environments is one."""
    bases = {name.partition(", ")[0] for name in results.machines}
    of = len(results.machines)
    return count_text(len(bases), "machine") + (f" in {of} environments" if of > len(bases) else "")


def _sentences(results: Results) -> list[str]:
    simulated = [machine for machine in results.machines if results.simulated(machine)]
    sessions = {session for names in results.sessions.values() for session in names}
    dates = [time for value in results.values for time, _, _ in value.runs if time]
    when = f" between {min(dates):%Y-%m-%d} and {max(dates):%Y-%m-%d}" if dates else ""
    if dates and min(dates).date() == max(dates).date():
        when = f" on {min(dates):%Y-%m-%d}"
    cases, failed = (sum(counts[i] for counts in results.cases.values()) for i in (0, 1))
    lines = [
        f"{_machines_text(results)}, {count_text(len(sessions), 'run')}{when}: "
        f"{count_text(cases, 'case')}, {failed or 'none'} of them failed; {count_text(len(results.values), 'value')}.",
    ]
    counts = Counter(value.verdict for value in results.values if value.verdict)
    if counts:
        words = {"expected miss": "missed as expected"}
        others = ", ".join(f"{count} {words.get(name, name)}" for name, count in counts.items() if name != "met")
        lines.append(
            f"Of {counts.total()} values with a reference {counts['met']} met it{f'; {others}' if others else ''}."
        )
    else:
        lines.append("No value has a reference: all are recorded, none is judged.")
    if simulated:
        which = "All values" if len(simulated) == len(results.machines) else f"The values of {', '.join(simulated)}"
        lines.append(
            f"{which} are those of simulated clusters, not measurements of machines. Fitted: a parameter was chosen to "
            "reproduce the value. Predicted: it follows from parameters chosen for other values. Said: compared with a "
            "statement in a document. Simulated: no document reports it."
        )
    if results.faults:
        lines.append(f"{count_text(len(results.faults), 'bad record')} or file was left out; see below.")
    return lines


def _findings(results: Results, changes: Sequence[Changed]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the problems of each machine, the worst first."""
    groups = []
    for machine in results.machines:
        lines = [f"{case}: {text}" for case, kind, text in results.findings.get(machine, ()) if kind not in DESCRIBING]
        lines += [each.text for each in changes if each.machine == machine and each.event.state == OPEN]
        missed = [v for v in results.of_machine(machine) if v.verdict in ("missed", "unexpectedly met")]
        lines += [
            f"{case_text(v.record)}: {clean(v.record['metric'])} is {value_text(v.median)} {v.unit}, "
            f"reference {bounds_text(v)}: {v.verdict}"
            for v in missed
        ]
        with_values = {case_text(value.record) for value in missed}
        lines += [
            f"failed: {failure.case}: {failure.why}"
            for failure in results.failures
            if failure.machine == machine and not failure.expected and failure.case not in with_values
        ]
        if lines:
            shown = first_of([shortened(line, 240) for line in lines], ", in the sections below", _MOST)
            groups.append((machine, tuple(shown)))
    if results.faults:
        groups.append(("records", (f"{len(results.faults)} could not be read, see Bad records",)))
    return tuple(groups)


def _curves(results: Results, provenance: Provenance) -> list[Picture]:
    """Return the curves of the headline values."""
    panels = []
    for row in results.headlines:
        lines = []
        for machine, cell in row.cells.items():
            if len(cell.curve) > 2 and cell.record is not None:
                of: Value = cell.record["value_of"]
                check = str(of.record["check"])
                points = results.of(machine, of.quantity, of.layout, check=check, **of.parameters)
                lines.append(by_size(label(results, machine), points))
        drawn = tuple(line for line in lines if line)
        if drawn:
            name = f"{row.section}: {row.title.split(',')[0]}, {row.layout}"
            panels.append(Panel(name, drawn, row.unit))
    text = "By message size in bytes. Point at a line, or move along it with the arrow keys, to see its values."
    made = picture("main-curves", "The main curves", text, panels, provenance)
    return [made] if made else []


def _at_a_glance(results: Results) -> list[Table]:
    """Return the headline values: a row for each, or, of many machines, a row for each machine."""
    rows = results.headlines
    if not rows:
        return []
    note = "Headline values, each from one program and in one layout for all machines; all others are below."
    if len(results.machines) <= _COLUMNS:
        listed = tuple(
            (
                f"{row.section}: {row.title}, {row.layout}",
                (Cell(row.unit), *(_cell(row.cells.get(machine)) for machine in results.machines)),
            )
            for row in rows
        )
        heads = (Column("unit"), *map(Column, results.machines))
        return [Table("at-a-glance", "At a glance", "value", heads, listed, (note,))]
    short = [row for row in rows if row.short]
    heads = tuple(Column(f"{row.section}: {row.title}", f"{row.unit}, {row.layout}") for row in short)
    listed = tuple((machine, tuple(_cell(row.cells.get(machine)) for row in short)) for machine in results.machines)
    return [Table("at-a-glance", "At a glance", "machine", heads, listed, (note,))]


def _cell(cell: headlines.Cell | None) -> Cell:
    if cell is None or cell.record is None:
        return Cell("", missing=True)
    after = cell.after.strip()
    text = f"{cell.before}{' ' if after.startswith('@') else ' .. '}{after}" if after else cell.before
    return replace(number(cell.record["value_of"]), text=text)


def _machines(results: Results) -> Table:
    rows = []
    for machine in results.machines:
        counts = Counter(value.verdict for value in results.of_machine(machine) if value.verdict)
        cases, failed = results.cases.get(machine, (0, 0))
        dates = [time for value in results.of_machine(machine) for time, _, _ in value.runs if time]
        texts = (
            "simulated" if results.simulated(machine) else "measured",
            f"{max(dates):%Y-%m-%d %H:%M}" if dates else "not known",
            str(len(results.sessions.get(machine, ()))),
            str(cases),
            str(failed),
            f"{counts['met']} of {sum(counts.values())}" if counts else "none",
            str(len(results.of_machine(machine))),
        )
        rows.append((machine, tuple(map(Cell, texts))))
    heads = ("kind", "last run (UTC)", "runs", "cases", "failed", "references met", "values")
    return Table("machines", "Machines and runs", "machine", tuple(map(Column, heads)), tuple(rows))
