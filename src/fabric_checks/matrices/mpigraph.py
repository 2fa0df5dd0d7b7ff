# SPDX-License-Identifier: BSD-3-Clause
"""Output of LLNL's mpiGraph: bandwidths of all pairs, once by the clock of the sender, once by that of the receiver."""

from __future__ import annotations

import re

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, UNITS, PairTable, Row, of_rows
from fabric_checks.matrices.reading import cleaned, size_title, task_ends
from fabric_checks.parsers.table import whole

NAME = "mpiGraph"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpiGraph 1048576 20 10"

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
    text = cleaned(text)
    heads = _HEAD.findall(text)
    if len(heads) != 1 or text.count("\nEND mpiGraph") != 1:
        raise OutputError(
            "one header and one last line 'END mpiGraph' were expected: the run did not end, or several did"
        )
    size_B, tasks = (whole(value, None, "a number in the header") for value in heads[0])
    return [
        of_rows(
            NAME,
            BANDWIDTH,
            _matrix(text, which, word, tasks),
            alone=False,
            most_repeats=1,
            cannot_tell=_CANNOT_TELL,
            title=f"{size_title(size_B)}, clock of the {clock}",
        )
        for which, word, clock in (("Send", "to", "sender"), ("Recv", "from", "receiver"))
    ]


def _matrix(text: str, which: str, word: str, tasks: int) -> list[Row]:
    """Return the values of one of the two matrices; ``Recv`` has the receivers in its rows."""
    form = rf"^{which} max\t([\d.]+)\n{which} avg\t([\d.]+)\n\n{which}\t(.*)\n((?:.*:\d+ {word}\t.*\n)*)"
    found = re.findall(form, text, re.MULTILINE)
    if len(found) != 1 or text.count(f"\n{which}\t") != 1 or len(re.findall(rf"(?m)^.*:\d+ {word}\t", text)) != tasks:
        raise OutputError(f"one matrix {which!r} of {tasks} tasks after its greatest and mean value was expected")
    most, mean, heading, body = found[0]
    titles, table = heading.split(), [line.rstrip("\t ").split("\t") for line in body.splitlines()]
    if [title.rpartition(":")[2] for title in titles] != [str(task) for task in range(tasks)]:
        raise OutputError(f"{tasks} tasks ran, but the columns of {which!r} are {quoted(heading)}")
    if [(row[0], len(row)) for row in table] != [(f"{title} {word}", tasks + 1) for title in titles]:
        raise OutputError(f"the matrix {which!r} has other rows than columns, or a row of another length")
    ends, rows = task_ends([title.rpartition(":")[0] for title in titles]), []
    for task, (label, *cells) in enumerate(table):
        for other, cell in enumerate(cells):
            if not _CELL.fullmatch(cell) or (task == other) != (float(cell) == 0):
                raise OutputError(f"{quoted(cell)} of {quoted(label)} is not a bandwidth with three decimals")
            if task != other:
                sender, receiver = (task, other) if which == "Send" else (other, task)
                rows.append(Row(ends[sender], ends[receiver], float(cell), None, (receiver - sender) % tasks - 1))
    values = [row.value for row in rows] or [0.0]
    # The mean is of times, so it is the harmonic one of the bandwidths, which are rounded to 0.001.
    harmonic = len(rows) / sum(1 / value for value in values) if rows else 0.0
    for printed, value in ((most, max(values)), (mean, harmonic)):
        if not re.fullmatch(r"\d{1,18}\.\d{6}", printed) or abs(float(printed) - value) > 1e-3 + 6e-4 * value / min(
            values
        ):
            raise OutputError(f"by the matrix {which!r} {quoted(printed)} should be {value:.3f}")
    return [row._replace(value=row.value * UNITS["MiB/s"][1]) for row in rows]
