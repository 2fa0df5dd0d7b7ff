# SPDX-License-Identifier: BSD-3-Clause
"""What collectives move, from their names: enough for a figure that is right to a factor of a few."""

from __future__ import annotations

import re

from fabric_checks.results.cost.counters import EVEN, UNEVEN

_ALL_TO_ALL = ("alltoall", "allgather")
_ROOTED = ("bcast", "reduce", "gather", "scatter")


def _plain(benchmark: str) -> str:
    """Return the name of a collective as MPI calls it: ``ialltoallv`` and ``Alltoall_persistent`` are ``alltoall``."""
    return re.sub(r"^i|[vw]$", "", re.sub(r"_(persistent|block|local)$", "", benchmark.lower()))


def collective_messages(benchmark: str, tasks: int) -> float:
    """Return how many messages of the size that the benchmark names a process sends, on average.

    :param benchmark: its name in OSU or IMB, such as ``ialltoallv`` or ``Reduce_scatter``.
    """
    name = _plain(benchmark)
    if name.startswith(("neighbor_", "neighbor")):
        return 2
    if benchmark.lower() == "reduce_local":
        return 0
    if name in _ALL_TO_ALL:
        return tasks - 1
    return 2 if name == "allreduce" else 1


def collective_pattern(benchmark: str) -> str:
    """Return how its bytes are spread over the nodes, one of :data:`fabric_checks.results.cost.counters.PATTERNS`."""
    return UNEVEN if _plain(benchmark) in _ROOTED else EVEN
