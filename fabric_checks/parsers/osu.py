# SPDX-License-Identifier: BSD-3-Clause
"""Output of the OSU Micro-Benchmarks, 5.x to 7.x, and of their Python ports in mpi4py.

A table begins with the benchmark's title and a line of column titles, both behind ``#``; then a row for each
message size follows, and nothing marks its end, so that the sizes that were asked for must be known. Releases
differ in what surrounds that: 7.x begins with a blank line and names the datatype, ``-c`` adds a column
"Validation", ``-f`` adds minimum, maximum and iterations, the barrier prints no size at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.errors import OutputError, quoted
from fabric_checks.parsers.table import Row, message_size, number, require_positive, require_sizes

_COLLECTIVES = {
    "allgather": "Allgather",
    "allgatherv": "Allgatherv",
    "allreduce": "Allreduce",
    "alltoall": "All-to-All Personalized Exchange",
    "alltoallv": "All-to-Allv Personalized Exchange",
    "alltoallw": "All-to-Allw Personalized Exchange",
    "barrier": "Barrier",
    "bcast": "Broadcast",
    "gather": "Gather",
    "gatherv": "Gatherv",
    "reduce": "Reduce",
    "reduce_scatter": "Reduce_scatter",
    "reduce_scatter_block": "Reduce_scatter_block",
    "scatter": "Scatter",
    "scatterv": "Scatterv",
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
#: The title each benchmark prints, without the leading "OSU" and a trailing version. Releases differ in capitals.
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
    **{f"neighbor_{name}": f"MPI Neighborhood {title} Latency Test" for name, title in _NEIGHBOURHOOD.items()},
    # 7.3 prints the title of the benchmark that goes over all processes.
    "neighbor_alltoallw": f"MPI {_COLLECTIVES['alltoallw']} Latency Test",
    **{
        f"ineighbor_{name}": f"MPI Non-blocking Neighborhood {name.capitalize()} Latency Test"
        for name in _NEIGHBOURHOOD
    },
    **{name: f"MPI_{title} Test" for name, title in _ONE_SIDED.items()},
}
#: Benchmarks that compute on what they send.
REDUCTIONS = (
    "allreduce",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "iallreduce",
    "ireduce",
    "ireduce_scatter",
    "ireduce_scatter_block",
)
#: What the option ``-s`` of the one-sided benchmarks stands for, as they print it.
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

_TITLE = re.compile(
    r"^#\s*(?P<osu>OSU )?(?P<title>MPI(?:_\w+)?(?:-(?P<device>[A-Z]+))?\b.*? Test)(?:\s+v(?P<version>[\d.]+\S*))?\s*$"
)
_KEY = re.compile(r"^#\s*(?P<key>[A-Za-z][A-Za-z0-9 ]*): (?P<value>.*?)\.?\s*$")
_BRACKETED = re.compile(r"\[ (?P<key>[a-z ]+): (?P<value>\S+) \]")
_INIT = re.compile(
    r"^nprocs: (?P<processes>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms\s*$", re.MULTILINE
)
_HELLO = re.compile(r"^This is a test with (?P<processes>\d+) processes\s*$", re.MULTILINE)
_LAUNCH = re.compile(r"^launch_to_end_ns: (?P<ns>\d+)\n", re.MULTILINE)
_STARTUP_TITLE = re.compile(r"^# OSU MPI (?P<name>Init|Hello World) Test v(?P<version>[\d.]+\S*)\s*$", re.MULTILINE)
#: Barriers have no sizes; before 7.x the titles of the non-blocking one are not behind "#".
_BARRIER_COLUMNS = re.compile(r"#\s*(Avg )?(Latency|Bandwidth)\b.*\(|#?\s*Overall\s*\(")
_VALIDATION = {"pass": 1.0, "fail": 0.0}


@dataclass(frozen=True)
class OsuOutput:
    """One table of an OSU benchmark.

    :param program: ``osu`` for the originals, ``osu-py`` for the Python ports.
    :param version: the version in the title, or None (the ports print none).
    :param columns: names of the columns after the size, such as ``latency_us``, ``bandwidth_MBps``, ``iterations``.
    :param rows: one for each message size; the barriers' only row has size 0.
    :param memory: where the buffers are: ``host``, ``cuda``, ``rocm``, ... as the title says.
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

    :param text: everything the program printed to standard output.
    :param benchmark: a key of :data:`TITLES`.
    :param sizes_B: the message sizes that were asked for, in bytes, in order; ``[0]`` for the barriers.
    :raises OutputError: if another program printed this, if a row is missing, repeated, damaged or not positive,
        or if the program's own validation failed.
    """
    lines = text.splitlines()
    start, title = _find_title(lines, benchmark)
    program = "osu" if title["osu"] else "osu-py"
    position, columns = _find_columns(lines, start, program, benchmark)
    rows = _read_rows(lines, position, columns, len(sizes_B), barrier="size_B" not in columns)
    if rows and rows[-1].line == len(lines) and not text.endswith("\n"):
        raise OutputError("the output ends within its last row: no end of line follows", rows[-1].line)
    require_sizes(rows, sizes_B)
    names = tuple(name for name in columns if name != "size_B")
    for row in rows:
        if row.values.get("validation", 1.0) != 1.0:
            raise OutputError(f"the program's own validation failed at {row.size_B} B", row.line)
    for name in names:
        # An overlap may be none, and in 7.x the time in MPI_Test is when it is not called.
        if name not in ("overlap_percent", "validation", "mpi_test_us"):
            require_positive(rows, name)
    if "overlap_percent" in names:
        _require_overlap(rows)
    device = (title["device"] or "host").lower()
    return OsuOutput(program, title["version"], names, tuple(rows), device, _header(lines[:position]))


def parse_init(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_init``: ``min``, ``avg`` and ``max`` over the processes, in seconds.

    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    version = _startup_version(text, "Init")
    found = _only(_INIT, text, "nprocs: N, min: N ms, max: N ms, avg: N ms")
    _require_processes(found, processes)
    times_s = {name: int(found[name]) / 1000 for name in ("min", "avg", "max")}
    if not 0 < times_s["min"] <= times_s["avg"] <= times_s["max"]:
        raise OutputError(f"the times of MPI_Init are not positive and in order: {quoted(found[0])}")
    return StartupOutput(version, times_s)


def parse_hello(text: str, processes: int) -> StartupOutput:
    """Read the output of ``osu_hello``, followed by a line ``launch_to_end_ns: N`` that its launch was timed with.

    :returns: the time ``launch`` in seconds.
    :param processes: the number of processes that must have taken part.
    :raises OutputError: if the output is not whole, is not believable, or other processes took part.
    """
    version = _startup_version(text, "Hello World")
    found = _only(_HELLO, text, "This is a test with N processes")
    _require_processes(found, processes)
    launch_s = int(_only(_LAUNCH, text[found.end() :], "launch_to_end_ns: N")["ns"]) / 1e9
    if launch_s <= 0:
        raise OutputError("the launch took no time")
    return StartupOutput(version, {"launch": launch_s})


def _startup_version(text: str, name: str) -> str:
    found = _only(_STARTUP_TITLE, text, f"# OSU MPI {name} Test vN")
    if found["name"] != name:
        raise OutputError(f"expected the output of OSU's {name} Test, found that of its {found['name']} Test")
    return found["version"]


def _only(pattern: re.Pattern[str], text: str, form: str) -> re.Match[str]:
    """Return the only match of a line; there has to be one."""
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise OutputError(
            f"{len(found)} lines '{form}' where one was expected: "
            + ("several programs printed this" if found else "the program did not come to its end")
        )
    return found[0]


def _require_processes(found: re.Match[str], processes: int) -> None:
    if int(found["processes"]) != processes:
        raise OutputError(f"{found['processes']} processes took part, not the {processes} that were asked for")


def _require_overlap(rows: Sequence[Row]) -> None:
    """Raise :class:`OutputError` unless the overlap is a share that fits the times beside it.

    OSU prints 100 (1 - (overall - compute) / pure communication), or 0 if that is less.
    """
    rounding = 0.0151  # three figures of two decimals
    for row in rows:
        overlap = row.values["overlap_percent"]
        if not 0 <= overlap <= 100:
            raise OutputError(f"overlap_percent is {overlap:g} at {row.size_B} B; it must be from 0 to 100", row.line)
        names = ("overall_us", "compute_us", "pure_comm_us")
        overall, compute, communication = (row.values[name] for name in names)
        fitting = max(0.0, 100 * (1 - (overall - compute) / communication))
        if abs(overlap - min(fitting, 100.0)) > 0.01 + 100 * 2 * rounding / communication:
            raise OutputError(
                f"an overlap of {overlap:g} % does not fit the times at {row.size_B} B, which give {fitting:.2f} %: "
                "the output is damaged",
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


def _find_title(lines: Sequence[str], benchmark: str) -> tuple[int, re.Match[str]]:
    for index, line in enumerate(lines):
        match = _TITLE.match(line)
        if match is None:
            continue
        title = re.sub(r"^(MPI\w*)-[A-Z]+", r"\1", match["title"])
        if title.lower() != TITLES[benchmark].lower() and _PORT_TITLES.get(title) != benchmark:
            raise OutputError(
                f"expected {TITLES[benchmark]!r}, found the output of {quoted(match['title'])}", index + 1
            )
        return index, match
    raise OutputError(
        f"no title line '# ... {TITLES[benchmark]}': the benchmark did not start, or this is another program"
    )


def _find_columns(lines: Sequence[str], start: int, program: str, benchmark: str) -> tuple[int, list[str]]:
    """Return the index of the line after the column titles, and the columns' names.

    It is the last such line before the first row: mbw_mr of 5.6 and 5.7 prints that of another benchmark above its own.
    """
    found: tuple[int, list[str]] | None = None
    for index in range(start + 1, len(lines)):
        line = lines[index].strip()
        if line.startswith("# Size") or _BARRIER_COLUMNS.match(line):
            # Titles are apart by two blanks or more, but for those of -z, which only a unit separates.
            spaced = re.sub(r"(?<=[)\]])\s", "  ", line.lstrip("# ").strip())
            columns = [_column_name(title) for title in re.split(r"\s{2,}", spaced)]
            if (program, benchmark) in _MISTITLED:
                columns = ["bandwidth_MBps" if name == "latency_us" else name for name in columns]
            found = (index + 1, columns)
        elif line and not line.startswith("#"):
            if found is None:
                raise OutputError(f"expected the line of column titles, found {quoted(line)}", index + 1)
            break
    if found is None:
        raise OutputError("the output ends before the line of column titles")
    return found


def _column_name(title: str) -> str:
    """Turn a column title into a name: 'Avg Latency(us)' into latency_us, 'Size [B]' into size_B."""
    match = re.fullmatch(r"(?P<name>.*?)\s*(?:[(\[](?P<unit>[^)\]]*)[)\]])?", title)
    assert match is not None  # the pattern matches any text
    name, unit = match["name"].strip(), match["unit"]
    if name == "Size":
        return "size_B"
    if name == "MB/s":
        return "bandwidth_MBps"
    if name == "Messages/s":
        return "message_rate_per_s"
    base = re.sub(r"[^a-z0-9]+", "_", re.sub(r"^Avg ", "", name).lower()).strip("_")
    suffix = {"us": "_us", "MB/s": "_MBps", "%": "_percent"}.get(unit or "", "")
    return base + suffix


def _read_rows(lines: Sequence[str], start: int, columns: Sequence[str], count: int, *, barrier: bool) -> list[Row]:
    rows: list[Row] = []
    for index in range(start, len(lines)):
        line, place = lines[index].strip(), index + 1
        if not line or line.startswith("#"):
            continue
        fields = line.split()
        if len(rows) == count and not _is_like_a_row(fields, columns):
            continue  # what a scheduler or a launcher prints after the table
        if len(fields) != len(columns):
            raise OutputError(f"a row of {len(columns)} columns was expected, found {quoted(line)}", place)
        cells = dict(zip(columns, fields, strict=True))
        size = "0" if barrier else cells.pop("size_B")
        values = {
            name: _validation(cell, place) if name == "validation" else number(cell, place)
            for name, cell in cells.items()
        }
        rows.append(Row(place, message_size(size, place), values))
    return rows


def _is_like_a_row(fields: Sequence[str], columns: Sequence[str]) -> bool:
    return len(fields) == len(columns) and re.match(r"[-+.0-9]|nan|inf", fields[0], re.IGNORECASE) is not None


def _validation(cell: str, line: int) -> float:
    try:
        return _VALIDATION[cell.lower()]
    except KeyError:
        raise OutputError(f"the validation column says {quoted(cell)}, neither Pass nor Fail", line) from None
