# SPDX-License-Identifier: BSD-3-Clause
"""Expected bytes: what a program moved between nodes, by its output, and ports therefore carried at least.

They are payload only: headers, acknowledgements and an MPI library's own messages come on top.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from fabric_checks.core.errors import OutputError

#: OSU's bandwidth programs, and mpi4py's ports of them, send windows of messages: their iterations and
#: warm-up up to a size, and above it (osu_util.h: BW_LOOP_SMALL, BW_LOOP_LARGE, BW_SKIP_SMALL, BW_SKIP_LARGE,
#: LARGE_MESSAGE_SIZE, WINDOW_SIZE_LARGE; osu_bw.py has the same). Options of theirs hold for all sizes.
OSU_LARGE_B, OSU_WINDOW = 8192, 64
OSU_SMALL, OSU_LARGE = (100, 10), (20, 2)


def stated_B(text: str) -> int | None:
    """Return the bytes that ranks sent to each other as our own programs state them; None if they do not."""
    stated = re.search(r"^# moved: (\d{1,19}) bytes$", text, re.MULTILINE)
    return int(stated[1]) if stated else None


def osu_bandwidth_B(
    sizes_B: Iterable[int],
    *,
    pairs: int = 1,
    both_ways: bool = False,
    window: int | None = None,
    iterations: int | None = None,
    warmup: int | None = None,
) -> int:
    """Return what the pairs of osu_bw, osu_bibw (both ways) and osu_mbw_mr send to each other.

    :param pairs: of processes on two nodes each.
    :param window: messages in flight; like ``iterations`` and ``warmup`` that of the program if it is None.
    """
    messages_B = 0
    for size_B in sizes_B:
        timed, before = OSU_LARGE if size_B > OSU_LARGE_B else OSU_SMALL
        timed = timed if iterations is None else iterations
        before = before if warmup is None else warmup
        messages_B += size_B * (timed + before)
    return messages_B * (window or OSU_WINDOW) * pairs * (2 if both_ways else 1)


def rotate_B(
    options: str, hosts: Sequence[str], pairs: Iterable[tuple[int, int]]
) -> int:
    """Return what the pairs of our program ``rotate`` send between nodes: each row is several tests of
    messages.

    :param options: the line of the output's header. :param hosts: the host of each rank.
    :param pairs: the ranks of each row; those on one host send nothing between nodes.
    :raises OutputError: if the options lack the size or number of messages.
    """
    options_of = dict(re.findall(r"(size|messages|tests) (\d{1,18})(?= |$)", options))
    if len(options_of) < 3:
        raise OutputError(
            "the line '# options: ...' of rotate does not have size, messages and tests"
        )
    rows = sum(hosts[sender] != hosts[receiver] for sender, receiver in pairs)
    return rows * math.prod(int(value) for value in options_of.values())
