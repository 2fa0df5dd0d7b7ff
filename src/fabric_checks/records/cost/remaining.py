# SPDX-License-Identifier: BSD-3-Clause
"""How long a run will still take, by how long its cases took before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean


def remaining_s(
    past: Mapping[str, float],
    finished: Iterable[str],
    running: Iterable[str],
    unknown: int,
    *,
    done_in_s: float,
    since_s: float,
) -> float | None:
    """Return about how long a run will still take, in seconds; None without any past.

    A case is taken to take what it took before; one that never ran, or whose name is not known yet, what the others
    took on average. This is scaled by what the finished ones took now.

    :param past: how long each case took before, in seconds, see :func:`.durations.of_runs`.
    :param finished: cases that have ended; :param running: that have begun.
    :param unknown: how many are still to begin. :param done_in_s: what the finished ones took together.
    :param since_s: how long ago the last of them ended.
    """
    if not past:
        return None
    finished, running = list(finished), list(running)
    seen = {*finished, *running}
    usual = fmean([seconds for name, seconds in past.items() if name not in seen] or past.values())
    done_s = sum(past.get(name, usual) for name in finished)
    left_s = sum(past.get(name, usual) for name in running) + unknown * usual
    pace = done_in_s / done_s if len(finished) >= 3 and done_s > 0 else 1.0
    return max(pace * left_s - since_s, 0.0)
