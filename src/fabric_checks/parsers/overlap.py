# SPDX-License-Identifier: BSD-3-Clause
"""Output of our programs ``overlap`` and ``collective_overlap``: overhead and host availability by message size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import Row, require_positive, require_sizes, six_digit_error, six_digits, whole

#: Why a search for the work that fits into a transfer stopped: found; there is none; too many steps.
STOPS = ("knee", "none", "cap")

#: The transfers of each row of ``overlap``, and by default of ``collective_overlap``.
TRANSFERS = ("isend", "irecv")
COLLECTIVES = ("iallreduce", "ialltoall", "ibcast")

#: The columns of a transfer that hold numbers, in the program's order.
_VALUES = (
    "nominal_us",
    "overhead_us",
    "overhead_ci_low_us",
    "overhead_ci_high_us",
    "availability_percent",
    "work_us",
    "steps",
)


@dataclass(frozen=True)
class OverlapOutput:
    """One run of ``overlap`` or ``collective_overlap``; ``transfer`` is a name such as ``isend`` or ``ibcast``.

    :param header: the header lines by key; ``work`` has the time of one iteration of the work, ``poll`` whether it
        called MPI_Test.
    :param rows: for each message size and transfer ``*_nominal_us`` (the transfer without work), ``*_overhead_us``
        with the 95 % confidence interval ``*_overhead_ci_low_us`` and ``*_overhead_ci_high_us``,
        ``*_availability_percent``, ``*_work_us`` (the work that just lengthens the transfer) and ``*_steps`` of the
        search; of collectives also ``*_osu_overlap_percent``, by the definition of the OSU micro-benchmarks: 100 (1 -
        (time with work - time of the work alone) / time without work), for work as long as the latter.
    :param stops: for each transfer why the search stopped, one of :data:`STOPS`, by message size.
    """

    header: Mapping[str, str]
    rows: tuple[Row, ...]
    stops: dict[str, dict[int, str]]

    def by_size(self, column: str) -> dict[int, float]:
        """Return the values of a column, such as ``isend_overhead_us``, by message size."""
        return {row.size_B: row.values[column] for row in self.rows}


def parse(text: str, sizes_B: Sequence[int]) -> OverlapOutput:
    """Read the output of ``overlap``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    return _table(text, "overlap", TRANSFERS, sizes_B)


def parse_collectives(text: str, sizes_B: Sequence[int], operations: Sequence[str] = COLLECTIVES) -> OverlapOutput:
    """Read the output of ``collective_overlap``, whose rows have ``*_osu_overlap_percent`` too.

    :param operations: the operations that were asked for; otherwise as :func:`parse`.
    """
    return _table(text, "collective_overlap", operations, sizes_B, percents=("osu_overlap_percent",))


def _table(
    text: str, program: str, transfers: Sequence[str], sizes_B: Sequence[int], percents: Sequence[str] = ()
) -> OverlapOutput:
    """Read the output of a program that searches for overlap.

    :param transfers: the prefixes of the columns.
    :param percents: endings of further columns of each transfer, all of them percentages.
    """
    columns = [f"{transfer}_{name}" for transfer in transfers for name in (*_VALUES, "stop", *percents)]
    names = [column for column in columns if not column.endswith("_stop")]
    output = fabric.parse(text, program, ["size_B", *columns])
    most_steps = fabric.number_of(fabric.options(output.header), "max-steps", at_least=1)
    rows: list[Row] = []
    stops: dict[str, dict[int, str]] = {transfer: {} for transfer in transfers}
    for line, cells in output.rows:
        row = Row(line, whole(cells["size_B"], line, "a message size"), {n: six_digits(cells[n], line) for n in names})
        for transfer in transfers:
            stop = cells[f"{transfer}_stop"]
            if stop not in STOPS:
                raise OutputError(f"a stop reason ({', '.join(STOPS)}) was expected, found {quoted(stop)}", line)
            stops[transfer][row.size_B] = stop
            _require_believable(row, transfer, stop)
            if (steps := row.values[f"{transfer}_steps"]) > most_steps:
                raise OutputError(f"{transfer}_steps is {steps:g}, but the options allow {most_steps} steps", line)
        for name in names:
            if name.endswith("_percent") and not 0 <= row.values[name] <= 100:
                raise OutputError(f"{name} is {row.values[name]:g} at {row.size_B} B, outside 0 to 100", line)
        rows.append(row)
    require_sizes(rows, sizes_B)
    return OverlapOutput(output.header, tuple(rows), stops)


def _require_believable(row: Row, transfer: str, stop: str) -> None:
    """Raise :class:`OutputError` unless the values of a transfer agree with each other.

    Host availability = 100 (1 - overhead / nominal) percent, not below 0 (SAND2005-5199, section 5).
    """
    for name in ("nominal_us", "overhead_us", "overhead_ci_low_us", "overhead_ci_high_us", "work_us", "steps"):
        require_positive([row], f"{transfer}_{name}")
    nominal, overhead, low, high, availability, work, steps = (row.values[f"{transfer}_{name}"] for name in _VALUES)
    where = f"at {row.size_B} B"
    if not low <= overhead <= high:
        raise OutputError(f"{transfer}_overhead_us lies outside its confidence interval {where}", row.line)
    part = 100 * overhead / nominal
    error = part * (six_digit_error(overhead) / overhead + six_digit_error(nominal) / nominal)
    low_percent, high_percent = (max(0.0, 100 - part + sign * 1.001 * error) for sign in (-1, 1))
    rounding = 1.001 * six_digit_error(availability)
    if not low_percent - rounding <= availability <= high_percent + rounding:
        raise OutputError(
            f"{transfer}_availability_percent is {availability:g} {where}, which does not follow from the overhead "
            f"of {overhead:g} us and the nominal time of {nominal:g} us",
            row.line,
        )
    if stop == "none" and overhead != nominal:
        raise OutputError(f"{transfer} stopped with none {where}, but its overhead is not nominal", row.line)
    # The transfer was longer than nominal; by how much, is a median of differences and not a difference of medians.
    if stop == "knee" and work + overhead < 0.9 * nominal:
        raise OutputError(
            f"{transfer} stopped with knee {where}, but work and overhead are less than nominal", row.line
        )
    if steps != int(steps):
        raise OutputError(f"{transfer}_steps is {steps:g} {where}, not a whole number", row.line)
