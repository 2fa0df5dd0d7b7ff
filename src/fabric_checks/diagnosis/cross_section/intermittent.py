# SPDX-License-Identifier: BSD-3-Clause
"""Nodes and cables that were slow for a part of a run only: for some time that is over, or again and again.

What is slow at the end is a matter of the measurements alone, :mod:`inference`. Here the measurements of each
node are looked at in the order of time: too many of one node are low to be chance, and others of it, before,
between or after, are not. What comes and goes shows where nothing else differs: between the tests of one
measurement, in which the same pairs run, and between the measurements alone of one pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence, Mask
from fabric_checks.diagnosis.cross_section.settings import SETTINGS

#: Of each pair the ranks of its two nodes, and the numbers of the cables on its route, which follow those of
#: ranks; -1 for none.
Parts = NDArray[np.integer]


@dataclass(frozen=True)
class Change:
    """A node, or a cable, that was slow for a part of the run.

    :param number: rank of the node, or that of the cable and the number of ranks.
    :param side: of a node: ``sending``, ``receiving`` or ``both``.
    :param share: its rate then.
    :param begin: the first round of the run in which it was; :param end: the last.
    :param low: the number of low measurements; :param of: the number of all from begin to end.
    :param usual: the share of measurements that are low by chance; of a node that comes and goes, otherwise
        None.
    """

    number: int
    side: str
    share: float
    begin: int
    end: int
    low: int
    of: int
    usual: float | None = None


def of_parts(mapped: MappedEvidence, blamed: Numbers) -> list[Change]:
    """Return the nodes that come and go, or were slow for some time; and cables, where routes are known.

    The part whose measurements are the least likely by chance comes first, and takes them from the others.

    :param blamed: positions of the pairs of parts that are slow: they say nothing of others.
    """
    evidence = mapped.evidence
    cables = np.where(mapped.arcs >= 0, evidence.ranks + mapped.arcs // 2, -1)
    parts = np.column_stack((evidence.sender, evidence.receiver, cables))
    found = _come_and_go(mapped, parts, blamed)
    own = [np.flatnonzero((parts == each.number).any(axis=1)) for each in found]
    return [*found, *_were_slow(mapped, parts, np.concatenate([blamed, *own]))]


def is_steady(evidence: Evidence, pairs: Numbers) -> bool:
    """Return whether most measurements of some pairs alone are as fast as their best, and so is each test in
    these.

    Pairs that are slow only some of the time do not show what they have in common. Too few measurements, as
    of one pair, count as steady.
    """
    own = np.flatnonzero(np.isin(evidence.series.pair, pairs) & evidence.series.alone)
    return (
        len(own) < 2 * SETTINGS.fewest_low
        or float((~np.isnan(_losses(evidence)[own])).mean()) <= SETTINGS.most_unsteady
    )


def _losses(evidence: Evidence) -> Array:
    """Return of each measurement how far it, or its slowest test, is below the best of its pair; NaN if by
    chance."""
    series = evidence.series
    best = np.full(len(evidence.sender), -np.inf)
    np.maximum.at(best, series.pair[series.alone], series.rate[series.alone])
    since_best = np.where(series.alone, series.rate - best[series.pair], np.nan)
    dips = series.dip[series.dip < 0]
    of_dips = SETTINGS.far_apart * -float(np.median(dips)) if len(dips) else np.inf
    of_repeats = SETTINGS.low_errors * min(evidence.noise.repeat, evidence.noise.fastest)
    dip, since = (
        np.where(each < -max(limit, SETTINGS.least_low), each, np.nan)
        for each, limit in ((series.dip, of_dips), (since_best, of_repeats))
    )
    return np.asarray(np.fmin(dip, since))


def _come_and_go(mapped: MappedEvidence, parts: Parts, blamed: Numbers) -> list[Change]:
    """Return the parts whose rate changes too often within measurements, or between those of a pair alone."""
    evidence, series = mapped.evidence, mapped.evidence.series
    usable = ~np.isnan(series.rate) & ~np.isin(series.pair, blamed) & (series.alone | ~np.isnan(series.dip))
    pair, when, lowest = series.pair[usable], series.when[usable], _losses(evidence)[usable]
    found = []
    for number, own, usual in _conspicuous(parts[pair], ~np.isnan(lowest), when, 0.0):
        low = own[~np.isnan(lowest[own])]
        sends = parts[pair[low], 0] == number
        ends = np.unique(np.column_stack((evidence.sender, evidence.receiver))[pair[low]])
        if len(ends) > SETTINGS.fewest_intermittent_partners:
            share, times = float(np.exp(np.median(lowest[low]))), when[low]
            span = int(times.min()), int(times.max())
            found.append(Change(number, _side(sends), share, *span, len(low), len(own), usual))
    return found


def _were_slow(mapped: MappedEvidence, parts: Parts, blamed: Numbers) -> list[Change]:
    """Return the parts that were slow for some time that is over, where sharing does not hide it."""
    evidence, series = mapped.evidence, mapped.evidence.series
    scanned = mapped.rest if mapped.corrected else evidence.scan
    limit = -float(
        max(
            SETTINGS.low_errors * (mapped.of_rest if mapped.corrected else evidence.noise.scan),
            SETTINGS.least_low,
        )
    )
    if not np.any(scanned < limit) or np.mean(scanned[~np.isnan(scanned)] < limit) > SETTINGS.most_low_share:
        return []
    in_scan = ~series.alone & (series.when < evidence.rounds[0])
    rate = np.asarray(np.where(in_scan, scanned[series.pair], series.rate))
    # Suspects together are slow by sharing, which is corrected for in the scan only.
    usable = ~np.isnan(rate) & ~np.isin(series.pair, blamed)
    usable &= series.alone | in_scan
    if not mapped.corrected:
        usable &= rate > SETTINGS.shared_level
    pair, when, rates = series.pair[usable], series.when[usable], rate[usable]
    of_each, found = parts[pair], list[Change]()
    # What shared a link was slow whatever its nodes did.
    of_each[in_scan[usable] & (mapped.expected[pair] < SETTINGS.shared_level), :2] = -1
    for number, own, _ in _conspicuous(of_each, rates < limit, when, SETTINGS.least_low_share):
        at = own[np.argsort(when[own], kind="stable")]
        sends, low = of_each[at, 0] == number, rates[at] < limit
        side = _side(sends[low])
        masks = {"both": [sends, ~sends], "sending": [sends], "receiving": [~sends]}[side]
        began = min(np.count_nonzero(low[mask] & ~np.append(False, low[mask][:-1])) for mask in masks)
        mask = np.any(masks, axis=0)
        at, low = at[mask], low[mask]
        lows = np.flatnonzero(low)
        inside = low[lows[0] : lows[-1] + 1]
        ended = inside.mean() >= SETTINGS.most_of_time and len(low) - lows[-1] - 1 >= SETTINGS.fewest_after
        # Else it may be slow at the end, or only on some paths.
        if ended or began > 1:
            share, times = float(np.exp(np.median(rates[at[low]]))), when[at[low]]
            found.append(Change(number, side, share, int(times[0]), int(times[-1]), len(lows), len(inside)))
    return found


def _conspicuous(
    parts: Parts, low: Mask, when: Numbers, least_share: float
) -> Iterator[tuple[int, Numbers, float]]:
    """Yield the parts with too many low measurements, the least likely first, each without those of the ones
    before.

    Too many of all, or of those from the first to the last low one: any such span of a part might have been
    it.

    :param parts: of each measurement; :param least_share: of measurements that are low by chance, 0 for that
        of all others. :returns: number, positions of its measurements, and the share that is low by chance.
    """
    left = np.ones(len(parts), dtype=bool)
    size = int(parts.max(initial=-1)) + 1
    for _ in range(size // 4):
        of, at = np.where(left[:, None], parts, -1), np.broadcast_to(when[:, None], parts.shape)
        first, last = np.full(size + 1, np.inf), np.full(size + 1, -np.inf)
        np.minimum.at(first, of[low], at[low])
        np.maximum.at(last, of[low], at[low])
        of_low, within = (
            np.where(low[:, None], of, -1),
            np.where((at >= first[of]) & (at <= last[of]), of, -1),
        )
        counts, lows, inside = (np.bincount(each[each >= 0], minlength=size) for each in (of, of_low, within))
        of_others = ((left & low).sum() - lows + 1) / np.maximum(left.sum() - counts, 1)
        least = np.full_like(of_others, least_share) if least_share else of_others
        share = np.maximum(least, np.median(lows[counts > 0] / counts[counts > 0]) if counts.any() else 0.0)
        of_span = counts * (counts + 1) / 2 * binom.sf(lows - 1, inside, share)
        chance: Array = np.asarray(size * np.minimum(binom.sf(lows - 1, counts, share), of_span))
        number = int(np.argmin(np.where(lows >= SETTINGS.fewest_low, chance, np.inf)))
        if lows[number] < SETTINGS.fewest_low or chance[number] > SETTINGS.chance_of_lows:
            return
        own = np.flatnonzero(left & (parts == number).any(axis=1))
        yield number, own, float(share[number])
        left[own] = False


def _side(sends: Mask) -> str:
    """Return the side on which a part is slow; :param sends: in which of its low measurements it was the
    sender."""
    share = sends.mean()
    return "both" if 1 / 4 <= share <= 3 / 4 else "sending" if share > 3 / 4 else "receiving"
