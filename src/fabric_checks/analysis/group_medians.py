# SPDX-License-Identifier: BSD-3-Clause
"""Medians of the pairs of groups of nodes, in a time that grows with the pairs alone."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.grouping import by_key

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Fewer nodes would be their own expectation.
FEWEST_OF_KIND = 3


def of_rows(rows: Array) -> Array:
    """Return the median of the values of each row; NaN where there are none."""
    count = np.count_nonzero(~np.isnan(rows), axis=1)
    found = np.full(len(rows), np.nan)
    for number in np.flatnonzero(np.bincount(count)):
        alike = count == number
        if number:
            middle = [(number - 1) // 2, number // 2]
            ordered = rows[alike]
            ordered.partition(middle, axis=1)
            found[alike] = ordered[:, middle].mean(axis=1)
    return found


def usual(latency_us: Array, group: Numbers) -> tuple[float, float]:
    """Return the median of the pairs within groups, and of those between two; NaN without any."""
    same = group[:, None] == group[None, :]
    within, apart = (of_rows(latency_us[each][None, :])[0] for each in (same, ~same))
    return float(within), float(apart)


def between(latency_us: Array, group: Numbers) -> Array:
    """Return for groups x groups the median of the pairs of the two; NaN where one is small or none was
    measured.

    All pairs of groups of the same two sizes are one step: there may be thousands of groups.
    """
    members = members_of(group)
    found = np.full((len(members), len(members)), np.nan)
    by_size = by_key(large(group).tolist(), lambda number: len(members[number]))
    for some, others in product(by_size.values(), repeat=2):
        rows, columns = (
            np.array([members[each] for each in of]) for of in (some, others)
        )
        pairs = latency_us[rows[:, None, :, None], columns[None, :, None, :]]
        of_groups = of_rows(pairs.reshape(len(some) * len(others), -1))
        found[np.ix_(some, others)] = of_groups.reshape(len(some), len(others))
    return found


def members_of(group: Numbers) -> list[Numbers]:
    """Return the nodes of each group."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group))[:-1])


def large(group: Numbers) -> Numbers:
    """Return the groups that have an expectation of their own: one or two nodes would be it themselves."""
    return np.flatnonzero(np.bincount(group) >= FEWEST_OF_KIND)
