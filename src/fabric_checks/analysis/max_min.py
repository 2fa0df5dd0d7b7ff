# SPDX-License-Identifier: BSD-3-Clause
"""Max-min fair rates of concurrent flows that share resources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Two shares of a link that differ by less than this are the same.
_SAME = 1e-9


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
