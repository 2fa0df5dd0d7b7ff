# SPDX-License-Identifier: BSD-3-Clause
"""Output of the collection's own MPI programs (``checks/fabric/src``): one form, and one reader of declared
tables.

They print ``# fabric-checks NAME FORMAT``, ``# key: value`` lines, ``# columns: ...``, the rows, perhaps more
``# key: value`` lines about the whole run, and ``# complete: N rows, crc32 X``: the check sum of all bytes
above. It refuses a text that is cut, torn or changed; what remains to be asked is whether the values can be,
and are what was asked for. A text that other programs wrote in this form may lack the check sum.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import number, require_keys, whole

if TYPE_CHECKING:
    import polars as pl

FORMAT = "1"
_FIRST_LINE = re.compile(r"^# fabric-checks (?P<program>\S+) (?P<format>[0-9]{1,9})$", re.MULTILINE)
_TITLES = re.compile(r"^# columns: (?P<names>.+)\n", re.MULTILINE)
_LAST_LINE = re.compile(
    r"^# complete: (?P<rows>[0-9]{1,12}) rows(?:, crc32 (?P<crc32>[0-9a-f]{8}))?$", re.MULTILINE
)
#: The programs replace these in the names that they print.
_NOT_PRINTED = re.compile(r"[^\n -~]")
_CUT = "the last line '# complete: ...' is missing: the program did not finish"


@dataclass(frozen=True)
class Column:
    """What the cells of a column can be.

    :param kind: ``int``, ``float`` or ``str``.
    :param rule: what is expected, in words.
    :param low: the least number; :param high: the greatest one.
    :param words: the texts that there are; empty for any.
    """

    kind: Callable[[str], Any]
    rule: str
    low: float = 0
    high: float = sys.float_info.max
    words: tuple[str, ...] = ()

    def read(self, text: str) -> Any:
        """Return the value of a cell; raise ValueError if it cannot be."""
        value = self.kind(text)
        is_possible = not self.words or value in self.words
        if self.kind is not str:
            is_possible = self.low <= value <= self.high
        if not is_possible:
            raise ValueError
        return value


def one_of(*words: str) -> Column:
    """Return a column of some words."""
    return Column(str, f"one of {', '.join(words)}", words=words)


def count(low: int) -> Column:
    """Return a column of whole numbers from one on."""
    return Column(int, f"a whole number from {low}", low)


COUNT = count(0)
POSITIVE = Column(float, "a number above 0", low=sys.float_info.min)
PERCENT = Column(float, "a number from 0 to 100", high=100)
TEXT = Column(str, "a word")
#: The columns of a point behind its name, as ``fc_print_result`` prints them: the median of samples, its 95 %
#: confidence interval, their number, and why sampling ended (the interval was narrow, or the time was up).
POINT = {
    "us": POSITIVE,
    "ci_low_us": POSITIVE,
    "ci_high_us": POSITIVE,
    "samples": count(8),
    "stop": one_of("ci", "cap"),
}


@dataclass(frozen=True)
class Table:
    """The table of a program.

    :param program: the name in the first line of the output.
    :param columns: the columns in order.
    :param keys: those that identify a row; they come first.
    """

    program: str
    columns: Mapping[str, Column]
    keys: tuple[str, ...] = ("size_B",)


def of_points(program: str, points: Iterable[str], keys: tuple[str, ...] = ("size_B",)) -> Table:
    """Return the table of a program that prints points, each with the columns of :data:`POINT`."""
    columns = dict.fromkeys(keys, COUNT)
    for point in points:
        columns |= {f"{point}_{ending}": column for ending, column in POINT.items()}
    return Table(program, columns, keys)


@dataclass(frozen=True)
class Output:
    """An output that is whole.

    :param header: the ``# key: value`` lines, those after the rows too.
    :param keys: the columns that identify a row. :param columns: the values by column, in the order of the
        rows.
    """

    header: Mapping[str, str]
    keys: tuple[str, ...]
    columns: Mapping[str, Sequence[Any]]

    def values(self, column: str, **fixed: int) -> dict[int, Any]:
        """Return the values of a column by the key column that is not fixed.

        With the columns ``size_B`` and ``slaves``, ``values("send_us", size_B=8)`` is by number of slaves.
        """
        (key,) = (name for name in self.keys if name not in fixed)
        found = {}
        for row, value in enumerate(self.columns[column]):
            if all(self.columns[name][row] == wanted for name, wanted in fixed.items()):
                found[self.columns[key][row]] = value
        return found

    def times_us(self, point: str, **fixed: int) -> dict[int, float]:
        """Return the medians of a point in us, as :meth:`values`."""
        return self.values(f"{point}_us", **fixed)


def read(
    text: str,
    table: Table,
    wanted: Sequence[tuple[int, ...]] | None = None,
    asked: Mapping[str, str] | None = None,
) -> Output:
    """Return the output of one of our programs.

    :param text: its standard output; what a launcher puts around it, and progress that it mixes in, is passed
        over.
    :param wanted: the keys of the rows that were asked for, in order; None for any.
    :param asked: the options that the program has to have run with.
    :raises OutputError: if it is not whole, not of this program, not what was asked for, or has an impossible
        value.
    """
    part = _split(text, table)
    columns: dict[str, list[Any]] = {name: [] for name in table.columns}
    for line_number, line in enumerate(part.rows.splitlines(), part.first_line):
        cells = line.split(" ")
        if len(cells) != len(columns):
            raise OutputError(
                f"a row of {len(columns)} columns was expected, found {quoted(line)}", line_number
            )
        for (name, column), cell in zip(table.columns.items(), cells, strict=True):
            try:
                columns[name].append(column.read(cell))
            except ValueError:
                raise OutputError(f"{name} is {quoted(cell)}, not {column.rule}", line_number) from None
    keys = list(zip(*(columns[name] for name in table.keys), strict=True))
    part.require_rows(len(keys))
    if wanted is not None:
        require_keys(list(enumerate(keys, part.first_line)), wanted, table.keys)
    ran = options(part.header)
    for name, value in (asked or {}).items():
        if ran.get(name) != value:
            found = quoted(ran[name]) if name in ran else "no such option"
            raise OutputError(
                f"--{name} {value} was asked for, but the program says that it ran with {found}"
            )
    return Output(part.header, table.keys, columns)


def read_frame(text: str, table: Table) -> tuple[Mapping[str, str], pl.DataFrame]:
    """Return the header and the rows of a table with a row for each pair: on a thousand nodes these are a
    million."""
    import polars as pl  # noqa: PLC0415  (may be missing where checks are only listed)

    part = _split(text, table)
    types = {int: pl.Int32, float: pl.Float64, str: pl.String}
    schema = {name: types[column.kind] for name, column in table.columns.items()}  # type: ignore[index]
    try:
        frame = pl.read_csv(
            io.BytesIO(part.rows.encode()), separator=" ", has_header=False, quote_char=None, schema=schema
        )
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"a row is not of the columns {' '.join(schema)}: {quoted(str(error))}") from None
    part.require_rows(frame.height)
    for name, column in table.columns.items():
        cell = pl.col(name)
        possible = (
            cell.is_in(column.words) if column.kind is str else cell.is_between(column.low, column.high)
        )
        wrong = frame.select(possible.fill_null(value=False).not_().arg_true()).to_series()
        if len(wrong):
            row = " ".join(map(str, frame.row(wrong[0])))
            place = part.first_line + wrong[0]
            raise OutputError(f"{name}: {column.rule} was expected, found {quoted(row)}", place)
    return part.header, frame


def multiples(first_B: int, last_B: int, factor: int) -> list[int]:
    """Return the message sizes from ``first_B`` to at most ``last_B`` bytes, each ``factor`` times the one
    before."""
    sizes_B = []
    while first_B <= last_B:
        sizes_B.append(first_B)
        first_B *= factor
    return sizes_B


def last_line(text: str, rows: int) -> str:
    """Return the last line of an output, as ``common/output.c`` prints it below such a text."""
    return f"# complete: {rows} rows, crc32 {zlib.crc32(text.encode()):08x}\n"


# ------------------------------------------------------------------------------------------------ the header


def options(header: Mapping[str, str]) -> dict[str, str]:
    """Return the options that the program ran with."""
    return pairs(header.get("options", ""))


def pairs(text: str) -> dict[str, str]:
    """Return the values of ``name value name value ...``; raise :class:`OutputError` unless each name has
    one."""
    words = text.split()
    if len(words) % 2:
        raise OutputError(f"names and values were expected in the header, found {quoted(text)}")
    return dict(zip(words[::2], words[1::2], strict=True))


def number_of(values: Mapping[str, str], key: str, *, at_least: int) -> int:
    """Return the whole number of a line of the header, or of an option."""
    found = whole(values.get(key, ""), None, f"the header's whole number for {key!r}")
    if found < at_least:
        raise OutputError(f"the header has {found} for {key!r}, which must be at least {at_least}")
    return found


def seconds(header: Mapping[str, str], key: str) -> float:
    """Return the seconds of a line ``# key: N s``."""
    value = number(header.get(key, "").removesuffix(" s"), None)
    if value <= 0:
        raise OutputError(f"the header's time {key!r} is {value:g} s; it must be positive")
    return value


def hosts(header: Mapping[str, str]) -> tuple[str, ...]:
    """Return the host of each rank."""
    ranks = range(number_of(header, "ranks", at_least=1))
    missing = [rank for rank in ranks if f"rank {rank}" not in header]
    if missing:
        raise OutputError(f"the header does not name the host of rank {missing[0]}")
    return tuple(header[f"rank {rank}"].removeprefix("host ") for rank in ranks)


def shifts(header: Mapping[str, str]) -> tuple[int, int]:
    """Return how many rounds of a pattern were measured, and how many there are."""
    match = re.match(r"([0-9]{1,9}) of ([0-9]{1,9})", header.get("shifts", ""))
    if match is None:
        raise OutputError(
            f"the header does not say how many shifts were measured: {quoted(header.get('shifts', ''))}"
        )
    return int(match[1]), int(match[2])


# -------------------------------------------------------------------------------------------- the whole text


@dataclass(frozen=True)
class _Part:
    """A text that is whole: its header, the text of the rows, the line of the first one, and their number."""

    header: Mapping[str, str]
    rows: str
    first_line: int
    count: int

    def require_rows(self, found: int) -> None:
        if found != self.count:
            raise OutputError(f"the last line counts {self.count} rows, found {found}")


def _split(text: str, table: Table) -> _Part:
    """Split a text, which has to be whole and of the table's program and columns."""
    text = _without_progress(plain.cleaned(text), table.program)
    if "\n\n" in text:
        text = re.sub(r"\n\n+", "\n", text)  # launchers add empty lines to those that they tag
    start = _start(text, table.program)
    ends = list(_LAST_LINE.finditer(text, start))
    if not ends:
        raise OutputError(_CUT)
    if len(ends) > 1:
        raise OutputError("several lines '# complete: ...': the outputs of several runs are mixed")
    first, body = text.count("\n", 0, start) + 1, text[start : ends[0].start()]
    if odd := _NOT_PRINTED.search(body):
        at = first + body.count("\n", 0, odd.start())
        raise OutputError(f"{quoted(odd[0])} is no character of this program: the output is damaged", at)
    titles = _TITLES.search(body)
    if titles is None:
        raise OutputError("the line '# columns: ...' is missing: the output is damaged", first)
    if ends[0]["crc32"] not in (None, f"{zlib.crc32(body.encode()):08x}"):
        raise OutputError(
            "the check sum in the last line is of another text: a line was changed, lost or added", first
        )
    for name, wanted in itertools.zip_longest(titles["names"].split(), table.columns, fillvalue="no column"):
        if name != wanted:
            raise OutputError(f"the table has {quoted(name)} where {quoted(wanted)} was expected")
    end = body.find("\n#", titles.end() - 1) + 1 or len(body)
    lines = [*body[: titles.start()].splitlines()[1:], *body[end:].splitlines()]
    header = dict(line.removeprefix("# ").partition(": ")[::2] for line in lines)
    first_row = first + body.count("\n", 0, titles.end())
    return _Part(header, body[titles.end() : end], first_row, int(ends[0]["rows"]))


def _start(text: str, program: str) -> int:
    """Return where the program's first line begins."""
    worlds = text.count("# fabric-checks ")
    if worlds > 1:
        # Several complete outputs mean that the launcher and the program do not know each other.
        raise OutputError(
            f"{worlds} separate MPI worlds instead of one: the launcher belongs to a different MPI than the"
            " program; check the partition's launcher against the environment's MPI"
        )
    first = _FIRST_LINE.search(text)
    if first is None:
        raise OutputError(
            f"no line '# fabric-checks {program} ...': the program did not start, or this is the output of"
            " another program, or the launcher puts something before each line"
        )
    line_number = text.count("\n", 0, first.start()) + 1
    if first["program"] != program:
        raise OutputError(
            f"expected the output of {program}, found that of {quoted(first['program'])}", line_number
        )
    if first["format"] != FORMAT:
        raise OutputError(
            f"format {first['format']} of {program} is unknown here; the program and the library are of"
            " different versions",
            line_number,
        )
    return first.start()


def _without_progress(text: str, program: str) -> str:
    """Remove the lines of standard error about a program's progress; the other lines keep their numbers.

    Such a line may be within another one, whose beginning was written with the lines before it.
    """
    progress = (
        rf"{re.escape(program)}: [^\n:]{{1,80}} [0-9]{{1,9}} of [0-9]{{1,9}}, about [0-9]{{1,12}} s left"
    )
    if " s left" not in text:
        return text
    text = re.sub(rf"^{progress}\s*$", "", text, flags=re.MULTILINE)
    return re.sub(rf"{progress}\n", "", text)
