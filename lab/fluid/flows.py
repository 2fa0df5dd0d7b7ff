# SPDX-License-Identifier: BSD-3-Clause
"""Rates of concurrent flows on shared links, and the times at which they end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SAME = 1 + 1e-9


def max_min(paths: Ints, weights: Floats, capacity: Floats) -> Floats:
    """Return the max-min fair rates of flows.

    A link is a bottleneck of all of its flows where none of them has a link with a smaller fair share: what
    is frozen elsewhere later can only raise the others. All such links are filled at once (progressive
    filling: Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).

    :param paths: flows x links of each; unused places name the last entry of ``capacity``, which is infinite.
    :param weights: the share of the rate of a flow that each link of its path carries; 0 at unused places.
    """
    rates = np.zeros(len(paths))
    left = capacity.copy()
    flows = np.arange(len(paths))
    while len(flows):
        path, weight = paths[flows], weights[flows]
        load = np.bincount(path.ravel(), weight.ravel(), len(capacity))
        share = np.full(len(capacity), np.inf)
        np.divide(np.maximum(left, 0.0), load, out=share, where=load > 0)
        fair = share[path].min(axis=1)
        lowest = np.full(len(capacity), np.inf)
        np.minimum.at(lowest, path, np.broadcast_to(fair[:, None], path.shape))
        frozen = ((share <= lowest * _SAME)[path] & (weight > 0)).any(axis=1)
        rates[flows[frozen]] = fair[frozen]
        left -= np.bincount(
            path[frozen].ravel(),
            (weight[frozen] * fair[frozen, None]).ravel(),
            len(capacity),
        )
        left[-1] = np.inf
        flows = flows[~frozen]
    return rates


def finish(
    paths: Ints,
    weights: Floats,
    sizes: Floats,
    begin: float,
    state: Callable[[float], tuple[Floats, float]],
) -> Floats:
    """Return the time at which each flow ends, if all begin at once; who ends frees its links for the others.

    :param sizes: what each flow moves, in MB. :param begin: the common start, in s.
    :param state: gives for a time the capacities in MB/s, and the time of their next change.
    """
    ends = np.full(len(paths), np.inf)
    left = sizes.astype(float)
    now, flows = begin, np.arange(len(paths))
    while len(flows):
        capacity, change = state(now)
        rates = max_min(paths[flows], weights[flows], capacity)
        remaining = np.divide(
            left[flows], rates, out=np.full(len(flows), np.inf), where=rates > 0
        )
        first = remaining.min()
        if not np.isfinite(min(first, change - now)):
            raise ValueError("a flow has no capacity, and that never changes")
        step = min(first * (1 + 1e-6), change - now)
        left[flows] -= rates * step
        now += step
        over = remaining <= step
        ends[flows[over]] = now - step + remaining[over]
        flows = flows[~over]
    return ends
