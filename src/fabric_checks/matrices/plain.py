# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV: a matrix, or a row for each pair, with lines that say the unit and how it was
measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from fabric_checks.core.errors import quoted
from fabric_checks.matrices.model import End, PairTable, Row, unit
from fabric_checks.matrices.shared_readers import matrix
from fabric_checks.parsers.table import number, require

NAME = "CSV or TSV with a line '# unit: GB/s'"
SIGNATURE = re.compile(r"(?im)^#[ \t]*unit[ \t]*:")
_SETTING = re.compile(r"(?im)^#[ \t]*(unit|pairs|directions)[ \t]*:[ \t]*(.*)$")
#: What lines such as ``# pairs: alone`` may say, and what they and their absence mean.
_CHOICES: Mapping[str, Mapping[str, bool | None]] = {
    "pairs": {"": None, "alone": True, "at once": False},
    "directions": {"": False, "one": False, "both": True},
}
#: Cells of pairs that were not measured.
_MISSING = ("", "-", "nan", "n/a")
_LONG = ["from", "to", "value"]

#: Numbers of lines, and their cells.
_Lines = Sequence[tuple[int, list[str]]]


def parse(text: str) -> list[PairTable]:
    """Read a table.

    Names are hosts, or ``host:device`` if all of them are. Further matrices below the first, and further rows
    of a pair, are its repeats.

    :raises OutputError: if the unit is unknown, or the table is cut or not one of these.
    """
    lines = {(key.lower(), value) for key, value in _SETTING.findall(text)}
    settings = dict(lines)
    require(
        len(settings) == len(lines),
        "a setting, such as '# unit:', is there twice, with different values",
    )
    alone, both_ways = (_chosen(key, settings.get(key, "")) for key in _CHOICES)
    metric, factor = unit(settings.get("unit", "").split(",")[0].strip())
    blocks = _blocks(text)
    read = _of_pairs if _is_header(blocks[0][0][1]) else _of_matrix
    rows = [row for block in blocks for row in read(block)]
    measured = tuple(
        row._replace(value=row.value * factor) for row in _with_devices(rows)
    )
    return [PairTable("CSV", metric, measured, alone, bool(both_ways))]


def _with_devices(rows: Sequence[Row]) -> Sequence[Row]:
    """Return rows with the devices of their ends, if all names have one."""
    ends = {end: end.host.split(":") for row in rows for end in row[:2]}
    if any(len(words) != 2 for words in ends.values()):
        return rows
    return [
        row._replace(sender=End(*ends[row.sender]), receiver=End(*ends[row.receiver]))
        for row in rows
    ]


def _chosen(key: str, value: str) -> bool | None:
    """Return what a setting means."""
    choices = _CHOICES[key]
    expected = ", ".join(filter(None, choices))
    require(
        value.lower() in choices,
        f"'# {key}:' is {quoted(value)}; one of {expected} was expected",
    )
    return choices[value.lower()]


def _blocks(text: str) -> list[_Lines]:
    """Return the tables, which empty lines separate."""
    *lines, last = text.split("\n")
    require(
        not last,
        "the last line does not end: the file may be cut; end it with a newline",
        len(lines) + 1,
    )
    rows = [(at, line) for at, line in enumerate(lines, 1) if not line.startswith("#")]
    separator = "\t" if any("\t" in line for _, line in rows) else ","
    require(
        not any(re.search("[;|]", line) for _, line in rows)
        and all(separator in line for _, line in rows if line),
        "columns are separated by commas or tabs, and decimals have a point",
    )
    table = [
        (at, [cell.strip(' "') for cell in line.split(separator)]) for at, line in rows
    ]
    blocks = [
        list(block)
        for is_empty, block in groupby(table, lambda line: line[1] == [""])
        if not is_empty
    ]
    require(blocks, "there is no table below the line with the unit")
    return list(blocks)


def _is_header(cells: Sequence[str]) -> bool:
    return [cell.lower() for cell in cells] == _LONG


def _of_pairs(lines: _Lines) -> Iterator[Row]:
    """Yield the rows of a table with a row for each pair, whose header may be repeated."""
    for at, cells in lines:
        require(
            len(cells) == len(_LONG),
            f"a row of {','.join(_LONG)} was expected, found {len(cells)} cells",
            at,
        )
        if not _is_header(cells) and cells[2].lower() not in _MISSING:
            yield Row(End(cells[0]), End(cells[1]), number(cells[2], at), at)


def _of_matrix(lines: _Lines) -> Iterator[Row]:
    """Yield the cells of a matrix with senders down."""
    (first, (corner, *names)), *rows = lines
    second = rows[0][1][1:2] if rows else []
    is_of_pairs = [corner.lower(), *map(str.lower, names[:1])] == _LONG[:2] or any(
        cell[:1].isalpha() and cell.lower() not in _MISSING for cell in second
    )
    require(
        not is_of_pairs,
        f"a table with a row for each pair has the header {','.join(_LONG)}",
        first,
    )
    require(
        names and len(set(names)) == len(names),
        "a matrix with a name for each of its columns was expected, no name twice",
        first,
    )
    if len(rows) == len(names) == len(rows[-1][1]):
        # The empty cell at the end is lost where tabs are removed as blanks at the ends of lines.
        rows[-1][1].append("")
    cells = [(at, title, values) for at, (title, *values) in rows]
    yield from matrix(names, cells, [End(name) for name in names], _MISSING)
