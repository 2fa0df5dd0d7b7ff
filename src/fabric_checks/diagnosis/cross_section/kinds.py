# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of nodes: whether all nodes are one population, before any of them is blamed.

Adapters of two generations, or far from the memory of half of the nodes, make two levels that many nodes
share. Each node is held to the level of its own kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section.noise import (
    OF_MAD,
    Array,
    deviation,
    top_of,
)
from fabric_checks.diagnosis.cross_section.settings import SETTINGS

#: The phases in which no other pair ran.
ALONE = ("control", "alone")


@dataclass(frozen=True)
class Kind:
    """Nodes whose rates are alike.

    :param ranks: of these nodes; :param share: their rate as a share of the fastest kind's.
    """

    ranks: tuple[int, ...]
    share: float


def of_shares(own: Array) -> tuple[Kind, ...]:
    """Return the kinds of nodes, the fastest first; :param own: of each rank the logarithm of its kind's
    share."""
    shares = np.unique(own)[::-1]
    return tuple(
        Kind(tuple(np.flatnonzero(own == share).tolist()), float(np.exp(share)))
        for share in shares
    )


def by_pair(table: pl.DataFrame, *more: pl.Expr) -> pl.DataFrame:
    """Return a row for each pair: its rate alone, in the scan and at best, and whether it is a control.

    :param table: rows of ``pair``, ``rate`` (a logarithm) and ``phase``. :param more: further columns.
    """
    rate, phase = pl.col("rate"), pl.col("phase")
    rows = table.group_by("pair").agg(
        rate.filter(phase.is_in(ALONE)).median().alias("alone"),
        rate.filter(phase == "scan").median().alias("scan"),
        rate.max().alias("best"),
        (phase == "control").any().alias("control"),
        *more,
    )
    return rows.sort("pair")


def of_rates(
    pairs: pl.DataFrame, ranks: int, rails: int = 1, repeat: float = 0.0
) -> Array:
    """Return the kinds of nodes: of each rank the logarithm of its kind's share of the fastest kind's rate.

    A node that is slower than its kind belongs to the next faster one.

    :param pairs: a row for each, see :func:`by_pair`; the pair is sender x ranks + receiver.
    :param repeat: the deviation of one measurement of a pair, which the spread of a scan is not below.
    :param rails: the ranks of a node, if a rank is a GPU. A kind is of nodes, each as fast as its fastest
        GPUs: neither a slow rail nor one node is one.
    """
    nodes, rate = ranks // rails, pl.coalesce("alone", "scan")
    pair = pl.col("pair") // ranks // rails * nodes + pl.col("pair") % ranks // rails
    pairs = pairs.with_columns(rate=rate, pair=pair).filter(rate.is_not_null())
    if len(pairs) < 2 * ranks:
        return np.zeros(ranks)
    seen = _levels(pairs, nodes, repeat)
    usable = np.flatnonzero(~np.isnan(seen.level))
    groups = _large(_groups(usable, seen.level, seen.error), nodes)
    of_kinds = groups[:1] + [
        group for group in groups[1:] if _is_slow_kind(group, groups[0], seen)
    ]
    if len(of_kinds) < 2:
        return np.zeros(ranks)
    # A node that is slower than its kind is faster than the next one by more than chance, or slower than all.
    centres, chance = _apart(of_kinds, seen.level, seen.error)
    known = np.where(np.isnan(seen.level), centres[0], seen.level)
    ends = np.append(np.inf, centres[1:] + np.minimum(-np.diff(centres) / 2, chance))
    number = (known[:, None] < ends).sum(axis=1) - 1
    shares = _by_rates_alone(pairs, number, centres - centres[0])
    return np.repeat(shares, rails)


@dataclass(frozen=True)
class _Levels:
    """How fast nodes are, and the pairs that show it.

    :param best: of each pair its highest rate; :param alone: whether it was measured alone.
    :param next_best: of each rank the second highest rate; :param level: its level, NaN without one that is
        usable.
    :param spread: of pairs; :param error: of a level.
    """

    sender: NDArray[np.int64]
    receiver: NDArray[np.int64]
    best: Array
    alone: NDArray[np.bool_]
    next_best: Array
    level: Array
    spread: float
    error: float


def _levels(pairs: pl.DataFrame, nodes: int, repeat: float) -> _Levels:
    """Return the levels of nodes.

    A node is as fast as its pairs were, of which most may share links, or end at nodes of a slower kind. One
    may be disturbed; those alone were repeated, so each counts as two. In one direction a node may be slow by
    itself.
    """
    pair, rate, scan, best = (
        pairs[name].to_numpy() for name in ("pair", "rate", "scan", "best")
    )
    alone = pairs["alone"].is_not_null().to_numpy()
    sender, receiver = pair // nodes, pair % nodes
    twice = np.concatenate((np.arange(len(pair)), np.flatnonzero(alone)))
    seen, level = _next_best(
        np.tile(rate[twice], 2), np.concatenate((sender[twice], receiver[twice])), nodes
    )
    of_scan = scan[~np.isnan(scan)]
    # The fastest pairs may be of several kinds. A node of a single pair has no level.
    beyond = scan - np.minimum(level[sender], level[receiver])
    beyond = beyond[~np.isnan(beyond)]
    spread = max(
        min(top_of(each)[1] for each in (of_scan, beyond) if len(each)), repeat
    )
    error = SETTINGS.error_of_next_best * spread
    return _Levels(sender, receiver, best, alone, seen, level, spread, error)


def _large(groups: list[NDArray[np.int64]], nodes: int) -> list[NDArray[np.int64]]:
    """Return the groups, the fastest first, that have nodes enough, with the slower ones of fewer, for a
    kind."""
    fewest = max(SETTINGS.fewest_of_class, SETTINGS.least_share_of_class * nodes)
    slower, large = 0, list[NDArray[np.int64]]()
    for group in reversed(groups):
        # A slow node of a kind is one of it.
        slower += len(group)
        if len(group) >= SETTINGS.fewest_of_class and slower >= fewest:
            large, slower = [group, *large], 0
    return large


def _is_slow_kind(
    group: NDArray[np.int64], fastest: NDArray[np.int64], seen: _Levels
) -> bool:
    """Return whether nodes are of a slow kind, and not behind a slow link, nor several slow ones."""
    level, of_all = seen.level, bool(seen.alone.all())
    faster = float(np.median(level[group])) + SETTINGS.classes_apart * seen.spread
    # If pairs of such nodes are faster, what is slow is on their way, as an uplink is, or others share it.
    starts, ends = np.isin(seen.sender, group), np.isin(seen.receiver, group)
    within, by_itself = starts & ends, (starts | ends) & seen.alone
    exceeds = any(
        (seen.best[own] > faster).mean() > SETTINGS.most_faster
        for own in (within, by_itself)
        if own.any()
    )
    # Where most pairs share links, the third and fourth may do so as well.
    by_one, by_several = (
        np.median(each[fastest]) - np.median(each[group])
        for each in (seen.next_best, level)
    )
    most = (
        SETTINGS.most_spread_of_class
        if of_all or len(group) > SETTINGS.few_of_class
        else SETTINGS.most_spread_of_few
    )
    is_alike = deviation(level[group]) <= most * seen.error
    return bool(
        within.any()
        and not exceeds
        and (of_all or by_one > by_several / 2)
        and is_alike
    )


def _by_rates_alone(
    pairs: pl.DataFrame, number: NDArray[np.int64], shares: Array
) -> Array:
    """Return the shares of :func:`of_rates`, by pairs measured alone where there are enough.

    :param pairs: a row for each pair; :param number: of each node the number of its kind by the scan.
    :param shares: of each kind the logarithm of its share by the scan.
    """
    ends = np.divmod(pairs["pair"].to_numpy(), len(number))
    slower = np.maximum(*(number[side] for side in ends))
    of_each = [
        _rate_alone(pairs.filter(slower == each), number == each)
        for each in range(len(shares))
    ]
    alone, is_known = map(np.array, zip(*of_each, strict=True))
    shown = alone - (alone[0] if is_known[0] else np.nan)
    shares = np.where(is_known & is_known[0], shown, shares)
    # Alone they may be as fast as the others: then they differ by what they share. For that a few pairs are
    # enough.
    number = np.where(
        (shown[number] > -SETTINGS.least_apart) | np.isinf(alone[number]), 0, number
    )
    return np.asarray(shares[number])


def _rate_alone(pairs: pl.DataFrame, of_kind: NDArray[np.bool_]) -> tuple[float, bool]:
    """Return the rate of the pairs of a kind alone, which sharing does not change, and whether that is known.

    It is that of its controls. Where all its nodes look slow it has none: then it is that of the pairs of
    each node, without the one that most pairs have, which may be at fault. Infinite if all have it; NaN
    without any.
    """
    control, alone = (
        pairs.filter("control"),
        pairs.filter(pl.col("alone").is_not_null()),
    )
    if len(control) >= SETTINGS.fewest_of_class:
        return float(np.median(control["rate"].to_numpy())), True
    ends = np.divmod(alone["pair"].to_numpy(), len(of_kind))
    count = np.bincount(np.concatenate(ends), minlength=len(of_kind)) * of_kind
    node, most = np.concatenate(ends), int(np.argmax(count))
    others = np.tile((ends[0] != most) & (ends[1] != most), 2) & of_kind[node]
    rates = np.tile(alone["rate"].to_numpy(), 2)
    by_node = (
        pl.DataFrame({"node": node, "rate": rates}).filter(others).group_by("node")
    )
    # A matrix of another program may be of pairs that shared links: the best one of a node shared least.
    of_each = by_node.max() if len(alone) == len(pairs) else by_node.median()
    known = of_each["rate"].to_numpy()
    if not len(known):
        return np.inf if np.count_nonzero(count) > 2 else np.nan, False
    fewest = max(SETTINGS.fewest_of_class, of_kind.sum() / 2) - 1
    return float(np.median(known)), len(known) >= fewest


def _next_best(rate: Array, rank: NDArray[np.int64], ranks: int) -> tuple[Array, Array]:
    """Return the second highest of the rates of each rank, and the mean of it and the next two; NaN with
    fewer."""
    own = pl.col("rate").sort(descending=True)
    table = pl.DataFrame({"rank": rank, "rate": rate}).group_by("rank")
    of_rank = table.agg(
        own.get(1, null_on_oob=True).alias("second"),
        own.slice(1, 3).mean().alias("mean"),
    )
    found = np.full((2, ranks), np.nan)
    for values, name in zip(found, ("second", "mean"), strict=True):
        values[of_rank["rank"].to_numpy()] = of_rank[name].fill_null(np.nan).to_numpy()
    return found[0], found[1]


def _groups(
    ranks: NDArray[np.int64], level: Array, error: float
) -> list[NDArray[np.int64]]:
    """Return the ranks of each population, the fastest first: two means, and again in each, as long as these
    differ.

    :param error: the standard error of a level.
    """
    order = ranks[np.argsort(-level[ranks], kind="stable")]
    if len(order) < 2:
        return [order]
    count = np.arange(1, len(order))
    sums, rest = np.cumsum(level[order]), len(order) - count
    between = (sums[:-1] / count - (sums[-1] - sums[:-1]) / rest) ** 2 * count * rest
    parts = np.split(order, [int(np.argmax(between)) + 1])
    (first, second), chance = _apart(parts, level, error)
    if first - second < chance:
        return [order]
    return [group for part in parts for group in _groups(part, level, error)]


def _apart(
    groups: list[NDArray[np.int64]], level: Array, error: float
) -> tuple[Array, float]:
    """Return the middle of each group, and the distance that two of them have by chance."""
    middles = np.array([np.median(level[group]) for group in groups])
    off = [
        np.abs(level[group] - middle)
        for group, middle in zip(groups, middles, strict=True)
    ]
    spread = max(OF_MAD * float(np.median(np.concatenate(off))), error)
    return middles, max(SETTINGS.classes_apart * spread, SETTINGS.least_apart)
