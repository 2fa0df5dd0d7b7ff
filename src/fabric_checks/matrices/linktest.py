# SPDX-License-Identifier: BSD-3-Clause
"""The table of all pairs of JSC's LinkTest, ``gnuplotinput.dat`` of its ``pingponganalysis -g``.

Its ``mapping.dat``, which has the names of hosts, may precede it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from statistics import median

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, LATENCY_B, PairTable, Row
from fabric_checks.matrices.shared_readers import task_ends

NAME = "LinkTest"
NEXT = "mpirun -hostfile {hostfile} -np {count} mpilinktest -S 1 -s {table.size_B} -i 10"

_TASK = r" *(0|[1-9]\d{0,8})"
_HOST = re.compile(rf"{_TASK}(?: +-?\d+){{4,6}} ([\w.-]+)", re.ASCII)
SIGNATURE = re.compile(
    rf"^{_TASK} {_TASK} +(\d{{1,9}}\.\d{{8}}) +(\d{{1,9}}\.\d{{8}})$", re.ASCII | re.MULTILINE
)

#: Two tasks, the time in seconds, the rate in B/s, and the line.
_Row = tuple[int, int, float, float, int]


def parse(text: str) -> list[PairTable]:
    """Read the times of all pairs of tasks, each of which is measured from both ends."""
    found, hosts = _rows(text)
    tasks = max((max(row[:2]) for row in found), default=-1) + 1
    pairs = [row for row in found if row[0] != row[1] and row[2] > 0 and row[3] > 0]
    is_whole = len(found) == tasks**2 and sorted(row[:2] for row in found) == list(
        product(range(tasks), repeat=2)
    )
    if not is_whole or not pairs or (hosts and sorted(task for task, _ in hosts) != list(range(tasks))):
        cause = (
            f"{len(found)} rows and {len(hosts)} hosts are not one for each pair and task of {tasks} tasks"
        )
        raise OutputError(f"{cause}: give the files of one whole analysis")
    size = _size(pairs)
    is_bandwidth = size > LATENCY_B
    # Two nights are of one size: in whole KiB, if it is large.
    size_B = round(size / 1024) * 1024 if is_bandwidth else round(size)
    ends = task_ends([dict(hosts).get(task, f"task-{task}") for task in range(tasks)])
    rows = tuple(
        Row(ends[one], ends[other], rate / 1e6 if is_bandwidth else time_s * 1e6, at)
        for one, other, time_s, rate, at in pairs
    )
    unsaid = [] if hosts else ["the names of hosts: give mapping.dat of the same analysis before the table"]
    if missing := tasks * (tasks - 1) - len(pairs):
        unsaid.append(f"{count_text(missing, 'pair')}, which have no value in the table")
    metric = BANDWIDTH if is_bandwidth else LATENCY
    return [PairTable(NAME, metric, rows, None, both_ways=True, cannot_tell=tuple(unsaid), size_B=size_B)]


def _rows(text: str) -> tuple[list[_Row], list[tuple[int, str]]]:
    """Return the rows of pairs, and tasks with their hosts."""
    hosts: list[tuple[int, str]] = []
    found: list[_Row] = []
    for at, line in enumerate(text.splitlines(), 1):
        if row := SIGNATURE.fullmatch(line):
            found.append((int(row[1]), int(row[2]), float(row[3]), float(row[4]) * 2**20, at))
        elif host := _HOST.fullmatch(line):
            hosts.append((int(host[1]), host[2]))
        elif line.strip():
            raise OutputError(f"a row of a pair was expected, found {quoted(line)}", at)
    return found, hosts


def _size(pairs: Sequence[_Row]) -> float:
    """Return the size of a message, in bytes, which all pairs have; times and rates have few digits."""
    size = median(time_s * rate for _, _, time_s, rate, _ in pairs)
    for one, other, time_s, rate, at in pairs:
        if abs(time_s * rate - size) > 1.1e-8 * (rate + time_s * 2**20) + 1:
            values = f"{one} to {other}: {time_s:g} s and {rate / 1e6:g} MB/s"
            raise OutputError(f"{values} are not of {size:.0f} B as the others", at)
    return size
