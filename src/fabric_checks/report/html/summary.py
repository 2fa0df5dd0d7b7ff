# SPDX-License-Identifier: BSD-3-Clause
"""The first page: which machines, how they did, and what to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric_checks.core.text import value_text
from fabric_checks.report.html.blocks import Cell, Column, Lines, Picture, Section, Table, number
from fabric_checks.report.html.change_points import Changed
from fabric_checks.report.html.curves import by_size, label, picture
from fabric_checks.report.html.drawing import Panel
from fabric_checks.report.html.judged import bounds_text, verdicts
from fabric_checks.report.html.provenance import Provenance
from fabric_checks.report.html.values import Results, Value, case_text, clean
from fabric_checks.report.terminal import key_values
from fabric_checks.report.terminal.key_values import ASKS, SHORT, Row, Values
from fabric_checks.report.terminal.look_at import DESCRIBING

#: The most that is said of a machine on the first page.
_MOST = 4
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
                _look_at(results, changes),
                "Nothing: no case failed, no reference was missed, no node or path is certain to be slow.",
            ),
            *_curves(results, provenance),
            *_at_a_glance(results),
            _machines(results),
        ),
        tuple(_sentences(results)),
    )


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _machines_text(results: Results) -> str:
    """Return how many machines there are; one with several environments is one."""
    bases = {name.partition(", ")[0] for name in results.machines}
    of = len(results.machines)
    return _plural(len(bases), "machine") + (f" in {of} environments" if of > len(bases) else "")


def _sentences(results: Results) -> list[str]:
    simulated = [machine for machine in results.machines if results.simulated(machine)]
    sessions = {session for names in results.sessions.values() for session in names}
    dates = [time for value in results.values for time, _, _ in value.runs if time]
    when = f" between {min(dates):%Y-%m-%d} and {max(dates):%Y-%m-%d}" if dates else ""
    if dates and min(dates).date() == max(dates).date():
        when = f" on {min(dates):%Y-%m-%d}"
    cases, failed = (sum(counts[i] for counts in results.cases.values()) for i in (0, 1))
    lines = [
        f"{_machines_text(results)}, {_plural(len(sessions), 'run')}{when}: "
        f"{_plural(cases, 'case')}, {failed or 'none'} of them failed; {_plural(len(results.values), 'value')}.",
    ]
    judged = sum((verdicts(results, machine) for machine in results.machines), start=verdicts(results, ""))
    if judged:
        total = sum(judged.values())
        words = {"expected miss": "missed as expected"}
        others = ", ".join(f"{count} {words.get(name, name)}" for name, count in judged.items() if name != "met")
        lines.append(f"Of {total} values with a reference {judged['met']} met it{f'; {others}' if others else ''}.")
    else:
        lines.append("No value has a reference: all are recorded, none is judged.")
    if simulated:
        who = (
            "All values here are"
            if len(simulated) == len(results.machines)
            else f"The values of {', '.join(simulated)} are"
        )
        lines.append(
            f"{who} those of simulated clusters, not measurements of machines. Fitted: a parameter was chosen to "
            "reproduce the value. Predicted: it follows from parameters chosen for other values. Said: compared with a "
            "statement in a document. Simulated: no document reports it."
        )
    if results.faults:
        lines.append(f"{_plural(len(results.faults), 'bad record')} or file was left out; see below.")
    return lines


def _look_at(results: Results, changes: Sequence[Changed]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    groups = []
    for machine in results.machines:
        lines = [f"{case}: {text}" for case, kind, text in results.findings.get(machine, ()) if kind not in DESCRIBING]
        lines += _worse([change for change in changes if change.machine == machine and change.is_open])
        missed = [v for v in results.values if v.machine == machine and v.verdict in ("missed", "unexpectedly met")]
        lines += [
            f"{case_text(v.record)}: {clean(v.record['metric'])} is {value_text(v.median)} {v.unit}, "
            f"reference {bounds_text(v)}: {v.verdict}"
            for v in missed
        ]
        with_figures = {case_text(value.record) for value in missed}
        lines += [
            f"failed: {failure.case}: {failure.why}"
            for failure in results.failures
            if failure.machine == machine and not failure.expected and failure.case not in with_figures
        ]
        lines = [line if len(line) < 240 else f"{line[:237]}..." for line in lines]
        if len(lines) > _MOST:
            lines = [*lines[:_MOST], f"and {len(lines) - _MOST} more, in the sections below"]
        if lines:
            groups.append((machine, tuple(lines)))
    if results.faults:
        groups.append(("records", (f"{len(results.faults)} could not be read, see Bad records",)))
    return tuple(groups)


def _worse(changes: Sequence[Changed]) -> list[str]:
    """Return a line for each day on which values became worse."""
    lines = []
    for day in sorted({change.at.date() for change in changes}):
        those = [change for change in changes if change.at.date() == day]
        cases = list(dict.fromkeys(change.case for change in those))
        if len(cases) == 1:
            lines += [change.text for change in those]
        else:
            listed = f"{', '.join(cases[:3])}{' and others' if len(cases) > 3 else ''}"
            lines.append(f"worse since {day}: values of {len(cases)} cases, {listed}; see Over time")
    return lines


def _rows(results: Results) -> list[tuple[str, Row]]:
    """Return the values that people ask for first, by the title of their section."""
    values = Values(
        (
            {**value.record, "parameters": value.parameters, "value": value.median, "value_of": value}
            for value in results.values
        ),
        lambda record: str(record["value_of"].machine),
    )
    return [(title, row) for title, asks in ASKS.items() for row in map(values.row, asks) if row]


def _curves(results: Results, provenance: Provenance) -> list[Picture]:
    """Return the curves of the values that people ask for first."""
    panels = []
    for title, row in _rows(results):
        lines = []
        for machine, cell in row.cells.items():
            if len(cell.curve) > 2 and cell.record is not None:
                of: Value = cell.record["value_of"]
                points = results.of(machine, str(of.record["check"]), of.quantity, of.layout, **of.parameters)
                lines.append(by_size(label(results, machine), points))
        drawn = tuple(line for line in lines if line)
        if drawn:
            name = f"{title}: {row.title.split(',')[0]}, {row.layout}"
            panels.append(Panel(name, drawn, row.unit))
    text = "By message size in bytes. Point at a line, or move along it with the arrow keys, to see its values."
    made = picture("main-curves", "The main curves", text, panels, provenance)
    return [made] if made else []


def _at_a_glance(results: Results) -> list[Table]:
    """Return the values that people ask for first: a row for each, or, of many machines, a row for each of these."""
    rows = _rows(results)
    if not rows:
        return []
    note = (
        "The values people ask for first, each from one program and in one layout for all machines; all others are "
        "below."
    )
    if len(results.machines) <= _COLUMNS:
        listed = tuple(
            (
                f"{title}: {row.title}, {row.layout}",
                (Cell(row.unit), *(_glance(row.cells.get(machine)) for machine in results.machines)),
            )
            for title, row in rows
        )
        heads = (Column("unit"), *map(Column, results.machines))
        return [Table("at-a-glance", "At a glance", "value", heads, listed, (note,))]
    wanted = [(section, ASKS[section][place].title) for _, section, place in SHORT]
    rows = [(title, row) for title, row in rows if (title, row.title) in wanted]
    heads = tuple(Column(f"{title}: {row.title}", f"{row.unit}, {row.layout}") for title, row in rows)
    listed = tuple((machine, tuple(_glance(row.cells.get(machine)) for _, row in rows)) for machine in results.machines)
    return [Table("at-a-glance", "At a glance", "machine", heads, listed, (note,))]


def _glance(cell: key_values.Cell | None) -> Cell:
    if cell is None or cell.record is None:
        return Cell("", missing=True)
    told = number(cell.record["value_of"])
    after = cell.after.strip()
    return replace(
        told, text=f"{cell.before}{' ' if after.startswith('@') else ' .. '}{after}" if after else cell.before
    )


def _machines(results: Results) -> Table:
    rows = []
    for machine in results.machines:
        counts = verdicts(results, machine)
        cases, failed = results.cases.get(machine, (0, 0))
        dates = [time for value in results.values if value.machine == machine for time, _, _ in value.runs if time]
        texts = (
            "simulated" if results.simulated(machine) else "measured",
            f"{max(dates):%Y-%m-%d %H:%M}" if dates else "not known",
            str(len(results.sessions.get(machine, ()))),
            str(cases),
            str(failed),
            f"{counts['met']} of {sum(counts.values())}" if counts else "none",
            str(sum(value.machine == machine for value in results.values)),
        )
        rows.append((machine, tuple(map(Cell, texts))))
    heads = ("kind", "last run (UTC)", "runs", "cases", "failed", "references met", "values")
    return Table("machines", "Machines and runs", "machine", tuple(map(Column, heads)), tuple(rows))
