# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``buffer_reuse``: times by message size and by the share of reused buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.parsers import fabric
from fabric_checks.parsers.points import Point, columns, point, require_keys
from fabric_checks.parsers.table import message_size, whole

#: Half of a round trip, and the time per message with many in flight.
MODES = ("latency", "stream")
#: The shares of iterations that use one buffer again, in percent.
PERCENTS = (0, 25, 50, 75, 100)


@dataclass(frozen=True)
class BufferReuseRow:
    """One message size with one share of reused buffers.

    :param line: its line number in the output, counted from 1.
    :param size_B: the message size in bytes.
    :param reuse_percent: the share of iterations that use one buffer again; the others use new ones.
    :param points: the time per message, by mode.
    """

    line: int
    size_B: int
    reuse_percent: int
    points: dict[str, Point]


@dataclass(frozen=True)
class BufferReuseOutput:
    """One run of ``buffer_reuse``: the header lines by key, and the rows."""

    header: dict[str, str]
    rows: tuple[BufferReuseRow, ...]

    def times_us(self, mode: str, reuse_percent: int) -> dict[int, float]:
        """Return the median time per message by message size, for one share of reused buffers."""
        return {row.size_B: row.points[mode].median_us for row in self.rows if row.reuse_percent == reuse_percent}


def message_sizes(min_size_B: int = 1024, max_size_B: int = 4194304) -> list[int]:
    """Return the message sizes that the program measures between these, in bytes: each is 4 times the one before."""
    sizes_B = []
    while min_size_B <= max_size_B:
        sizes_B.append(min_size_B)
        min_size_B *= 4
    return sizes_B


def parse(text: str, sizes_B: Sequence[int], percents: Sequence[int] = PERCENTS) -> BufferReuseOutput:
    """Read the output of ``buffer_reuse``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param percents: the shares of reused buffers that are expected for each of them.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    output = fabric.parse(text, "buffer_reuse", ("size_B", "reuse_percent", *columns(*MODES)))
    rows = tuple(
        BufferReuseRow(
            line,
            message_size(cells["size_B"], line),
            whole(cells["reuse_percent"], line, "a share of reused buffers"),
            {name: point(cells, name, line) for name in MODES},
        )
        for line, cells in output.rows
    )
    found = [(row.line, (row.size_B, row.reuse_percent)) for row in rows]
    require_keys(found, [(size, share) for size in sizes_B for share in percents], ("size_B", "reuse_percent"))
    return BufferReuseOutput(dict(output.header), rows)
