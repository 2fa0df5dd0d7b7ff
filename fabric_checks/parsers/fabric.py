# SPDX-License-Identifier: BSD-3-Clause
"""Output of the collection's own MPI programs (``checks/fabric/src``): a header, rows, and a last line.

All of them print ``# fabric-checks NAME FORMAT`` first, then ``# key: value`` lines, then ``# columns: ...``, the
rows, and ``# complete: N ...`` last, which only a run that came to its end prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.errors import OutputError, quoted

_FIRST_LINE = re.compile(r"^# fabric-checks (?P<program>\S+) (?P<format>\d+)\s*$")
_KEY = re.compile(r"^# (?P<key>[a-z][a-z0-9 -]*): (?P<value>.*)$")
_LAST_LINE = re.compile(r"^# complete: (?P<count>[0-9]{1,9}) \S+\s*$")


@dataclass(frozen=True)
class FabricOutput:
    """The output of one of our programs, not yet interpreted.

    :param header: the ``# key: value`` lines, such as ``mpi``, ``compiler``, ``ranks``.
    :param columns: the names of the columns.
    :param rows: for each row its line number, counted from 1, and its cells by column.
    """

    header: Mapping[str, str]
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]


def parse(text: str, program: str, columns: Sequence[str]) -> FabricOutput:
    """Read the output of one of our programs.

    :param text: everything the program printed to standard output; lines before its first are passed over.
    :param program: the name in its first line, such as ``streaming``.
    :param columns: names of columns that the rows must have.
    :raises OutputError: if the output is another program's, of a format this version does not know, damaged or cut.
    """
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if "# fabric-checks " in line]
    if len(starts) > 1:
        # Several complete outputs mean that the launcher and the program do not know each other.
        raise OutputError(
            f"{len(starts)} separate MPI worlds instead of one: the launcher belongs to another MPI than the program; "
            "check the partition's launcher against the environment's MPI"
        )
    start = starts[0] if starts else None
    first = _FIRST_LINE.match(lines[start]) if start is not None else None
    if start is None or first is None:
        raise OutputError(f"no line '# fabric-checks {program} ...': the program did not start, or this is another one")
    if first["program"] != program:
        raise OutputError(f"expected the output of {program}, found that of {quoted(first['program'])}", start + 1)
    if first["format"] != "1":
        raise OutputError(
            f"format {first['format']} of {program} is not known here; program and library differ", start + 1
        )
    header: dict[str, str] = {}
    titles: tuple[str, ...] = ()
    rows: list[tuple[int, Mapping[str, str]]] = []
    for index in range(start + 1, len(lines)):
        line, place = lines[index], index + 1
        last = _LAST_LINE.match(line)
        if last:
            if int(last["count"]) != len(rows):
                raise OutputError(f"the last line counts {last['count']} rows, found {len(rows)}", place)
            return FabricOutput(header, titles, tuple(rows))
        key = _KEY.match(line)
        if key and key["key"] == "columns":
            titles = tuple(key["value"].split())
            for name in columns:
                if name not in titles:
                    raise OutputError(f"the table has no column {name!r}", place)
        elif key and not titles:
            header[key["key"]] = key["value"]
        elif line.strip():
            rows.append((place, _cells(line, titles, place)))
    raise OutputError("the last line '# complete: ...' is missing: the program did not come to its end")


def _cells(line: str, columns: Sequence[str], place: int) -> Mapping[str, str]:
    cells = line.split()
    if not columns or len(cells) != len(columns):
        raise OutputError(f"a row of {len(columns)} columns was expected, found {quoted(line)}", place)
    return dict(zip(columns, cells, strict=True))
