# SPDX-License-Identifier: BSD-3-Clause
"""Rows by message size, printed numbers as spans, and the checks that all parsers share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from operator import add
from typing import TypeVar

from fabric_checks.core.errors import OutputError, quoted

Found = TypeVar("Found")

#: A number as C prints it with ``%.2f``.
_TWO_DECIMALS = re.compile(r"(?!-0\.00)-?(0|[1-9][0-9]*)\.[0-9]{2}")
#: Half of the last of two decimals, and the error of a binary fraction.
_HALF_DIGIT = 0.005 + 1e-6
#: A number as C prints it; Python's float() accepts more, such as 1_0.
_NUMBER = re.compile(
    r"(?i)[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?|[-+]?(nan|inf(inity)?)",
)


@dataclass(frozen=True)
class Row:
    """One row of a program's table.

    :param line: its line number in the output, counted from 1.
    :param size_B: the message size in bytes.
    :param values: the other columns by name.
    """

    line: int
    size_B: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Span:
    """The numbers that a printed one may stand for, or that follow from such numbers."""

    low: float
    high: float

    def __add__(self, other: Span) -> Span:
        """Return the span of the sum."""
        return Span(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Span) -> Span:
        """Return the span of the difference."""
        return self + other * -1

    def __mul__(self, factor: float) -> Span:
        """Return the span of a multiple."""
        low, high = self.low * factor, self.high * factor
        return Span(low, high) if low <= high else Span(high, low)

    def __truediv__(self, other: Span) -> Span:
        """Return the span of the quotient; any number if the divisor may be zero."""
        if other.low <= 0:
            return Span(-math.inf, math.inf)
        ends = [
            end / by for end in (self.low, self.high) for by in (other.low, other.high)
        ]
        return Span(min(ends), max(ends))

    def meets(self, other: Span) -> bool:
        """Tell whether both may be the same number."""
        return self.low <= other.high and other.low <= self.high


def rounded(value: float, half_digit: float = _HALF_DIGIT) -> Span:
    """Return the span of a number that was printed with two decimals, or with another last digit."""
    return Span(value - half_digit, value + half_digit)


def number(text: str, line: int | None) -> float:
    """Return the finite number that ``text`` is; raise :class:`OutputError` for NaN, infinity and anything
    else."""
    if not _NUMBER.fullmatch(text):
        raise OutputError(f"{quoted(text)} is not a number", line)
    value = float(text)
    if not math.isfinite(value):
        raise OutputError(f"{quoted(text)} is not a finite number", line)
    return value


def printed(text: str, line: int | None, digits: int = 0) -> Span:
    """Return the span of a number by its last digit; a bare ``0`` is exact.

    :param digits: the significant digits of which C's ``%g`` leaves out zeros at the end.
    :raises OutputError: if it is no finite number.
    """
    value = number(text, line)
    if text == "0":
        return rounded(value, 0.0)
    mantissa, _, exponent = text.lower().partition("e")
    last = int(exponent or 0) - len(mantissa.partition(".")[2])
    if digits:
        last = min(last, Decimal(text).adjusted() + 1 - digits)
    return rounded(value, 0.5 * (1 + 1e-6) * 10.0 ** min(last, 300))


def require(holds: object, cause: str, line: int | None = None) -> None:
    """Raise :class:`OutputError`, which says what is wrong, unless something holds."""
    if not holds:
        raise OutputError(cause, line)


def require_intact(holds: object, damage: str, line: int | None = None) -> None:
    """Raise :class:`OutputError`, which says what is wrong, unless a rule of every whole output holds."""
    require(holds, f"{damage}: the output is damaged", line)


def two_decimals(text: str, line: int | None) -> float:
    """Return the finite number with two decimals that ``text`` is; raise :class:`OutputError` for anything
    else.

    A value that lost a digit, its point or the blank next to it is thus not mistaken for another one.
    """
    value = number(text, line)
    require_intact(
        _TWO_DECIMALS.fullmatch(text) is not None,
        f"{quoted(text)} does not have two decimals like all values",
        line,
    )
    return value


def whole(text: str, line: int | None, what: str = "a whole number") -> int:
    """Return the whole number that ``text`` is; raise :class:`OutputError`, which names ``what``, for
    anything else."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,17}", text):
        raise OutputError(f"{what} was expected, found {quoted(text)}", line)
    return int(text)


def positive(text: str, what: str, line: int | None) -> float:
    """Return the number above zero that ``text`` is; raise :class:`OutputError`, which names ``what``,
    otherwise."""
    value = number(text, line)
    require(value > 0, f"{what} is {value:g}; it must be positive", line)
    return value


def row_of(
    line: str,
    line_number: int,
    columns: Sequence[str],
    kinds: Mapping[str, Callable[[str, int], float]],
) -> Row:
    """Return a row of a table by message size; one without the column ``size_B`` has size 0.

    :param kinds: how a cell is read, by name of its column; all others have two decimals.
    :raises OutputError: if there are more or fewer cells, or one is not of its kind.
    """
    cells = line.split()
    require(
        len(cells) == len(columns),
        f"a row of {len(columns)} columns was expected, found {quoted(line)}",
        line_number,
    )
    values = dict(zip(columns, cells, strict=True))
    size_B = whole(values.pop("size_B", "0"), line_number, "a message size")
    read = {
        name: kinds.get(name, two_decimals)(cell, line_number)
        for name, cell in values.items()
    }
    return Row(line_number, size_B, read)


def only(found: Sequence[Found], what: str, missing: str) -> Found:
    """Return the only element of what was found.

    :param what: what was looked for, as in ``line 'LAMMPS (version)'``.
    :param missing: why it may be missing.
    :raises OutputError: if there is none, or more than one: then several programs printed the output.
    """
    require(found, f"no {what}: {missing}")
    require(
        len(found) == 1, f"{len(found)} times the {what}: several programs printed this"
    )
    return found[0]


def require_mean(
    spans: Sequence[Span], count: int, what: str, line: int | None
) -> None:
    """Raise :class:`OutputError` unless spans can be those of least, mean and most of so many numbers.

    One of those is the least, one the most, and the others are between.
    """
    least, mean, most = spans
    others = max(count - 1, 1)
    lowest, highest = (
        (end + other * others) * (1 / (others + 1))
        for end, other in ((most, least), (least, most))
    )
    middles = [(span.low + span.high) / 2 for span in spans]
    # Numbers that are printed alike keep their order.
    in_order = middles == sorted(middles)
    require_intact(
        in_order and lowest.low <= mean.high and mean.low <= highest.high,
        f"{middles[1]:.6g} is not the mean of {what} from {least.high:.6g} to {most.high:.6g}",
        line,
    )


def require_sum(total: Span, parts: Sequence[Span], damage: str) -> None:
    """Raise :class:`OutputError`, which says what is wrong, unless numbers add up to another one."""
    require_intact(reduce(add, parts, Span(0, 0)).meets(total), damage)


def require_positive(rows: Sequence[Row], column: str, *, from_size_B: int = 0) -> None:
    """Raise :class:`OutputError` unless ``column`` is above zero in every row.

    :param from_size_B: below this message size, zero is allowed too.
    """
    for row in rows:
        value = row.values[column]
        require(
            value > 0 or (value == 0 and row.size_B < from_size_B),
            f"{column} is {value:g} at {row.size_B} B; a time or a rate must be positive",
            row.line,
        )


def require_rate(row: Row, half_digit: float = _HALF_DIGIT) -> None:
    """Raise :class:`OutputError` unless the bandwidth of a row is the rate of its messages times their size.

    :param half_digit: half of the last digit of the message rate.
    """
    bandwidth_MBps, message_rate_per_s = (
        row.values["bandwidth_MBps"],
        row.values["message_rate_per_s"],
    )
    require_intact(
        rounded(bandwidth_MBps).meets(
            rounded(message_rate_per_s, half_digit) * (row.size_B / 1e6)
        ),
        f"{bandwidth_MBps:g} MB/s do not fit {message_rate_per_s:g} messages/s of {row.size_B} B",
        row.line,
    )


def require_overlap(
    row: Row, overall_us: float, hidden_us: float, longer_us: float
) -> None:
    """Raise :class:`OutputError` unless the overlap of a row is a percentage that fits its times.

    It is 100 (1 - (overall - hidden) / longer), from 0 to 100. Each time may be half a digit more or less
    than printed, which at small ones is much of the overlap.

    :param overall_us: communication and work at once; :param hidden_us: the one, and :param longer_us: the
        other alone.
    """
    overlap = row.values["overlap_percent"]
    shown = (rounded(overall_us) - rounded(hidden_us)) / rounded(longer_us)
    low, high = (
        min(max(100 - 100 * end, 0.0), 100.0) for end in (shown.high, shown.low)
    )
    require_intact(
        rounded(overlap).meets(Span(low, high)),
        f"an overlap of {overlap:g} % does not fit the times at {row.size_B} B, which give {low:.2f} to"
        f" {high:.2f} %",
        row.line,
    )


def require_sizes(rows: Sequence[Row], sizes_B: Sequence[int]) -> None:
    """Raise :class:`OutputError` unless the rows have exactly the sizes that were asked for, in that
    order."""
    require_keys(
        [(row.line, (row.size_B,)) for row in rows],
        [(size,) for size in sizes_B],
        ("size_B",),
    )


def require_keys(
    found: Sequence[tuple[int, tuple[int, ...]]],
    wanted: Sequence[tuple[int, ...]],
    names: Sequence[str],
) -> None:
    """Raise :class:`OutputError` unless the rows are exactly those that were asked for, in that order.

    :param found: for each row its line number and the values of its key columns.
    :param wanted: the keys that were asked for.
    :param names: the names of the key columns.
    """

    def text_of(key: tuple[int, ...]) -> str:
        return ", ".join(
            f"{name} {value}" for name, value in zip(names, key, strict=True)
        )

    for (line, key), expected in zip(found, wanted, strict=False):
        if key != expected:
            raise OutputError(
                f"the row of {text_of(expected)} was expected, found that of {text_of(key)}",
                line,
            )
    if len(found) > len(wanted):
        line, key = found[len(wanted)]
        raise OutputError(f"an unexpected row of {text_of(key)}", line)
    if len(found) < len(wanted):
        missing = (
            f"the last {len(wanted) - len(found)} of {len(wanted)} rows are missing"
        )
        raise OutputError(f"{missing}, from {text_of(wanted[len(found)])} on")
