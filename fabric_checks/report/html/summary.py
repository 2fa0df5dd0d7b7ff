# SPDX-License-Identifier: BSD-3-Clause
"""The first page: which machines, how they did, and what to look at."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.report.html.blocks import Cell, Column, Lines, Section, Table, column_of
from fabric_checks.report.html.change_points import Changed
from fabric_checks.report.html.judged import DESCRIBING, bounds_text, verdicts
from fabric_checks.report.html.rotate import largest, pattern_of
from fabric_checks.report.html.tables import BETWEEN, WITHIN, Ask, answer
from fabric_checks.report.html.values import Results, Value, case_text, clean
from fabric_checks.text import value_text

#: The most that is said of a machine on the first page.
_MOST = 4

_AT_A_GLANCE = (
    Ask("zero-byte latency", "us", "Streaming", "zero_byte_latency_ping_pong", BETWEEN),
    Ask("message rate, 8 B", "Mmsg/s", "Streaming", "message_rate_8B", BETWEEN),
    Ask("peak bandwidth", "MB/s", "Streaming", "peak_bandwidth_streaming", BETWEEN),
    Ask("both directions", "MB/s", "Streaming", "peak_bandwidth_exchange", BETWEEN),
    Ask("latency within a node", "us", "Streaming", "zero_byte_latency_ping_pong", WITHIN),
)


def section(results: Results, changes: Sequence[Changed] = ()) -> Section:
    """Return the summary.

    :param changes: of the figures over time; those that are for the worse are to be looked at.
    """
    return Section(
        "summary",
        "Summary",
        (
            Lines(
                "look-at",
                "What to look at",
                _look_at(results, changes),
                "Nothing: no case failed, no reference was missed, no node or path is slow for certain.",
            ),
            _at_a_glance(results),
            _machines(results),
        ),
        tuple(_sentences(results)),
    )


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _sentences(results: Results) -> list[str]:
    simulated = [machine for machine in results.machines if results.simulated(machine)]
    sessions = {session for names in results.sessions.values() for session in names}
    dates = [time for value in results.values for time, _, _ in value.runs if time]
    when = f" between {min(dates):%Y-%m-%d} and {max(dates):%Y-%m-%d}" if dates else ""
    if dates and min(dates).date() == max(dates).date():
        when = f" on {min(dates):%Y-%m-%d}"
    cases, failed = (sum(counts[i] for counts in results.cases.values()) for i in (0, 1))
    lines = [
        f"{_plural(len(results.machines), 'machine')}, {_plural(len(sessions), 'run')}{when}: "
        f"{_plural(cases, 'case')}, {failed or 'none'} of them failed; {_plural(len(results.values), 'figure')}.",
    ]
    judged = sum((verdicts(results, machine) for machine in results.machines), start=verdicts(results, ""))
    if judged:
        total = sum(judged.values())
        words = {"expected miss": "missed as expected"}
        others = ", ".join(f"{count} {words.get(name, name)}" for name, count in judged.items() if name != "met")
        lines.append(f"Of {total} figures with a reference {judged['met']} met it{f'; {others}' if others else ''}.")
    else:
        lines.append("No figure has a reference: all are recorded, none is judged.")
    if simulated:
        who = (
            "All figures here are"
            if len(simulated) == len(results.machines)
            else f"The figures of {', '.join(simulated)} are"
        )
        lines.append(
            f"{who} those of simulated clusters, no measurements of machines. Fitted: a parameter was chosen "
            "so that the figure comes out. Predicted: it follows from what was chosen for others. Said: held to words "
            "of a document. Simulated: no document tells."
        )
    if results.faults:
        lines.append(f"{_plural(len(results.faults), 'bad record')} or file was left out, see below.")
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
    """Return a line for each day on which figures became worse."""
    lines = []
    for day in sorted({change.at.date() for change in changes}):
        those = [change for change in changes if change.at.date() == day]
        cases = list(dict.fromkeys(change.case for change in those))
        if len(cases) == 1:
            lines += [change.text for change in those]
        else:
            listed = f"{', '.join(cases[:3])}{' and others' if len(cases) > 3 else ''}"
            lines.append(f"worse since {day}: figures of {len(cases)} cases, {listed}; see Over time")
    return lines


def _at_a_glance(results: Results) -> Table:
    columns: list[tuple[Column, list[Value | None]]] = [
        (Column(ask.title, ask.unit), [answer(results, machine, ask) for machine in results.machines])
        for ask in _AT_A_GLANCE
    ]
    worst: list[Value | None] = []
    for machine in results.machines:
        pattern = pattern_of(results, machine)
        layout = largest(results, machine, pattern)
        found = results.of(machine, "Rotate", "slowest_to_median", layout, pattern=pattern) if layout else []
        worst.append(next(iter(found), None))
    columns.append((Column("slowest pair to median, all pairs at once", "%"), worst))
    cells = [column_of(values) for _, values in columns]
    rows = tuple((machine, tuple(column[i] for column in cells)) for i, machine in enumerate(results.machines))
    note = "Between two nodes where nothing else is said; the best of a column is bold and has a star."
    return Table("at-a-glance", "At a glance", "machine", tuple(head for head, _ in columns), rows, (note,))


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
    heads = ("kind", "last run (UTC)", "runs", "cases", "failed", "references met", "figures")
    return Table("machines", "Machines and runs", "machine", tuple(map(Column, heads)), tuple(rows))
