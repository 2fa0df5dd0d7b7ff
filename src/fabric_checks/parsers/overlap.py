# SPDX-License-Identifier: BSD-3-Clause
"""Output of our programs ``overlap`` and ``collective_overlap``: overhead and host availability by message
size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from fabric_checks.parsers import fabric
from fabric_checks.parsers.fabric import PERCENT, POSITIVE, count, one_of

#: The transfers of each row of ``overlap``, and by default of ``collective_overlap``.
TRANSFERS = ("isend", "irecv")
COLLECTIVES = ("iallreduce", "ialltoall", "ibcast")

#: The columns of a transfer: its time without work; the overhead, with its 95 % confidence interval; the host
#: availability, 100 (1 - overhead / nominal) percent, not below 0 (SAND2005-5199, section 5); the work that
#: just lengthens the transfer; the steps of the search for it, and why it stopped: ``knee`` (found), ``none``
#: (there is none) or ``cap`` (too many steps).
COLUMNS = {
    "nominal_us": POSITIVE,
    "overhead_us": POSITIVE,
    "overhead_ci_low_us": POSITIVE,
    "overhead_ci_high_us": POSITIVE,
    "availability_percent": PERCENT,
    "work_us": POSITIVE,
    "steps": count(1),
    "stop": one_of("knee", "none", "cap"),
}
#: And that of a collective, by the definition of the OSU micro-benchmarks: 100 (1 - (time with work - time of
#: the work alone) / time without work), for work as long as the latter.
OSU = {"osu_overlap_percent": PERCENT}


def parse(text: str, sizes_B: Sequence[int]) -> fabric.Output:
    """Read the output of ``overlap``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    table = fabric.of_points("overlap", TRANSFERS, each=COLUMNS)
    return fabric.read(text, table, product(sizes_B))


def parse_collectives(
    text: str, sizes_B: Sequence[int], operations: Sequence[str] = COLLECTIVES
) -> fabric.Output:
    """Read the output of ``collective_overlap``, whose rows have ``*_osu_overlap_percent`` too.

    :param operations: the operations that were asked for; otherwise as :func:`parse`.
    """
    table = fabric.of_points("collective_overlap", operations, each=COLUMNS | OSU)
    return fabric.read(text, table, product(sizes_B))
