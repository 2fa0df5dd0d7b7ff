# SPDX-License-Identifier: BSD-3-Clause
"""Tables of measured points: our own programs whose rows hold times with their intervals, each declared as data.

The programs print five columns for each point: ``X_us``, ``X_ci_low_us``, ``X_ci_high_us``, ``X_samples`` and
``X_stop`` (``fc_print_result`` in ``checks/fabric/src``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import positive, require_keys, six_digits, whole

_ENDINGS = ("us", "ci_low_us", "ci_high_us", "samples", "stop")
#: Fewer samples give no interval of 95 %, so that no point ends before.
FEWEST_SAMPLES = 8
#: The options with the share and the seconds of the rule.
_BOUNDS = ("ci-share", "max-seconds-per-point")


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


@dataclass(frozen=True)
class Rule:
    """When sampling of a point ends.

    :param share: both ends of the interval are within this share of the median,
    :param fewest: and there are at least so many samples;
    :param longest_us: or the time is up: so long in microseconds, over the operations that a sample times.
    """

    share: float
    fewest: int
    longest_us: float


@dataclass(frozen=True)
class PointRow:
    """One row of such a table.

    :param line: its line number in the output, counted from 1.
    :param key: the values of the key columns, such as ``size_B``, by column.
    :param points: what was measured, by name.
    """

    line: int
    key: Mapping[str, int]
    points: Mapping[str, Point]


@dataclass(frozen=True)
class PointOutput:
    """The output of a program that prints such a table: the header lines by key, and the rows."""

    header: Mapping[str, str]
    rows: tuple[PointRow, ...]

    def times_us(self, name: str, **fixed: int) -> dict[int, float]:
        """Return the median times of a point by the key column that is not fixed.

        With the columns ``size_B`` and ``slaves``, ``times_us("send", size_B=8)`` is by number of slaves.
        """
        return {key: found.median_us for key, found in self._points(name, fixed)}

    def intervals_us(self, name: str, **fixed: int) -> dict[int, tuple[float, float]]:
        """Return the ends of the medians' 95 % confidence intervals by the key column that is not fixed."""
        return {key: (found.low_us, found.high_us) for key, found in self._points(name, fixed)}

    def _points(self, name: str, fixed: Mapping[str, int]) -> Iterable[tuple[int, Point]]:
        for row in self.rows:
            if row.key.items() >= fixed.items():
                ((_, key),) = row.key.items() - fixed.items()
                yield key, row.points[name]


@dataclass(frozen=True)
class PointTable:
    """The table of one of our programs, as data.

    :param program: the name in the first line of the output.
    :param points: the names of the points of each row, in the program's order.
    :param keys: the columns that distinguish rows, each with the name of its cells in messages.
    :param repeats: the operations that a sample times, by point: a number, and the option that multiplies it or "".
    """

    program: str
    points: tuple[str, ...]
    keys: Mapping[str, str] = field(default_factory=lambda: {"size_B": "a message size"})
    repeats: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    def parse(self, text: str, wanted: Sequence[tuple[int, ...]]) -> PointOutput:
        """Read the output of the program.

        :param wanted: the values of the key columns of each row that was asked for, in order.
        :raises OutputError: if the output is not whole, has other rows or its values are not believable.
        """
        header, cells_of_rows = fabric.parse(text, self.program, [*self.keys, *columns(*self.points)])
        options = fabric.options(header)
        rules = {name: self._rule(name, options) for name in self.points}
        rows = tuple(
            PointRow(
                line,
                {column: whole(cells[column], line, meaning) for column, meaning in self.keys.items()},
                {name: point(cells, name, line, rule) for name, rule in rules.items()},
            )
            for line, cells in cells_of_rows
        )
        fabric.require_sizes(options, [row.key["size_B"] for row in rows])
        require_keys([(row.line, tuple(row.key.values())) for row in rows], wanted, tuple(self.keys))
        return PointOutput(header, rows)

    def _rule(self, name: str, options: Mapping[str, str]) -> Rule:
        """Return the rule of a point, as the options give it."""
        count, option = self.repeats.get(name, (1, ""))
        share, longest_s = (positive(options.get(o, ""), f"the option {o!r}", None) for o in _BOUNDS)
        operations = count * (fabric.number_of(options, option, at_least=1) if option else 1)
        return Rule(share, fabric.number_of(options, "min-samples", at_least=1), 1e6 * longest_s / operations)


def columns(*names: str) -> tuple[str, ...]:
    """Return the columns of the points of these names, in the order in which the programs print them."""
    return tuple(f"{name}_{ending}" for name in names for ending in _ENDINGS)


def point(cells: Mapping[str, str], name: str, line: int, rule: Rule) -> Point:
    """Read the point ``name`` from the cells of a row.

    :param cells: the cells of the row by column; those of :func:`columns` must be there.
    :param line: the line number of the row, for errors.
    :param rule: the rule by which its samples were taken.
    :raises OutputError: if a value is not a believable time, lies outside its own confidence interval, or does not fit
        the reason for which sampling stopped.
    """
    median, low, high = (six_digits(cells[f"{name}_{ending}"], line) for ending in _ENDINGS[:3])
    samples = whole(cells[f"{name}_samples"], line, f"a number of samples of {name}")
    stop = cells[f"{name}_stop"]
    if not 0 < low <= median <= high:
        raise OutputError(f"{name}_us is {median:g} in an interval from {low:g} to {high:g}, which cannot be", line)
    # The farther end of the interval as a share of the median; six digits are printed.
    width, rounding = max(median - low, high - median) / median, 2e-5
    fits = {
        "ci": samples >= rule.fewest and width <= rule.share + rounding,
        "cap": samples >= min(rule.fewest, FEWEST_SAMPLES)
        and (samples < rule.fewest or width >= rule.share - rounding),
    }
    if not fits.get(stop):
        found = f"{samples} samples with an interval within {100 * width:g} % of it"
        raise OutputError(f"{name} stopped with {quoted(stop)}, which does not fit {found}", line)
    # When the last sample began the time was not up, unless they were too few; half of them take the median or more.
    if samples > FEWEST_SAMPLES and (samples / 2 - 1) * median > rule.longest_us * (1 + rounding):
        raise OutputError(f"{samples} samples of {name}_us take longer than the options allow", line)
    return Point(median, low, high, samples, stop)


def multiples(first_B: int, last_B: int, factor: int) -> list[int]:
    """Return the message sizes from ``first_B`` to at most ``last_B`` bytes, each ``factor`` times the one before."""
    sizes_B = []
    while first_B <= last_B:
        sizes_B.append(first_B)
        first_B *= factor
    return sizes_B
