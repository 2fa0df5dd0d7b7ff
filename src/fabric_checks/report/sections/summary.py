# SPDX-License-Identifier: BSD-3-Clause
"""The summary: machines, verdicts, problems, and headline values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fabric_checks.core.finding import Severity, same_cause
from fabric_checks.core.text import clean, count_text, first_of, names_text, shortened, signed, value_text
from fabric_checks.core.verdict import verdict
from fabric_checks.report import headlines
from fabric_checks.report.blocks import Cell, Column, Lines, Picture, Section, Table, number
from fabric_checks.report.figures import by_size, label, picture
from fabric_checks.report.findings import would_have_found
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.sections.over_time import Changed
from fabric_checks.report.svg_panels import Panel
from fabric_checks.report.texts import load_text, mpi_text
from fabric_checks.report.values import Results, Seen, Value, bounds_text, case_text

#: The most lines about a machine.
_MOST = 5
#: So many machines have a column each.
_COLUMNS = 6


def section(
    results: Results, provenance: Provenance, changes: Sequence[Changed] = (), unfinished: Sequence[str] = ()
) -> Section:
    """Return the summary: verdict, identity, problems, headline values, and then pictures.

    :param changes: of the values over time; those that are for the worse are to be looked at.
    :param unfinished: how last runs ended early, a line each.
    """
    problems = _problems(results, changes)
    groups = tuple(
        (subject, tuple(first_of([shortened(line, 240) for line in lines], ", in the sections below", _MOST)))
        for subject, lines in problems.items()
    )
    blocks: list[Lines | Table | Picture] = [Lines("look-at", "What to look at", groups)] if groups else []
    blocks += [*_at_a_glance(results), *_curves(results, provenance)]
    if len(results.machines) > 1:
        blocks.append(_machines(results))
    verdict = _verdict(results, sum(map(len, problems.values())), unfinished)
    return Section(
        "summary", "Summary", tuple(blocks), tuple(_sentences(results)), verdict, _identity(results)
    )


def _verdict(results: Results, findings: int, unfinished: Sequence[str]) -> tuple[str, str]:
    """Return the verdict on all results in a word, and the counts that it follows from.

    :param findings: how many problems there are. :param unfinished: see :func:`section`.
    """
    cases, failed = (sum(counts[i] for counts in results.cases.values()) for i in (0, 1))
    counts = Counter(value.verdict for value in results.values if value.verdict)
    load, is_busy = load_text(value.record for value in _latest(results))
    misses = {"expected miss": "missed as expected"}
    others = "".join(f", {count} {misses.get(name, name)}" for name, count in counts.items() if name != "met")
    judged = f"{counts['met']} of {count_text(counts.total(), 'reference')} met{others}"
    parts = [
        *([load] if is_busy else []),
        *unfinished,
        *([f"{findings} to look at"] if findings else []),
        *_would_have_found(results),
        f"{count_text(cases, 'case')}, {failed or 'none'} of them failed",
        judged if counts else "no value has a reference: all are recorded, none is judged",
    ]
    word = verdict(failed=not results.values, incomplete=unfinished, findings=findings, busy=is_busy)
    return word.value, "; ".join(parts) + "."


def _would_have_found(results: Results) -> list[str]:
    """Return what the last runs would have found, as a part of a sentence; nothing if that is unknown."""
    text = would_have_found([value.record for value in _latest(results)])
    return [text[0].lower() + text[1:]] if text else []


def _latest(results: Results) -> list[Value]:
    """Return the values of the last run of each machine."""
    last = {machine: names[-1] for machine, names in results.sessions.items() if names}
    return [value for value in results.values if value.runs[-1][1] == last.get(value.machine)]


def _identity(results: Results) -> tuple[tuple[str, str], ...]:
    """Return where the values come from: machines, nodes, MPIs, dates, the commit, and the load of the
    hosts."""
    latest = _latest(results)
    records = [value.record for value in latest]
    nodes = list(dict.fromkeys(node for record in records for node in record["nodelist"]))
    several = f"{count_text(len(nodes), 'node')}: " if len(nodes) > 1 else ""
    mpis = dict.fromkeys(map(mpi_text, _each_once(records, "mpi")))
    facts = (
        ("machines", _machines_text(results) if len(results.machines) > 1 else ""),
        ("nodes", several + names_text(nodes, 4) if nodes else ""),
        ("MPI", names_text(list(mpis), 4)),
        ("runs", _runs_text(results)),
        ("collection", names_text(_each_once(records, "collection"), 2)),
        ("load", load_text(records)[0].removeprefix("load ").partition(":")[0]),
    )
    return tuple((label, text) for label, text in facts if text)


def _each_once(records: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(clean(record[name]) for record in records if record[name]))


def _runs_text(results: Results) -> str:
    """Return how many runs there are, and of which days."""
    dates = [time for value in results.values for time, _, _ in value.runs if time]
    sessions = {session for names in results.sessions.values() for session in names}
    if not dates:
        return f"{len(sessions)}"
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(dates), max(dates)))
    return f"{len(sessions)}, {' to '.join(days)}"


def _machines_text(results: Results) -> str:
    """Return how many machines there are; one with several environments is one."""
    bases = {name.partition(", ")[0] for name in results.machines}
    of = len(results.machines)
    return count_text(len(bases), "machine") + (f" in {of} environments" if of > len(bases) else "")


def _sentences(results: Results) -> list[str]:
    simulated = [machine for machine in results.machines if results.simulated(machine)]
    lines = []
    if simulated:
        which = (
            "All values"
            if len(simulated) == len(results.machines)
            else f"The values of {', '.join(simulated)}"
        )
        lines.append(
            f"{which} are those of simulated clusters, not measurements of machines. Fitted: a parameter was"
            " chosen to reproduce the value. Predicted: it follows from parameters chosen for other values."
            " Said: compared with a statement in a document. Simulated: no document reports it."
        )
    if results.faults:
        lines.append(f"{count_text(len(results.faults), 'bad record')} or file was left out; see below.")
    return lines


def _problems(results: Results, changes: Sequence[Changed]) -> dict[str, list[str]]:
    """Return the problems of each machine, the worst first."""
    found = {}
    for machine in results.machines:
        by_severity = _by_severity(results.findings.get(machine, ()))
        missed = [v for v in results.of_machine(machine) if v.verdict in ("missed", "unexpectedly met")]
        lines = [
            *by_severity[Severity.FAULT],
            *(each.text for each in changes if each.machine == machine and each.is_news),
            *map(_miss, missed),
            *_failed(results, machine, {case_text(value.record) for value in missed}),
            *by_severity[Severity.SUSPECT],
        ]
        if lines:
            found[machine] = lines
    if results.faults:
        found["records"] = [f"{len(results.faults)} could not be read, see Bad records"]
    return found


def _by_severity(findings: Sequence[Seen]) -> dict[Severity, list[str]]:
    """Return a line for each finding, by its key, with the cases that have it."""
    lines: dict[Severity, list[str]] = {severity: [] for severity in Severity}
    cases: dict[tuple[Severity, str], list[Seen]] = {}
    for seen in findings:
        cases.setdefault((seen.severity, seen.key), []).append(seen)
    for (severity, _), same in cases.items():
        lines[severity].append(f"{same[0].text} (seen by {names_text([seen.case for seen in same])})")
    return lines


def _miss(value: Value) -> str:
    is_now = f"{clean(value.record['metric'])} is {value_text(value.last)} {value.unit}"
    return f"{case_text(value.record)}: {is_now}, reference {bounds_text(value)}: {value.verdict}"


def _failed(results: Results, machine: str, explained: Collection[str]) -> list[str]:
    """Return the failures of a machine, a line for each cause; :param explained: cases that missed a
    reference."""
    failed = [each for each in results.failures if each.machine == machine and not each.expected]
    reasons = {each.case: each.why for each in failed if each.case not in explained}
    return [f"failed: {names_text(cases, 3)}: {reasons[cases[0]]}" for cases in same_cause(reasons)]


def _curves(results: Results, provenance: Provenance) -> list[Picture]:
    """Return the curves of the headline values."""
    panels = []
    for row in results.headlines:
        lines = []
        for machine, cell in row.cells.items():
            if cell.curve:
                of: Value = cell.record["value_of"]
                check = str(of.record["check"])
                points = results.of(machine, of.quantity, of.layout, check=check, **of.parameters)
                lines.append(by_size(label(results, machine), points))
        drawn = tuple(line for line in lines if line)
        if drawn:
            name = f"{row.section}: {row.title.split(',')[0]}, {row.layout}"
            panels.append(Panel(name, drawn, row.unit))
    text = (
        "By message size in bytes. Point at a line, or move along it with the arrow keys, to see its values."
    )
    made = picture("main-curves", "The main curves", text, panels, provenance)
    return [made] if made else []


def _at_a_glance(results: Results) -> list[Table]:
    """Return the headline values: a row for each, or, of many machines, a row for each machine."""
    rows = results.headlines
    if not rows:
        return []
    note = (
        "Headline values of the last run, each from one program and in one layout for all machines, with the"
        " change from the reference, or else from the run before; all others are below."
    )
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
    listed = tuple(
        (machine, tuple(_cell(row.cells.get(machine)) for row in short)) for machine in results.machines
    )
    return [Table("at-a-glance", "At a glance", "machine", heads, listed, (note,))]


def _cell(cell: headlines.Cell | None) -> Cell:
    if cell is None:
        return Cell("", missing=True)
    value: Value = cell.record["value_of"]
    found = number(value)
    return replace(
        found, text=" .. ".join(cell.texts), mark=", ".join(filter(None, (found.mark, _change(value))))
    )


def _change(value: Value) -> str:
    """Return by how much the last run differs from the reference, or else from the run before; empty without
    them."""
    if value.verdict:
        before, of = float(value.record["reference"]), "of the reference"
    elif len(value.runs) > 1:
        when, _, before = value.runs[-2]
        of = f"since the run of {when:%Y-%m-%d}" if when else "since the run before"
    else:
        return ""
    if value.record["can_be_zero"] or not before:
        return f"{signed(value.last - before)} {'points' if value.unit == '%' else value.unit} {of}"
    return f"{signed(100 * (value.last / before - 1))} % {of}"


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
