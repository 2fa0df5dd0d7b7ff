# SPDX-License-Identifier: BSD-3-Clause
"""Output of our programs ``overlap`` and ``collective_overlap``: overhead and host availability by message size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import Row, half_digit, positive, require_sizes, six_digits, whole

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
    :param stops: for each transfer why the search for the work that fits into it stopped, by message size: ``knee``
        (found), ``none`` (there is none) or ``cap`` (too many steps).
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
    header, cells_of_rows = fabric.parse(text, program, ["size_B", *columns])
    options = fabric.options(header)
    if (ran := options.get("operation", "all")) not in ("all", *transfers):
        raise OutputError(f"the option 'operation' is {quoted(ran)}, but the table has {', '.join(transfers)}")
    most_steps = fabric.number_of(options, "max-steps", at_least=1)
    share = positive(options.get("knee-share", ""), "the option 'knee-share'", None)
    rows: list[Row] = []
    stops: dict[str, dict[int, str]] = {transfer: {} for transfer in transfers}
    for line, cells in cells_of_rows:
        row = Row(line, whole(cells["size_B"], line, "a message size"), {n: six_digits(cells[n], line) for n in names})
        for transfer in transfers:
            stop = stops[transfer][row.size_B] = cells[f"{transfer}_stop"]
            for fault in _faults([row.values[f"{transfer}_{name}"] for name in _VALUES], stop, most_steps, share):
                raise OutputError(f"{transfer} at {row.size_B} B {fault}", line)
        for name in names:
            if name.endswith("_percent") and not 0 <= row.values[name] <= 100:
                raise OutputError(f"{name} is {row.values[name]:g} at {row.size_B} B, outside 0 to 100", line)
        rows.append(row)
    fabric.require_sizes(options, [row.size_B for row in rows])
    require_sizes(rows, sizes_B)
    return OverlapOutput(header, tuple(rows), stops)


def _faults(values: Sequence[float], stop: str, most_steps: int, knee_share: float) -> Iterator[str]:
    """Yield how the values of a transfer contradict each other.

    Host availability = 100 (1 - overhead / nominal) percent, not below 0 (SAND2005-5199, section 5).

    :param values: those of :data:`_VALUES`. :param knee_share: by how much the work that is searched for lengthens it.
    """
    nominal, overhead, low, high, availability, work, steps = values
    if min(nominal, low, work) <= 0 or not low <= overhead <= high:
        yield f"takes {nominal:g} us, an overhead of {overhead:g} us from {low:g} to {high:g} and {work:g} us of work"
        return
    rounding, *errors = (1.001 * half_digit(f"{value:.6g}", 6) for value in (availability, overhead, nominal))
    part = 100 * overhead / nominal
    error = part * (errors[0] / overhead + errors[1] / nominal)
    least, most = (max(0.0, 100 - part + sign * error) for sign in (-1, 1))
    if not least - rounding <= availability <= most + rounding:
        yield f"has an availability of {availability:g} %, but {overhead:g} of {nominal:g} us are overhead"
    if steps not in range(1, most_steps + 2):
        yield f"took {steps:g} steps, but the options allow {most_steps}"
    # With a knee the transfer became longer; by how much, is a median of differences, not a difference of medians.
    fits = {"none": overhead == nominal, "knee": work + overhead >= 0.9 * nominal * (1 + knee_share / 2), "cap": True}
    if not fits.get(stop):
        yield f"stopped with {quoted(stop)}, which does not fit {work:g} us of work and {overhead:g} of {nominal:g} us"
