# SPDX-License-Identifier: BSD-3-Clause
"""Groups of nodes with low latency to each other, such as those behind one switch: a hop less shows in the
latency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis import group_medians as medians
from fabric_checks.analysis.group_medians import FEWEST_OF_KIND

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Levels are distinct if the gap between them is so many times the noise of a pair, ...
GAP_ERRORS = 4.0
#: ... and this share of the latency.
LEAST_GAP = 0.02
#: The share of pairs near a third node that have to be near each other.
CLOSED = 0.9
#: Nodes of one distance are a kind, and no slow ones, if they are a few, and this share of all.
LEAST_OF_KIND = 1 / 8
#: Ranks show the right group of a node only if this share of nodes have a neighbour of their own group.
IN_ORDER = 0.9
#: ... and if none of so many random orders has as many equal neighbours.
ORDERS = 199
#: A node without a member of its group among so many ranks before and after it is misplaced.
NEIGHBOURS = 2


def pairs(matrix: Array) -> Array:
    """Return the values of a symmetric matrix above its diagonal, row by row."""
    from scipy.spatial.distance import squareform  # noqa: PLC0415  (slow to import)

    found: Array = squareform(matrix, checks=False)
    return found


def nearest(latency_us: Array, error_us: float) -> float | None:
    """Return the latency below which pairs are near, in us: the lowest gap between levels. None if there is
    none.

    :param latency_us: nodes x nodes, symmetric. :param error_us: the noise of the latency of a pair.
    """
    nodes = len(latency_us)
    values = np.sort(pairs(latency_us))
    gaps = np.diff(values)
    wide = gaps > max(GAP_ERRORS * error_us, LEAST_GAP * float(np.median(values)))
    # A level has at least a quarter as many pairs as there are nodes, and is not that of the few slowest
    # pairs.
    below = np.arange(1, len(values))
    for last in np.flatnonzero(
        wide & (below >= nodes / 4) & (below <= 0.9 * len(values))
    ):
        border = float((values[last] + values[last + 1]) / 2)
        if _is_closed(latency_us < border):
            return border
    return None


def _is_closed(near: NDArray[np.bool_]) -> bool:
    """Return whether nodes near a third one are near each other, as behind one switch."""
    # Whole numbers up to that of the nodes, which are exact in single precision.
    links = near.astype(np.float32)
    np.fill_diagonal(links, 0.0)
    degree = links.sum(axis=1, dtype=np.float64)
    both = float((degree * (degree - 1)).sum())
    closed = np.einsum("ij,ij->i", links @ links, links).sum(dtype=np.float64)
    return both == 0 or float(closed) >= CLOSED * both


def find(latency_us: Array, border_us: float | None) -> Numbers:
    """Return the number of the group of each node; all are in one if there are no levels, or pairs are
    missing.

    Average linkage, cut at the border: a single slow pair does not split a group.
    """
    distances = pairs(latency_us)
    if border_us is None or len(latency_us) < 3 or np.isnan(distances).any():
        return np.zeros(len(latency_us), dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415  (slow to import)

    # Less what is a node's own a distance may be negative, which trees cannot have.
    least = min(0.0, float(distances.min()))
    tree = linkage(distances - least, method="average")
    found: Numbers = np.unique(
        fcluster(tree, border_us - least, criterion="distance"), return_inverse=True
    )[1]
    return found


def joined(latency_us: Array, group: Numbers) -> Numbers:
    """Return the groups, with the nodes of small ones in the large one that is nearest on average."""
    large = medians.large(group)
    if not len(large):
        return group
    is_of = group[:, None] == large
    distance_us = np.nan_to_num(latency_us) @ is_of / is_of.sum(axis=0)
    return np.where(is_of.any(axis=1), group, large[distance_us.argmin(axis=1)])


def agrees(latency_us: Array, home: Numbers, border_us: float) -> bool:
    """Return whether most near pairs are within known groups, and most far ones between two.

    A map that the pairs contradict is not of this fabric.
    """
    is_within = home[:, None] == home[None, :]
    is_near, is_far = latency_us < border_us, latency_us > border_us
    return all(
        np.count_nonzero(seen & expected) >= CLOSED * np.count_nonzero(seen)
        for seen, expected in ((is_near, is_within), (is_far, ~is_within))
    )


def placed(latency_us: Array, home: Numbers, border_us: float) -> Numbers:
    """Return the group of each node: its home, unless that is beyond the border: then another that is not, or
    else none but its own.

    The distance to a group is the median of at least two pairs: one may be slow.
    """
    distance_us = np.full((len(home), int(home.max()) + 1), np.inf)
    for number, members in enumerate(medians.members_of(home)):
        of_group = latency_us[:, members]
        several = np.count_nonzero(~np.isnan(of_group), axis=1) > 1
        distance_us[several, number] = medians.of_rows(of_group[several])
    own_us = distance_us[np.arange(len(home)), home]
    is_away = np.isfinite(own_us) & (own_us > border_us)
    is_there = distance_us.min(axis=1) < border_us
    alone = home.max() + 1 + np.arange(len(home))
    away = np.where(is_there, distance_us.argmin(axis=1), alone)
    return np.unique(np.where(is_away, away, home), return_inverse=True)[1]


def kinds(effect_us: Array, gap_us: float) -> tuple[list[Numbers], Array]:
    """Return the kinds of nodes, the nearest first, and for each node the distance that is usual for its
    kind, in us.

    A kind is a chain of nodes whose distances follow each other more closely than the gap (single linkage).
    Nodes of no kind belong to the next nearer one.

    :param effect_us: how much farther each node is from every other one than is usual.
    """
    order = np.argsort(effect_us, kind="stable")
    chains = np.split(order, np.flatnonzero(np.diff(effect_us[order]) > gap_us) + 1)
    fewest = max(FEWEST_OF_KIND, int(np.ceil(LEAST_OF_KIND * len(effect_us))))
    found = [chain for chain in chains if len(chain) >= fewest]
    if len(found) < 2:
        return [order], np.full(len(effect_us), float(np.median(effect_us)))
    centres = np.array([float(np.median(effect_us[chain])) for chain in found])
    starts = np.array([float(effect_us[chain].min()) for chain in found])
    number = np.maximum(np.searchsorted(starts, effect_us, side="right") - 1, 0)
    return [np.flatnonzero(number == each) for each in range(len(found))], centres[
        number
    ]


def misplaced(group: Numbers, switch: Numbers) -> dict[int, int]:
    """Return the nodes that are not in their expected group, and that group.

    :param switch: of each node, -1 where it is unknown. The group of a switch is that of most of its nodes.
        Without any switch, ranks are taken to follow the switches, if nearly all do.
    """
    if (switch >= 0).any():
        home = {
            number: _most_frequent(group[switch == number])
            for number in np.unique(switch[switch >= 0]).tolist()
        }
        # Several switches may look like one, where a hop does not show; a group then is the home of all of
        # them.
        elsewhere = [
            rank
            for rank in np.flatnonzero(switch >= 0).tolist()
            if group[rank] != home[switch[rank]]
        ]
        return {
            rank: home[switch[rank]]
            for rank in elsewhere
            if group[rank] in home.values()
            and (group[switch == switch[rank]] == home[switch[rank]]).sum() > 1
        }
    several = np.bincount(group)[group] > 1
    ordered = np.count_nonzero(_beside(group, 1) | ~several)
    if ordered < IN_ORDER * len(group) or _may_be_random(group):
        return {}
    alone = np.flatnonzero(several & ~_beside(group, NEIGHBOURS)).tolist()
    return {rank: _most_frequent(_neighbours(group, rank)) for rank in alone}


def _may_be_random(group: Numbers) -> bool:
    """Return whether a random order may have as many neighbours of one group, as where one group has most
    nodes."""
    orders = np.tile(group, (ORDERS + 1, 1))
    orders[1:] = np.random.default_rng(0).permuted(orders[1:], axis=1)
    alike = np.count_nonzero(orders[:, 1:] == orders[:, :-1], axis=1)
    return bool(alike[0] <= alike[1:].max())


def _beside(group: Numbers, most: int) -> NDArray[np.bool_]:
    """Return whether one of so many ranks before or after each is of its group."""
    found = np.zeros(len(group), dtype=np.bool_)
    for apart in range(1, most + 1):
        alike = group[apart:] == group[:-apart]
        found[apart:] |= alike
        found[:-apart] |= alike
    return found


def _neighbours(group: Numbers, rank: int) -> Numbers:
    """Return the groups of the ranks before and after one."""
    before = group[max(rank - NEIGHBOURS, 0) : rank]
    return np.concatenate([before, group[rank + 1 : rank + 1 + NEIGHBOURS]])


def _most_frequent(numbers: Numbers) -> int:
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[np.argmax(counts)])
