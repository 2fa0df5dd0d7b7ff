# SPDX-License-Identifier: BSD-3-Clause
"""Output of LLNL's mpiGraph: bandwidths of all pairs, once by the clock of the sender, once by that of the receiver."""

from __future__ import annotations

import re
from statistics import harmonic_mean

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, UNITS, PairTable, Row
from fabric_checks.matrices.reading import cells_of, task_ends
from fabric_checks.parsers.table import only

NAME = "mpiGraph"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpiGraph {size_B} 20 10"

_CANNOT_TELL = ("how much a pair varies: mpiGraph prints the mean of its measurements",)
_HEAD = re.compile(
    r"^START mpiGraph.*\n(?:MsgSize\t|Msg Size: )(\d{1,12})\b(?:.*\n){3}Procs[:\t] ?(\d{1,6})$", re.MULTILINE
)
_CELL = re.compile(r"(?:0|[1-9]\d*)\.\d{3}")


def recognizes(text: str) -> bool:
    """Return whether a text is of mpiGraph."""
    return "START mpiGraph" in text or "\nEND mpiGraph" in text


def parse(text: str) -> list[PairTable]:
    """Read both matrices. All tasks send at once, in step d to the task d further; so the step is the round.

    :raises OutputError: if a matrix is not whole, or its greatest or mean value is not the one printed.
    """
    size_B, tasks = map(int, only(_HEAD.findall(text), "header 'START mpiGraph'", "the run did not begin here"))
    only(re.findall("^END mpiGraph", text, re.MULTILINE), "line 'END mpiGraph'", "the run did not end")
    return [
        PairTable(NAME, BANDWIDTH, _matrix(text, which, word, tasks), False, False, _CANNOT_TELL, f"({clock})", size_B)
        for which, word, clock in (("Send", "to", "clock of the sender"), ("Recv", "from", "clock of the receiver"))
    ]


def _matrix(text: str, which: str, word: str, tasks: int) -> tuple[Row, ...]:
    """Return the values of one of the two matrices; ``Recv`` has the receivers in its rows."""
    form = rf"^{which} max\t([\d.]+)\n{which} avg\t([\d.]+)\n\n{which}\t(.*)\n((?:.*:\d+ {word}\t.*\n)*)"
    what = f"matrix {which!r} after its greatest and mean value"
    found = only(list(re.finditer(form, text, re.MULTILINE)), what, "the output is cut off or damaged")
    titles, first = found[3].split(), text.count("\n", 0, found.start(4)) + 1
    if [title.rpartition(":")[2] for title in titles] != [str(task) for task in range(tasks)]:
        raise OutputError(f"{tasks} tasks ran, but the columns of {which!r} are {quoted(found[3])}")
    if len(re.findall(rf"(?m)^(?:.*:\d+ {word}|{which})\t", text)) != tasks + 1:
        raise OutputError(f"the matrix {which!r} has not one row for each of {tasks} tasks")
    table = [line.rstrip("\t ").split("\t") for line in found[4].splitlines()]
    lines = [(at, label.removesuffix(f" {word}"), cells) for at, (label, *cells) in enumerate(table, first)]
    ends, values, rows = task_ends([title.rpartition(":")[0] for title in titles]), [], []
    for line, task, other, cell in cells_of(titles, lines):
        if not _CELL.fullmatch(cell) or (float(cell) == 0) != (task == other):
            raise OutputError(f"{quoted(cell)} is not a bandwidth with three decimals, or not where it has to be", line)
        if task != other:
            values.append(float(cell))
            sender, receiver = (task, other) if which == "Send" else (other, task)
            step = (receiver - sender) % tasks - 1
            rows.append(Row(ends[sender], ends[receiver], values[-1] * UNITS["MiB/s"][1], line, step))
    # The mean is of times, so it is the harmonic one of the bandwidths, which are rounded to 0.001.
    extremes = (max(values), harmonic_mean(values)) if values else (0.0, 0.0)
    for printed, value in zip(found.groups()[:2], extremes, strict=True):
        slack = 1e-3 + 6e-4 * value / min(values, default=1.0)
        if not re.fullmatch(r"\d{1,18}\.\d{6}", printed) or abs(float(printed) - value) > slack:
            raise OutputError(f"by the matrix {which!r} {quoted(printed)} should be {value:.3f}", first)
    return tuple(rows)
