# SPDX-License-Identifier: BSD-3-Clause
"""Output of the collection's own MPI programs (``checks/fabric/src``): one form, and one reader of declared
tables.

They print ``# fabric-checks NAME FORMAT``, ``# key: value`` lines, ``# columns: ...``, the rows, perhaps more
``# key: value`` lines about the whole run, and ``# complete: N rows, crc32 X``: the check sum of all bytes
above. It refuses a text that is cut, torn or changed; what remains to be asked is whether the values can be,
and are what was asked for.
"""

from __future__ import annotations

import itertools
import re
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import positive, require_keys, whole

if TYPE_CHECKING:
    import polars as pl

FORMAT = "1"
_FIRST_LINE = re.compile(
    r"(?m)^# fabric-checks (?P<program>\S+) (?P<format>[0-9]{1,9})$"
)
_LAST_LINE = re.compile(
    r"(?m)^# complete: (?P<rows>[0-9]{1,12}) rows(?:, crc32 (?P<crc32>[0-9a-f]{8}))?$",
)
_CUT = "the last line '# complete: ...' is missing: the program did not finish"
_MIXED = "several lines '# complete: ...': the outputs of several runs are mixed"


@dataclass(frozen=True)
class Column:
    """What the cells of a column can be.

    :param kind: ``int``, ``float`` or ``str``.
    :param rule: what is expected, in words.
    :param low: the least number; :param high: the greatest one.
    :param words: the texts that there are; empty for any.
    """

    kind: type
    rule: str
    low: float = 0
    high: float = sys.float_info.max
    words: tuple[str, ...] = ()

    def can_be(self, cells: pl.Series) -> pl.Series:
        """Return which cells, converted to this kind, can be."""
        if self.words:
            return cells.is_in(self.words)
        if self.kind is str:
            return cells.is_not_null()
        return cells.is_between(self.low, self.high).fill_null(value=False)


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


def of_points(
    program: str,
    points: Iterable[str],
    keys: tuple[str, ...] = ("size_B",),
    each: Mapping[str, Column] = POINT,
) -> Table:
    """Return the table of a program that prints points; :param each: the columns of a point."""
    columns = dict.fromkeys(keys, COUNT)
    for point in points:
        columns |= {f"{point}_{ending}": column for ending, column in each.items()}
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
    wanted: Iterable[tuple[int, ...]] | None = None,
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
    header, frame, first = _whole(text, table)
    if wanted is not None:
        keys = enumerate(frame.select(table.keys).iter_rows(), first)
        require_keys(list(keys), list(wanted), table.keys)
    ran = options(header)
    for name, value in (asked or {}).items():
        if ran.get(name) != value:
            found = quoted(ran.get(name, "no such option"))
            raise OutputError(
                f"--{name} {value} was asked for, but the program says that it ran with {found}"
            )
    return Output(header, table.keys, frame.to_dict(as_series=False))


def read_frame(text: str, table: Table) -> tuple[Mapping[str, str], pl.DataFrame]:
    """Return the header and the rows of a table with a row for each pair: on a thousand nodes these are a
    million."""
    return _whole(text, table)[:2]


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
    """Return the values of ``name value name value ...``."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=False))


def number_of(values: Mapping[str, str], key: str) -> int:
    """Return the whole number of a line of the header, or of an option."""
    return whole(values.get(key, ""), None, f"the header's whole number for {key!r}")


def seconds(header: Mapping[str, str], key: str) -> float:
    """Return the seconds of a line ``# key: N s``."""
    return positive(
        header.get(key, "").removesuffix(" s"),
        f"the header's time {key!r} in seconds",
        None,
    )


def hosts(header: Mapping[str, str]) -> tuple[str, ...]:
    """Return the host of each rank."""
    return tuple(
        line.removeprefix("host ")
        for key, line in header.items()
        if key.startswith("rank ")
    )


def rounds(header: Mapping[str, str]) -> int:
    """Return how many rounds of a pattern were measured."""
    return whole(
        header.get("shifts", "").partition(" of ")[0], None, "a number of shifts"
    )


# -------------------------------------------------------------------------------------------- the whole text


def _whole(text: str, table: Table) -> tuple[Mapping[str, str], pl.DataFrame, int]:
    """Return the header, the rows and the line of the first one; every cell can be."""
    import polars as pl  # noqa: PLC0415  (may be missing where checks are only listed)

    header, rows, first, count = _split(text, table)
    lines = pl.Series(rows.splitlines(), dtype=pl.String)
    names = list(table.columns)
    cells = lines.str.split_exact(" ", len(names))
    frame = cells.struct.rename_fields([*names, "more"]).struct.unnest()

    is_row = frame[names[-1]].is_not_null() & frame["more"].is_null()
    if not is_row.all():
        torn = int(is_row.arg_min() or 0)
        cause = (
            f"a row of {len(names)} columns was expected, found {quoted(lines[torn])}"
        )
        raise OutputError(cause, first + torn)
    if len(lines) != count:
        raise OutputError(f"the last line counts {count} rows, found {len(lines)}")
    types = {int: pl.Int32, float: pl.Float64, str: pl.String}
    for name, column in table.columns.items():
        found = frame[name].cast(types[column.kind], strict=False)
        possible = column.can_be(found)
        if not possible.all():
            wrong = int(possible.arg_min() or 0)
            cause = f"{name} is {quoted(frame[name][wrong])}, not {column.rule}"
            raise OutputError(cause, first + wrong)
        frame = frame.with_columns(found)
    return header, frame.select(names), first


def _split(text: str, table: Table) -> tuple[Mapping[str, str], str, int, int]:
    """Return the header, the text of the rows, the line of the first one, and their number, of a text that
    has to be whole and of the table's program and columns."""
    text = _without_progress(plain.cleaned(text), table.program)
    text = re.sub(
        r"\n\n+", "\n", text
    )  # launchers add empty lines to those that they tag
    start = _start(text, table.program)
    ends = list(_LAST_LINE.finditer(text, start))
    if len(ends) != 1:
        raise OutputError(_CUT if not ends else _MIXED)
    first, body = text.count("\n", 0, start) + 1, text[start : ends[0].start()]
    # What another program writes in this form, such as a model of a fabric, has no check sum.
    if ends[0]["crc32"] and int(ends[0]["crc32"], 16) != zlib.crc32(
        body.encode(errors="replace")
    ):
        raise OutputError(
            "the check sum in the last line is of another text: a line was changed, lost or added",
            first,
        )
    above, _, behind = body.partition("\n# columns: ")
    titles, _, rest = behind.partition("\n")
    for name, wanted in itertools.zip_longest(
        titles.split(), table.columns, fillvalue="no column"
    ):
        if name != wanted:
            raise OutputError(
                f"the table has {quoted(name)} where {quoted(wanted)} was expected"
            )
    rows, mark, footer = f"\n{rest.rstrip()}".partition("\n#")
    lines = [*above.splitlines()[1:], *(mark + footer).splitlines()[1:]]
    header = dict(line.removeprefix("# ").partition(": ")[::2] for line in lines)
    return (
        header,
        rows.removeprefix("\n"),
        first + above.count("\n") + 2,
        int(ends[0]["rows"]),
    )


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
            f"expected the output of {program}, found that of {quoted(first['program'])}",
            line_number,
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
        rf"{re.escape(program)}: [^\n:]{{1,80}} [0-9]{{1,9}} of [0-9]{{1,9}}, about "
        rf"[0-9]{{1,12}} s left"
    )
    if " s left" not in text:
        return text
    text = re.sub(rf"(?m)^{progress}\s*$", "", text)
    return re.sub(rf"{progress}\n", "", text)
