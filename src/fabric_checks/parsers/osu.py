# SPDX-License-Identifier: BSD-3-Clause
"""Output of the OSU Micro-Benchmarks, 5.x to 7.x, and of their Python ports in mpi4py.

A table begins with the benchmark's title and a line of column titles, both after ``#``, followed by a row for
each message size. Nothing marks its end, so the sizes that were asked for must be known. Releases differ: 7.x
begins with a blank line and names the datatype, mbw_mr of 6.x to 7.2 repeats its title, the barrier prints no
size. The columns are in :mod:`~fabric_checks.parsers.osu_columns`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import osu_columns, plain, table
from fabric_checks.parsers.table import HALF_DIGIT, Row

_SUMS = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block")
_MOVES = ("allgather", "allgatherv", "barrier", "gather", "gatherv", "scatter", "scatterv")
_COLLECTIVES = {name: name.capitalize() for name in (*_SUMS, *_MOVES)} | {
    "alltoall": "All-to-All Personalized Exchange",
    "alltoallv": "All-to-Allv Personalized Exchange",
    "alltoallw": "All-to-Allw Personalized Exchange",
    "bcast": "Broadcast",
}
_NEIGHBOURHOOD = {
    "allgather": "Allgather",
    "allgatherv": "Allgatherv",
    "alltoall": "Alltoall",
    "alltoallv": "All-to-Allv",
    "alltoallw": "Alltoallw",
}
_ONE_SIDED = {
    "put_latency": "Put Latency",
    "get_latency": "Get Latency",
    "acc_latency": "Accumulate Latency",
    "get_acc_latency": "Get_accumulate Latency",
    "cas_latency": "Compare_and_swap Latency",
    "fop_latency": "Fetch_and_op Latency",
    "put_bw": "Put Bandwidth",
    "get_bw": "Get Bandwidth",
    "put_bibw": "Put Bi-directional Bandwidth",
}
#: The collectives of the programs in ``xccl``, which call NCCL or RCCL in place of MPI.
_OF_NCCL = ("allgather", "allreduce", "alltoall", "bcast", "reduce", "reduce_scatter")
#: The title each benchmark prints, without the leading "OSU" and a trailing version. Releases differ in
#: capitals.
TITLES = {
    "latency": "MPI Latency Test",
    "latency_mt": "MPI Multi-threaded Latency Test",
    "latency_mp": "MPI Multi-process Latency Test",
    "latency_persistent": "MPI Latency Persistent Test",
    "bw": "MPI Bandwidth Test",
    "bw_persistent": "MPI Bandwidth Persistent Test",
    "bw_fan_in": "MPI Bandwidth Test",
    "bw_fan_out": "MPI Bandwidth Test",
    "bibw": "MPI Bi-Directional Bandwidth Test",
    "bibw_persistent": "MPI Bi-Directional Bandwidth Persistent Test",
    "multi_lat": "MPI Multi Latency Test",
    "mbw_mr": "MPI Multiple Bandwidth / Message Rate Test",
    **{name: f"MPI {title} Latency Test" for name, title in _COLLECTIVES.items()},
    **{f"{name}_persistent": f"MPI {title} Persistent Latency Test" for name, title in _COLLECTIVES.items()},
    **{f"i{name}": f"MPI Non-blocking {title} Latency Test" for name, title in _COLLECTIVES.items()},
    "ialltoall": "MPI Non-blocking All-to-All Latency Test",
    **{
        f"neighbor_{name}": f"MPI Neighborhood {title} Latency Test" for name, title in _NEIGHBOURHOOD.items()
    },
    # 7.3 prints the title of the benchmark that goes over all processes.
    "neighbor_alltoallw": f"MPI {_COLLECTIVES['alltoallw']} Latency Test",
    **{
        f"ineighbor_{name}": f"MPI Non-blocking Neighborhood {name.capitalize()} Latency Test"
        for name in _NEIGHBOURHOOD
    },
    **{name: f"MPI_{title} Test" for name, title in _ONE_SIDED.items()},
    # RCCL stands there for NCCL where the programs are built with it.
    **{f"xccl_{name}": f"NCCL {_COLLECTIVES[name]} Latency Test" for name in _OF_NCCL},
    "xccl_latency": "NCCL Latency Test",
    "xccl_bw": "NCCL Bandwidth Test",
    "xccl_bibw": "NCCL Bi-Directional Bandwidth Test",
}
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
_MISTITLED = {("osu-py", "bw"), ("osu-py", "bibw"), ("osu", "bw_fan_in"), ("osu", "bw_fan_out")}
#: The ports' own titles where they differ.
_PORT_TITLES = {"MPI All-to-All Latency Test": "alltoall"}

#: Other titles of OSU: of another library or release, or damaged.
_OTHER_TITLE = re.compile(r"^#\s*OSU\b.*\bTest\s+v\S*\s*$")
_TITLE = re.compile(
    r"^#\s*(?P<osu>OSU )?(?P<title>(?:MPI(?:_\w+)?|[NR]CCL)(?:-(?P<device>[A-Z]+))?\b.*? Test)"
    r"(?:\s+v(?P<version>[\d.]+\S*))?\s*$"
)
_LIBRARY = re.compile(r"^#Using ([NR]CCL)\s*$")
_KEY = re.compile(r"^#\s*(?P<key>[A-Za-z][A-Za-z0-9 ]*): (?P<value>.*?)\.?\s*$")
_BRACKETED = re.compile(r"\[ (?P<key>[a-z ]+): (?P<value>\S+) \]")
_INIT = re.compile(
    r"^nprocs: (?P<processes>[0-9]{1,9}), min: (?P<min>[0-9]{1,15}) ms, max: (?P<max>[0-9]{1,15}) ms, "
    r"avg: (?P<avg>[0-9]{1,15}) ms\s*$",
    re.MULTILINE,
)
_HELLO = re.compile(r"^This is a test with (?P<processes>[0-9]{1,15}) processes\s*$", re.MULTILINE)
#: A line of digits alone behind it is the rest of a number that was torn.
_LAUNCH = re.compile(r"^launch_to_end_ns: (?P<ns>[0-9]{1,15})\n(?![0-9]+$)", re.MULTILINE)
_STARTUP_TITLE = re.compile(
    r"^# OSU MPI (?P<name>Init|Hello World) Test v(?P<version>[\d.]+\S*)\s*$", re.MULTILINE
)
#: A line of column titles. Barriers have no sizes; before 7.x the titles of the non-blocking one are not
#: behind "#".
_COLUMNS = re.compile(r"#\s*Size\b|#\s*(Avg )?(Latency|Bandwidth)\b.*\(|#?\s*Overall\s*\(")
_VALIDATION = {"Pass": 1.0, "Fail": 0.0}
#: The cells of a row.
_CELL = re.compile(r"[-+]?\.?[0-9][-+.0-9eE]*|[-+]?(nan|inf)|pass|fail", re.IGNORECASE)


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
        if name not in ("overlap_percent", "validation"):
            # In 7.x the time in MPI_Test is 0 if it is not called.
            table.require_positive(output.rows, name, from_size_B=10**18 if name == "mpi_test_us" else 0)
    _require_agreement(output.rows, output.columns)
    return output


def require_validated(text: str, benchmark: str, sizes_B: Sequence[int]) -> None:
    """Raise :class:`OutputError` unless an output with `-c` says of each size that the data were right.

    Its times are not looked at: of a few repetitions they may be 0.
    """
    if "validation" not in _read(text, benchmark, sizes_B).columns:
        raise OutputError("the output has no column 'Validation'")


def _read(text: str, benchmark: str, sizes_B: Sequence[int]) -> OsuOutput:
    """Return a whole table, whose times are not looked at."""
    text = plain.cleaned(text)
    lines = _titled(text.splitlines(), benchmark)
    title, position, columns = _find_table(lines, benchmark)
    program = _program(title)
    columns = _with_unnamed(lines[position:], columns)
    rows = _read_rows(lines, position, columns, len(sizes_B))
    if rows and rows[-1].line == len(lines) and not text.endswith("\n"):
        raise OutputError("the output ends within its last row: no end of line follows", rows[-1].line)
    table.require_sizes(rows, sizes_B)
    names = tuple(name for name in columns if name != "size_B")
    device = (title["device"] or "host").lower()
    return OsuOutput(program, title["version"], names, tuple(rows), device, _header(lines[:position]))


def parse_init(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_init``: ``min``, ``avg`` and ``max`` over the processes, in seconds.

    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    text = plain.cleaned(text)
    version, found = _startup(text, "Init", _INIT, "nprocs: N, min: N ms, max: N ms, avg: N ms", processes)
    least, mean, most = (int(found[name]) for name in ("min", "avg", "max"))
    if not 0 < least <= mean <= most:
        raise OutputError(f"the times of MPI_Init are not positive and in order: {quoted(found[0])}")
    # Their fractions were cut off, which moves all three alike.
    table.require_mean((found["min"], found["avg"], found["max"]), processes, "times of MPI_Init", None)
    return StartupOutput(version, {"min": least / 1000, "avg": mean / 1000, "max": most / 1000})


def parse_hello(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_hello``, followed by a line ``launch_to_end_ns: N`` with the time of its
    launch.

    :returns: the time ``launch`` in seconds.
    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    text = plain.cleaned(text)
    version, found = _startup(text, "Hello World", _HELLO, "This is a test with N processes", processes)
    launch_s = int(_only(_LAUNCH, text[found.end() :], "launch_to_end_ns: N")["ns"]) / 1e9
    if launch_s <= 0:
        raise OutputError("the launch took no time")
    return StartupOutput(version, {"launch": launch_s})


def _startup(
    text: str, name: str, pattern: re.Pattern[str], form: str, processes: int
) -> tuple[str, re.Match[str]]:
    """Return the version of a start-up benchmark, and its only line of a form."""
    title = _only(_STARTUP_TITLE, text, f"# OSU MPI {name} Test vN")
    if title["name"] != name:
        raise OutputError(f"expected the output of OSU's {name} Test, found that of its {title['name']} Test")
    found = _only(pattern, text, form)
    if int(found["processes"]) != processes:
        raise OutputError(
            f"{found['processes']} processes took part instead of the {processes} that were asked for"
        )
    return title["version"], found


def _only(pattern: re.Pattern[str], text: str, form: str) -> re.Match[str]:
    return table.only(list(pattern.finditer(text)), f"line '{form}'", "the program did not finish")


def _require_agreement(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Raise :class:`OutputError` if values of a row contradict each other.

    Least, mean and most are of one time over the processes, with ``-f`` of communication too
    (``calculate_and_print_stats`` of 5.9 to 7.4).
    """
    tails = [name for name in names if "_tail_" in name]
    table.require_order(rows, *sorted(tails, key=lambda name: int(name[1 : name.index("_")])))
    for kind, mean in (("latency", "latency"), ("comm", "pure_comm")):
        if f"min_{kind}_us" in names:
            table.require_order(rows, f"min_{kind}_us", f"{mean}_us", f"max_{kind}_us")
    for row in rows:
        if "message_rate_per_s" in names:
            message_B = row.values.get("transmit_size", row.size_B)
            table.require_rate(row, message_B, HALF_DIGIT)
        if "overlap_percent" in names:
            table.require_overlap(
                row, *(row.values[f"{name}_us"] for name in ("overall", "compute", "pure_comm"))
            )
        if "mpi_wait_us" in names:
            _require_parts(row)


def _require_parts(row: Row) -> None:
    """Raise :class:`OutputError` if the parts of a row took longer than all of it, or took much less.

    They are timed one after the other within it, rounded to two decimals each; reading the clock takes time
    too.
    """
    parts = sum(row.values[f"{name}_us"] for name in ("compute", "coll_init", "mpi_test", "mpi_wait"))
    if not row.values["overall_us"] / 2 - 10 <= parts <= row.values["overall_us"] + 5 * HALF_DIGIT:
        raise OutputError(
            f"compute, start, test and wait take {parts:.2f} us at {row.size_B} B, but all of it "
            f"{row.values['overall_us']:g} us: the output is damaged",
            row.line,
        )


def _header(lines: Sequence[str]) -> dict[str, str]:
    """Return ``# key: value`` and ``[ key: value ]`` of the lines before the table."""
    header: dict[str, str] = {}
    for line in lines:
        if match := _KEY.match(line):
            header[match["key"]] = match["value"]
        header.update((match["key"], match["value"]) for match in _BRACKETED.finditer(line))
    return header


def _titled(lines: Sequence[str], benchmark: str) -> list[str]:
    """Return the lines with a title for the first line '#Using NCCL', if the benchmark is one of NCCL without
    a title.

    Those between two processes print none (7.4), and nothing in their output tells bw from bibw.
    """
    found = [(index, match[1]) for index, line in enumerate(lines) if (match := _LIBRARY.match(line))]
    if not benchmark.startswith("xccl_") or not found or any(map(_TITLE.match, lines)):
        return list(lines)
    at, library = found[0]
    title = TITLES[benchmark].replace("NCCL", f"{library}-{'CUDA' if library == 'NCCL' else 'ROCM'}")
    return [*lines[:at], f"# OSU {title}", *lines[at + 1 :]]


def _find_table(lines: Sequence[str], benchmark: str) -> tuple[re.Match[str], int, tuple[str, ...]]:
    """Return the benchmark's title, the index of the line after the column titles, and the columns' names.

    There must be no other table. The column titles are the last ones before the first row: mbw_mr of 5.6 and
    5.7 prints those of another benchmark above its own, from 6.x to 7.2 its title twice, and a table of
    several data types repeats its columns.
    """
    titles = _require_titles(lines, benchmark)
    (first, title), (last, _) = titles[0], titles[-1]
    columns: tuple[str, ...] = ()
    position, has_rows = 0, False
    for number, line in enumerate(map(str.strip, lines[first:]), first + 1):
        if _COLUMNS.match(line):
            names = _columns(line, number, _program(title), benchmark)
            if columns and names not in (None, columns):
                raise OutputError("a second line of other titles: several programs printed this", number)
            if names and not has_rows:
                position, columns = number, names
        elif line and not line.startswith("#"):
            if not columns:
                raise OutputError(f"expected the line of column titles, found {quoted(line)}", number)
            if last > number:
                raise _several(titles)
            has_rows = True
    if not columns:
        raise OutputError("the output ends before the line of column titles")
    return title, position, columns


def _require_titles(lines: Sequence[str], benchmark: str) -> list[tuple[int, re.Match[str]]]:
    """Return the benchmark's titles with their line numbers: one, of mbw_mr also two alike."""
    titles: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate(map(str.strip, lines), 1):
        match = _TITLE.match(line)
        if not match and not _OTHER_TITLE.match(line):
            continue
        if match is None or not _is_of(match["title"], benchmark):
            found = match["title"] if match else line.lstrip("# ")
            raise OutputError(f"expected {TITLES[benchmark]!r}, found the output of {quoted(found)}", number)
        titles.append((number, match))
        if match.groups() != titles[0][1].groups():
            raise OutputError(
                f"a second table begins, of {quoted(line)}: several programs printed this", number
            )
    if not titles:
        raise OutputError(
            f"no title line '# ... {TITLES[benchmark]}': the benchmark did not start, or this is another"
            " program"
        )
    if len(titles) > 1 + (benchmark == "mbw_mr"):
        raise _several(titles)
    return titles


def _several(titles: Sequence[tuple[int, re.Match[str]]]) -> OutputError:
    return OutputError(
        f"{len(titles)} tables of this benchmark begin, in lines {', '.join(str(at) for at, _ in titles)}: "
        "it ran several times, or as separate MPI worlds because the launcher belongs to a different MPI"
    )


def _program(title: re.Match[str]) -> str:
    return "osu" if title["osu"] else "osu-py"


def _is_of(title: str, benchmark: str) -> bool:
    """Return whether a title is that of a benchmark, wherever its buffers are."""
    title = re.sub(r"^(MPI\w*|[NR]CCL)-[A-Z]+", r"\1", title)
    title = re.sub(r"^RCCL\b", "NCCL", title)
    return title.lower() == TITLES[benchmark].lower() or _PORT_TITLES.get(title) == benchmark


def _columns(line: str, line_number: int, program: str, benchmark: str) -> tuple[str, ...] | None:
    """Return the columns that a line of titles announces; None for the one that mbw_mr of 5.6 has too
    many."""
    names = osu_columns.read(line, line_number)
    if benchmark == "mbw_mr" and names == ("size_B", "latency_us"):
        return None
    if (program, benchmark) in _MISTITLED:
        names = tuple("bandwidth_MBps" if name == "latency_us" else name for name in names)
    has_sizes = "barrier" not in benchmark or program == "osu-py"
    osu_columns.require(names, _kind(benchmark), has_sizes=has_sizes, line_number=line_number)
    return names


def _with_unnamed(lines: Sequence[str], columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns with those of ``-f``, whose titles some builds lack, if the first row has three more
    cells."""
    first: list[str] = next((cells for line in lines if (cells := line.split()) and cells[0][0] != "#"), [])
    unnamed = (
        columns[-1:] == ("latency_us",)
        and len(first) == len(columns) + 3
        and all(map(_CELL.fullmatch, first))
    )
    return (*columns, "min_latency_us", "max_latency_us", "iterations") if unnamed else columns


def _kind(benchmark: str) -> str:
    if benchmark == "mbw_mr":
        return osu_columns.MESSAGE_RATE
    if benchmark.startswith("i"):
        return osu_columns.NON_BLOCKING
    return osu_columns.BANDWIDTH if "bw" in benchmark else osu_columns.LATENCY


def _read_rows(lines: Sequence[str], start: int, columns: Sequence[str], count: int) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(lines[start:], start + 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if len(rows) == count and not all(map(_CELL.fullmatch, fields)):
            continue  # what a scheduler or a launcher prints after the table
        cells = table.cells_of(line.strip(), columns, number)
        size_B = table.whole(cells.pop("size_B", "0"), number, "a message size")
        rows.append(Row(number, size_B, {name: _value(name, cell, number) for name, cell in cells.items()}))
        if (
            rows[-1].values.get("validation", 1.0) != 1.0
        ):  # the program ends there, with a line that is no row
            raise WrongDataError(f"OSU's own validation found wrong data at {size_B} B (line {number})")
    return rows


def _value(name: str, cell: str, line: int) -> float:
    if name == "validation":
        if cell not in _VALIDATION:
            raise OutputError(f"the validation column says {quoted(cell)}, neither Pass nor Fail", line)
        return _VALIDATION[cell]
    return (
        table.whole(cell, line, f"a whole number ({name})")
        if name in osu_columns.WHOLE
        else table.two_decimals(cell, line)
    )
