# SPDX-License-Identifier: BSD-3-Clause
"""The table of all pairs of JSC's LinkTest, ``gnuplotinput.dat`` of its ``pingponganalysis -g``.

Its ``mapping.dat``, which has the names of hosts, may precede it.
"""

from __future__ import annotations

import re
from statistics import median

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, UNITS, PairTable, Row, of_rows
from fabric_checks.matrices.reading import cleaned, size_title, task_ends

NAME = "LinkTest"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpilinktest -S 1 -k 4096 -i 10"

_TASK = r" *(0|[1-9]\d{0,8})"
_PAIR = re.compile(rf"{_TASK} {_TASK} +(\d{{1,9}}\.\d{{8}}) +(\d{{1,9}}\.\d{{8}})", re.ASCII)
_HOST = re.compile(rf"{_TASK}(?: +-?\d+){{4,6}} ([\w.-]+)", re.ASCII)
#: Messages up to this size measure latency rather than bandwidth, in bytes.
_MOST_LATENCY_B = 1024


def recognizes(text: str) -> bool:
    """Return whether a text has rows of pairs of LinkTest."""
    return any(_PAIR.fullmatch(line) for line in text.splitlines())


def parse(text: str) -> list[PairTable]:
    """Read the times of all pairs of tasks, each of which is measured from both ends.

    :raises OutputError: if a pair is missing, or times and bandwidths contradict each other.
    """
    hosts: dict[int, str] = {}
    found: dict[tuple[int, int], tuple[float, float, int]] = {}
    for at, line in enumerate(cleaned(text).splitlines(), 1):
        if row := _PAIR.fullmatch(line):
            if found.setdefault((int(row[1]), int(row[2])), (float(row[3]), float(row[4]), at))[2] != at:
                raise OutputError(f"the pair {quoted(line)} is there twice", at)
        elif host := _HOST.fullmatch(line.rstrip()):
            if hosts.setdefault(int(host[1]), host[2]) != host[2]:
                raise OutputError(f"task {host[1]} is on {quoted(hosts[int(host[1])])} and on {quoted(host[2])}", at)
        elif line.strip():
            raise OutputError(f"a row of a pair was expected, found {quoted(line)}", at)
    tasks = max(map(max, found), default=-1) + 1
    pairs = [(one, other, *row) for (one, other), row in found.items() if one != other and row[0] > 0 and row[1] > 0]
    if len(found) != tasks * tasks or not pairs or (hosts and sorted(hosts) != list(range(tasks))):
        raise OutputError(f"{len(found)} rows and {len(hosts)} hosts are not those of all pairs of {tasks} tasks")
    size = round(median(time * rate * 2**20 for _, _, time, rate, _ in pairs))
    latency, rows = size <= _MOST_LATENCY_B, []
    ends = task_ends([hosts.get(task, f"task-{task}") for task in range(tasks)])
    for one, other, time, rate, at in pairs:
        if abs(time * rate * 2**20 - size) > 1.1e-8 * (rate + time) * 2**20 + 1:
            raise OutputError(f"{one} to {other}: {time:g} s and {rate:g} MB/s are not of {size} B as the others", at)
        rows.append(Row(ends[one], ends[other], time * 1e6 if latency else rate * UNITS["MiB/s"][1], at))
    unsaid = [] if hosts else ["the names of hosts: give mapping.dat of the same analysis before the table"]
    if missing := tasks * (tasks - 1) - len(pairs):
        unsaid.append(f"{count_text(missing, 'pair')}, which have no value in the table")
    metric, title = LATENCY if latency else BANDWIDTH, size_title(size)
    return [of_rows(NAME, metric, rows, alone=None, both_ways=True, cannot_tell=unsaid, title=title)]
