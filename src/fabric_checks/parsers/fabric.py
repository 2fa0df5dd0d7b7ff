# SPDX-License-Identifier: BSD-3-Clause
"""Output of the collection's own MPI programs (``checks/fabric/src``): a header, rows, and a last line.

All of them print ``# fabric-checks NAME FORMAT``, ``# key: value`` lines, ``# columns: ...``, the rows, perhaps
``# key: value`` lines about the whole run, and ``# complete: N ...``, which only a run that came to its end prints.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import cells_of, number, whole

_FIRST_LINE = re.compile(r"^# fabric-checks (?P<program>\S+) (?P<format>[0-9]{1,9})[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"# (?P<key>[a-z][a-z0-9 -]*): (?P<value>.*)")
_TITLES = re.compile(r"^# columns: (?P<names>.*\S.*)$", re.MULTILINE)
#: The programs replace these in the names that they print.
_NOT_PRINTED = re.compile(r"[^\n\t -~]")
_LAST_LINE = re.compile(r"^# complete: (?P<count>[0-9]{1,9}) (?P<of>ranks|rows)$", re.MULTILINE)
_OPTION = re.compile(r"[a-z][a-z-]*")


@dataclass(frozen=True)
class Frame:
    """The output of one of our programs, its table not yet split.

    :param header: the ``# key: value`` lines, such as ``mpi``, ``compiler``, ``ranks``; those after the table too.
    :param body: the lines of the table.
    :param first_line: the number of the first of them in the output, counted from 1.
    :param count: the number of rows that the last line states. :param columns: the titles.
    """

    header: Mapping[str, str]
    body: str
    first_line: int
    count: int
    columns: Sequence[str]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the rows of the table with their line numbers in the output."""
        for line_number, line in enumerate(self.body.splitlines(), self.first_line):
            if line.strip():
                yield line_number, line

    def require_count(self, rows: int) -> None:
        """Raise :class:`OutputError` unless the last line counts the rows there are."""
        if self.count != rows:
            raise OutputError(f"the last line counts {self.count} rows, found {rows}")


#: A row: its line number in the output, counted from 1, and its cells by column.
Rows = tuple[tuple[int, Mapping[str, str]], ...]


def parse(text: str, program: str, columns: Sequence[str]) -> tuple[Mapping[str, str], Rows]:
    """Return the header and the rows of the output of one of our programs.

    :param text: the standard output of the program; lines before its first are skipped, and those about its progress if
        the launcher merged its standard error.
    :param program: the name in its first line, such as ``streaming``.
    :param columns: the names of the columns, in the program's order.
    :raises OutputError: if the output is another program's, of a format this version does not know, damaged or cut.
    """
    frame = split(text, program, columns)
    rows = tuple((line_number, cells_of(line, columns, line_number)) for line_number, line in frame.lines())
    frame.require_count(len(rows))
    return frame.header, rows


def options(header: Mapping[str, str]) -> dict[str, str]:
    """Return the options that the program ran with, as its header's line ``options`` lists them.

    :raises OutputError: unless it has a value for each.
    """
    text = header.get("options", "")
    words = text.split()
    names = words[::2]
    if len(words) % 2 or len(set(names)) < len(names) or not all(map(_OPTION.fullmatch, names)):
        raise OutputError(f"the header's options are not names and values: {quoted(text)}")
    return dict(zip(names, words[1::2], strict=True))


def hosts(header: Mapping[str, str], ranks: int) -> tuple[str, ...]:
    """Return the host of each rank; raise :class:`OutputError` unless the header names them all, in order."""
    named = {key: value.split() for key, value in header.items() if key.startswith("rank ")}
    if list(named) != [f"rank {rank}" for rank in range(ranks)] or any(len(words) != 2 for words in named.values()):
        raise OutputError(f"the header does not name the hosts of {ranks} ranks in order")
    return tuple(host for _, host in named.values())


def number_of(values: Mapping[str, str], key: str, *, at_least: int) -> int:
    """Return the whole number of a line of the header, or of an option."""
    number = whole(values.get(key, ""), None, f"the header's whole number for {key!r}")
    if number < at_least:
        raise OutputError(f"the header has {number} for {key!r}, which must be at least {at_least}")
    return number


def require_sizes(values: Mapping[str, str], sizes_B: Sequence[int]) -> None:
    """Raise :class:`OutputError` unless message sizes are those from the option ``min-size`` to ``max-size``.

    Each is a factor above the one before, or two factors take turns: the larger one leads beyond either end.
    """
    first_B, last_B = (number_of(values, name, at_least=0) for name in ("min-size", "max-size"))
    found_B = sorted(set(sizes_B))
    factors = [larger / smaller if smaller else math.inf for smaller, larger in itertools.pairwise(found_B)]
    is_cut = len(factors) > 1 and (
        found_B[0] / max(factors[:2]) >= max(first_B, 0.5) or found_B[-1] * max(factors[-2:]) <= last_B
    )
    if is_cut or not all(first_B <= size_B <= last_B for size_B in found_B):
        raise OutputError(
            f"the options ask for sizes from {first_B} to {last_B} B, but the rows have {found_B[0]} to {found_B[-1]} B"
        )


def require_elapsed(header: Mapping[str, str], key: str, least_s: float, of: str) -> float:
    """Return the seconds of a line ``# key: N s``; raise :class:`OutputError` if they are less than they can be.

    :param least_s: the least sum of its parts, each printed with six digits. :param of: the parts, in words.
    """
    match = re.fullmatch(r"([0-9.eE+-]+) s", header.get(key, ""))
    value = number(match[1], None) if match else 0.0
    if value <= 0:
        raise OutputError(f"the last lines do not give the seconds of {key!r}: {quoted(header.get(key, ''))}")
    if value < least_s * (1 - 1e-4):
        raise OutputError(f"{key!r} is {value:g} s, but {of} alone take {least_s:.6g} s: the output is damaged")
    return value


def shifts(header: Mapping[str, str]) -> tuple[int, int]:
    """Return how many rounds of a pattern were measured, and how many there are."""
    match = re.fullmatch(r"([0-9]{1,9}) of ([0-9]{1,9})(, evenly spread)?", header.get("shifts", ""))
    if match is None:
        raise OutputError(f"the header does not say how many shifts were measured: {quoted(header.get('shifts', ''))}")
    return int(match[1]), int(match[2])


def split(text: str, program: str, columns: Sequence[str], optional: Collection[str] = ()) -> Frame:
    """Split the output of one of our programs into header, table and last line; see :func:`parse`.

    For tables that are too long to be split line by line.

    :param optional: columns that may be missing.
    """
    text = _without_progress(plain.cleaned(text), program)
    start = _start(text, program)
    first_line = text.count("\n", 0, start) + 1
    titles = _TITLES.search(text, start)
    if titles is None or not text.startswith("\n", titles.end()):
        raise OutputError(_CUT)
    header: dict[str, str] = {}
    above = text[start : titles.start()].splitlines()
    _add_keys(header, above[1:], first_line + 1)
    line_number = first_line + len(above)
    names = titles["names"].split()
    columns = [name for name in columns if name in names or name not in optional]
    for name, wanted in itertools.zip_longest(names, columns, fillvalue="no column"):
        if name != wanted:
            raise OutputError(f"the table has {quoted(name)} where {quoted(wanted)} was expected", line_number)
    end = text.find("\n#", titles.end()) + 1
    if end == 0:
        raise OutputError(_CUT)
    if odd := _NOT_PRINTED.search(text, start, end):
        at = text.count("\n", 0, odd.start()) + 1
        raise OutputError(f"{quoted(odd[0])} is no character of this program: the output is damaged", at)
    if (last := _LAST_LINE.search(text, end)) is None:
        raise OutputError(_CUT)
    _add_keys(header, text[end : last.start()].splitlines(), text.count("\n", 0, end) + 1)
    if last["of"] == "rows" and any(key.startswith("rank") for key in header):  # simulations have neither
        hosts(header, number_of(header, "ranks", at_least=1))
    return Frame(header, text[titles.end() + 1 : end], line_number + 1, int(last["count"]), columns)


_CUT = "the last line '# complete: ...' is missing: the program did not finish"


def _start(text: str, program: str) -> int:
    """Return where the program's first line begins."""
    worlds = text.count("# fabric-checks ")
    if worlds > 1:
        # Several complete outputs mean that the launcher and the program do not know each other.
        raise OutputError(
            f"{worlds} separate MPI worlds instead of one: the launcher belongs to a different MPI than the program; "
            "check the partition's launcher against the environment's MPI"
        )
    if text.count("\n# complete: ") > 1:
        raise OutputError("several lines '# complete: ...': the outputs of several runs are mixed")
    first = _FIRST_LINE.search(text)
    if first is None:
        raise OutputError(
            f"no line '# fabric-checks {program} ...': the program did not start, or this is the output of another "
            "program, or the launcher puts something before each line"
        )
    line_number = text.count("\n", 0, first.start()) + 1
    if first["program"] != program:
        raise OutputError(f"expected the output of {program}, found that of {quoted(first['program'])}", line_number)
    if first["format"] != "1":
        raise OutputError(
            f"format {first['format']} of {program} is unknown here; the program and the library are of different "
            "versions",
            line_number,
        )
    return first.start()


def _add_keys(header: dict[str, str], lines: Sequence[str], first_line: int) -> None:
    """Add lines ``# key: value`` to the header; raise :class:`OutputError` for others, and if they contradict it."""
    for line_number, line in enumerate(lines, first_line):
        key = _KEY.match(line)
        if key and key["key"] not in ("columns", "complete"):
            if header.setdefault(key["key"], key["value"]) != key["value"]:
                raise OutputError(f"the header gives {key['key']!r} twice, with different values", line_number)
        elif line.strip():
            raise OutputError(f"a line '# key: value' was expected, found {quoted(line)}", line_number)


def _without_progress(text: str, program: str) -> str:
    """Remove the lines of standard error about a program's progress; the other lines keep their numbers.

    Such a line may be within another one, whose beginning was written with the lines before it.
    """
    progress = rf"{re.escape(program)}: [^\n:]{{1,80}} [0-9]{{1,9}} of [0-9]{{1,9}}, about [0-9]{{1,12}} s left"
    if " s left" not in text:
        return text
    text = re.sub(rf"^{progress}\s*$", "", text, flags=re.MULTILINE)
    return re.sub(rf"{progress}\n", "", text)
