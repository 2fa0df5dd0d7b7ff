# SPDX-License-Identifier: BSD-3-Clause
"""Print the one screen that a run ends with: cases, headline values, problems, and where to find the rest.

It has at most :data:`LINES` lines, whatever was run; lines without room are counted, and `fabric-checks show`
has them, with every value in place of the headlines. A file, as a night's log, has all lines.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.errors import cut
from fabric_checks.core.finding import Severity
from fabric_checks.core.text import count_text, duration_text, first_of, sparkline
from fabric_checks.records.runs import Session
from fabric_checks.report.findings import (
    Problem,
    allocation_text,
    counts_text,
    measured,
    not_run,
    of_severity,
    problems,
    references_text,
    verdict_of,
    where_text,
    would_have_found,
)
from fabric_checks.report.headlines import Cell, Row, Values
from fabric_checks.report.texts import load_text, plain

#: The most lines of a screen.
LINES = 60
#: The width that it is made for; it uses no more, and less if a terminal is narrower.
WIDTH = 100
#: Each machine has a column if that can be so wide, at least and at most; the other columns have the rest.
_COLUMN, _WIDEST, _OTHERS = 14, 24, 52
#: The usual width of the column of programs, which may be twice as wide for a suite with a longer name.
_PROGRAM = 7
#: Problems have several lines each if so many are enough for all; else each has one.
_MOST = 24
#: The most characters of one of these lines before it is wrapped.
_LONGEST = 270

_SIMULATED = "Simulated clusters: no value here is a measurement of a machine."


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run that are not in its records.

    :param elapsed_s: how long it took. :param outputs: (kind, path or command) of its files.
    :param messages: lines that ReFrame printed and that belong to no case.
    """

    elapsed_s: float | None = None
    outputs: tuple[tuple[str, str], ...] = ()
    messages: tuple[str, ...] = ()


def render(
    session: Session,
    info: RunInfo,
    width: int = WIDTH,
    *,
    most: int = LINES,
    every: bool = False,
) -> list[Text | Table]:
    """Return the screen, part by part; each text is one line that is not wider than the screen.

    :param width: of the terminal, in characters; :param most: the lines that it may have.
    :param every: whether it has every curve and value of every machine in place of the headlines.
    """
    width = max(40, min(width, WIDTH))
    values = Values(session.records)
    unbroken = sys.maxsize if every else width  # as a search needs it
    above: list[Text | Table] = [*_head(session, info.elapsed_s, unbroken)]
    below = _problems_and_files(session, info, unbroken, most)
    rows = ([] if every else values.rows()) or values.series()
    # An empty line, the titles and a rule belong to the table.
    room = most - len(above) - len(below) - 4
    fitting = max(1, (width - _OTHERS) // (_COLUMN + 2))
    for first in range(0, len(values.machines) if every else 1, fitting):
        table = _table(
            rows, values.machines, slice(first, first + fitting), room, width
        )
        above += [plain(), table] if table else []
    return [*above, plain(), *below]


def _problems_and_files(
    session: Session, info: RunInfo, width: int, most: int
) -> list[Text]:
    """Return the problems of a run, what else was seen, what was not run, and where to find the rest."""
    outputs = (f"{kind:9}{where}" for kind, where in info.outputs)
    is_whole = most > LINES
    return [
        *_problems(session, info, width, is_whole=is_whole),
        *(_seen(session, width) if is_whole else ()),
        *_not_run(session, width, most),
        plain(),
        *map(plain, _wrapped(width, None, *outputs, indent=9)),
    ]


def _head(session: Session, elapsed_s: float | None, width: int) -> list[Text]:
    """Return how a run went, and where.

    :param elapsed_s: how long it took, None if unknown.
    """
    records, values = session.records, measured(session.records)
    load, is_busy = load_text(records)
    idle = f"; {load}" if load and not is_busy else ""
    held = f"{count_text(len(values), 'value')}; {references_text(records)}"
    is_simulated = any(record.get("evidence") for record in values)
    texts = (
        (is_busy, f"The machine was busy: {load}", None),
        (records, f"on {where_text(records)}{idle}", 3),
        (records, allocation_text(records), 2),
        (values, held, 2),
        (records, would_have_found(records), 2),
        (is_simulated, _SIMULATED, None),
    )
    lines = _wrapped(width, None, _title(session, elapsed_s))
    for is_said, text, most in texts:
        if is_said and text:
            lines += _wrapped(width, most, text)
    return [Text(lines[0], style="bold"), *map(plain, lines[1:])]


def _title(session: Session, elapsed_s: float | None) -> str:
    """Return the verdict on a run, how many cases ran, and how they ended."""
    took = "" if elapsed_s is None else f" after {duration_text(elapsed_s)}"
    counts = counts_text(session.cases)
    ended = "ReFrame was killed" if session.was_killed else counts
    return f"{verdict_of(session).value.capitalize()}: {ended}{took}"


def _table(
    rows: Sequence[Row], everywhere: Sequence[str], part: slice, room: int, width: int
) -> Table | None:
    """Return values in so many lines; None without room or values.

    :param everywhere: the names of machines; :param part: those that have a column.
    """
    machines = everywhere[part]
    rows = [row for row in rows if row.cells.keys() & {*machines}]
    if room < 2 or not rows:
        return None
    column = min(_WIDEST, (width - _OTHERS) // len(machines) - 2)
    lines = _lines(rows, machines, column)
    if len(lines) > room:
        lines = [*lines[: room - 1], [plain(f"and {len(lines) - room + 1} more")]]
    left_out = len(everywhere) - len(machines)
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold",
        width=width,
    )  # fmt: skip
    more = f"({left_out} more machines)" if left_out else ""
    table.add_column(more, ratio=1, no_wrap=True)
    program = max(_PROGRAM, *(min(len(row.program), 2 * _PROGRAM) for row in rows))
    for title, size in (("layout", 6), ("from", program), ("unit", 6)):
        table.add_column(title, width=size, no_wrap=True)
    for name in _short_names(everywhere)[part]:
        table.add_column(plain(name), width=column, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _lines(
    rows: Sequence[Row], machines: Sequence[str], width: int
) -> list[list[Text]]:
    """Return the lines of the table, cell by cell; :param width: of a machine's column."""
    lines: list[list[Text]] = []
    for section, group in groupby(rows, key=lambda row: row.section):
        lines.append([Text(section, style="bold")])
        for row in group:
            cells = [_cell(row.cells.get(machine), width) for machine in machines]
            names = map(plain, (f"  {row.title}", row.layout, row.program, row.unit))
            lines.append([*names, *cells])
    return lines


def _short_names(machines: Sequence[str]) -> list[str]:
    """Return the names of machines without the systems or partitions that all share."""
    shared = os.path.commonprefix(list(machines))  # noqa: RUF071  (names, not paths)
    begin = max(shared.rfind(":"), shared.rfind("+")) + 1
    return [machine[begin:] for machine in machines]


def _cell(cell: Cell | None, width: int) -> Text:
    """Return a value with as much of its curve as there is room for."""
    if cell is None:
        return Text("-", style="dim")
    first, *others = cell.texts
    rest = min(width - len(" ".join(cell.texts)) - 2, 12)
    line = [sparkline(cell.curve, rest)] if cell.curve and rest >= 3 else []
    text = plain(" ".join([first + "!" * cell.missed, *line, *others]))
    text.style = "red" if cell.missed else ""
    return text


def _problems(
    session: Session, info: RunInfo, width: int, *, is_whole: bool
) -> list[Text]:
    """Return the problems of a run, and the messages of ReFrame."""
    found = problems(session)
    if not found and not info.messages:
        has_values = measured(session.records)
        return [plain("Nothing to look at." if has_values else "Nothing was measured.")]
    lines = _problem_lines(found, width, is_whole=is_whole)
    if info.messages:
        messages = (f"  {text}" for text in info.messages)
        lines += ["  messages of ReFrame:", *_wrapped(width, 2, *messages)[:7]]
    return [Text("What to look at", style="bold"), *map(plain, lines)]


def _problem_lines(
    found: Sequence[Problem], width: int, *, is_whole: bool
) -> list[str]:
    """Return problems in lines; on a screen long ones are cut, and many have one line each."""
    parts = [(f"- {each.text}", *each.details) for each in found]
    longest = sys.maxsize if is_whole else _LONGEST  # a remedy is at the end
    texts = [
        cut(text, longest)
        for first, *details in parts
        for text in (first, *(f"  {line}" for line in details))
    ]
    lines = _wrapped(width, None, *texts)
    if len(lines) <= _MOST or is_whole:
        return lines
    short = [_wrapped(width, 1, "; ".join(each))[0] for each in parts]
    return first_of(short, " findings: fabric-checks show has all", _MOST)


def _seen(session: Session, width: int) -> list[Text]:
    """Return what is worth a line of a run and is no problem."""
    lines = _problem_lines(
        of_severity(session.records, Severity.NOTE), width, is_whole=True
    )
    title = Text("What else was seen", style="bold")
    return [plain(), title, *map(plain, lines)] if lines else []


def _not_run(session: Session, width: int, most: int) -> list[Text]:
    """Return what was not run, and why."""
    lines = _wrapped(width - 2, 2, *not_run(session))
    shown = first_of(lines, " lines of reasons", max(6, most - LINES))
    title = Text("Not run", style="bold")
    return [plain(), title, *(plain(f"  {line}") for line in shown)] if lines else []


def _wrapped(width: int, most: int | None, *texts: str, indent: int = 4) -> list[str]:
    """Return texts as lines, each at most so many: one that is cut ends with dots."""
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            plain(text).plain, width, subsequent_indent=" " * indent, break_on_hyphens=False,
            max_lines=most, placeholder=" ...",
        ) or [""]
    ]  # fmt: skip
