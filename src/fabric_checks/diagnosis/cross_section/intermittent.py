# SPDX-License-Identifier: BSD-3-Clause
"""Nodes and cables that come and go.

What is slow at the end is a matter of the measurements alone, :mod:`inference`. What comes and goes shows
where nothing else differs: between the tests of one measurement, in which the same pairs run, and between the
measurements alone of one pair. Too many measurements of one node vary to be chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, xlogy

from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence, Mask
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.fabric_map.model import NONE

#: Of each pair the ranks of its two nodes, and the numbers of the cables on its route, which follow those of
#: ranks; -1 for none.
Parts = NDArray[np.integer]


@dataclass(frozen=True)
class Change:
    """A node, or a cable, that comes and goes.

    :param number: rank of the node, or that of the cable and the number of ranks.
    :param side: of a node: ``sending``, ``receiving`` or ``both``.
    :param share: its rate then, as a share of its own.
    :param begin: the first round of the run in which it was; :param end: the last.
    :param low: the number of low measurements; :param of: the number of all.
    :param usual: the share of measurements that are low by chance.
    :param lasts: whether most tests are low: it loses time in nearly all transfers.
    """

    number: int
    side: str
    share: float
    begin: int
    end: int
    low: int
    of: int
    usual: float
    lasts: bool = False


@dataclass(frozen=True)
class Paths:
    """Pairs that lose time, whose nodes do not with others.

    :param pairs: their positions; the others as those of :class:`Change`.
    """

    pairs: Numbers
    share: float
    low: int
    of: int
    lasts: bool


def parts_of(mapped: MappedEvidence) -> Parts:
    """Return the parts of each pair."""
    evidence, arcs = mapped.evidence, mapped.arcs
    cables = np.where(arcs >= 0, evidence.ranks + arcs // 2, NONE)
    return np.column_stack((evidence.sender, evidence.receiver, cables))


def of_parts(
    mapped: MappedEvidence, blamed: Numbers
) -> tuple[list[Change], Paths | None]:
    """Return the nodes that come and go, and cables, where routes are known; and the pairs that do, of nodes
    that are well with most others.

    The part whose measurements are the least likely by chance comes first, and takes them from the others.

    :param blamed: positions of the pairs of parts that are slow: they say nothing of others.
    """
    evidence, series, found = mapped.evidence, mapped.evidence.series, list[Change]()
    usable = np.flatnonzero(
        ~np.isnan(series.rate)
        & ~np.isin(series.pair, blamed)
        & (series.alone | ~np.isnan(series.dip))
    )
    parts = parts_of(mapped)[series.pair[usable]]
    pairs, when, losses = series.pair[usable], series.when[usable], _losses(evidence)
    some = [blamed[:0]]
    lowest = losses[usable]
    for number, own, usual in _conspicuous(parts, ~np.isnan(lowest)):
        low = own[~np.isnan(lowest[own])]
        if len(np.unique(parts[low, :2])) <= SETTINGS.fewest_intermittent_partners:
            continue
        begin, end = int(when[low].min()), int(when[low].max())
        side = _side(parts[low, 0] == number)
        lasts = _lasts(evidence, usable[own], losses)
        if number < evidence.ranks:
            during = own[(when[own] >= begin) & (when[own] <= end)]
            is_low = ~np.isnan(lowest[during])
            of_paths = _of_paths(mapped, number, pairs[during], is_low, usual)
            # Without pairs at its switch a node that loses time looks like its path.
            if of_paths > (-1 if lasts else 2) * SETTINGS.as_good:
                some.append(usable[own])
                continue
        found.append(
            Change(
                number,
                side,
                float(np.exp(np.median(lowest[low]))),
                begin,
                end,
                len(low),
                len(own),
                usual,
                lasts,
            )
        )
    paths = _paths(evidence, np.unique(np.concatenate(some)), losses)
    # Beside them a node may be at the end of some of them only.
    if paths:
        found = [each for each in found if each.lasts or each.number >= evidence.ranks]
    return found, paths


def _of_paths(
    mapped: MappedEvidence, rank: int, pairs: Numbers, low: Mask, usual: float
) -> float:
    """Return how much likelier what is low is by the paths of a node than by itself: twice the logarithm of
    the ratio.

    By itself a node that sends, or receives, is low as often with all others. By its paths it is as often as
    usual with nodes at its switch, and with those at each other switch as often as it may be.

    :param pairs: of its measurements; :param low: which of these are low.
    :param usual: the share of measurements that is low by chance.
    """
    evidence = mapped.evidence
    sends = (evidence.sender[pairs] == rank).astype(int)
    near = (mapped.within if mapped.leaf[rank] >= 0 else evidence.near)[pairs]
    leaf = np.where(sends, mapped.to_leaf[pairs], mapped.from_leaf[pairs])
    number = 2 * np.where(near, NONE - 1, leaf) + sends
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    counts, lows = np.bincount(group), np.bincount(group, low)
    by_paths = np.where(near[first], usual, lows / counts)
    of_sides = np.bincount(sends, low) / np.maximum(np.bincount(sends), 1)

    def likelihood(share: Array) -> float:
        return float((xlogy(lows, share) + xlogy(counts - lows, 1 - share)).sum())

    return 2 * (likelihood(by_paths) - likelihood(of_sides[sends[first]]))


def _side(sent: Mask) -> str:
    """Return the side of a node by which of its low measurements it was the sender in."""
    share = sent.mean()
    return (
        "both"
        if 1 / 4 <= share <= 3 / 4
        else "sending"
        if share > 3 / 4
        else "receiving"
    )


def _paths(evidence: Evidence, rows: Numbers, losses: Array) -> Paths | None:
    """Return the pairs that are low in most of their measurements; None if these are few."""
    series = evidence.series
    pair, low = series.pair[rows], ~np.isnan(losses[rows])
    counts, lows = (
        np.bincount(each, minlength=len(evidence.sender)) for each in (pair, pair[low])
    )
    of_most = np.flatnonzero((counts >= SETTINGS.fewest_low) & (lows > counts / 2))
    if len(of_most) < SETTINGS.fewest_pairs:
        return None
    own = rows[np.isin(pair, of_most)]
    share = float(np.exp(np.nanmedian(losses[own])))
    lows_of = int(lows[of_most].sum())
    return Paths(of_most, share, lows_of, len(own), _lasts(evidence, own, losses))


def _lasts(evidence: Evidence, rows: Numbers, losses: Array) -> bool:
    """Return whether most tests of some measurements are low.

    If half of the tests are, so is the median one of half of the measurements, or, where it is not known, the
    slowest of three of seven in eight.
    """
    alone = rows[evidence.series.alone[rows]]
    typical = (evidence.series.typical + _since_best(evidence))[alone]
    share = float((~np.isnan(losses[rows])).mean())
    if np.isnan(typical).all():
        return share > SETTINGS.most_with_low_test
    of_median = float((typical < -SETTINGS.least_low).mean())
    return share > 1 / 2 and of_median > SETTINGS.most_with_low_median


def _since_best(evidence: Evidence) -> Array:
    """Return how far each measurement alone is below the best of its pair, as a logarithm; 0 of others."""
    series = evidence.series
    best = np.full(len(evidence.sender), -np.inf)
    np.maximum.at(best, series.pair[series.alone], series.rate[series.alone])
    return np.where(series.alone, series.rate - best[series.pair], 0.0)


def is_steady(evidence: Evidence, pairs: Numbers) -> bool:
    """Return whether most measurements of some pairs alone are as fast as their best, and so is each test in
    these.

    Pairs that are slow only some of the time do not show what they have in common. Too few measurements, as
    of one pair, count as steady.
    """
    own = np.isin(evidence.series.pair, pairs) & evidence.series.alone
    is_low = ~np.isnan(_losses(evidence)[own])
    return (
        len(is_low) < 2 * SETTINGS.fewest_low
        or float(is_low.mean()) <= SETTINGS.most_unsteady
    )


def _losses(evidence: Evidence) -> Array:
    """Return of each measurement how far it, or its slowest test, is below the best of its pair; NaN if by
    chance."""
    series, noise = evidence.series, evidence.noise
    since_best = np.where(series.alone, _since_best(evidence), np.nan)
    dips = series.dip[series.dip < 0]
    of_dips = SETTINGS.far_apart * -float(np.median(dips)) if len(dips) else np.inf
    of_repeats = SETTINGS.low_errors * min(noise.repeat, noise.fastest)
    dip, since = (
        np.where(each < -max(limit, SETTINGS.least_low), each, np.nan)
        for each, limit in ((series.dip, of_dips), (since_best, of_repeats))
    )
    return np.asarray(np.fmin(dip, since))


def _conspicuous(parts: Parts, low: Mask) -> Iterator[tuple[int, Numbers, float]]:
    """Yield the parts with too many low measurements, the least likely first, each without those of the ones
    before.

    :param parts: of each measurement. :returns: number, positions of its measurements, and the share that is
        low by chance, which is that of all others.
    """
    left, size = np.ones(len(parts), dtype=bool), int(parts.max(initial=-1)) + 1
    measured, column = np.nonzero(parts >= 0)
    part_of = parts[measured, column]
    for _ in range(size // 4):
        is_left = left[measured]
        part = part_of[is_left]
        counts, lows = (
            np.bincount(each, minlength=size)
            for each in (part, part[low[measured[is_left]]])
        )
        share = (np.count_nonzero(left & low) - lows + 1) / np.maximum(
            left.sum() - counts, 1
        )
        share = np.maximum(
            share,
            np.median(lows[counts > 0] / counts[counts > 0]) if counts.any() else 0.0,
        )
        # There may be a part for each pair, and nearly all have no low measurement.
        several = np.flatnonzero(lows >= SETTINGS.fewest_low)
        chance = np.full(size, np.inf)
        chance[several] = size * bdtrc(
            lows[several] - 1, counts[several], share[several]
        )
        number = int(np.argmin(chance))
        if chance[number] > SETTINGS.chance_of_lows:
            return
        own = np.flatnonzero(left & (parts == number).any(axis=1))
        yield number, own, float(share[number])
        left[own] = False
