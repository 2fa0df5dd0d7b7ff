# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV: a matrix, or a row for each pair, with lines that say the unit and how it was
measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row, unit
from fabric_checks.matrices.shared_readers import matrix
from fabric_checks.parsers.table import number

NAME = "CSV or TSV with a line '# unit: GB/s, larger is better'"
NEXT = ""
SIGNATURE = re.compile(r"^#[ \t]*unit[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SETTING = re.compile(r"^#[ \t]*(unit|pairs|directions)[ \t]*:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
#: What a line such as ``# pairs: alone`` may say, and what it means.
_CHOICES = {"pairs": {"alone": True, "at once": False}, "directions": {"one": False, "both": True}}
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
    settings = _settings(text)
    chosen = {key: choices.get(settings.get(key, "").lower()) for key, choices in _CHOICES.items()}
    metric, factor = _unit(settings.get("unit", ""))
    blocks = _blocks(text)
    is_long = [cell.lower() for cell in blocks[0][0][1]] == _LONG
    rows = [row for block in blocks for row in (_of_pairs(block) if is_long else _of_matrix(block))]
    has_devices = all(end.host.count(":") == 1 for row in rows for end in row[:2])
    ends = {end: End(*end.host.split(":")) if has_devices else end for row in rows for end in row[:2]}
    measured = tuple(Row(ends[one], ends[other], value * factor, line) for one, other, value, line, _ in rows)
    return [PairTable("CSV", metric, measured, chosen["pairs"], bool(chosen["directions"]))]


def _settings(text: str) -> dict[str, str]:
    """Return the settings in lines that begin with ``#``."""
    settings: dict[str, str] = {}
    for key, value in ((key.lower(), value) for key, value in _SETTING.findall(text)):
        if settings.setdefault(key, value) != value:
            raise OutputError(f"'# {key}:' is there twice, with different values")
        if value.lower() not in _CHOICES.get(key, {value.lower(): True}):
            raise OutputError(
                f"'# {key}:' is {quoted(value)}; one of {', '.join(_CHOICES[key])} was expected"
            )
    return settings


def _unit(setting: str) -> tuple[str, float]:
    """Return the metric and the factor of a unit such as ``GB/s, larger is better``."""
    name, _, better = (part.strip() for part in setting.partition(","))
    metric, factor = unit(name)
    expected = "larger is better" if metric == BANDWIDTH else "smaller is better"
    if better.lower() != expected:
        raise OutputError(f"the unit is {quoted(setting)}; '{name}, {expected}' was expected")
    return metric, factor


def _blocks(text: str) -> list[_Lines]:
    """Return the tables, which empty lines separate."""
    lines = text.split("\n")
    if lines.pop():
        raise OutputError(
            "the last line does not end: the file may be cut; end it with a newline", len(lines) + 1
        )
    rows = [(at, line) for at, line in enumerate(lines, 1) if not line.startswith("#")]
    separator = next((each for each in "\t;" if any(each in line for _, line in rows)), ",")
    table = [(at, [cell.strip(' "') for cell in line.split(separator)]) for at, line in rows]
    blocks: list[_Lines] = [
        list(block) for is_empty, block in groupby(table, lambda line: line[1] == [""]) if not is_empty
    ]
    if not blocks:
        raise OutputError("there is no table below the line with the unit")
    return blocks


def _of_pairs(lines: _Lines) -> Iterator[Row]:
    """Yield the rows of a table with a row for each pair, whose header may be repeated."""
    for at, cells in lines:
        if len(cells) != len(_LONG):
            raise OutputError(f"a row of {','.join(_LONG)} was expected, found {len(cells)} cells", at)
        if [cell.lower() for cell in cells] != _LONG and cells[2].lower() not in _MISSING:
            yield Row(End(cells[0]), End(cells[1]), number(cells[2], at), at)


def _of_matrix(lines: _Lines) -> Sequence[Row]:
    """Return the cells of a matrix with senders down."""
    (first, (_, *names)), *rows = lines
    if not names or len(set(names)) < len(names):
        raise OutputError("a matrix with a name for each of its columns was expected, no name twice", first)
    if len(rows) == len(names) == len(rows[-1][1]):
        rows[-1][1].append(
            ""
        )  # the empty cell at the end, where tabs are removed as blanks at the ends of lines
    return matrix(
        names, [(at, title, cells) for at, (title, *cells) in rows], [End(name) for name in names], _MISSING
    )
