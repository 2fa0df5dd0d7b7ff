# SPDX-License-Identifier: BSD-3-Clause
"""The table of all pairs of JSC's LinkTest, ``gnuplotinput.dat`` of its ``pingponganalysis -g``.

Its ``mapping.dat``, which has the names of hosts, may precede it.
"""

from __future__ import annotations

import re
from statistics import median

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, LATENCY_B, UNITS, PairTable, Row
from fabric_checks.matrices.reading import task_ends

NAME = "LinkTest"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpilinktest -S 1 -s {size_B} -i 10"

_TASK = r" *(0|[1-9]\d{0,8})"
_PAIR = re.compile(rf"{_TASK} {_TASK} +(\d{{1,9}}\.\d{{8}}) +(\d{{1,9}}\.\d{{8}})", re.ASCII)
_HOST = re.compile(rf"{_TASK}(?: +-?\d+){{4,6}} ([\w.-]+)", re.ASCII)


def recognizes(text: str) -> bool:
    """Return whether a text has rows of pairs of LinkTest."""
    return any(_PAIR.fullmatch(line) for line in text.splitlines())


def parse(text: str) -> list[PairTable]:
    """Read the times of all pairs of tasks, each of which is measured from both ends.

    :raises OutputError: if a pair is missing, or times and bandwidths contradict each other.
    """
    hosts: dict[int, str] = {}
    found: dict[tuple[int, int], tuple[float, float, int]] = {}
    for at, line in enumerate(text.splitlines(), 1):
        if row := _PAIR.fullmatch(line):
            pair = int(row[1]), int(row[2])
            if pair in found:
                raise OutputError(f"the pair {quoted(line)} is there twice", at)
            found[pair] = float(row[3]), float(row[4]) * 2**20, at
        elif host := _HOST.fullmatch(line):
            if hosts.setdefault(int(host[1]), host[2]) != host[2]:
                raise OutputError(f"task {host[1]} is on {quoted(hosts[int(host[1])])} and on {quoted(host[2])}", at)
        elif line.strip():
            raise OutputError(f"a row of a pair was expected, found {quoted(line)}", at)
    tasks = max(map(max, found), default=-1) + 1
    pairs = [(one, other, *row) for (one, other), row in found.items() if one != other and row[0] > 0 and row[1] > 0]
    if len(found) != tasks * tasks or not pairs or (hosts and sorted(hosts) != list(range(tasks))):
        raise OutputError(f"{len(found)} rows and {len(hosts)} hosts are not those of all pairs of {tasks} tasks")
    size = median(time * rate for _, _, time, rate, _ in pairs)
    # Times have few digits. Two nights are of one size: in whole KiB, if it is large.
    size_B = round(size / 1024) * 1024 if size > LATENCY_B else round(size)
    metric, rows = BANDWIDTH if size > LATENCY_B else LATENCY, []
    ends = task_ends([hosts.get(task, f"task-{task}") for task in range(tasks)])
    for one, other, time, rate, at in pairs:
        if abs(time * rate - size) > 1.1e-8 * (rate + time * 2**20) + 1:
            raise OutputError(
                f"{one} to {other}: {time:g} s and {rate / 1e6:g} MB/s are not of {size_B} B as the others", at
            )
        rows.append(Row(ends[one], ends[other], rate / 1e6 if metric == BANDWIDTH else time * UNITS["s"][1], at))
    unsaid = [] if hosts else ["the names of hosts: give mapping.dat of the same analysis before the table"]
    if missing := tasks * (tasks - 1) - len(pairs):
        unsaid.append(f"{count_text(missing, 'pair')}, which have no value in the table")
    return [PairTable(NAME, metric, tuple(rows), None, both_ways=True, cannot_tell=tuple(unsaid), size_B=size_B)]
