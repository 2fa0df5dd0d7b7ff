# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``streaming``: ping-pong and streaming times by message size, one way and both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import fabric
from fabric_checks.parsers.points import columns, point
from fabric_checks.parsers.table import Row, message_size, require_sizes

#: What is measured in each row, by the value of ``--directions``.
MODES: Mapping[str, tuple[str, ...]] = {
    "one": ("ping_pong", "streaming"),
    "both": ("ping_pong", "streaming", "bidirectional_ping_pong", "bidirectional_streaming"),
}


@dataclass(frozen=True)
class StreamingOutput:
    """One run of ``streaming``.

    :param header: the header lines by key.
    :param rows: for each message size the medians ``MODE_us`` with their 95 % confidence intervals
        ``MODE_ci_low_us`` and ``MODE_ci_high_us``. MODE is ``ping_pong`` (half the round trip), ``streaming`` (time
        per message), ``bidirectional_ping_pong`` (an exchange: one message each way at once) and
        ``bidirectional_streaming`` (time per pair of messages, one each way).
    :param modes: the modes that were measured.
    """

    header: dict[str, str]
    rows: tuple[Row, ...]
    modes: tuple[str, ...]

    def times_us(self, mode: str) -> dict[int, float]:
        """Return the median time by message size."""
        return {row.size_B: row.values[f"{mode}_us"] for row in self.rows}

    def intervals_us(self, mode: str) -> dict[int, tuple[float, float]]:
        """Return the ends of the median's 95 % confidence interval by message size."""
        low, high = f"{mode}_ci_low_us", f"{mode}_ci_high_us"
        return {row.size_B: (row.values[low], row.values[high]) for row in self.rows}


def parse(text: str, sizes_B: Sequence[int], *, directions: str = "one", queue_depth: int = 0) -> StreamingOutput:
    """Read the output of ``streaming``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param directions: ``one`` or ``both``, as was asked for.
    :param queue_depth: the queue depth that was asked for, 0 for none.
    :raises OutputError: if the output is not whole, is not what was asked for or its values are not believable.
    """
    modes = MODES[directions]
    output = fabric.parse(text, "streaming", ["size_B", *columns(*modes)])
    _require_options(output.header, {"directions": directions, "queue-depth": str(queue_depth)})
    rows = []
    for line, cells in output.rows:
        size_B = message_size(cells["size_B"], line)
        values: dict[str, float] = {}
        for mode in modes:
            measured = point(cells, mode, line)
            values[f"{mode}_us"] = measured.median_us
            values[f"{mode}_ci_low_us"], values[f"{mode}_ci_high_us"] = measured.low_us, measured.high_us
        rows.append(Row(line, size_B, values))
    require_sizes(rows, sizes_B)
    return StreamingOutput(dict(output.header), tuple(rows), modes)


def _require_options(header: Mapping[str, str], asked: Mapping[str, str]) -> None:
    """Raise :class:`OutputError` unless the ``options`` of the header are those that were asked for."""
    words = header.get("options", "").split()
    told = dict(zip(words[::2], words[1::2], strict=False))
    for name, value in asked.items():
        if told.get(name) != value:
            raise OutputError(
                f"--{name} {value} was asked for, but the program says that it ran with "
                f"{told.get(name, 'no such option')}"
            )
