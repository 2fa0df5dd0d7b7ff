# SPDX-License-Identifier: BSD-3-Clause
"""Print the one screen that a run ends with: cases, headline values, problems, and where to find the rest.

It has at most :data:`LINES` lines, whatever was run; lines without room are counted, and `fabric-checks show`
has them. A file, as a night's log, has all of them.
"""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import count_text, duration_text, first_of, names_text, sparkline, test_text
from fabric_checks.core.verdict import Verdict
from fabric_checks.records import runs
from fabric_checks.records.record import Record, is_success
from fabric_checks.records.runs import Case, Session
from fabric_checks.report.findings import Problem, case_text, not_run, problems, verdict_of, would_have_found
from fabric_checks.report.headlines import WITHIN, Cell, Row, Values, program_text
from fabric_checks.report.texts import load_text, mpi_text, plain

#: The most lines of a screen.
LINES = 60
#: The width that it is made for; it uses no more, and less if a terminal is narrower.
WIDTH = 100
#: Each machine has a column if that can be this wide.
_COLUMN = 14
#: A run with so few lines of headline values has other values listed, up to so many.
_FEW, _ROWS = 8, 24
#: The most lines that are kept for findings.
_FINDINGS = 16


@dataclass(frozen=True)
class RunInfo:
    """Facts about a run that are not in its records.

    :param elapsed_s: how long it took. :param outputs: (kind, path or command) of its files.
    :param messages: lines that ReFrame printed and that belong to no case.
    """

    elapsed_s: float | None = None
    outputs: tuple[tuple[str, str], ...] = ()
    messages: tuple[str, ...] = ()


def render(session: Session, info: RunInfo, width: int = WIDTH, *, most: int = LINES) -> list[Text | Table]:
    """Return the screen, part by part; each text is one line that is not wider than the screen.

    :param width: of the terminal, in characters; :param most: the lines that it may have.
    """
    width = max(40, min(width, WIDTH))
    values = Values(session.records)
    head = _head(session, info, values, width)
    outputs = [line for kind, where in info.outputs for line in _wrapped(f"{kind:9}{where}", width, 9)]
    left_out = [line for text in not_run(session) for line in _wrapped(text, width - 2, 4, 2)]
    found = problems(session)
    # An empty line separates parts; the least important part is cut first.
    room = most - len(head) - len(outputs) - 2 - (min(len(left_out), 6) + 2 if left_out else 0)
    table, used = _table(values, room - _kept(found, width), width)
    parts: list[Text | Table] = [Text(head[0], style="bold"), *map(plain, head[1:])]
    if table is not None:
        parts += [plain(), table]
    parts += [plain(), *_findings(found, room - used - 2, width, session, info)]
    if left_out:
        shown = first_of(left_out, " lines of reasons", max(6, most - LINES))
        parts += [plain(), Text("Not run", style="bold"), *(plain(f"  {line}") for line in shown)]
    return [*parts, plain(), *map(plain, outputs)]


def _kept(found: Sequence[Problem], width: int) -> int:
    """Return the lines that are kept for problems: failed cases are always shown."""
    if not found:
        return 2
    wanted = [len(_finding(problem, width)) for problem in found]
    failed = sum(lines for lines, problem in zip(wanted, found, strict=True) if problem.failed)
    return min(sum(wanted), max(_FINDINGS, failed + 6)) + 2


def _head(session: Session, info: RunInfo, values: Values, width: int) -> list[str]:
    """Return how the run went, and where."""
    measured = [record for record in session.records if record["metric"] is not None]
    lines = _first_lines(session, info, width)
    if values.machines:
        load, is_busy = load_text(session.records)
        where = _where(session.records, values.machines) + ("" if is_busy or not load else f"; {load}")
        lines += _wrapped(f"on {where}", width, 4, 3)
    if measured:
        lines += _wrapped(_references(measured), width, 4, 2)
    if limits := would_have_found(session.records):
        lines += _wrapped(limits, width, 4, 2)
    if any(record.get("evidence") for record in measured):
        lines += _wrapped("Simulated clusters: no value here is a measurement of a machine.", width, 4)
    return lines


def _first_lines(session: Session, info: RunInfo, width: int) -> list[str]:
    """Return the verdict with what decides it, and what else there is to say first."""
    verdict, title = verdict_of(session), _title(session, info)
    load, is_busy = load_text(session.records)
    if verdict is Verdict.BUSY:
        return [*_wrapped(f"Busy: {load}", width, 4), title]
    busy = [f"the machine was busy: {load}"] if is_busy else []
    return [*_wrapped(f"{verdict.value.capitalize()}: {title}", width, 4), *busy]


def _title(session: Session, info: RunInfo) -> str:
    """Return how many cases ran, and how they ended."""
    took = f" in {duration_text(info.elapsed_s)}" if info.elapsed_s is not None else ""
    if session.report is None and session.records and not session.archived:
        ended = len({case_text(record) for record in session.records})
        return f"ReFrame was killed: {count_text(ended, 'case')} had ended{took}"
    cases = [case for case in session.cases if not case.fixture]
    return _ended(cases, took, len(runs.other_faults(session))) if cases else "no case ran"


def _ended(cases: Sequence[Case], took: str, faults: int) -> str:
    """Return how cases ended; :param took: how long they took; :param faults: how many errors there were
    besides."""
    counts = Counter(case.result for case in cases)
    ran = len(cases) - counts["skip"] - counts["abort"] - counts["fail_deps"]
    passed = counts["pass"] + counts["xfail"]
    of_all = count_text(len(cases), "case")
    if counts["abort"]:
        return f"interrupted: {ran} of {of_all} ran{took}, {passed} passed"
    if failed := ran - passed + counts["fail_deps"]:
        return f"{failed} of {of_all} failed{took}"
    errors = f", with {count_text(faults, 'error')}" if faults else ""
    if not ran:
        return f"{of_all} skipped{took}{errors}"
    return f"{'all ' if ran > 1 else ''}{count_text(ran, 'case')} passed{took}{errors}"


def _where(of: Sequence[Record], machines: Sequence[str]) -> str:
    """Return partitions, nodes and MPIs of a run."""
    parts = [names_text(list(dict.fromkeys(machine.rpartition("+")[0] for machine in machines)), 4)]
    nodes = list(dict.fromkeys(node for record in of for node in record["nodelist"] or ()))
    if nodes:
        names = ", ".join(nodes) if len(nodes) <= 4 else f"{nodes[0]} .. {nodes[-1]}"
        parts.append(f"{count_text(len(nodes), 'node')} ({names})")
    mpis = dict.fromkeys(mpi_text(str(record["mpi"])) for record in of if record["mpi"])
    return "; ".join([*parts, *([", ".join(mpis)] if mpis else [])])


def _references(measured: Sequence[Record]) -> str:
    """Return how many values there are, of which programs, and how many met their references."""
    programs = Counter(program_text(record) for record in {case_text(r): r for r in measured}.values())
    cases = ", ".join(f"{name} {count}" for name, count in programs.most_common(6))
    return f"{count_text(len(measured), 'value')} (cases: {cases}); {_met(measured)}"


def _met(measured: Sequence[Record]) -> str:
    held = [record for record in measured if record["reference"] is not None and not record["no_reference"]]
    if held:
        missed = sum(not is_success(record["result"]) for record in held)
        return f"{len(held)} held to references, {missed or 'none'} missed"
    reasons = {str(record["no_reference"]) for record in measured if record["no_reference"]}
    return "no references" + (f" ({reasons.pop()})" if len(reasons) == 1 else "")


# The table


def _table(values: Values, room: int, width: int) -> tuple[Table | None, int]:
    """Return the table of values, and how many lines it takes with the empty one above it."""
    rows = values.rows()
    names = _short_names(values.machines)
    table = _frame(width, names)
    if table is None:
        return _by_machine(values, rows, names, room, width)
    sections = [(title, list(group)) for title, group in groupby(rows, key=lambda row: row.section)]
    head = 3  # lines: an empty one, the titles and a rule
    for title, its in sections:
        if head + table.row_count + len(its) + 1 <= room:
            _add(table, title, its, values.machines)
    if len(rows) + len(sections) <= _FEW:
        left = min(room - head - table.row_count, max(_ROWS, room - LINES))
        _add_others(
            table,
            _others(values.series(), rows),
            left,
            values.machines,
            "Also measured" if rows else "Measured",
        )
    return (table, head + table.row_count) if table.row_count else (None, 0)


def _add_others(table: Table, others: Sequence[Row], left: int, machines: Sequence[str], title: str) -> None:
    """Add values that are no headlines, as many as fit into the lines that are left."""
    if not others or left < 3:
        return
    shown = others[: left - 2] if len(others) > left - 1 else others
    _add(table, title, shown, machines)
    if len(shown) < len(others):
        table.add_row(plain(f"and {len(others) - len(shown)} more"))


def _others(listed: Sequence[tuple[Record, Row]], shown: Sequence[Row]) -> list[Row]:
    """Return the values that are no headlines, each under the name of its test."""
    seen = {(row.layout, cell.curve or cell.before) for row in shown for cell in row.cells.values()}
    found = []
    for record, row in listed:
        cells = list(row.cells.values())
        if all((row.layout, cell.curve or cell.before) in seen for cell in cells):
            continue
        name = test_text(record["check"], record["parameters"])
        found.append(Row(f"{name}: {row.title}", row.unit, row.layout, row.program, row.cells))
    return found


def _frame(width: int, names: Sequence[str]) -> Table | None:
    """Return the table without rows; None where a column for each machine does not fit."""
    fixed = 6 + 7 + 6 + 6  # layout, program, unit, and the gaps
    title = 25 if width >= 90 else 20
    room = (width - fixed - title) // max(1, len(names)) - 2
    if room < _COLUMN and len(names) > 1:
        return None
    column = max(8, min(room, 30))
    title = max(title, width - fixed - len(names) * (column + 2))
    out = _empty()
    columns = ((name, column) for name in _cut(names, column))
    for name, size in (("", title), ("layout", 6), ("from", 7), ("unit", 6), *columns):
        out.add_column(plain(name), width=size, no_wrap=True, overflow="ellipsis")
    return out


def _empty() -> Table:
    return Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )


def _add(table: Table, title: str, rows: Sequence[Row], machines: Sequence[str]) -> None:
    table.add_row(Text(title, style="bold"))
    for row in rows:
        cells = (_cell(row.cells.get(machine), table.columns[-1].width or 0) for machine in machines)
        table.add_row(*map(plain, (f"  {row.title}", row.layout, row.program, row.unit)), *cells)


def _cell(cell: Cell | None, width: int) -> Text:
    """Return a value with as much of its curve as there is room for."""
    if cell is None:
        return Text("-", style="dim")
    rest = width - len(cell.before) - len(cell.after) - 2
    line = sparkline(cell.curve, min(rest, 12)) if rest >= 4 else ""
    parts = (f"{cell.before}{'!' if cell.missed else ''}", line, cell.after.strip())
    return Text(plain(" ".join(filter(None, parts))).plain, style="red" if cell.missed else "")


def _short_names(machines: Sequence[str]) -> list[str]:
    """Return short names of machines: the part of ``system:partition+environ`` in which they differ."""
    parts = [
        (*machine.rpartition("+")[0].partition(":")[::2], machine.rpartition("+")[2]) for machine in machines
    ]
    differing = [at for at in range(3) if len({part[at] for part in parts}) > 1] or [2]
    return [" ".join(part[at] for at in differing) for part in parts]


def _cut(names: Sequence[str], width: int) -> list[str]:
    """Return names in at most so many characters: without their common beginning, so that they still
    differ."""
    if max(map(len, names), default=0) <= width or len(names) < 2:
        return list(names)
    begin = len(os.path.commonprefix(list(names)))  # noqa: RUF071  (names, not paths)
    return [f"..{name[max(begin, len(name) - width + 2) :]}" for name in names]


def _by_machine(
    values: Values, rows: Sequence[Row], names: Sequence[str], room: int, width: int
) -> tuple[Table | None, int]:
    """Return the table that has a row for each machine."""
    shown = _columns(rows, max(1, (width - 22) // 16))
    out = _empty()
    out.add_column("", width=22, no_wrap=True, overflow="ellipsis")
    for heading, row in shown:
        out.add_column(
            plain(heading, f"{row.unit} {row.layout}"), justify="right", max_width=14, no_wrap=True
        )
    fits = max(1, room - 5)
    for machine, name in list(zip(values.machines, _cut(names, 22), strict=True))[:fits]:
        out.add_row(plain(name), *(_short_cell(row.cells.get(machine)) for _, row in shown))
    if len(names) > fits:
        out.add_row(plain(f"and {len(names) - fits} more"))
    return out, 4 + out.row_count


def _columns(rows: Sequence[Row], most: int) -> list[tuple[str, Row]]:
    """Return the rows that are columns of a table of machines, at most so many, each with its heading."""
    within = [row for row in rows if row.short and row.section == WITHIN]
    columns = [(row.short, row) for row in rows if row.short and row.section != WITHIN]
    # The first value of all has a column for within a node, too.
    if within and columns and within[0].title == columns[0][1].title:
        columns.insert(0, (f"{within[0].short} within", within[0]))
    return columns[:most]


def _short_cell(cell: Cell | None) -> Text:
    return plain(f"{cell.before}{'!' if cell.missed else ''}" if cell else "-")


# Findings


def _finding(finding: Problem, width: int) -> list[str]:
    lines = _wrapped(f"- {finding.text}", width, 4, 3)
    return [*lines, *(line for detail in finding.details for line in _wrapped(f"  {detail}", width, 6, 3))]


def _findings(found: Sequence[Problem], room: int, width: int, session: Session, info: RunInfo) -> list[Text]:
    """Return the problems of a run, in at most so many lines."""
    messages = [line for text in info.messages for line in _wrapped(f"  {text}", width, 4, 2)]
    if not found and not messages:
        measured = any(record["metric"] for record in session.records)
        return [plain("Nothing to look at." if measured else "Nothing was measured.")]
    shown, left_out = _fitting(found, room - 1 - len(messages[:8]), width)
    lines = [Text("What to look at", style="bold"), *map(plain, shown)]
    if left_out:
        lines.append(plain(f"  and {count_text(left_out, 'more finding')}: fabric-checks show has all"))
    if messages:
        lines += [plain("  messages of ReFrame:"), *map(plain, messages[:7])]
    return lines


def _fitting(found: Sequence[Problem], room: int, width: int) -> tuple[list[str], int]:
    """Return the lines of the problems that fit, failed cases in any case, and how many do not fit."""
    blocks = [_finding(problem, width) for problem in found]
    kept = sum(len(block) for each, block in zip(found, blocks, strict=True) if each.failed)
    if kept > room:  # a line for each of them rather than a few in full
        short = [_wrapped(f"- {each.text}: {'; '.join(each.details)}", width, 4, 1) for each in found]
        blocks = [short[at] if each.failed else blocks[at] for at, each in enumerate(found)]
        kept = sum(each.failed for each in found)
    lines: list[str] = []
    left_out = 0
    for each, block in zip(found, blocks, strict=True):
        kept -= len(block) * each.failed
        needed = len(block) + (0 if each.failed else kept) + 1
        if len(lines) + needed > room:
            left_out += 1
        else:
            lines += block
    return lines, left_out


def _wrapped(text: str, width: int, indent: int, most: int | None = None) -> list[str]:
    """Return a text as lines, at most so many: a text that is cut ends with dots."""
    return textwrap.wrap(
        plain(text).plain,
        width,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        drop_whitespace=True,
        max_lines=most,
        placeholder=" ...",
    ) or [""]
