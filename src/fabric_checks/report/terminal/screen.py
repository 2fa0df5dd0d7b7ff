# SPDX-License-Identifier: BSD-3-Clause
"""Print the one screen that a run ends with: cases, headline values, problems, and where to find the rest.

It has at most :data:`LINES` lines, whatever was run; lines without room are counted, and `fabric-checks show`
has them. A file, as a night's log, has all of them.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import count_text, duration_text, first_of, sparkline
from fabric_checks.records.runs import Session
from fabric_checks.report.findings import (
    Problem,
    counts_text,
    not_run,
    problems,
    references_text,
    verdict_of,
    where_text,
    would_have_found,
)
from fabric_checks.report.headlines import Cell, Values
from fabric_checks.report.texts import load_text, plain

#: The most lines of a screen.
LINES = 60
#: The width that it is made for; it uses no more, and less if a terminal is narrower.
WIDTH = 100
#: Each machine has a column if that can be so wide, at least and at most; the other columns have the rest.
_COLUMN, _WIDEST, _OTHERS = 14, 24, 52
#: Problems have so many lines each if so many are enough for all; else each has one.
_LINES_EACH, _MOST = 6, 24


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
    session: Session, info: RunInfo, width: int = WIDTH, *, most: int = LINES
) -> list[Text | Table]:
    """Return the screen, part by part; each text is one line that is not wider than the screen.

    :param width: of the terminal, in characters; :param most: the lines that it may have.
    """
    width = max(40, min(width, WIDTH))
    values = Values(session.records)
    first, *head = _head(session, info, values, width)
    below = [
        *_problems(session, info, width, is_whole=most > LINES),
        *_not_run(session, width, most),
        plain(),
        *(
            plain(line)
            for kind, where in info.outputs
            for line in _wrapped(f"{kind:9}{where}", width, 9)
        ),
    ]
    above: list[Text | Table] = [Text(first, style="bold"), *map(plain, head)]
    # An empty line, the titles and a rule belong to the table.
    table = _table(values, most - len(above) - len(below) - 4, width)
    if table:
        above += [plain(), table]
    return [*above, plain(), *below]


def _head(session: Session, info: RunInfo, values: Values, width: int) -> list[str]:
    """Return how the run went, and where."""
    measured = [record for record in session.records if record["metric"] is not None]
    lines = _wrapped(
        f"{verdict_of(session).value.capitalize()}: {_title(session, info)}", width, 4
    )
    load, is_busy = load_text(session.records)
    if is_busy:
        lines += _wrapped(f"The machine was busy: {load}", width, 4)
    if values.machines:
        idle = f"; {load}" if load and not is_busy else ""
        lines += _wrapped(f"on {where_text(session.records)}{idle}", width, 4, 3)
    if measured:
        lines += _wrapped(
            f"{count_text(len(measured), 'value')}; {references_text(measured)}",
            width,
            4,
            2,
        )
    if limits := would_have_found(session.records):
        lines += _wrapped(limits, width, 4, 2)
    if any(record.get("evidence") for record in measured):
        lines += _wrapped(
            "Simulated clusters: no value here is a measurement of a machine.", width, 4
        )
    return lines


def _title(session: Session, info: RunInfo) -> str:
    """Return how many cases ran, and how they ended."""
    took = (
        f" after {duration_text(info.elapsed_s)}" if info.elapsed_s is not None else ""
    )
    return f"{'ReFrame was killed' if session.was_killed else counts_text(session.cases)}{took}"


def _table(values: Values, room: int, width: int) -> Table | None:
    """Return the headline values, or else all, in so many lines; None without room or values.

    Each machine has a column, as far as there is room.
    """
    rows = values.rows() or values.series()
    if room < 2 or not rows:
        return None
    machines = values.machines[: max(1, (width - _OTHERS) // (_COLUMN + 2))]
    column = min(_WIDEST, (width - _OTHERS) // len(machines) - 2)
    lines = []
    for section, group in groupby(rows, key=lambda row: row.section):
        lines.append([Text(section, style="bold")])
        for row in group:
            cells = (_cell(row.cells.get(machine), column) for machine in machines)
            lines.append(
                [
                    *map(plain, (f"  {row.title}", row.layout, row.program, row.unit)),
                    *cells,
                ]
            )
    if len(lines) > room:
        lines = [*lines[: room - 1], [plain(f"and {len(lines) - room + 1} more")]]
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    table.width = width
    left_out = len(values.machines) - len(machines)
    table.add_column(
        f"({left_out} more machines)" if left_out else "", ratio=1, no_wrap=True
    )
    for title, size in (("layout", 6), ("from", 7), ("unit", 6)):
        table.add_column(title, width=size, no_wrap=True)
    for name in _short_names(values.machines)[: len(machines)]:
        table.add_column(plain(name), width=column, overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


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
    style = "red" if cell.missed else ""
    return Text(
        plain(" ".join([first + "!" * cell.missed, *line, *others])).plain, style=style
    )


def _problems(
    session: Session, info: RunInfo, width: int, *, is_whole: bool
) -> list[Text]:
    """Return the problems of a run, and the messages of ReFrame."""
    found = problems(session, is_whole=is_whole)
    if not found and not info.messages:
        measured = any(record["metric"] for record in session.records)
        return [plain("Nothing to look at." if measured else "Nothing was measured.")]
    lines = [
        line for each in found for line in _problem(each, width, is_whole=is_whole)
    ]
    if len(lines) > _MOST and not is_whole:
        lines = [
            _wrapped("; ".join((f"- {each.text}", *each.details)), width, 4, 1)[0]
            for each in found
        ]
        lines = first_of(lines, " findings: fabric-checks show has all", _MOST)
    if info.messages:
        shown = [
            line
            for text in info.messages
            for line in _wrapped(f"  {text}", width, 4, 2)
        ]
        lines += ["  messages of ReFrame:", *shown[:7]]
    return [Text("What to look at", style="bold"), *map(plain, lines)]


def _problem(problem: Problem, width: int, *, is_whole: bool) -> list[str]:
    """Return a problem in lines, on a screen not all of them."""
    texts = [f"- {problem.text}", *(f"  {detail}" for detail in problem.details)]
    lines = [line for text in texts for line in _wrapped(text, width, 4, 3)]
    return lines if is_whole else lines[:_LINES_EACH]


def _not_run(session: Session, width: int, most: int) -> list[Text]:
    """Return what was not run, and why."""
    lines = [
        line for text in not_run(session) for line in _wrapped(text, width - 2, 4, 2)
    ]
    if not lines:
        return []
    shown = first_of(lines, " lines of reasons", max(6, most - LINES))
    return [
        plain(),
        Text("Not run", style="bold"),
        *(plain(f"  {line}") for line in shown),
    ]


def _wrapped(text: str, width: int, indent: int, most: int | None = None) -> list[str]:
    """Return a text as lines, at most so many: a text that is cut ends with dots."""
    return textwrap.wrap(
        plain(text).plain, width, subsequent_indent=" " * indent, break_on_hyphens=False, max_lines=most,
        placeholder=" ...",
    ) or [""]  # fmt: skip
