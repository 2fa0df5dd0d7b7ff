# SPDX-License-Identifier: BSD-3-Clause
"""A measured point in the rows of our own programs: a median, its interval, and why sampling stopped.

The programs print five columns for each of them: ``X_us``, ``X_ci_low_us``, ``X_ci_high_us``, ``X_samples`` and
``X_stop`` (``fc_print_result`` in ``checks/fabric/src/common/sampling.c``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.errors import OutputError, quoted
from fabric_checks.parsers.table import number, whole

_STOPS = ("ci", "cap")


@dataclass(frozen=True)
class Point:
    """One measured time.

    :param median_us: the median of the samples, microseconds.
    :param low_us: lower end of its 95 % confidence interval, microseconds.
    :param high_us: upper end of it, microseconds.
    :param samples: the number of samples.
    :param stop: ``ci`` if sampling ended because the interval was narrow enough, ``cap`` if the time was up.
    """

    median_us: float
    low_us: float
    high_us: float
    samples: int
    stop: str


def columns(*names: str) -> tuple[str, ...]:
    """Return the columns of the points of these names, in the order in which the programs print them."""
    endings = ("us", "ci_low_us", "ci_high_us", "samples", "stop")
    return tuple(f"{name}_{ending}" for name in names for ending in endings)


def point(cells: Mapping[str, str], name: str, line: int) -> Point:
    """Read the point ``name`` from the cells of a row.

    :param cells: the cells of the row by column; those of :func:`columns` must be there.
    :param line: the line number of the row, for errors.
    :raises OutputError: if a value is not a believable time, or lies outside its own confidence interval.
    """
    median, low, high = (number(cells[f"{name}_{end}"], line) for end in ("us", "ci_low_us", "ci_high_us"))
    samples = whole(cells[f"{name}_samples"], line, f"a number of samples of {name}")
    stop = cells[f"{name}_stop"]
    if median <= 0 or low < 0:
        raise OutputError(f"{name}_us is {min(median, low):g}; a time must be positive", line)
    if not low <= median <= high:
        where = f" at {cells['size_B']} B" if "size_B" in cells else ""
        raise OutputError(f"{name}_us lies outside its confidence interval{where}", line)
    if samples == 0:
        raise OutputError(f"{name}_us has no samples", line)
    if stop not in _STOPS:
        raise OutputError(f"{name}_stop must be ci or cap, found {quoted(stop)}", line)
    return Point(median, low, high, samples, stop)


def require_keys(
    found: Sequence[tuple[int, tuple[int, ...]]], wanted: Sequence[tuple[int, ...]], names: Sequence[str]
) -> None:
    """Raise :class:`OutputError` unless the rows are exactly those that were asked for, in that order.

    :param found: for each row its line number and the values of its key columns.
    :param wanted: the keys that were asked for.
    :param names: the names of the key columns.
    """

    def told(key: tuple[int, ...]) -> str:
        return ", ".join(f"{name} {value}" for name, value in zip(names, key, strict=True))

    for (line, key), expected in zip(found, wanted, strict=False):
        if key != expected:
            raise OutputError(f"the row of {told(expected)} was expected, found that of {told(key)}", line)
    if len(found) > len(wanted):
        line, key = found[len(wanted)]
        raise OutputError(f"an unexpected row of {told(key)}", line)
    if len(found) < len(wanted):
        missing = len(wanted) - len(found)
        raise OutputError(f"the last {missing} of {len(wanted)} rows are missing, from {told(wanted[len(found)])} on")
