# SPDX-License-Identifier: BSD-3-Clause
"""Output of the Intel MPI Benchmarks, 2018 to 2021: IMB-MPI1.

Each benchmark prints a block for each number of processes, headed by "# Benchmarking X" and "# #processes = N",
then a line of column titles and a row for each message size. A sample that outlasts ``-time`` prints
``time-out.`` in place of its figures. "All processes entering MPI_Finalize" ends a complete output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.errors import OutputError, quoted
from fabric_checks.parsers.table import Row, message_size, number, require_positive, require_sizes

_HEADER = re.compile(r"^#\s+Intel\s*\(R\) MPI Benchmarks (?P<version>[^,]+), \S+ part")
_LAST_LINE = "# All processes entering MPI_Finalize"
#: Benchmarks that return at once for zero bytes.
COLLECTIVES = ("Allreduce", "Reduce", "Alltoall", "Allgather", "Bcast")
_MESSAGES = {"PingPong": 1, "PingPing": 1, "Sendrecv": 2, "Exchange": 4}
_COLUMNS = {
    "#bytes": "size_B",
    "#repetitions": "repetitions",
    "t[usec]": "time_us",
    "t_min[usec]": "min_time_us",
    "t_max[usec]": "max_time_us",
    "t_avg[usec]": "time_us",
    "Mbytes/sec": "bandwidth_MBps",
    "Msg/sec": "message_rate_per_s",
}


@dataclass(frozen=True)
class ImbOutput:
    """One block of an IMB benchmark.

    :param version: the version of IMB, such as ``2021.11``, or None where the output does not say.
    :param processes: the number of processes that took part.
    :param columns: names of the columns after the size: ``repetitions``, ``time_us`` (the average over the
        processes where there are three), ``min_time_us``, ``max_time_us``, ``bandwidth_MBps`` (from the bytes and the
        time of the slowest process, not rounded as printed).
    :param rows: one for each message size; the barrier's only row has size 0.
    """

    version: str | None
    processes: int
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def parse(text: str, benchmark: str, sizes_B: Sequence[int], processes: int) -> ImbOutput:
    """Read the block of one IMB-MPI1 benchmark for one number of processes.

    :param text: everything the program printed to standard output.
    :param benchmark: the name that IMB uses, such as ``PingPong``.
    :param sizes_B: the message sizes that were asked for, in bytes, in order; ``[0]`` for the barrier.
    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is another program's, timed out, or holds figures that are
        not positive.
    """
    lines = text.splitlines()
    start = _find_block(lines, benchmark, processes)
    position, columns = _find_columns(lines, start)
    rows = _read_rows(lines, position, columns)
    require_sizes(rows, sizes_B)
    ends = sum(line.strip() == _LAST_LINE for line in lines)
    if ends == 0:
        raise OutputError(f"the last line {_LAST_LINE!r} is missing: the program did not end by itself")
    if ends > 1:
        raise OutputError(f"the last line {_LAST_LINE!r} stands {ends} times: several programs printed this")
    names = tuple(name for name in columns if name != "size_B")
    for name in names:
        if name != "bandwidth_MBps":
            # A collective of zero bytes does nothing and may take no time.
            may_be_zero = benchmark in COLLECTIVES and name != "repetitions"
            require_positive(rows, name, from_size_B=1 if may_be_zero else 0)
    if "bandwidth_MBps" in names:
        rows = [_with_exact_bandwidth(row, benchmark) for row in rows]
    version = next((match["version"] for line in lines if (match := _HEADER.match(line))), None)
    return ImbOutput(version, processes, names, tuple(rows))


def _with_exact_bandwidth(row: Row, benchmark: str) -> Row:
    """Replace the printed bandwidth, which has two decimals only, by bytes over time; the two must agree.

    IMB counts what one process sends and receives (PingPong and PingPing 1, Sendrecv 2, Exchange 4 messages) over the
    time of the slowest process, in units of 10^6 bytes/s.
    """
    time_us = row.values.get("max_time_us", row.values["time_us"])
    moved_B = _MESSAGES[benchmark] * row.size_B
    printed = row.values["bandwidth_MBps"]
    rounding = 0.006  # of both figures: half of the last decimal, and a little
    if not moved_B / (time_us + rounding) - rounding <= printed <= moved_B / max(time_us - rounding, 1e-3) + rounding:
        raise OutputError(
            f"{printed:g} MB/s do not fit {moved_B} B in {time_us:g} us at {row.size_B} B: the output is damaged",
            row.line,
        )
    return Row(row.line, row.size_B, row.values | {"bandwidth_MBps": moved_B / time_us})


def _find_block(lines: Sequence[str], benchmark: str, processes: int) -> int:
    found: list[str] = []
    fitting: list[int] = []
    for index, line in enumerate(lines):
        match = re.match(r"^# Benchmarking (\S+)", line)
        if match is None:
            continue
        found.append(match[1])
        if match[1].lower() != benchmark.lower():
            continue
        count = _processes(lines, index)
        if count == processes:
            fitting.append(index)
        found[-1] += f" on {count} processes"
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise OutputError(
            f"{len(fitting)} blocks of {benchmark} on {processes} processes where one was expected", fitting[1] + 1
        )
    if found:
        raise OutputError(
            f"no block of {benchmark} on {processes} processes; the output has {', '.join(map(quoted, found))}"
        )
    raise OutputError(f"no block '# Benchmarking {benchmark}': the program did not start, or this is another program")


def _processes(lines: Sequence[str], start: int) -> int | None:
    for line in lines[start : start + 4]:
        match = re.match(r"^#\s+#processes = (\d+)", line)
        if match:
            return int(match[1])
    return None


def _find_columns(lines: Sequence[str], start: int) -> tuple[int, list[str]]:
    for index in range(start + 1, len(lines)):
        titles = lines[index].split()
        if titles and titles[0] in ("#bytes", "#repetitions"):
            unknown = [title for title in titles if title not in _COLUMNS]
            if unknown:
                raise OutputError(f"unknown column {quoted(unknown[0])}", index + 1)
            return index + 1, [_COLUMNS[title] for title in titles]
        if lines[index].strip() and not lines[index].lstrip().startswith("#"):
            raise OutputError(f"expected the line of column titles, found {quoted(lines[index])}", index + 1)
    raise OutputError("the output ends before the line of column titles")


def _read_rows(lines: Sequence[str], start: int, columns: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for index in range(start, len(lines)):
        line, place = lines[index].strip(), index + 1
        if not line or line.startswith("#"):
            break  # a blank line ends the block
        fields = line.split()
        if any(field.startswith("time-out.") for field in fields):
            raise OutputError(
                f"IMB gave up at {quoted(fields[0])} B (time-out.): the sample outlasts its limit; raise -time", place
            )
        if len(fields) != len(columns):
            raise OutputError(f"a row of {len(columns)} columns was expected, found {quoted(line)}", place)
        cells = dict(zip(columns, fields, strict=True))
        size = cells.pop("size_B", "0")
        rows.append(Row(place, message_size(size, place), {name: number(cell, place) for name, cell in cells.items()}))
    return rows
