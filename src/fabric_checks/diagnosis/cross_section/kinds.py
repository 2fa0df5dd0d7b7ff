# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of nodes: whether all nodes are one population, before any of them is blamed.

Adapters of two generations, or far from the memory of half of the nodes, make two levels that many nodes share. Each
node is held to the level of its own kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section.noise import OF_MAD, Array, error_of_level, levels_of_nodes, top_of

#: The fewest nodes of a kind, and the least share of all: fewer that are alike are as likely slow ones.
FEWEST_OF_KIND, LEAST_SHARE = 3, 1 / 8
#: The least share of the GPUs of its nodes that a kind has.
MOST_OF_NODE = 0.75
#: The middles of two kinds are so many deviations of the nodes of each apart, and no closer than this as a logarithm.
#: The halves of one normal population are three apart.
APART, LEAST_APART = 4.5, 0.03
#: Nodes of a slow kind differ by no more than so many times what healthy ones do by chance; slow nodes do.
MOST_SPREAD = 2.5
#: The two sides of a node of a kind are alike within so many standard errors of both.
ALIKE = 4.5
#: Of the pairs within a slow kind, and of those of it alone, at most this share exceeds its level by :data:`APART`
#: deviations.
MOST_FASTER = 0.1
#: Of a slow group at least this share are nodes of which no two pairs were faster.
LEAST_OF_GROUP = 0.5


@dataclass(frozen=True)
class Kind:
    """Nodes whose rates are alike.

    :param ranks: of these nodes; :param share: their rate as a share of the fastest kind's.
    """

    ranks: tuple[int, ...]
    share: float


def of_rates(table: pl.DataFrame, ranks: int, rails: int = 1, repeat: float = 0.0) -> tuple[tuple[Kind, ...], Array]:
    """Return the kinds of nodes, the fastest first, and of each rank the logarithm of its kind's share.

    A node that is slower than its kind belongs to the next faster one.

    :param table: rows of ``pair`` (sender x ranks + receiver), ``rate`` (a logarithm) and ``phase``.
    :param repeat: the deviation of one measurement of a pair, which the spread of a scan is not below.
    :param rails: the ranks of a node, if a rank is a GPU. A kind is of nodes: neither a slow rail nor one node is one.
    """
    one = (Kind(tuple(range(ranks)), 1.0),), np.zeros(ranks)
    alone = pl.col("rate").filter(pl.col("phase").is_in(("control", "alone"))).median()
    scanned = pl.col("rate").filter(pl.col("phase") == "scan").median()
    pairs = table.group_by("pair").agg(
        pl.coalesce(alone, scanned).alias("rate"),
        scanned.alias("scan"),
        pl.col("rate").max().alias("best"),
        alone.is_not_null().alias("alone"),
        (pl.col("phase") == "control").any().alias("control"),
    )
    pairs = pairs.filter(pl.col("rate").is_not_null()).sort("pair")
    pair, rate, scan = (pairs[name].to_numpy() for name in ("pair", "rate", "scan"))
    if len(pair) < 2 * ranks:
        return one
    sender, receiver = pair // ranks, pair % ranks
    spread = max(top_of(scan[~np.isnan(scan)])[1], repeat)
    (sent, sends), (received, receives) = (levels_of_nodes(rate, side, ranks) for side in (sender, receiver))
    errors = np.array([[error_of_level(spread, count) for count in side] for side in (sends, receives)])
    alike = np.abs(sent - received) <= ALIKE * np.hypot(*errors)
    # A node that is slow in one direction, or was measured in one, is of the kind of its better one.
    level = np.where(alike, (sent + received) / 2, np.fmax(sent, received))
    error = float(np.median(np.hypot(*errors))) / 2
    # A node is as fast as its pairs were, of which most may share links, or end at nodes of a slower kind.
    # One measurement may be a disturbance; those of a pair alone were repeated, so it counts as two.
    best, alone_too = pairs["best"].to_numpy(), pairs["alone"].to_numpy()
    twice = np.concatenate((np.arange(len(pair)), np.flatnonzero(alone_too)))
    seen = _second_best(np.tile(best[twice], 2), np.concatenate((sender[twice], receiver[twice])), ranks)
    is_faster = ~alike & (seen > level + APART * spread)
    level = np.where(is_faster, seen - APART / 2 * spread, level)
    groups = _groups(np.flatnonzero((alike | is_faster) & ~np.isnan(level)), level, error)
    fewest = max(FEWEST_OF_KIND, int(np.ceil(LEAST_SHARE * ranks / rails)))
    nodes = [len(np.unique(group // rails)) for group in groups]
    slower, of_kinds = 0, list[NDArray[np.int64]]()
    for number, (group, count) in reversed(list(enumerate(zip(groups, nodes, strict=True)))):
        # A slow node of a kind is one of it. Of the fastest nodes many GPUs may share cables.
        is_kind = count >= FEWEST_OF_KIND and count + slower >= fewest
        is_kind &= number == 0 or len(group) >= MOST_OF_NODE * rails * count
        of_kinds, slower = ([group, *of_kinds], 0) if is_kind else (of_kinds, slower + count)
    slow = of_kinds[1:]
    for whole in slow:
        of_kinds = [each for each in of_kinds if each is not whole]
        # A few of the group may share links with others.
        faster = float(np.median(level[whole])) + APART * spread
        group = whole[seen[whole] <= faster]
        if len(group) < LEAST_OF_GROUP * len(whole):
            continue
        # If pairs of such nodes are faster, what is slow is on their way, as an uplink is, or others share it.
        starts, ends = np.isin(sender, group), np.isin(receiver, group)
        within, by_itself = starts & ends, (starts | ends) & alone_too
        exceeds = any((best[own] > faster).mean() > MOST_FASTER for own in (within, by_itself) if own.any())
        of_kind = OF_MAD * float(np.median(np.abs(level[group] - np.median(level[group]))))
        if within.any() and not exceeds and of_kind <= MOST_SPREAD * error:
            of_kinds.append(group)
            level[np.setdiff1d(whole, group)] = float(np.median(level[of_kinds[0]]))
    if len(of_kinds) < 2:
        return one
    centres = np.array([float(np.median(level[group])) for group in of_kinds])
    # A node that is slower than its kind is faster than the next one by more than chance, or slower than all.
    known = np.where(np.isnan(level), centres[0], level)
    off = np.concatenate([np.abs(level[group] - centre) for group, centre in zip(of_kinds, centres, strict=True)])
    chance = max(APART * max(OF_MAD * float(np.median(off)), error), LEAST_APART)
    ends = np.append(np.inf, centres[1:] + np.minimum(-np.diff(centres) / 2, chance))
    number = (known[:, None] < ends).sum(axis=1) - 1
    return _by_rates_alone(pairs, number, centres - centres[0], rails)


def with_blamed(own: Array, blamed: Mapping[int, float]) -> tuple[tuple[Kind, ...], Array] | None:
    """Return the kinds with nodes that are blamed but as slow as a slower kind, or as so many others that they are one.

    A scan in which links are shared may not show them; their pairs alone do. None if there are no such nodes.

    :param own: of each rank the logarithm of its kind's share.
    :param blamed: of each node that is blamed the logarithm of its share of the rate of the fastest kind.
    """
    of_kind, shares = own.copy(), np.unique(own)
    for rank, level in blamed.items():
        near = shares[(shares < own[rank]) & (np.abs(shares - level) < LEAST_APART)]
        of_kind[rank] = near[0] if len(near) else own[rank]
    groups = [[rank for rank, level in blamed.items() if 0 <= level - least < LEAST_APART] for least in blamed.values()]
    group = max(groups, key=len, default=[])
    if len(shares) == 1 and len(group) >= max(FEWEST_OF_KIND, LEAST_SHARE * len(of_kind)):
        of_kind[group] = np.median([blamed[rank] for rank in group])
    if (of_kind == own).all():
        return None
    found = ((np.flatnonzero(of_kind == share), float(np.exp(share))) for share in np.unique(of_kind)[::-1])
    return tuple(Kind(tuple(ranks.tolist()), share) for ranks, share in found), of_kind


def _by_rates_alone(
    pairs: pl.DataFrame, number: NDArray[np.int64], shares: Array, rails: int
) -> tuple[tuple[Kind, ...], Array]:
    """Return the kinds and shares of :func:`of_rates`, with shares by pairs measured alone where there are enough.

    :param pairs: a row for each pair; :param number: of each rank the number of its kind by the scan.
    :param shares: of each kind the logarithm of its share by the scan.
    """
    ranks = len(number)
    slower = np.maximum(*(number[side] for side in np.divmod(pairs["pair"].to_numpy(), ranks)))
    of_each = [_rate_alone(pairs.filter(slower == each), number == each, rails) for each in range(len(shares))]
    alone, is_known = np.array([rate for rate, _ in of_each]), np.array([is_known for _, is_known in of_each])
    shown = alone - (alone[0] if is_known[0] else np.nan)
    shares = np.where(is_known & is_known[0], shown, shares)
    # Alone they may be as fast as the others: then they differ by what they share. For that a few pairs are enough.
    number = np.where((shown[number] > -LEAST_APART) | np.isinf(alone[number]), 0, number)
    found = tuple(
        Kind(tuple(np.flatnonzero(number == each).tolist()), float(np.exp(shares[each]))) for each in np.unique(number)
    )
    return found, shares[number]


def _rate_alone(pairs: pl.DataFrame, of_kind: NDArray[np.bool_], rails: int) -> tuple[float, bool]:
    """Return the rate of the pairs of a kind alone, which sharing does not change, and whether that is known.

    It is that of its controls. Where all its nodes look slow it has none: then it is that of the best pair of each
    rank, without the node that most pairs have, which may be at fault. Infinite if all have it; NaN without any.
    """
    control, alone = (pairs.filter(pl.col(name)) for name in ("control", "alone"))
    if len(control) >= FEWEST_OF_KIND:
        return float(np.median(control["rate"].to_numpy())), True
    best, ends = np.full(len(of_kind), -np.inf), np.divmod(alone["pair"].to_numpy(), len(of_kind))
    count = np.bincount(np.concatenate(ends), minlength=len(of_kind)) * of_kind
    most = int(np.argmax(np.add.reduceat(count, np.arange(0, len(count), rails))))
    others = (ends[0] // rails != most) & (ends[1] // rails != most)
    for side in ends:
        np.maximum.at(best, side[others], alone["rate"].to_numpy()[others])
    known = best[of_kind & ~np.isinf(best)]
    if not len(known):
        return np.inf if np.count_nonzero(count) > 2 * rails else np.nan, False
    return float(np.median(known)), len(known) >= max(FEWEST_OF_KIND, of_kind.sum() / 2) - rails


def _second_best(rate: Array, rank: NDArray[np.int64], ranks: int) -> Array:
    """Return the second highest of the rates of each rank, -inf with fewer: the highest may be a disturbance."""
    found = np.full(ranks, -np.inf)
    order = np.lexsort((-rate, rank))
    first = np.searchsorted(rank[order], np.arange(ranks + 1))
    several = np.flatnonzero(np.diff(first) > 1)
    found[several] = rate[order][first[several] + 1]
    return found


def _groups(ranks: NDArray[np.int64], level: Array, error: float) -> list[NDArray[np.int64]]:
    """Return the ranks of each population, the fastest first: two means, and again in each, as long as these differ.

    :param error: the standard error of a level.
    """
    order = ranks[np.argsort(-level[ranks], kind="stable")]
    values, count = level[order], np.arange(1, len(order))
    if len(order) < 2:
        return [order]
    sums = np.cumsum(values)[:-1]
    between = (sums / count - (values.sum() - sums) / (len(order) - count)) ** 2 * count * (len(order) - count)
    parts = np.split(order, [int(np.argmax(between)) + 1])
    middles = [float(np.median(level[part])) for part in parts]
    off = np.concatenate([np.abs(level[part] - middle) for part, middle in zip(parts, middles, strict=True)])
    if middles[0] - middles[1] < max(APART * max(OF_MAD * float(np.median(off)), error), LEAST_APART):
        return [order]
    return [group for part in parts for group in _groups(part, level, error)]
