# SPDX-License-Identifier: BSD-3-Clause
"""Output of the OSU Micro-Benchmarks, 5.x to 7.x, and of their Python ports in mpi4py.

A table begins with the benchmark's title and a line of column titles, both after ``#``, followed by a row for
each message size. Nothing marks its end, so the sizes that were asked for must be known. Releases differ: 7.x
begins with a blank line and names the datatype, mbw_mr of 6.x to 7.2 repeats its title, the barrier prints no
size. The columns are in :mod:`~fabric_checks.parsers.osu_columns`. Tables of several data types (``-T all``),
percentiles (``-z``) and derived data types (``-D``) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import data, osu_columns, plain, table
from fabric_checks.parsers.table import Row, require, require_intact, rounded

_SUMS = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block")
#: The title each benchmark prints, without the leading "OSU" and a trailing version. Releases differ in
#: capitals. The programs in ``xccl`` call NCCL or RCCL in place of MPI; RCCL stands there for NCCL where the
#: programs are built with it. neighbor_alltoallw of 7.3 prints the title of the benchmark over all processes.
TITLES: dict[str, str] = data.load("osu_titles.json")
#: Benchmarks that reduce what they send.
REDUCTIONS = (*_SUMS, *(f"i{name}" for name in _SUMS))
#: The synchronisations of the one-sided benchmarks, as they print them, by the value of their option ``-s``.
SYNCHRONISATIONS = {
    "lock": "MPI_Win_lock/unlock",
    "flush": "MPI_Win_flush",
    "flush_local": "MPI_Win_flush_local",
    "lock_all": "MPI_Win_lock_all/unlock_all",
    "pscw": "MPI_Win_post/start/complete/wait",
    "fence": "MPI_Win_fence",
}
#: The programs that print the column title of the latency test over their bandwidths.
_MISTITLED = {
    ("osu-py", "bw"),
    ("osu-py", "bibw"),
    ("osu", "bw_fan_in"),
    ("osu", "bw_fan_out"),
}
#: The ports' own titles where they differ.
_PORT_TITLES = {"alltoall": "MPI All-to-All Latency Test"}

_TITLE = re.compile(
    r"^#\s*(?P<osu>OSU )?(?P<title>\S.*\bTest)(?:\s+v(?P<version>\S+))?\s*$"
)
#: The library, and the memory of the buffers: ``MPI_Put-CUDA Latency Test``.
_LIBRARY = re.compile(r"^(?P<name>MPI(?:_\w+)?|[NR]CCL)(?:-(?P<memory>[A-Z]+))? ")
#: The first line of the benchmarks of NCCL between two processes, which print no title (7.4).
_UNTITLED = re.compile(r"(?m)^#Using ([NR]CCL)\s*$")
_KEY = re.compile(
    r"(?m)^# *([A-Za-z][A-Za-z0-9 ]*): (.*?)\.? *$|\[ ([a-z ]+): (\S+) \]"
)
_INIT = re.compile(
    r"(?m)^nprocs: ([0-9]{1,9}), min: ([0-9]{1,15}) ms, max: ([0-9]{1,15}) ms, avg: ([0-9]{1,15}) ms *$",
)
#: A line of digits alone behind the time is the rest of a number that was torn.
_HELLO = re.compile(
    r"(?m)^This is a test with ([0-9]{1,9}) processes *$[\s\S]*?"
    r"^launch_to_end_ns: ([0-9]{1,15})\n(?![0-9]+$)",
)
#: A line of column titles. Barriers have no sizes; before 7.x the titles of the non-blocking one are not
#: behind "#".
_COLUMNS = re.compile(
    r"#\s*Size\b|#\s*(Avg )?(Latency|Bandwidth)\b.*\(|#?\s*Overall\s*\("
)
#: The columns of least, mean and most of a time, over processes whose number the output does not tell.
_MEANS = (
    ("min_latency_us", "latency_us", "max_latency_us"),
    ("min_comm_us", "pure_comm_us", "max_comm_us"),
)
_MANY = 10**9
#: The cells of a row.
_CELL = re.compile(r"(?i)[-+]?\.?[0-9][-+.0-9eE]*|[-+]?(nan|inf)|pass|fail")


class WrongDataError(OutputError):
    """The program found that its data did not arrive as they were sent."""


@dataclass(frozen=True)
class OsuOutput:
    """One table of an OSU benchmark.

    :param program: ``osu`` for the originals, ``osu-py`` for the Python ports.
    :param version: the version in the title, or None (the ports print none).
    :param columns: names of the columns after the size, such as ``latency_us``, ``bandwidth_MBps``,
        ``iterations``.
    :param rows: one for each message size; the barriers' only row has size 0.
    :param memory: the memory of the buffers by the title: ``host``, ``cuda``, ``rocm``, ...
    :param header: the header's keys and values, such as ``Synchronization`` and ``pairs``.
    """

    program: str
    version: str | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    memory: str = "host"
    header: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StartupOutput:
    """The output of a start-up benchmark: OSU's version, and times in seconds by name."""

    version: str
    times_s: Mapping[str, float]


def parse(text: str, benchmark: str, sizes_B: Sequence[int]) -> OsuOutput:
    """Read the output of one OSU benchmark.

    :param text: the standard output of the program.
    :param benchmark: a key of :data:`TITLES`.
    :param sizes_B: the message sizes that were asked for, in bytes, in order; ``[0]`` for the barriers.
    :raises OutputError: if another program printed this, if a row is missing, repeated, damaged or not
        positive, or if the program's own validation failed.
    """
    output = _read(text, benchmark, sizes_B)
    for name in output.columns:
        # In 7.x the time in MPI_Test is 0 if it is not called.
        if name not in ("overlap_percent", "validation"):
            table.require_positive(
                output.rows, name, from_size_B=10**18 if name == "mpi_test_us" else 0
            )
    for row in output.rows:
        _require_agreement(row)
    return output


def require_validated(text: str, benchmark: str, sizes_B: Sequence[int]) -> None:
    """Raise :class:`OutputError` unless an output with `-c` says of each size that the data were right.

    Its times are not looked at: of a few repetitions they may be 0.
    """
    columns = _read(text, benchmark, sizes_B).columns
    require("validation" in columns, "the output has no column 'Validation'")


def _read(text: str, benchmark: str, sizes_B: Sequence[int]) -> OsuOutput:
    """Return a whole table, whose times are not looked at."""
    text = _titled(plain.cleaned(text), benchmark)
    lines = text.splitlines()
    begin, title = _title(lines, benchmark)
    program = "osu" if title["osu"] else "osu-py"
    columns, rows = _table(lines, begin, program, benchmark, len(sizes_B))
    is_cut = rows and rows[-1].line == len(lines) and not text.endswith("\n")
    require(
        not is_cut,
        "the output ends within its last row: no end of line follows",
        len(lines),
    )
    table.require_sizes(rows, sizes_B)
    header = {
        key or name: value or word for key, value, name, word in _KEY.findall(text)
    }
    names = tuple(name for name in columns if name != "size_B")
    return OsuOutput(
        program, title["version"], names, tuple(rows), _split(title["title"])[1], header
    )


def _titled(text: str, benchmark: str) -> str:
    """Return a text with the title, which NCCL's benchmarks of two processes do not print (7.4)."""
    library = _UNTITLED.search(text)
    if library is None or "# OSU" in text or not benchmark.startswith("xccl_"):
        return text
    memory = "CUDA" if library[1] == "NCCL" else "ROCM"
    title = TITLES[benchmark].replace("NCCL", f"{library[1]}-{memory}")
    return _UNTITLED.sub(f"# OSU {title}", text, 1)


def _table(
    lines: Sequence[str], begin: int, program: str, benchmark: str, count: int
) -> tuple[tuple[str, ...], list[Row]]:
    """Return the columns and the rows below a title.

    The column titles are the last ones before the rows: mbw_mr of 5.6 prints those of another benchmark
    above its own.
    """
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    for number, line in enumerate(lines[begin:], begin + 1):
        cells = line.split()
        if _COLUMNS.match(line.strip()):
            require(
                not rows,
                "a second line of titles: several programs printed this",
                number,
            )
            columns = osu_columns.read(line, number)
        elif not cells or cells[0].startswith("#"):
            continue
        elif len(rows) < count or all(
            map(_CELL.fullmatch, cells)
        ):  # others are of a scheduler or launcher
            if not rows:
                if (program, benchmark) in _MISTITLED:
                    title = " ".join(columns).replace("latency_us", "bandwidth_MBps")
                    columns = tuple(title.split())
                has_sizes = "barrier" not in benchmark or program == "osu-py"
                osu_columns.require(
                    columns, _kind(benchmark), has_sizes=has_sizes, line_number=number
                )
            rows.append(_row(line, number, columns))
    return columns, rows


def _row(line: str, number: int, columns: Sequence[str]) -> Row:
    row = table.row_of(line, number, columns, _KINDS)
    # The program ends there, with a line that is no row.
    if row.values.get("validation") == 0:
        wrong = f"OSU's own validation found wrong data at {row.size_B} B"
        raise WrongDataError(f"{wrong} (line {number})")
    return row


def _validation(cell: str, line: int) -> float:
    require(
        cell in ("Pass", "Fail"),
        f"the validation column says {quoted(cell)}, neither Pass nor Fail",
        line,
    )
    return float(cell == "Pass")


_KINDS: Mapping[str, Callable[[str, int], float]] = {
    "iterations": table.whole,
    "validation": _validation,
}


def _title(lines: Sequence[str], benchmark: str) -> tuple[int, re.Match[str]]:
    """Return the line number of the benchmark's title, and the title.

    There is one; mbw_mr of 6.x to 7.2 prints it twice.
    """
    matches = enumerate(map(_TITLE.match, lines), 1)
    titles = [(number, match) for number, match in matches if match]
    wanted = TITLES[benchmark]
    require(
        titles,
        f"no title line '# ... {wanted}': the benchmark did not start, or this is another program",
    )
    known = (wanted.lower(), _PORT_TITLES.get(benchmark, "").lower())
    for number, match in titles:
        require(
            _split(match["title"])[0].lower() in known,
            f"expected {wanted!r}, found the output of {quoted(match['title'])}",
            number,
        )
        require(
            match.groups() == titles[0][1].groups(),
            f"a second table begins, of {quoted(match[0])}: several programs printed this",
            number,
        )
    places = ", ".join(str(number) for number, _ in titles)
    require(
        len(titles) <= 1 + (benchmark == "mbw_mr"),
        f"{len(titles)} tables of this benchmark begin, in lines {places}: it ran several times, or as"
        " separate MPI worlds because the launcher belongs to a different MPI",
    )
    return titles[0]


def _split(title: str) -> tuple[str, str]:
    """Return a title without the memory of the buffers, RCCL's as that of NCCL, and that memory."""
    library = _LIBRARY.match(title)
    if library is None:
        return title, "host"
    name = f"{library['name'].replace('RCCL', 'NCCL')} {title[library.end() :]}"
    return name, (library["memory"] or "host").lower()


def _kind(benchmark: str) -> str:
    if benchmark == "mbw_mr":
        return osu_columns.MESSAGE_RATE
    if benchmark.startswith("i"):
        return osu_columns.NON_BLOCKING
    return osu_columns.BANDWIDTH if "bw" in benchmark else osu_columns.LATENCY


def _require_agreement(row: Row) -> None:
    """Raise :class:`OutputError` if values of a row contradict each other.

    Least, mean and most are of one time over the processes, with ``-f`` of communication too
    (``calculate_and_print_stats`` of 5.9 to 7.4).
    """
    values = row.values
    for least, mean, most in _MEANS:
        if least in values:
            spans = [rounded(values[name]) for name in (least, mean, most)]
            table.require_mean(spans, _MANY, f"{mean} at {row.size_B} B", row.line)
    if "message_rate_per_s" in values:
        table.require_rate(row)
    if "overlap_percent" in values:
        table.require_overlap(
            row, values["overall_us"], values["compute_us"], values["pure_comm_us"]
        )
    if "mpi_wait_us" in values:
        # The parts are timed one after the other within the whole; reading the clock takes time too.
        parts = sum(
            values[f"{name}_us"]
            for name in ("compute", "coll_init", "mpi_test", "mpi_wait")
        )
        overall = values["overall_us"]
        require_intact(
            overall / 2 - 10 <= parts <= overall + 0.026,
            f"compute, start, test and wait take {parts:.2f} us at {row.size_B} B, all of it {overall:g} us",
            row.line,
        )


def parse_init(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_init``: ``min``, ``avg`` and ``max`` over the processes, in seconds.

    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    version, times = _startup(text, "Init", _INIT, processes)
    least, most, mean = times
    require(least > 0, f"the least time of MPI_Init is {least} ms; it must be positive")
    # Their fractions were cut off, which moves all three alike.
    spans = [rounded(time, 0.5) for time in (least, mean, most)]
    table.require_mean(spans, processes, f"{processes} times of MPI_Init", None)
    return StartupOutput(
        version, {"min": least / 1000, "avg": mean / 1000, "max": most / 1000}
    )


def parse_hello(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_hello``, followed by a line ``launch_to_end_ns: N`` with the time of its
    launch.

    :returns: the time ``launch`` in seconds.
    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    version, (launch_ns,) = _startup(text, "Hello World", _HELLO, processes)
    require(launch_ns, "the launch took no time")
    return StartupOutput(version, {"launch": launch_ns / 1e9})


def _startup(
    text: str, name: str, pattern: re.Pattern[str], processes: int
) -> tuple[str, list[int]]:
    """Return the version of a start-up benchmark, and the numbers of its only result."""
    text, why = (
        plain.cleaned(text),
        "the program did not finish, or this is another one",
    )
    titles = re.findall(rf"(?m)^# OSU MPI {name} Test v([\d.]+\S*)\s*$", text)
    version = table.only(titles, f"line '# OSU MPI {name} Test vN'", why)
    result: tuple[str, ...] = table.only(
        pattern.findall(text), "whole result of the program", why
    )
    ran, *numbers = map(int, result)
    require(
        ran == processes,
        f"{ran} processes took part instead of the {processes} that were asked for",
    )
    return version, numbers
