# SPDX-License-Identifier: BSD-3-Clause
"""The one screen that a run ends with: what ran, the values asked for first, what to look at, where the rest is.

It has at most :data:`LINES` lines, whatever was run; what has no room is counted, and `fabric-checks show` has it.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import duration_text, test_text
from fabric_checks.records import runs
from fabric_checks.records.record import Record, is_success
from fabric_checks.records.runs import Session
from fabric_checks.report.terminal import key_values, look_at
from fabric_checks.report.terminal.key_values import ASKS, SHORT, Cell, Row, Values
from fabric_checks.report.terminal.look_at import Matter
from fabric_checks.report.terminal.summary import plain

#: The most lines of a screen.
LINES = 60
#: The width that it is made for; it uses no more, and less if a terminal is narrower.
WIDTH = 100
#: A machine has a column as long as there is so much room for it.
_COLUMN = 14
#: A run with so few lines of values that are asked for first has up to so many others listed.
_FEW, _ROWS = 8, 24
#: Lines that are kept for what to look at, if there is so much.
_LOOK_AT = 16


@dataclass(frozen=True)
class Told:
    """What a run knows of itself beside its session.

    :param elapsed_s: how long it took. :param places: (what, where) of what it has left.
    :param said: lines that ReFrame printed and that belong to no case.
    """

    elapsed_s: float | None = None
    places: tuple[tuple[str, str], ...] = ()
    said: tuple[str, ...] = ()


def render(session: Session, told: Told, width: int = WIDTH) -> list[Text | Table]:
    """Return the screen, part by part; each text is one line that is not wider than the screen.

    :param width: of the terminal, in characters.
    """
    width = max(40, min(width, WIDTH))
    values = Values(session.records)
    head = _head(session, told, values, width)
    places = [line for what, where in told.places for line in _wrapped(f"{what:9}{where}", width, 9)]
    not_run = [line for text in look_at.not_run(session) for line in _wrapped(text, width - 2, 4, 2)]
    found = look_at.matters(session)
    # Parts are set apart by a line; what is least wanted is cut first.
    room = LINES - len(head) - len(places) - 2 - (min(len(not_run), 6) + 2 if not_run else 0)
    wanted = [line for matter in found for line in _matter(matter, width)]
    kept = min(len(wanted) + 2, _LOOK_AT) if found else 2
    table, used = _table(values, session, room - kept, width)
    parts: list[Text | Table] = [Text(head[0], style="bold"), *map(plain, head[1:])]
    if table is not None:
        parts += [plain(), table]
    parts += [plain(), *_look_at(found, room - used - 2, width, session, told)]
    if not_run:
        parts += [plain(), Text("Not run", style="bold"), *_cut(not_run, 5, "reasons")]
    return [*parts, plain(), *map(plain, places)]


def _head(session: Session, told: Told, values: Values, width: int) -> list[str]:
    cases = [case for case in session.cases if not case.fixture]
    counts = Counter(case.result for case in cases)
    passed = sum(is_success(case.result) for case in cases)
    ran = len(cases) - counts["skip"] - counts["abort"] - counts["fail_deps"]
    not_ok = ran - passed
    took = f" in {duration_text(told.elapsed_s)}" if told.elapsed_s is not None else ""
    if session.report is None and session.records and not session.archived:
        ended = len({look_at.case_text(record) for record in session.records})
        title = f"ReFrame was killed: {_number(ended, 'case')} had ended{took}"
    elif not cases:
        title = "No case ran"
    elif counts["abort"]:
        title = f"Interrupted: {ran} of {_number(len(cases), 'case')} ran{took}, {passed} passed"
    elif not_ok or counts["fail_deps"]:
        title = f"{not_ok + counts['fail_deps']} of {_number(len(cases), 'case')} failed{took}"
    elif len(cases) == 1:
        title = f"1 case passed{took}" if ran else f"1 case was skipped{took}"
    else:
        title = f"All {_number(ran, 'case')} passed{took}"
    if cases and not not_ok and (faults := len(runs.other_faults(session))):
        title += f", with {_number(faults, 'error')}"
    lines = [title]
    measured = [record for record in session.records if record["metric"] is not None]
    if values.machines:
        lines += _wrapped(f"on {_where(session.records, values.machines)}", width, 4, 3)
    if measured:
        lines += _wrapped(_judged(measured), width, 4, 2)
    if any(record.get("evidence") for record in measured):
        lines += _wrapped("Simulated clusters: no value here is a measurement of a machine.", width, 4)
    return lines


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _where(of: Sequence[Record], machines: Sequence[str]) -> str:
    partitions = list(dict.fromkeys(machine.rpartition("+")[0] for machine in machines))
    shown = ", ".join(partitions[:4]) + (f" and {len(partitions) - 4} more" if len(partitions) > 4 else "")
    nodes = list(dict.fromkeys(node for record in of for node in record["nodelist"] or ()))
    names = f" ({', '.join(nodes) if len(nodes) <= 4 else f'{nodes[0]} .. {nodes[-1]}'})"
    mpis = Counter(_mpi(str(record["mpi"])) for record in of if record["mpi"])
    told = [_number(len(nodes), "node") + names] if nodes else []
    return "; ".join([shown, *told, *([", ".join(mpis)] if mpis else [])])


def _mpi(text: str) -> str:
    """Return how an MPI names itself, short."""
    found = re.match(r"[^\d,]*\d[\d.]*\d", text)
    return " ".join((found[0] if found else text[:30]).replace("Version:", "").replace("(R)", "").split())


def _judged(measured: Sequence[Record]) -> str:
    programs = Counter(
        key_values.program_text(record) for record in {look_at.case_text(r): r for r in measured}.values()
    )
    what = ", ".join(f"{name} {count}" for name, count in programs.most_common(6))
    held = [record for record in measured if record["reference"] is not None and not record["no_reference"]]
    missed = sum(not is_success(record["result"]) for record in held)
    if held:
        references = f"{len(held)} held to references, {missed or 'none'} missed"
    else:
        reasons = list(dict.fromkeys(str(record["no_reference"]) for record in measured if record["no_reference"]))
        references = "no references" + (f" ({reasons[0]})" if len(reasons) == 1 else "")
    return f"{_number(len(measured), 'value')} (cases: {what}); {references}"


# The table


def _table(values: Values, session: Session, room: int, width: int) -> tuple[Table | None, int]:
    """Return the table of values, and how many lines it takes with the empty one above it."""
    machines = values.machines
    sections = {title: [row for ask in asks if (row := values.row(ask))] for title, asks in ASKS.items()}
    names = _short_names(machines)
    layout = _Layout.of(width, names)
    if layout is None:
        return _by_machine(values, sections, names, room, width)
    total = sum(len(rows) + 1 for rows in sections.values() if rows)
    listed = values.series() if total <= _FEW else []
    if not total and not listed:
        return None, 0
    table = layout.table()
    used = 3
    for title, rows in sections.items():
        if rows and used + len(rows) + 1 <= room:
            _add(table, layout, title, rows, machines)
            used += len(rows) + 1
    others = _others(listed, [row for rows in sections.values() for row in rows])
    left = min(room, max(used, 3) + _ROWS) - used
    if others and left >= 3:
        shown = others[: left - 2] if len(others) > left - 1 else others
        _add(table, layout, "Also measured" if total else "Measured", shown, machines)
        used += len(shown) + 1
        if len(shown) < len(others):
            table.add_row(plain(f"and {len(others) - len(shown)} more"))
            used += 1
    return table, used


def _others(listed: Iterable[tuple[Record, Row]], shown: Sequence[Row]) -> list[Row]:
    """Return what was measured beside the rows that are shown, each under the name of its test."""
    seen = {(row.layout, cell.curve or cell.before) for row in shown for cell in row.cells.values()}
    found = []
    for record, row in listed:
        cells = list(row.cells.values())
        if all((row.layout, cell.curve or cell.before) in seen for cell in cells):
            continue
        name = test_text(record["check"], record["parameters"])
        found.append(Row(f"{name}: {row.title}", row.unit, row.layout, row.program, row.cells))
    return found


@dataclass(frozen=True)
class _Layout:
    """The columns of the table: their widths, and what machines are called."""

    title: int
    column: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, width: int, names: Sequence[str]) -> _Layout | None:
        """Return the widths that fit; None where a column of each machine does not."""
        fixed = 6 + 7 + 6 + 6  # layout, program, unit, and what is between columns
        title = 25 if width >= 90 else 20
        room = (width - fixed - title) // max(1, len(names)) - 2
        if room < _COLUMN and len(names) > 1:
            return None
        column = max(8, min(room, 30))
        return cls(max(title, width - fixed - len(names) * (column + 2)), column, tuple(names))

    def table(self) -> Table:
        out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        out.add_column("", width=self.title, no_wrap=True, overflow="ellipsis")
        out.add_column("layout", width=6, no_wrap=True, overflow="ellipsis")
        out.add_column("from", width=7, no_wrap=True, overflow="ellipsis")
        out.add_column("unit", width=6, no_wrap=True, overflow="ellipsis")
        for name in self.names:
            out.add_column(plain(name), width=self.column, no_wrap=True, overflow="ellipsis")
        return out

    def cell(self, cell: Cell | None) -> Text:
        if cell is None:
            return Text("-", style="dim")
        rest = self.column - len(cell.before) - len(cell.after) - 2
        line = key_values.sparkline(cell.curve, min(rest, 12)) if rest >= 4 else ""
        mark = "!" if cell.missed else ""
        text = " ".join(part for part in (f"{cell.before}{mark}", line, cell.after.strip()) if part)
        return Text(plain(text).plain, style="red" if cell.missed else "")


def _add(table: Table, layout: _Layout, title: str, rows: Sequence[Row], machines: Sequence[str]) -> None:
    table.add_row(Text(title, style="bold"))
    for row in rows:
        cells = (layout.cell(row.cells.get(machine)) for machine in machines)
        table.add_row(*map(plain, (f"  {row.title}", row.layout, row.program, row.unit)), *cells)


def _short_names(machines: Sequence[str]) -> list[str]:
    """Return what tells machines apart: the part of ``system:partition+environ`` in which they differ."""
    parts = [(*machine.rpartition("+")[0].partition(":")[::2], machine.rpartition("+")[2]) for machine in machines]
    differing = [at for at in range(3) if len({part[at] for part in parts}) > 1] or [2]
    return [" ".join(part[at] for at in differing) for part in parts]


def _by_machine(
    values: Values, sections: dict[str, list[Row]], names: Sequence[str], room: int, width: int
) -> tuple[Table | None, int]:
    """Return the table that has a row for each machine."""
    columns = []
    for heading, section, place in SHORT:
        row = next((row for row in sections[section] if row.title == ASKS[section][place].title), None)
        if row is not None:
            columns.append((heading, row))
    shown = columns[: max(1, (width - 22) // 16)]
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    out.add_column("", width=22, no_wrap=True, overflow="ellipsis")
    for heading, row in shown:
        out.add_column(plain(heading, f"{row.unit} {row.layout}"), justify="right", max_width=14, no_wrap=True)
    fits = max(1, room - 5)
    for machine, name in list(zip(values.machines, names, strict=True))[:fits]:
        cells = (row.cells.get(machine) for _, row in shown)
        out.add_row(plain(name), *(plain(f"{c.before}{'!' if c.missed else ''}" if c else "-") for c in cells))
    used = 4 + min(fits, len(names))
    if len(names) > fits:
        out.add_row(plain(f"and {len(names) - fits} more"))
        used += 1
    return out, used


# What to look at


def _matter(matter: Matter, width: int) -> list[str]:
    lines = _wrapped(f"- {matter.text}", width, 4, 3)
    return [*lines, *(line for more in matter.more for line in _wrapped(f"  {more}", width, 6, 3))]


def _look_at(found: Sequence[Matter], room: int, width: int, session: Session, told: Told) -> list[Text]:
    """Return what to look at, in so many lines."""
    said = [line for text in told.said for line in _wrapped(f"  {text}", width, 4, 2)]
    if not found and not said:
        measured = any(record["metric"] for record in session.records)
        return [plain("Nothing to look at." if measured else "Nothing was measured.")]
    lines = [Text("What to look at", style="bold")]
    left = room - 1 - len(said[:8])
    for number, matter in enumerate(found):
        block = _matter(matter, width)
        rest = len(found) - number
        if len(block) + (rest > 1) > left:
            lines.append(plain(f"  and {_number(rest, 'more matter')}: fabric-checks show has all"))
            break
        lines += map(plain, block)
        left -= len(block)
    if said:
        lines += [plain("  ReFrame said:"), *map(plain, said[:7])]
    return lines


def _cut(lines: Sequence[str], most: int, what: str) -> list[Text]:
    shown = list(map(plain, (f"  {line}" for line in lines[:most])))
    return shown if len(lines) <= most else [*shown, plain(f"  and {len(lines) - most} more lines of {what}")]


def _wrapped(text: str, width: int, indent: int, most: int | None = None) -> list[str]:
    """Return a text as lines, at most so many: what is cut off ends with dots."""
    return textwrap.wrap(
        plain(text).plain,
        width,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        drop_whitespace=True,
        max_lines=most,
        placeholder=" ...",
    ) or [""]
