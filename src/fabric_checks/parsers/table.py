# SPDX-License-Identifier: BSD-3-Clause
"""Rows by message size, and the checks that all parsers share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from fabric_checks.core.errors import OutputError, quoted

Found = TypeVar("Found")

#: A number as C prints it with ``%.2f``.
_TWO_DECIMALS = re.compile(r"(?!-0\.00)-?(0|[1-9][0-9]*)\.[0-9]{2}")
#: Half of the last of two decimals, and the error of a binary fraction.
HALF_DIGIT = 0.005 + 1e-6
#: A number as C prints it; Python's float() accepts more, such as 1_0.
_NUMBER = re.compile(
    r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?|[-+]?(nan|inf(inity)?)", re.IGNORECASE
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


def number(text: str, line: int | None) -> float:
    """Return the finite number that ``text`` is; raise :class:`OutputError` for NaN, infinity and anything
    else."""
    if not _NUMBER.fullmatch(text):
        raise OutputError(f"{quoted(text)} is not a number", line)
    value = float(text)
    if not math.isfinite(value):
        raise OutputError(f"{quoted(text)} is not a finite number", line)
    return value


def two_decimals(text: str, line: int) -> float:
    """Return the finite number with two decimals that ``text`` is; raise :class:`OutputError` for anything
    else.

    A value that lost a digit, its point or the blank next to it is thus not mistaken for another one.
    """
    value = number(text, line)
    if not _TWO_DECIMALS.fullmatch(text):
        raise OutputError(
            f"{quoted(text)} does not have two decimals like all values: the output is damaged", line
        )
    return value


def half_digit(text: str, digits: int = 0) -> float:
    """Return half a unit of the last digit of a printed number, which is what rounding changes; 0 for a bare
    ``0``.

    :param digits: the significant digits of which C's ``%g`` leaves out zeros at the end.
    """
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    if text == "0" or not isinstance(exponent, int):
        return 0.0
    last = min(exponent, number.adjusted() + 1 - digits) if digits else exponent
    return 0.5 * 10.0 ** min(last, 300)


def require_mean(texts: tuple[str, str, str], count: int, what: str, line: int | None) -> None:
    """Raise :class:`OutputError` unless printed numbers can be the least, the mean and the most of so many.

    One of those is the least, one the most, and the others are between. Each is rounded to its last printed
    digit.
    """
    low, middle, high = map(float, texts)
    least_error, mean_error, most_error = map(half_digit, texts)
    error = (1 + 1e-6) * (mean_error + max(least_error, most_error))
    others = max(count - 1, 1)
    lowest, highest = ((end + others * other) / (others + 1) for end, other in ((high, low), (low, high)))
    if low > high or not lowest - error <= middle <= highest + error:
        raise OutputError(
            f"{middle:.9g} is not the mean of {count} {what} from {low:.9g} to {high:.9g}: the output is"
            " damaged",
            line,
        )


def require_sum(total: str, parts: Sequence[str], what: str, line: int | None) -> None:
    """Raise :class:`OutputError` unless numbers add up to another one, each rounded to its last printed
    digit.

    :param what: the parts and the total in words, as in ``KinEng and PotEng make TotEng``.
    """
    added = math.fsum(map(float, parts))
    if abs(added - float(total)) > (1 + 1e-6) * sum(map(half_digit, (total, *parts))):
        raise OutputError(f"{what}, but {added:.9g} is not {float(total):.9g}: the output is damaged", line)


def whole(text: str, line: int | None, what: str) -> int:
    """Return the whole number that ``text`` is; raise :class:`OutputError`, which names ``what``, for
    anything else."""
    if not re.fullmatch(r"0|[1-9][0-9]{0,17}", text):
        raise OutputError(f"{what} was expected, found {quoted(text)}", line)
    return int(text)


def cells_of(line: str, columns: Sequence[str], line_number: int) -> dict[str, str]:
    """Return the cells of a row by column; raise :class:`OutputError` if there are more or fewer."""
    cells = line.split()
    if len(cells) != len(columns):
        raise OutputError(f"a row of {len(columns)} columns was expected, found {quoted(line)}", line_number)
    return dict(zip(columns, cells, strict=True))


def positive(text: str, what: str, line: int | None) -> float:
    """Return the number above zero that ``text`` is; raise :class:`OutputError`, which names ``what``,
    otherwise."""
    value = number(text, line)
    if value <= 0:
        raise OutputError(f"{what} is {value:g}; it must be positive", line)
    return value


def only(found: Sequence[Found], what: str, missing: str) -> Found:
    """Return the only element of what was found.

    :param what: what was looked for, as in ``line 'LAMMPS (version)'``.
    :param missing: why it may be missing.
    :raises OutputError: if there is none, or more than one: then several programs printed the output.
    """
    if not found:
        raise OutputError(f"no {what}: {missing}")
    if len(found) > 1:
        raise OutputError(f"{len(found)} times the {what}: several programs printed this")
    return found[0]


def require_positive(rows: Sequence[Row], column: str, *, from_size_B: int = 0) -> None:
    """Raise :class:`OutputError` unless ``column`` is above zero in every row.

    :param from_size_B: below this message size, zero is allowed too.
    """
    for row in rows:
        value = row.values[column]
        if value < 0 or (value == 0 and row.size_B >= from_size_B):
            raise OutputError(
                f"{column} is {value:g} at {row.size_B} B; a time or a rate must be positive", row.line
            )


def require_order(rows: Sequence[Row], *columns: str) -> None:
    """Raise :class:`OutputError` unless each of the columns is at least as large as the one before it, in
    every row."""
    for row in rows:
        found = [row.values[column] for column in columns]
        if found != sorted(found):
            values = ", ".join(f"{column} {value:g}" for column, value in zip(columns, found, strict=True))
            raise OutputError(
                f"{values} at {row.size_B} B are not in this order: the output is damaged", row.line
            )


def require_rate(row: Row, message_B: float, rounding: float) -> None:
    """Raise :class:`OutputError` unless a bandwidth with two decimals is the rate of messages times their
    size.

    :param rounding: the largest error of the printed message rate.
    """
    bandwidth_MBps, message_rate_per_s = row.values["bandwidth_MBps"], row.values["message_rate_per_s"]
    if abs(bandwidth_MBps - message_rate_per_s * message_B / 1e6) > HALF_DIGIT + rounding * message_B / 1e6:
        raise OutputError(
            f"{bandwidth_MBps:g} MB/s do not fit {message_rate_per_s:g} messages/s of {message_B:.0f} B: "
            "the output is damaged",
            row.line,
        )


def require_overlap(row: Row, overall_us: float, hidden_us: float, longer_us: float) -> None:
    """Raise :class:`OutputError` unless the overlap of a row is a percentage that fits its times.

    It is 100 (1 - (overall - hidden) / longer), from 0 to 100. Each time may be half a digit more or less
    than printed, which at small ones is much of the overlap.

    :param overall_us: communication and work at once; :param hidden_us: the one, and :param longer_us: the
        other alone.
    """
    overlap = row.values["overlap_percent"]
    if not 0 <= overlap <= 100:
        raise OutputError(
            f"overlap_percent is {overlap:g} at {row.size_B} B; it must be from 0 to 100", row.line
        )
    low, high = 0.0, 100.0
    if longer_us:  # on zero bytes that take no time any overlap fits
        ends = (
            100 * (1 - (overall_us - hidden_us + 2 * e) / (longer_us - e)) for e in (HALF_DIGIT, -HALF_DIGIT)
        )
        low, high = (min(max(end, 0.0), 100.0) for end in ends)
    if not low - HALF_DIGIT <= overlap <= high + HALF_DIGIT:
        raise OutputError(
            f"an overlap of {overlap:g} % does not fit the times at {row.size_B} B, which give {low:.2f} to "
            f"{high:.2f} %: the output is damaged",
            row.line,
        )


def require_sizes(rows: Sequence[Row], sizes_B: Sequence[int]) -> None:
    """Raise :class:`OutputError` unless the rows have exactly the sizes that were asked for, in that
    order."""
    require_keys([(row.line, (row.size_B,)) for row in rows], [(size,) for size in sizes_B], ("size_B",))


def require_keys(
    found: Sequence[tuple[int, tuple[int, ...]]], wanted: Sequence[tuple[int, ...]], names: Sequence[str]
) -> None:
    """Raise :class:`OutputError` unless the rows are exactly those that were asked for, in that order.

    :param found: for each row its line number and the values of its key columns.
    :param wanted: the keys that were asked for.
    :param names: the names of the key columns.
    """

    def text_of(key: tuple[int, ...]) -> str:
        return ", ".join(f"{name} {value}" for name, value in zip(names, key, strict=True))

    for (line, key), expected in zip(found, wanted, strict=False):
        if key != expected:
            raise OutputError(
                f"the row of {text_of(expected)} was expected, found that of {text_of(key)}", line
            )
    if len(found) > len(wanted):
        line, key = found[len(wanted)]
        raise OutputError(f"an unexpected row of {text_of(key)}", line)
    if len(found) < len(wanted):
        missing = len(wanted) - len(found)
        raise OutputError(
            f"the last {missing} of {len(wanted)} rows are missing, from {text_of(wanted[len(found)])} on"
        )
