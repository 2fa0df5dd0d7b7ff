# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``hot_spot``: the time of one master with more and more slaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.points import Point, columns, point, require_keys
from fabric_checks.parsers.table import message_size, whole

#: The two operations: the master sends to all slaves, or collects from all of them.
OPERATIONS = ("send", "send_receive")


@dataclass(frozen=True)
class HotSpotRow:
    """One message size with one number of slaves.

    :param line: its line number in the output, counted from 1.
    :param size_B: the message size in bytes.
    :param slaves: how many slaves took part.
    :param points: the time of one whole operation on the master, by operation.
    """

    line: int
    size_B: int
    slaves: int
    points: dict[str, Point]


@dataclass(frozen=True)
class HotSpotOutput:
    """One run of ``hot_spot``: the header lines by key, and the rows."""

    header: dict[str, str]
    rows: tuple[HotSpotRow, ...]

    def times_us(self, operation: str, size_B: int) -> dict[int, float]:
        """Return the median time of one whole operation by number of slaves, for one message size."""
        return {row.slaves: row.points[operation].median_us for row in self.rows if row.size_B == size_B}


def slave_counts(ranks: int) -> list[int]:
    """Return the numbers of slaves that ``hot_spot`` measures on that many ranks.

    They are every number up to 8, then the powers of two, and last all ranks but the master.
    """
    last = ranks - 1
    counts = [*range(1, 9), *(2**power for power in range(4, max(last, 1).bit_length()))]
    return [*(count for count in counts if count < last), last]


def message_sizes(min_size_B: int = 8, max_size_B: int = 65536) -> list[int]:
    """Return the message sizes that ``hot_spot`` measures between these, in bytes: each is 8 times the one before."""
    sizes_B = []
    while min_size_B <= max_size_B:
        sizes_B.append(min_size_B)
        min_size_B *= 8
    return sizes_B


def parse(text: str, sizes_B: Sequence[int], slaves: Sequence[int]) -> HotSpotOutput:
    """Read the output of ``hot_spot``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param slaves: the numbers of slaves that are expected for each of them; see :func:`slave_counts`.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = fabric.parse(text, "hot_spot", ("size_B", "slaves", *columns(*OPERATIONS)))
    listed = output.header.get("slaves", "")
    if listed.split() != [str(count) for count in slaves]:
        wanted = " ".join(str(count) for count in slaves)
        raise OutputError(f"the header lists {quoted(listed)} as numbers of slaves, expected {wanted}")
    rows = tuple(
        HotSpotRow(
            line,
            message_size(cells["size_B"], line),
            whole(cells["slaves"], line, "a number of slaves"),
            {name: point(cells, name, line) for name in OPERATIONS},
        )
        for line, cells in output.rows
    )
    found = [(row.line, (row.size_B, row.slaves)) for row in rows]
    require_keys(found, [(size, count) for size in sizes_B for count in slaves], ("size_B", "slaves"))
    return HotSpotOutput(dict(output.header), rows)
