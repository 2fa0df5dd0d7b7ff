# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``buffer_reuse``: times by message size and by the share of reused buffers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from fabric_checks.parsers import fabric

#: Half of a round trip, and the time per message with many in flight.
MODES = ("latency", "stream")
#: The shares of iterations that use one buffer again, in percent; the others use new ones.
PERCENTS = (0, 25, 50, 75, 100)
TABLE = fabric.of_points("buffer_reuse", MODES, ("size_B", "reuse_percent"))


def parse(
    text: str, sizes_B: Sequence[int], percents: Sequence[int] = PERCENTS
) -> fabric.Output:
    """Read the output of ``buffer_reuse``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param percents: the shares of reused buffers that are expected for each of them.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    return fabric.read(text, TABLE, product(sizes_B, percents))
