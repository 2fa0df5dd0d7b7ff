# SPDX-License-Identifier: BSD-3-Clause
"""The summary: the verdict, the problems of the last runs, headline values, and what else was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import clean, count_text, names_text, signed, sparkline
from fabric_checks.core.verdict import Verdict, verdict
from fabric_checks.records.record import Record
from fabric_checks.report import headlines
from fabric_checks.report.blocks import (
    Cell,
    Lines,
    Section,
    Table,
    grouped,
    number,
    side_by_side,
)
from fabric_checks.report.findings import (
    Problem,
    counts_text,
    of_severity,
    problems,
    references_text,
    verdict_of,
    where_text,
    would_have_found,
)
from fabric_checks.report.sections.over_time import Changed
from fabric_checks.report.texts import load_text
from fabric_checks.report.values import Results, Value

_SIMULATED = (
    "values are those of simulated clusters, not measurements of machines. Fitted: a parameter was chosen to"
    " reproduce the value. Predicted: it follows from parameters chosen for other values. Said: compared with"
    " a statement in a document. Simulated: no document reports it."
)
_NOTE = (
    "Headline values of the last run, each from one program and in one layout for all machines, with the"
    " change from the reference, or else from the run before; all others are below."
)


def section(
    results: Results,
    changes: Sequence[Changed],
    unfinished: Sequence[str],
    opened: Sequence[str],
) -> Section:
    """Return the summary.

    :param changes: of the values over time; those that are for the worse are to be looked at.
    :param unfinished: how last runs ended early, a line each.
    :param opened: the open findings of all nights, and their acknowledgements, a line each.
    """
    found = [
        (machine, _line(each))
        for machine, of in results.latest.items()
        for each in problems(of)
    ]
    news = [(each.machine, each.text) for each in changes if each.is_news]
    look = [*found, *news, *(("open after all nights", line) for line in opened)]
    seen = [
        (machine, _line(each))
        for machine, of in results.latest.items()
        for each in of_severity(of.records, Severity.NOTE)
    ]
    seen += [
        (machine, f"{case.name} failed as expected: {case.reason}")
        for machine, of in results.latest.items()
        for case in of.cases
        if case.result == "xfail"
    ]
    blocks: list[Lines | Table] = (
        [Lines("look-at", "What to look at", grouped(look))] if look else []
    )
    blocks += side_by_side("at-a-glance", "At a glance", _headlines(results), (_NOTE,))
    if seen:
        blocks.append(Lines("seen", "What else was seen", grouped(seen), folded=True))
    word = _verdict(results, news, unfinished)
    text = _counts(results, len(found) + len(news), unfinished)
    return Section(
        "summary",
        "Summary",
        tuple(blocks),
        _sentences(results),
        (word.value, text),
        _facts(results),
    )


def _line(problem: Problem) -> str:
    return clean("; ".join((problem.text, *problem.details)))


def _records(results: Results) -> list[Record]:
    """Return the records of the last run of each case."""
    return [record for session in results.latest.values() for record in session.records]


def _verdict(
    results: Results, news: Sequence[object], unfinished: Sequence[str]
) -> Verdict:
    words = set(map(verdict_of, results.latest.values()))
    return verdict(
        failed=not results.values,
        incomplete=unfinished,
        findings=news or words & {Verdict.FINDINGS, Verdict.FAILED},
        blind=Verdict.BLIND in words,
        busy=Verdict.BUSY in words,
    )


def _counts(results: Results, to_look_at: int, unfinished: Sequence[str]) -> str:
    """Return the counts that the verdict follows from, as a sentence."""
    records = _records(results)
    load, is_busy = load_text(records)
    limits = would_have_found(records)
    parts = [
        load if is_busy else "",
        *unfinished,
        f"{to_look_at} to look at" if to_look_at else "",
        counts_text(
            [case for session in results.latest.values() for case in session.cases]
        ),
        references_text([record for record in records if record["metric"] is not None]),
        limits[:1].lower() + limits[1:],
    ]
    return clean("; ".join(filter(None, parts))) + "."


def _facts(results: Results) -> tuple[tuple[str, str], ...]:
    """Return where the values come from."""
    records = _records(results)
    runs = {name for names in results.runs.values() for name in names}
    dates = [time for value in results.values for time, _, _ in value.runs if time]
    days = (
        dict.fromkeys(f"{time:%Y-%m-%d}" for time in (min(dates), max(dates)))
        if dates
        else ()
    )
    versions = dict.fromkeys(
        clean(record["collection"]) for record in records if record["collection"]
    )
    return (
        ("on", clean(where_text(records))),
        ("runs", f"{len(runs)}, {' to '.join(days)}"),
        ("collection", names_text(list(versions), 2)),
    )


def _sentences(results: Results) -> tuple[str, ...]:
    lines = []
    if simulated := [
        machine for machine in results.machines if results.simulated(machine)
    ]:
        whose = (
            "All"
            if len(simulated) == len(results.machines)
            else f"For {', '.join(simulated)}, the"
        )
        lines.append(f"{whose} {_SIMULATED}")
    if results.faults:
        lines.append(
            f"{count_text(len(results.faults), 'bad record')} or file was left out; see the end."
        )
    return tuple(lines)


def _headlines(results: Results) -> list[tuple[str, dict[str, Cell]]]:
    """Return the headline values, a row each, by machine."""
    return [
        (
            f"{row.section}: {row.title}, {row.layout}{'' if row.unit == '1' else f', {row.unit}'}",
            {machine: _cell(cell) for machine, cell in row.cells.items()},
        )
        for row in results.headlines
    ]


def _cell(cell: headlines.Cell) -> Cell:
    value: Value = cell.record["value_of"]
    found = number(value)
    mark = ", ".join(filter(None, (found.mark, _change(value))))
    return replace(
        found, text=" .. ".join(cell.texts), mark=mark, curve=sparkline(cell.curve, 12)
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
