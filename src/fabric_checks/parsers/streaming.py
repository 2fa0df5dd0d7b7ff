# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``streaming``: ping-pong and streaming times by message size, one way and both
ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from fabric_checks.parsers import fabric

#: The points of each row, by the value of ``--directions``: ``ping_pong`` is half the round trip,
#: ``streaming`` the time per message, ``bidirectional_ping_pong`` an exchange (one message each way at once)
#: and ``bidirectional_streaming`` the time per pair of messages, one each way.
MODES: Mapping[str, tuple[str, ...]] = {
    "one": ("ping_pong", "streaming"),
    "both": (
        "ping_pong",
        "streaming",
        "bidirectional_ping_pong",
        "bidirectional_streaming",
    ),
}


def parse(
    text: str, sizes_B: Sequence[int], *, directions: str = "one", queue_depth: int = 0
) -> fabric.Output:
    """Read the output of ``streaming``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param directions: ``one`` or ``both``, as was asked for.
    :param queue_depth: the queue depth that was asked for, 0 for none.
    :raises OutputError: if the output is not whole, is not what was asked for or its values are not
        believable.
    """
    table = fabric.of_points("streaming", MODES[directions])
    asked = {"directions": directions, "queue-depth": str(queue_depth)}
    return fabric.read(text, table, product(sizes_B), asked)
