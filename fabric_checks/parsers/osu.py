# SPDX-License-Identifier: BSD-3-Clause
"""Output of the OSU Micro-Benchmarks, 5.x to 7.x, and of their Python ports in mpi4py.

A table begins with the benchmark's title and a line of column titles, both behind ``#``; then a row for each
message size follows, and nothing marks its end, so that the sizes that were asked for must be known. Releases
differ in what surrounds that: 7.x begins with a blank line and names the datatype, ``-c`` adds a column
"Validation", ``-f`` adds minimum, maximum and iterations, the barrier prints no size at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.errors import OutputError, quoted
from fabric_checks.parsers.table import Row, message_size, number, require_positive, require_sizes

#: The title each benchmark prints, without the leading "OSU" and a trailing version.
TITLES = {
    "latency": "MPI Latency Test",
    "bw": "MPI Bandwidth Test",
    "bibw": "MPI Bi-Directional Bandwidth Test",
    "multi_lat": "MPI Multi Latency Test",
    "allgather": "MPI Allgather Latency Test",
    "alltoall": "MPI All-to-All Personalized Exchange Latency Test",
    "bcast": "MPI Broadcast Latency Test",
    "gather": "MPI Gather Latency Test",
    "scatter": "MPI Scatter Latency Test",
    "barrier": "MPI Barrier Latency Test",
}
#: The ports' own titles where they differ.
_PORT_TITLES = {"MPI All-to-All Latency Test": "alltoall"}

_TITLE = re.compile(r"^#\s*(?P<osu>OSU )?(?P<title>MPI(?:-[A-Z]+)?\b.*? Test)(?:\s+v(?P<version>[\d.]+\S*))?\s*$")
_VALIDATION = {"pass": 1.0, "fail": 0.0}


@dataclass(frozen=True)
class OsuOutput:
    """One table of an OSU benchmark.

    :param program: ``osu`` for the originals, ``osu-py`` for the Python ports.
    :param version: the version in the title, or None (the ports print none).
    :param columns: names of the columns after the size, such as ``latency_us``, ``bandwidth_MBps``, ``iterations``.
    :param rows: one for each message size; the barrier's only row has size 0.
    """

    program: str
    version: str | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def parse(text: str, benchmark: str, sizes_B: Sequence[int]) -> OsuOutput:
    """Read the output of one OSU benchmark.

    :param text: everything the program printed to standard output.
    :param benchmark: a key of :data:`TITLES`.
    :param sizes_B: the message sizes that were asked for, in bytes, in order; ``[0]`` for the barrier.
    :raises OutputError: if another program printed this, if a row is missing, repeated, damaged or not positive,
        or if the program's own validation failed.
    """
    lines = text.splitlines()
    start, program, version = _find_title(lines, benchmark)
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
        if name.startswith("overlap") or name == "validation":
            continue
        require_positive(rows, name)
    return OsuOutput(program, version, names, tuple(rows))


def _find_title(lines: Sequence[str], benchmark: str) -> tuple[int, str, str | None]:
    for index, line in enumerate(lines):
        match = _TITLE.match(line)
        if match is None:
            continue
        title = re.sub(r"^MPI-[A-Z]+", "MPI", match["title"])
        if title != TITLES[benchmark] and _PORT_TITLES.get(title) != benchmark:
            raise OutputError(
                f"expected {TITLES[benchmark]!r}, found the output of {quoted(match['title'])}", index + 1
            )
        return index, "osu" if match["osu"] else "osu-py", match["version"]
    raise OutputError(
        f"no title line '# ... {TITLES[benchmark]}': the benchmark did not start, or this is another program"
    )


def _find_columns(lines: Sequence[str], start: int, program: str, benchmark: str) -> tuple[int, list[str]]:
    for index in range(start + 1, len(lines)):
        line = lines[index].strip()
        if line.startswith("# Size") or re.match(r"#\s*(Avg )?(Latency|Bandwidth|Overall)\b.*\(", line):
            # Titles are apart by two blanks or more, but for those of -z, which only a unit separates.
            spaced = re.sub(r"(?<=[)\]])\s", "  ", line.lstrip("# ").strip())
            columns = [_column_name(title) for title in re.split(r"\s{2,}", spaced)]
            if program == "osu-py" and benchmark in ("bw", "bibw"):
                # The ports print the column title of the latency test over their bandwidths.
                columns = ["bandwidth_MBps" if name == "latency_us" else name for name in columns]
            return index + 1, columns
        if line and not line.startswith("#"):
            raise OutputError(f"expected the line of column titles, found {quoted(line)}", index + 1)
    raise OutputError("the output ends before the line of column titles")


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
