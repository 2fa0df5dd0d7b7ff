# SPDX-License-Identifier: BSD-3-Clause
"""Plain CSV and TSV: a matrix, or a row for each pair, with lines that say the unit and how it was measured."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import BANDWIDTH, End, PairTable, Row, of_rows, unit
from fabric_checks.parsers.table import number

NAME = "CSV or TSV with a line '# unit: GB/s, larger is better'"
NEXT = ""
_UNIT = re.compile(r"^#[ \t]*unit[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SAID = re.compile(r"#\s*(unit|pairs|directions)\s*:\s*(.*?)\s*", re.IGNORECASE)
#: Cells of pairs that were not measured.
_MISSING = ("", "-", "nan", "n/a")
#: The values of the lines ``# pairs:`` and ``# directions:``.
_PAIRS, _DIRECTIONS = {"alone": True, "at once": False}, {"one": False, "both": True}
_LONG = ("from", "to", "value")

_Lines = list[tuple[int, list[str]]]


def recognizes(text: str) -> bool:
    """Return whether a line says the unit."""
    return _UNIT.search(text) is not None


def parse(text: str) -> list[PairTable]:
    """Read a table.

    Names are hosts, or ``host:device`` if all of them are. Further matrices below the first, and further rows of a
    pair, are its repeats.

    :raises OutputError: if the unit is unknown, or the table is cut or not one of these.
    """
    said: dict[str, tuple[int, str]] = {}
    blocks: list[_Lines] = [[]]
    lines = text.removeprefix("\ufeff").split("\n")
    if lines.pop():
        raise OutputError("the last line does not end: the file may be cut; end it with a newline", len(lines) + 1)
    separator = next((each for each in "\t;" if any(each in line for line in lines if line[:1] != "#")), ",")
    for line_number, line in enumerate(lines, 1):
        if not line.strip():
            blocks += [[]] if blocks[-1] else []
        elif line.startswith("#"):
            if found := _SAID.fullmatch(line):
                key = found[1].lower()
                if said.setdefault(key, (line_number, found[2]))[1] != found[2]:
                    raise OutputError(f"'# {key}:' is there twice, with different values", line_number)
        else:
            blocks[-1].append((line_number, _cells(line, separator, line_number)))
    metric, factor = _metric(*said["unit"]) if "unit" in said else unit("")
    blocks = [block for block in blocks if block]
    if not blocks:
        raise OutputError("there is no table below the line with the unit")
    header = tuple(cell.lower() for cell in blocks[0][0][1])
    cells = [cell for block in blocks for cell in (_long(block) if header == _LONG else _matrix(block))]
    has_devices = all(end.count(":") == 1 for _, *ends, _ in cells for end in ends)
    rows = [
        Row(_end(sender, has_devices), _end(receiver, has_devices), number(value, line) * factor, line)
        for line, sender, receiver, value in cells
        if value.lower() not in _MISSING
    ]
    alone = _choice(said, "pairs", _PAIRS)
    return [of_rows("CSV", metric, rows, alone=alone, both_ways=bool(_choice(said, "directions", _DIRECTIONS)))]


def _end(name: str, has_device: bool) -> End:
    host, _, device = name.partition(":") if has_device else (name, "", "")
    return End(host, device)


def _cells(line: str, separator: str, line_number: int) -> list[str]:
    try:
        (cells,) = csv.reader([line], delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        raise OutputError(f"{quoted(line)} is no row of a table", line_number) from None
    return [cell.strip() for cell in cells]


def _metric(line_number: int, text: str) -> tuple[str, float]:
    """Return metric and factor of a text such as ``GB/s, larger is better``."""
    name, _, better = (part.strip() for part in text.partition(","))
    metric, factor = unit(name, line_number)
    expected = "larger is better" if metric == BANDWIDTH else "smaller is better"
    if better.lower() != expected:
        raise OutputError(f"the unit is {quoted(text)}; '{name}, {expected}' was expected", line_number)
    return metric, factor


def _choice(said: dict[str, tuple[int, str]], key: str, choices: dict[str, bool]) -> bool | None:
    if key not in said:
        return None
    line_number, text = said[key]
    if text.lower() not in choices:
        raise OutputError(f"'# {key}:' is {quoted(text)}; one of {', '.join(choices)} was expected", line_number)
    return choices[text.lower()]


def _long(block: _Lines) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, ends and value of each row of a long table; its header may be repeated."""
    for line_number, cells in block:
        if tuple(cell.lower() for cell in cells) != _LONG:
            if len(cells) != len(_LONG):
                raise OutputError(f"a row of {','.join(_LONG)} was expected, found {len(cells)} cells", line_number)
            yield line_number, cells[0], cells[1], cells[2]


def _matrix(block: _Lines) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, ends and value of each cell of a matrix: senders down, receivers across."""
    (first, (_, *receivers)), *rows = block
    senders = [cells[0] for _, cells in rows]
    for names, where in ((receivers, "columns"), (senders, "rows")):
        if not names or len(set(names)) < len(names):
            raise OutputError(f"a matrix with a name for each of its {where} was expected, no name twice", first)
    missing = [name for name in receivers if name not in senders]
    if missing and len(missing) < len(receivers):
        raise OutputError(f"there is a column of {quoted(missing[0])} but no row: is the matrix cut?", first)
    for line_number, (sender, *values) in rows:
        if len(values) != len(receivers):
            raise OutputError(f"a row of {len(receivers)} values was expected, found {len(values)}", line_number)
        for receiver, value in zip(receivers, values, strict=True):
            if receiver != sender:
                yield line_number, sender, receiver, value
