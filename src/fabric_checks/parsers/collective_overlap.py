# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``collective_overlap``: overhead and host availability of non-blocking collectives by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.parsers import overlap

#: What is measured in each row, by the program's own default.
OPERATIONS = ("iallreduce", "ialltoall", "ibcast")


@dataclass(frozen=True)
class CollectiveOverlapOutput(overlap.OverlapOutput):
    """One run of ``collective_overlap``: that of ``overlap``, with an operation for a transfer.

    The rows have ``*_osu_overlap_percent`` too.
    """

    def osu_overlap_percent(self, operation: str) -> dict[int, float]:
        """Return the overlap by the definition of the OSU micro-benchmarks, 0 to 100, by size.

        100 (1 - (time with work - time of the work alone) / time without work) for work as long as the latter.
        """
        return self._column(f"{operation}_osu_overlap_percent")


def parse(text: str, sizes_B: Sequence[int], operations: Sequence[str] = OPERATIONS) -> CollectiveOverlapOutput:
    """Read the output of ``collective_overlap``.

    :param sizes_B: the sizes that were asked for, in bytes, in order.
    :param operations: the operations that were asked for.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = overlap.table(text, "collective_overlap", operations, sizes_B, percents=("osu_overlap_percent",))
    return CollectiveOverlapOutput(output.header, output.rows, output.stops)
