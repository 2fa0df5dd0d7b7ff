# SPDX-License-Identifier: BSD-3-Clause
"""What flows get that run at once and share what they pass through, max-min fairly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Two shares of a link that differ by less than this are the same.
_SAME = 1e-9


def max_min(
    ways: NDArray[np.int64], capacity: NDArray[np.float64], most: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the max-min fair rate of each flow, by progressive filling (Bertsekas, Gallager, Data Networks, 6.5.2).

    :param ways: flows x resources that each passes through; where a flow has fewer, a resource of infinite capacity.
    :param capacity: the rate of each resource; the rates that are returned have the same unit.
    :param most: what each flow can do by itself, if that is limited.
    """
    rate = np.zeros(len(ways))
    left = capacity.astype(np.float64)
    limit = np.full(len(ways), np.inf) if most is None else most
    waiting = np.arange(len(ways))
    while len(waiting):
        through = ways[waiting]
        count = np.bincount(through.ravel(), minlength=len(left))
        share = np.where(count > 0, left / np.maximum(count, 1), np.inf)
        least = np.minimum(share[through].min(axis=1), limit[waiting])
        # A resource is full once none of its flows has anything narrower on its way.
        narrowest = np.full(len(left), np.inf)
        np.minimum.at(narrowest, through.ravel(), np.repeat(least, through.shape[1]))
        full = narrowest >= share * (1 - _SAME)
        done = (full[through] & (share[through] <= least[:, None] * (1 + _SAME))).any(axis=1)
        done |= least >= limit[waiting] * (1 - _SAME)
        rate[waiting[done]] = least[done]
        used = np.bincount(through[done].ravel(), np.repeat(least[done], through.shape[1]), minlength=len(left))
        # Where a flow has no limit at all there is nothing to take it from.
        left = np.where(np.isfinite(left), np.maximum(left - np.nan_to_num(used, posinf=0.0), 0.0), left)
        waiting = waiting[~done]
    return rate


def loads(ways: NDArray[np.int64], resources: int) -> NDArray[np.int64]:
    """Return how many flows pass through each resource of each way; flows x resources, as ``ways``."""
    count = np.bincount(ways.ravel(), minlength=resources)
    found: NDArray[np.int64] = count[ways]
    return found
