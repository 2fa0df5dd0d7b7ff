# SPDX-License-Identifier: BSD-3-Clause
"""Max-min fair rates of concurrent flows that share resources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Two shares of a link that differ by less than this are the same.
_SAME = 1e-9
#: The most resources that are filled at once, of all rounds together: 128 MB an array.
_AT_ONCE = 1 << 24


def of_rounds(
    routes: NDArray[np.int64],
    capacity: NDArray[np.float64],
    number: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the max-min fair rate of each flow among those of its round, and the number of flows on each of
    its resources.

    :param routes: as those of :func:`max_min`; the last resource is that of infinite capacity.
    :param number: of each flow's round, from 0 on.
    """
    rates = capacity[routes].min(axis=1)
    loads = np.ones(routes.shape, dtype=np.int64)
    size, rounds = len(capacity), int(number.max(initial=-1)) + 1
    step = min(max(_AT_ONCE // size, 1), rounds)
    for first in range(0, rounds, step or 1):
        own = np.flatnonzero((number >= first) & (number < first + step))
        through = routes[own] + (number[own] - first)[:, None] * size
        count = np.bincount(through.ravel(), minlength=step * size)
        count[size - 1 :: size] = 1
        loads[own] = count[through]
        shares = (loads[own] > 1).any(axis=1)
        rates[own[shares]] = max_min(through[shares], np.tile(capacity, step))
    return rates, loads


def max_min(
    routes: NDArray[np.int64],
    capacity: NDArray[np.float64],
    most: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the max-min fair rate of each flow, by progressive filling (Bertsekas, Gallager, Data Networks,
    6.5.2).

    :param routes: flows x the resources of each; a flow with fewer has a resource of infinite capacity
        instead.
    :param capacity: the rate of each resource, in any unit.
    :param most: the limit of each flow by itself, if it has one.
    """
    rate = np.zeros(len(routes))
    left = capacity.astype(np.float64)
    limit = np.full(len(routes), np.inf) if most is None else most
    waiting, through = np.arange(len(routes)), routes
    while len(waiting):
        # Only the resources of waiting flows: of many independent groups of flows few take many steps.
        is_used = np.zeros(len(left), dtype=bool)
        is_used[through] = True
        left, through = left[is_used], (np.cumsum(is_used) - 1)[through]
        share = left / np.bincount(through.ravel())
        own = share[through]
        least = np.minimum(own.min(axis=1), limit[waiting])
        # A resource is full once none of its flows has a narrower one.
        narrowest = np.full(len(left), np.inf)
        np.minimum.at(narrowest, through.ravel(), np.repeat(least, through.shape[1]))
        full = narrowest >= share * (1 - _SAME)
        done = (full[through] & (own <= least[:, None] * (1 + _SAME))).any(axis=1)
        done |= least >= limit[waiting] * (1 - _SAME)
        rate[waiting[done]] = least[done]
        used = np.bincount(
            through[done].ravel(),
            np.repeat(least[done], through.shape[1]),
            minlength=len(left),
        )
        # A flow without any limit takes nothing from a finite resource.
        left = np.where(
            np.isfinite(left),
            np.maximum(left - np.nan_to_num(used, posinf=0.0), 0.0),
            left,
        )
        waiting, through = waiting[~done], through[~done]
    return rate
