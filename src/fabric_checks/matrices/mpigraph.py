# SPDX-License-Identifier: BSD-3-Clause
"""Output of LLNL's mpiGraph: bandwidths of all pairs, once by the clock of the sender, once by that of the
receiver."""

from __future__ import annotations

import re
from statistics import harmonic_mean

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, UNITS, PairTable, Row
from fabric_checks.matrices.shared_readers import matrix, task_ends
from fabric_checks.parsers.table import only

NAME = "mpiGraph"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpiGraph {table.size_B} 20 10"

_CANNOT_TELL = ("how much a pair varies: mpiGraph prints the mean of its measurements",)
_HEAD = re.compile(
    r"^START mpiGraph.*\n(?:MsgSize\t|Msg Size: )(\d{1,12})\b(?:.*\n){3}Procs[:\t] ?(\d{1,6})$", re.MULTILINE
)
SIGNATURE = re.compile(r"START mpiGraph|\nEND mpiGraph")


def parse(text: str) -> list[PairTable]:
    """Read both matrices. All tasks send at once, in step d to the task d further; so the step is the
    round."""
    size_B, tasks = map(
        int, only(_HEAD.findall(text), "header 'START mpiGraph'", "the run did not begin here")
    )
    only(re.findall("^END mpiGraph", text, re.MULTILINE), "line 'END mpiGraph'", "the run did not end")
    return [
        PairTable(
            NAME, BANDWIDTH, _rows(text, which, word, tasks), False, False, _CANNOT_TELL, f"({clock})", size_B
        )
        for which, word, clock in (
            ("Send", "to", "clock of the sender"),
            ("Recv", "from", "clock of the receiver"),
        )
    ]


def _rows(text: str, which: str, word: str, tasks: int) -> tuple[Row, ...]:
    """Return the values of one of the two matrices; ``Recv`` has the receivers in its rows."""
    row = rf"^.*:\d+ {word}(?:\t(?:0|[1-9]\d*)\.\d{{3}})*[\t ]*\n"
    form = rf"^{which} max\t(\S+)\n{which} avg\t(\S+)\n\n{which}\t(.*)\n((?:{row})*)"
    what = f"matrix {which!r} after its greatest and mean value"
    found = only(list(re.finditer(form, text, re.MULTILINE)), what, "the output is cut off or damaged")
    first, table = (
        text.count("\n", 0, found.start(4)) + 1,
        [line.split("\t") for line in found[4].split("\n")[:-1]],
    )
    if not len(table) == tasks == len(re.findall(rf"^.*:\d+ {word}\t", text, re.MULTILINE)):
        cause = (
            f"the matrix {which!r} has not one row of values with three decimals for each of {tasks} tasks"
        )
        raise OutputError(cause, first + len(table))
    titles = [f"{title} {word}" for title in found[3].split()]
    if [title.rpartition(":")[2] for title in titles] != [f"{task} {word}" for task in range(tasks)]:
        raise OutputError(
            f"{tasks} tasks ran, but the columns of {which!r} are {quoted(found[3])}", first - 1
        )
    ends = task_ends([title.rpartition(":")[0] for title in titles])
    rows = matrix(titles, [(at, title, cells) for at, (title, *cells) in enumerate(table, first)], ends)
    values = [row.value for row in rows]
    # The mean is of times, so it is the harmonic one of the bandwidths, which are rounded to 0.001.
    extremes = (max(values), harmonic_mean(values)) if values else (0.0, 0.0)
    slacks = (6e-4, 1e-3 + 6e-4 * extremes[1] / (min(values, default=0) or 1))
    for printed, value, slack in zip(found.groups()[:2], extremes, slacks, strict=True):
        if not re.fullmatch(r"\d{1,18}\.\d{6}", printed) or abs(float(printed) - value) > slack:
            cause = f"{which} has {quoted(printed)} as maximum or mean, but that of its matrix is {value:.3f}"
            raise OutputError(f"{cause}: the file was edited, or mixed from two runs", first)
    if which == "Recv":
        rows = [row._replace(sender=row.receiver, receiver=row.sender) for row in rows]
    rank = {end: task for task, end in enumerate(ends)}
    steps = [(rank[row.receiver] - rank[row.sender]) % tasks - 1 for row in rows]
    factor = UNITS["MiB/s"][1]
    return tuple(
        row._replace(value=row.value * factor, round=step) for row, step in zip(rows, steps, strict=True)
    )
