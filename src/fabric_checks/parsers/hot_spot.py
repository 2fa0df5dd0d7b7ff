# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``hot_spot``: the time of one root with more and more senders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from fabric_checks.parsers import fabric

#: The two operations, as the master's time of one whole operation: it sends to all slaves, or collects from
#: all.
OPERATIONS = ("send", "send_receive")
TABLE = fabric.of_points("hot_spot", OPERATIONS, ("size_B", "slaves"))


def slave_counts(ranks: int) -> list[int]:
    """Return the numbers of slaves that ``hot_spot`` measures on that many ranks.

    They are every number up to 8, then the powers of two, and last all ranks but the master.
    """
    last = ranks - 1
    counts = [
        *range(1, 9),
        *(2**power for power in range(4, max(last, 1).bit_length())),
    ]
    return [*(count for count in counts if count < last), last]


def parse(text: str, sizes_B: Sequence[int], slaves: Sequence[int]) -> fabric.Output:
    """Read the output of ``hot_spot``.

    :param sizes_B: the message sizes that were asked for, in bytes, in order.
    :param slaves: the numbers of slaves that are expected for each of them; see :func:`slave_counts`.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    return fabric.read(text, TABLE, product(sizes_B, slaves))
