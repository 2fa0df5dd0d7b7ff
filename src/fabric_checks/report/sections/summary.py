# SPDX-License-Identifier: BSD-3-Clause
"""The summary: the verdict, the problems of the last runs, headline values, and what else was seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from fabric_checks.comparison.changes import LEAST_PERCENT
from fabric_checks.core.finding import Severity
from fabric_checks.core.text import (
    count_text,
    message_size_text,
    names_text,
    signed,
    sparkline,
    value_text,
)
from fabric_checks.core.verdict import Verdict, verdict
from fabric_checks.records.runs import Session
from fabric_checks.report import headlines
from fabric_checks.report.blocks import (
    Cell,
    Lines,
    Section,
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
from fabric_checks.report.values import Results, Value, bounds_text

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
    found = [("", _line(each)) for each in problems(results.last)]
    found += [(each.machine, each.text) for each in changes if each.is_news]
    nights = [("open after all nights", line) for line in opened]
    seen = grouped(("", line) for line in _seen(results.last))
    lists = (
        Lines("look-at", "What to look at", grouped([*found, *nights])),
        Lines("seen", "What else was seen", seen, folded=True),
    )
    look, others = ([each] if each.groups else [] for each in lists)
    rows = [_row(row) for row in results.headlines]
    tables = side_by_side("at-a-glance", "At a glance", rows, (_NOTE,))
    has_news = any(each.is_news for each in changes)
    return Section(
        "summary",
        "Summary",
        (*look, *tables, *others),
        tuple(_sentences(results)),
        (
            _verdict(results, has_news, unfinished).value,
            _counts(results.last, len(found), unfinished),
        ),
        _facts(results),
    )


def _line(problem: Problem) -> str:
    return "; ".join((problem.text, *problem.details))


def _seen(last: Session) -> Iterator[str]:
    """Yield what is worth a line of a run and is no problem."""
    yield from map(_line, of_severity(last.records, Severity.NOTE))
    for case in last.cases:
        if case.result == "xfail":
            yield f"{case.name} failed as expected: {case.reason}"


def _verdict(results: Results, has_news: object, unfinished: Sequence[str]) -> Verdict:
    word = verdict_of(results.last)
    return verdict(
        failed=not results.values,
        incomplete=unfinished,
        findings=has_news or word in (Verdict.FINDINGS, Verdict.FAILED),
        blind=word is Verdict.BLIND,
        busy=word is Verdict.BUSY,
    )


def _counts(last: Session, to_look_at: int, unfinished: Sequence[str]) -> str:
    """Return the counts that the verdict follows from, as a sentence."""
    load, is_busy = load_text(last.records)
    limits = would_have_found(last.records)
    parts = (
        load if is_busy else "",
        *unfinished,
        f"{to_look_at} to look at" if to_look_at else "",
        counts_text(last.cases),
        references_text(last.records),
        limits[:1].lower() + limits[1:],
    )
    return "; ".join(filter(None, parts)) + "."


def _facts(results: Results) -> tuple[tuple[str, str], ...]:
    """Return where the values come from."""
    records = results.last.records
    first = (("this run", results.session),) if results.session else ()
    runs = {name for names in results.runs.values() for name in names}
    dates = sorted(
        time for value in results.values for time, _, _ in value.runs if time
    )
    days = dict.fromkeys(f"{time:%Y-%m-%d}" for time in (*dates[:1], *dates[-1:]))
    versions = dict.fromkeys(record["collection"] for record in records)
    return (
        *first,
        ("on", where_text(records)),
        ("all runs" if first else "runs", f"{len(runs)}, {' to '.join(days)}"),
        ("collection", names_text(list(filter(None, versions)), 2)),
    )


def _sentences(results: Results) -> Iterator[str]:
    simulated = list(filter(results.simulated, results.machines))
    if simulated:
        is_all = len(simulated) == len(results.machines)
        whose = "All" if is_all else f"For {', '.join(simulated)}, the"
        yield f"{whose} {_SIMULATED}"
    most = max((len(value.runs) for value in results.values), default=1)
    if most > 1:
        yield f"Values in figures and tables of families are medians of up to {most} runs."
    if results.faults:
        count = count_text(len(results.faults), "bad record")
        yield f"{count} or file was left out; see the end."


def _row(row: headlines.Row) -> tuple[str, dict[str, Cell]]:
    """Return a headline value: its name, and its cells by machine."""
    unit = "" if row.unit == "1" else f", {row.unit}"
    cells = {machine: _cell(cell) for machine, cell in row.cells.items()}
    return f"{row.section}: {row.title}, {row.layout}{unit}", cells


def _cell(cell: headlines.Cell) -> Cell:
    """Return a headline value with what it is compared with; of two sizes each value has its own."""
    values: list[Value] = [record["value_of"] for record in cell.records]
    compared = [_compared(value) for value in values]
    before, change = (
        ", ".join(dict.fromkeys(filter(None, texts)))
        for texts in zip(*(each[:2] for each in compared), strict=True)
    )
    trends = [trend for *_, trend in compared]
    texts: Sequence[str] = cell.texts
    if len(values) > 1:
        texts = [
            f"{value_text(value.last)} at {message_size_text(value.size_B or 0)}"
            for value in values
        ]
    return replace(
        number(values[0]),
        text=", ".join(texts),
        curve=sparkline(cell.curve, 12),
        before=before,
        change=change,
        trend="worse" if "worse" in trends else max(trends),
    )


def _compared(value: Value) -> tuple[str, str, str]:
    """Return the reference of a value, or else its run before, the change of the last run from it, and
    whether that is ``better`` or ``worse``; empty texts without them."""
    if value.verdict:
        before, text = float(value.record["reference"]), bounds_text(value.record)
    elif len(value.runs) > 1:
        when, _, before = value.runs[-2]
        text = f"{value_text(before)}{_when_text(when, value.runs[-1][0])}"
    else:
        return "", "", ""
    change = value.last - before
    percent = 100 * change / abs(before) if before else 0.0
    shown = f"{signed(round(percent, 1))} %"
    if value.record["can_be_zero"] or not before:
        shown = f"{signed(change)} {'points' if value.unit == '%' else value.unit}"
    return text, shown, _trend(value, percent)


def _when_text(when: datetime | None, last: datetime | None) -> str:
    """Return the day of a run, and its time where it was on the day of the last."""
    if when is None:
        return ""
    is_same_day = last is not None and last.date() == when.date()
    return f" on {when:%Y-%m-%d %H:%M} UTC" if is_same_day else f" on {when:%Y-%m-%d}"


def _trend(value: Value, percent: float) -> str:
    """Return whether a change is for the better or the worse.

    What is small, or allowed by its reference, is not worse.
    """
    if abs(percent) < LEAST_PERCENT:
        return ""
    if (percent > 0) == (value.record["better"] == "larger"):
        return "better"
    return "" if value.verdict == "met" else "worse"
