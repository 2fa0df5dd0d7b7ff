# SPDX-License-Identifier: BSD-3-Clause
"""Output of LLNL's mpiGraph: bandwidths of all pairs, once by the clock of the sender, once by that of the
receiver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from statistics import harmonic_mean

from fabric_checks.core.errors import quoted
from fabric_checks.matrices.model import BANDWIDTH, UNITS, PairTable, Row
from fabric_checks.matrices.shared_readers import matrix, task_ends
from fabric_checks.parsers.table import only, require

NAME = "mpiGraph"

_CANNOT_TELL = ("how much a pair varies: mpiGraph prints the mean of its measurements",)
_HEAD = re.compile(
    r"(?m)^START mpiGraph.*\n(?:MsgSize\t|Msg Size: )(\d{1,12})\b(?:.*\n){3}Procs[:\t] ?(\d{1,6})$",
)
SIGNATURE = re.compile(r"START mpiGraph|\nEND mpiGraph")


def parse(text: str) -> list[PairTable]:
    """Read both matrices. All tasks send at once, in step d to the task d further; so the step is the
    round."""
    head = only(
        _HEAD.findall(text),
        "header 'START mpiGraph'",
        "the run did not begin here, or its tabs have become blanks",
    )
    only(
        re.findall("(?m)^END mpiGraph", text),
        "line 'END mpiGraph'",
        "the run did not end",
    )
    size_B, tasks = map(int, head)
    matrices = {
        "(clock of the sender)": _rows(text, "Send", "to", tasks),
        "(clock of the receiver)": _rows(text, "Recv", "from", tasks),
    }
    return [
        PairTable(
            NAME, BANDWIDTH, tuple(rows), False, False, _CANNOT_TELL, clock, size_B
        )
        for clock, rows in matrices.items()
    ]


def _rows(text: str, which: str, word: str, tasks: int) -> Iterator[Row]:
    """Yield the values of one of the two matrices; ``Recv`` has the receivers in its rows."""
    number = r"(\d{1,18}\.\d{6})"
    row = rf".*:\d+ {word}(?:\t(?:0|[1-9]\d*)\.\d{{3}})*\n"
    form = rf"(?m)^{which} max\t{number}\n{which} avg\t{number}\n\n{which}\t(.*)\n((?:{row})*)"
    what = f"matrix {which!r} after its greatest and mean value"
    found = only(
        list(re.finditer(form, text)),
        what,
        "the output is cut off or damaged",
    )
    names, first = found[3].split(), text.count("\n", 0, found.start(4)) + 1
    require(
        len(names) == tasks,
        f"{tasks} tasks ran, but the columns of {which!r} are {quoted(found[3])}",
        first - 1,
    )
    ends = task_ends([name.rpartition(":")[0] for name in names])
    lines = [line.split("\t") for line in found[4].splitlines()]
    rows = [(line, title, cells) for line, (title, *cells) in enumerate(lines, first)]
    measured = matrix([f"{name} {word}" for name in names], rows, ends)
    if measured:
        _require_extremes(which, found, [row.value for row in measured], first)
    rank = {end: task for task, end in enumerate(ends)}
    for one, other, value, line, _ in measured:
        sender, receiver = (other, one) if which == "Recv" else (one, other)
        step = (rank[receiver] - rank[sender]) % tasks - 1
        yield Row(sender, receiver, value * UNITS["MiB/s"][1], line, step)


def _require_extremes(
    which: str, printed: re.Match[str], values: Sequence[float], line: int
) -> None:
    """Raise :class:`OutputError` unless the maximum and the mean above a matrix are those of its values.

    The mean is of times, so it is the harmonic one of the bandwidths, which are rounded to 0.001.
    """
    largest, mean = max(values), harmonic_mean(values)
    slack = 1e-3 + 6e-4 * mean / (min(values) or 1)
    require(
        abs(float(printed[1]) - largest) <= 6e-4
        and abs(float(printed[2]) - mean) <= slack,
        f"{which} has {printed[1]} as maximum and {printed[2]} as mean, but those of its matrix are "
        f"{largest:.3f} and {mean:.3f}: the file was edited, or mixed from two runs",
        line,
    )
