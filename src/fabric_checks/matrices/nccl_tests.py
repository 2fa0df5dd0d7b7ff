# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests between two hosts, or two GPUs, at a time.

The cycles (``-N``) of a launch have its routes and its moment: they are one measurement.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from fabric_checks.core.errors import quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import (
    BANDWIDTH,
    LATENCY,
    LATENCY_B,
    End,
    PairTable,
    Row,
)
from fabric_checks.matrices.shared_readers import of_sizes, parts
from fabric_checks.parsers import nccl_tests
from fabric_checks.parsers.table import require

NAME = "nccl-tests"
SIGNATURE = re.compile("(?m)^# Using devices|^# +size +count +type ")
_PROGRAM = re.compile(r"(?m)^# Collective test concluded: (\w+)")


def parse(text: str) -> list[PairTable]:
    """Read one or more runs: the bus bandwidth of the largest size, and the time of the smallest up to 1
    KiB."""
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    unended = dict[str, None]()
    starts = [found.start() for found in re.finditer("(?m)^# Using devices", text)]
    for part, line in parts(text, [0, *starts[1:]]):
        devices = nccl_tests.devices(part, line)
        one, other = _pair(
            [End(each.host, f"gpu {each.number}") for each in devices], line
        )
        program = "".join(_PROGRAM.findall(part))
        if "# Avg bus bandwidth" not in part:
            unended[f"{one} and {other}"] = None
            continue
        factor = nccl_tests.BUS_FACTOR.get(program.removesuffix("_perf"))
        rows = nccl_tests.rows(part, factor and factor(len(devices)), line)
        for size_B, time_us, bus_MBps in _of_cycles(rows, line):
            measured[program, BANDWIDTH, size_B].append(Row(one, other, bus_MBps, line))
            if 0 < size_B <= LATENCY_B:
                measured[program, LATENCY, size_B].append(
                    Row(one, other, time_us, line)
                )
    failed = f"{quoted(names_text(list(unended)))}: the run has no '# Avg bus bandwidth', so it did not end"
    require(measured or not unended, failed)
    return of_sizes(NAME, measured, [failed] if unended else [], both_ways=True)


def _pair(ends: Sequence[End], line: int) -> Sequence[End]:
    """Return the two GPUs of a run, or the two hosts of more GPUs."""
    hosts = [End(host) for host in dict.fromkeys(end.host for end in ends)]
    pair = ends if len(ends) == 2 else hosts
    took = f"{len(ends)} ranks on {len(hosts)} hosts took part in one run, which has one value for all"
    require(
        len(pair) == 2, f"{took}: run sendrecv_perf between two hosts at a time", line
    )
    return pair


def command(table: PairTable, one: End, other: End) -> str:
    """Return the command that measures a pair again, by Open MPI's launcher."""
    size = f"-b {table.size_B} -e {table.size_B}"
    if not one.device:
        return f"mpirun -H {one},{other} {table.kind} {size}  # with as many ranks on each host as before"
    ranks = [
        f"-np 1 -H {end.host} -x CUDA_VISIBLE_DEVICES={end.device.removeprefix('gpu ')} {table.kind} {size}"
        for end in (one, other)
    ]
    return f"mpirun {' : '.join(ranks)}"


def _of_cycles(
    rows: Sequence[nccl_tests.SizeRow], line: int
) -> Iterator[tuple[int, float, float]]:
    """Yield each size in bytes, and the medians of its time in us and its bus bandwidth in MB/s."""
    cycles = defaultdict[int, list[nccl_tests.Timing]](list)
    for row in rows:
        cycles[row.size_B].append(row.out_of_place)
    require(
        len(set(map(len, cycles.values()))) <= 1,
        "some message sizes have more rows than others: lines are missing or there twice",
        line,
    )
    for size_B, timings in cycles.items():
        yield (
            size_B,
            median(each.time_us for each in timings),
            median(each.bus_MBps for each in timings),
        )
