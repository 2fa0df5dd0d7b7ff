# SPDX-License-Identifier: BSD-3-Clause
"""Output of MPP-DYNA: how many processes took part, the table of times, and the last lines of a run.

Depending on the release it is on standard output or in ``mes0000``, the messages of the first process. The check prints
that file after :data:`MESSAGES`, and whichever has the table is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import Found, number, only, whole

#: The line before the messages of the first process.
MESSAGES = "# mes0000"

_PROCESSES = re.compile(r"^ *(?:MPP|Parallel) execution with +(\S+) +(?:MPP )?procs?\b", re.MULTILINE)
_NORMAL = re.compile(r"^ *N o r m a l +t e r m i n a t i o n", re.MULTILINE)
_ERROR = re.compile(r"^ *E r r o r +t e r m i n a t i o n", re.MULTILINE)
_TABLE = re.compile(r"^ *T i m i n g +i n f o r m a t i o n *$", re.MULTILINE)
_TOTALS = re.compile(r"^ *T o t a l s +(\S+) +(\S+) +(\S+) +(\S+) *$")
#: Rows that are parts of the row above them are indented further.
_ROW = re.compile(r"^ {2}(\S.*?) *\.{2,} *(\S+) +(\S+) +(\S+) +(\S+) *$")
_ELAPSED = re.compile(r"^ *Elapsed time +(\S+) +seconds\b[^\n]*?\bfor +(\S+) +cycles\b", re.MULTILINE)
_CYCLES = re.compile(r"^ *Problem cycle *= *(\S+) *$", re.MULTILINE)
_VERSION = re.compile(r"^ *\| *Version *: *mpp\b *(.*?) *\|", re.MULTILINE)
#: Five digits are printed of each time; the rows of a table are as many numbers that were rounded.
_ROUNDING = 1e-3


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
    before, *behind = plain.cleaned(text).split(f"\n{MESSAGES}\n")
    if len(behind) > 1:
        raise OutputError(f"{len(behind)} lines {MESSAGES!r}: several runs printed this")
    text = next((each for each in (*behind, before) if _TABLE.search(each)), "\n".join((before, *behind)))
    if _ERROR.search(text):
        raise OutputError("LS-DYNA says 'E r r o r   t e r m i n a t i o n'")
    ran = _only(_PROCESSES.findall(text), "line 'MPP execution with ... procs'")
    if ran != str(processes):
        raise OutputError(f"{processes} processes were asked for, found {quoted(ran)}")
    if not _NORMAL.search(text):
        raise OutputError("no line 'N o r m a l    t e r m i n a t i o n': the run did not finish")
    table = _only(list(_TABLE.finditer(text)), "table 'T i m i n g   i n f o r m a t i o n'")
    seconds, cycles = _only(_ELAPSED.findall(text), "line 'Elapsed time ... seconds ... for ... cycles'")
    elapsed_s, ran_cycles = whole(seconds, None, "seconds"), whole(cycles, None, "a number of cycles")
    if elapsed_s == 0 or ran_cycles == 0:
        raise OutputError(f"{elapsed_s} s for {ran_cycles} cycles: the deck is too short to be timed")
    if (problem := _only(_CYCLES.findall(text), "line 'Problem cycle = ...'")) != cycles:
        raise OutputError(f"{cycles} cycles were timed, but the problem ended with cycle {quoted(problem)}")
    versions = _VERSION.findall(text)
    version = _only(versions, "version") if versions else None
    return DynaOutput(version, processes, ran_cycles, elapsed_s, _table(text[table.end() :]))


def _only(found: Sequence[Found], what: str) -> Found:
    return only(found, what, "the run did not finish, or this is another program")


def _table(text: str) -> dict[str, float]:
    """Return the clock seconds of each part, from the table that the text begins with, its own sum checked."""
    clock_s: dict[str, float] = {}
    for row in text.split("\n"):
        if totals := _TOTALS.match(row):
            total, parts = number(totals[3], None), sum(clock_s.values())
            if total <= 0 or abs(parts - total) > _ROUNDING * total:
                raise OutputError(f"the table's parts take {parts:g} s, but its total is {total:g} s: it is damaged")
            return clock_s
        if part := _ROW.match(row):
            if part[1] in clock_s or number(part[4], None) < 0:
                raise OutputError(f"the table's row {quoted(part[1])} is there twice, or below zero")
            clock_s[part[1]] = number(part[4], None)
    raise OutputError("the table of times has no line 'T o t a l s': the output is cut off")
