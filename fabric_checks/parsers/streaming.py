# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``streaming``: ping-pong and streaming times by message size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.errors import OutputError
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import Row, message_size, number, require_positive, require_sizes

_TIMES = ("ping_pong_us", "streaming_us")
_COLUMNS = (
    "size_B",
    *_TIMES,
    *(f"{mode}_ci_{end}_us" for mode in ("ping_pong", "streaming") for end in ("low", "high")),
)


@dataclass(frozen=True)
class StreamingOutput:
    """One run of ``streaming``.

    :param header: the header lines by key.
    :param rows: for each message size ``ping_pong_us`` (half the round trip) and ``streaming_us`` (time per
        message), medians, with their 95 % confidence intervals ``*_ci_low_us`` and ``*_ci_high_us``.
    """

    header: dict[str, str]
    rows: tuple[Row, ...]

    def times_us(self, mode: str) -> dict[int, float]:
        """Return the median time by message size; ``mode`` is ``ping_pong`` or ``streaming``."""
        return {row.size_B: row.values[f"{mode}_us"] for row in self.rows}


def parse(text: str, sizes_B: Sequence[int]) -> StreamingOutput:
    """Read the output of ``streaming``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :raises OutputError: if the output is not whole or its figures are not believable.
    """
    output = fabric.parse(text, "streaming", _COLUMNS)
    rows = []
    for line, cells in output.rows:
        values = {name: number(cell, line) for name, cell in cells.items() if name.endswith("_us")}
        rows.append(Row(line, message_size(cells["size_B"], line), values))
    require_sizes(rows, sizes_B)
    for name in _TIMES:
        require_positive(rows, name)
        for row in rows:
            low, high = (row.values[name.replace("_us", f"_ci_{end}_us")] for end in ("low", "high"))
            if not low <= row.values[name] <= high:
                raise OutputError(f"{name} lies outside its confidence interval at {row.size_B} B", row.line)
    return StreamingOutput(dict(output.header), tuple(rows))
