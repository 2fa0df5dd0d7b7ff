# SPDX-License-Identifier: BSD-3-Clause
"""Output of MPP-DYNA: how many processes took part, the table of times, and the last lines of a run.

Depending on the release it is on standard output or in ``mes0000``, the messages of the first process. The
check prints that file after :data:`MESSAGES`, and whichever has the table is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import (
    Found,
    Span,
    only,
    printed,
    require,
    require_intact,
    require_sum,
    whole,
)

#: The line before the messages of the first process.
MESSAGES = "# mes0000"

_PROCESSES = re.compile(
    r"(?m)^ *(?:MPP|Parallel) execution with +(\S+) +(?:MPP )?procs?\b"
)
_NORMAL = re.compile(r"(?m)^ *N o r m a l +t e r m i n a t i o n")
_ERROR = re.compile(r"(?m)^ *E r r o r +t e r m i n a t i o n")
_TABLE = re.compile(r"(?m)^ *T i m i n g +i n f o r m a t i o n *$")
_TITLES = ["CPU(seconds)", "%CPU", "Clock(seconds)", "%Clock"]
#: The columns that are times; behind each is its share.
_SECONDS = (0, 2)
_CELL = re.compile(r"[-+.0-9E]+|nan")
_TIME = re.compile(r"[0-9]E[-+][0-9]")
_ELAPSED = re.compile(
    r"(?m)^ *Elapsed time +(\S+) +seconds\b(?:\( *(\d{1,9}) hours +(\d{1,2}) min\. +(\d{1,2}) sec\.\))?"
    r"[^\n]*?\bfor +(\S+) +cycles\b",
)
_CYCLES = re.compile(r"(?m)^ *Problem cycle *= *(\S+) *$")
_VERSION = re.compile(r"(?m)^ *\| *Version *: *mpp\b([^|\n]*)\|")


@dataclass(frozen=True)
class DynaOutput:
    """A run that came to its normal end.

    :param version: as in ``d R13``, or None where the head was not printed.
    :param processes: of MPI. :param cycles: the time steps of the problem.
    :param elapsed_s: from start to end, in whole seconds, as printed.
    :param clock_s: the seconds of each part of the table of times by its name, such as ``Contact algorithm``.
    """

    version: str | None
    processes: int
    cycles: int
    elapsed_s: int
    clock_s: dict[str, float]


def parse(text: str, processes: int) -> DynaOutput:
    """Read the output of one run.

    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the run was of another number, did not come to its normal end, or is not whole.
    """
    text = _of_messages(plain.cleaned(text))
    if _ERROR.search(text):
        raise OutputError("LS-DYNA says 'E r r o r   t e r m i n a t i o n'")
    ran = _only(_PROCESSES.findall(text), "line 'MPP execution with ... procs'")
    require(
        ran == str(processes),
        f"{processes} processes were asked for, found {quoted(ran)}",
    )
    require(
        _NORMAL.search(text),
        "no line 'N o r m a l    t e r m i n a t i o n': the run did not finish",
    )
    table = _only(
        list(_TABLE.finditer(text)), "table 'T i m i n g   i n f o r m a t i o n'"
    )
    elapsed = _only(
        _ELAPSED.findall(text), "line 'Elapsed time ... seconds ... for ... cycles'"
    )
    seconds, hours, minutes, rest, cycles = elapsed
    elapsed_s, ran_cycles = (
        whole(seconds, None, "seconds"),
        whole(cycles, None, "a number of cycles"),
    )
    if elapsed_s == 0 or ran_cycles == 0:
        raise OutputError(
            f"{elapsed_s} s for {ran_cycles} cycles: the deck is too short to be timed"
        )
    require_intact(
        not hours or elapsed_s == 3600 * int(hours) + 60 * int(minutes) + int(rest),
        f"{elapsed_s} s are not {hours} hours {minutes} min. {rest} sec.",
    )
    problem = _only(_CYCLES.findall(text), "line 'Problem cycle = ...'")
    require_intact(
        problem == cycles,
        f"{cycles} cycles were timed, but the problem ended with cycle {quoted(problem)}",
    )
    versions = _VERSION.findall(text)
    version = _only(versions, "version").strip() if versions else None
    clock_s = _table(text[table.end() :])
    # Start and end are whole seconds.
    timed_s = sum(clock_s.values())
    require_intact(
        timed_s <= elapsed_s + 2,
        f"the table's parts take {timed_s:g} s, but {elapsed_s} s elapsed",
    )
    return DynaOutput(version, processes, ran_cycles, elapsed_s, clock_s)


def _of_messages(text: str) -> str:
    """Return the part of an output that has the table of times: what was printed, or the file of messages."""
    before, *behind = text.split(f"\n{MESSAGES}\n")
    require(
        len(behind) <= 1, f"{len(behind)} lines {MESSAGES!r}: several runs printed this"
    )
    return next(
        (each for each in (*behind, before) if _TABLE.search(each)),
        "\n".join((before, *behind)),
    )


def _only(found: Sequence[Found], what: str) -> Found:
    return only(found, what, "the run did not finish, or this is another program")


class _Row(NamedTuple):
    """A row of the table of times, of fixed columns; one that is a part of that above it is indented
    further."""

    line: str
    indent: int
    name: str
    cells: tuple[Span, ...]
    clock_s: float


def _row(line: str) -> _Row | None:
    name, *cells = line.rsplit(None, 4) or [""]
    if len(cells) < 4 or not line.isascii() or not all(map(_CELL.fullmatch, cells)):
        return None
    spans = tuple(printed(cell, None) for cell in cells)
    indent = len(line) - len(line.lstrip())
    return _Row(line, indent, name.strip(" ."), spans, float(cells[2]))


def _table(text: str) -> dict[str, float]:
    """Return the clock seconds of each part, from the table that the text begins with, its own sums
    checked."""
    lines = text.lstrip("\n").split("\n")
    require(
        lines[0].split() == _TITLES,
        f"the titles of the table of times were expected, found {quoted(lines[0])}",
    )
    rows: list[_Row] = []
    for line in lines[1:]:
        if row := _row(line):
            rows.append(row)
            if row.name == "T o t a l s":
                return _parts(rows)
        elif len(_TIME.findall(line)) > 1:
            raise OutputError(
                f"a row of the table of times was expected, found {quoted(line)}"
            )
    raise OutputError(
        "the table of times has no line 'T o t a l s': the output is cut off"
    )


def _parts(rows: Sequence[_Row]) -> dict[str, float]:
    """Return the clock seconds of the rows that are no part of another; the last row has the totals."""
    *rows, totals = rows
    for row in rows:
        require_intact(
            len(row.line) == len(totals.line) and row.indent >= totals.indent,
            f"a row of the table of times is not below the others: {quoted(row.line)}",
        )
        for at in _SECONDS:
            share = row.cells[at] * 100 / totals.cells[at]
            require_intact(
                row.cells[at].high >= 0 and share.meets(row.cells[at + 1]),
                f"{quoted(row.line)} is below zero, or its shares are not those of its times",
            )
    parts = [row for row in rows if row.indent == totals.indent]
    clock_s = {row.name: row.clock_s for row in parts}
    require_intact(len(clock_s) == len(parts), "a part is in the table twice")
    for at in _SECONDS:
        require_sum(
            totals.cells[at],
            [row.cells[at] for row in parts],
            "the table's parts do not make its total",
        )
    return clock_s
