# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV: a matrix, or a row for each pair, with lines that say the unit and how it was measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row, unit
from fabric_checks.matrices.reading import cells_of
from fabric_checks.parsers.table import number

NAME = "CSV or TSV with a line '# unit: GB/s, larger is better'"
NEXT = ""
_SETTING = re.compile(r"^#[ \t]*(unit|pairs|directions)[ \t]*:[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE)
#: Cells of pairs that were not measured.
_MISSING = ("", "-", "nan", "n/a")
_LONG = ["from", "to", "value"]

_Lines = list[tuple[int, list[str]]]


def recognizes(text: str) -> bool:
    """Return whether a line says the unit."""
    return any(key.lower() == "unit" for key, _ in _SETTING.findall(text))


def parse(text: str) -> list[PairTable]:
    """Read a table.

    Names are hosts, or ``host:device`` if all of them are. Further matrices below the first, and further rows of a
    pair, are its repeats.

    :raises OutputError: if the unit is unknown, or the table is cut or not one of these.
    """
    settings: dict[str, str] = {}
    for key, value in _SETTING.findall(text):
        if settings.setdefault(key.lower(), value) != value:
            raise OutputError(f"'# {key.lower()}:' is there twice, with different values")
    metric, factor = _metric(settings.get("unit", ""))
    lines = text.split("\n")
    if lines.pop():
        raise OutputError("the last line does not end: the file may be cut; end it with a newline", len(lines) + 1)
    separator = next((each for each in "\t;" if any(each in line for line in lines if line[:1] != "#")), ",")
    blocks: list[_Lines] = [[]]
    for at, line in enumerate(lines, 1):
        if not line.strip():
            blocks.append([])
        elif not line.startswith("#"):
            blocks[-1].append((at, [cell.strip(' "') for cell in line.split(separator)]))
    if not (blocks := [block for block in blocks if block]):
        raise OutputError("there is no table below the line with the unit")
    cells = list(_cells(blocks))
    has_devices = all(end.count(":") == 1 for _, *ends, _ in cells for end in ends)
    rows = tuple(
        Row(_end(sender, has_devices), _end(receiver, has_devices), number(value, at) * factor, at)
        for at, sender, receiver, value in cells
        if value.lower() not in _MISSING
    )
    alone = _choice(settings, "pairs", {"alone": True, "at once": False})
    both_ways = _choice(settings, "directions", {"one": False, "both": True})
    return [PairTable("CSV", metric, rows, alone, bool(both_ways))]


def _end(name: str, has_device: bool) -> End:
    return End(*name.split(":")) if has_device else End(name)


def _metric(text: str) -> tuple[str, float]:
    """Return metric and factor of a text such as ``GB/s, larger is better``."""
    name, _, better = (part.strip() for part in text.partition(","))
    metric, factor = unit(name)
    expected = "larger is better" if metric == BANDWIDTH else "smaller is better"
    if better.lower() != expected:
        raise OutputError(f"the unit is {quoted(text)}; '{name}, {expected}' was expected")
    return metric, factor


def _choice(settings: dict[str, str], key: str, choices: dict[str, bool]) -> bool | None:
    """Return the choice of a line such as ``# pairs: alone``; None without it."""
    if key in settings and settings[key].lower() not in choices:
        raise OutputError(f"'# {key}:' is {quoted(settings[key])}; one of {', '.join(choices)} was expected")
    return choices.get(settings.get(key, "").lower())


def _cells(blocks: Sequence[_Lines]) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, sender, receiver and value of each row for a pair, or each cell of matrices with senders down."""
    if [cell.lower() for cell in blocks[0][0][1]] == _LONG:
        for at, cells in (line for block in blocks for line in block):
            if len(cells) != len(_LONG):
                raise OutputError(f"a row of {','.join(_LONG)} was expected, found {len(cells)} cells", at)
            if [cell.lower() for cell in cells] != _LONG:
                yield at, cells[0], cells[1], cells[2]
        return
    for (first, (_, *names)), *rows in blocks:
        if not names or len(set(names)) < len(names):
            raise OutputError("a matrix with a name for each of its columns was expected, no name twice", first)
        if len(rows) == len(names) == len(rows[-1][1]):
            rows[-1][1].append("")  # the empty cell at the end, where tabs are removed as blanks at the ends of lines
        for at, row, column, value in cells_of(names, [(line, cells[0], cells[1:]) for line, cells in rows]):
            if row != column:
                yield at, names[row], names[column], value
