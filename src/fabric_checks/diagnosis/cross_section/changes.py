# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that were slow for a part of a run only: for some time that is over, or again and again.

What is slow at the end is a matter of the measurements alone, :mod:`inference`. Here the measurements of each node are
looked at in the order of time, where sharing does not hide them: too many of one node are low to be chance, and others
of it, before, between or after, are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence, Mask

#: A measurement is low from so many deviations of the scan on, and from this loss on, as a logarithm.
LOW_ERRORS, LEAST_LOW = 4.0, 0.08
#: No fewer measurements are low by chance than this share: one in a hundred of heavy tails, and others' traffic.
LEAST_LOW_SHARE = 0.02
#: The chance that any healthy node of a run has as many low measurements, and the fewest of them.
CHANCE, FEWEST_LOW = 1e-4, 4
#: Where more of the scan is low, pairs share links that nothing is known of.
MOST_LOW = 0.25
#: Where sharing is not known, what is as low as two pairs on one link says nothing.
SHARED = float(np.log(0.6))
#: A node was slow for a time if at least this share of its measurements of that time is low, and so many after it not.
MOST_OF_TIME, FEWEST_AFTER = 0.8, 4
#: A node comes and goes if it did so at least so often, and its low rates deviate by so many times the noise at most.
TIMES, ONE_LEVEL = 3, 1.6


@dataclass(frozen=True)
class Change:
    """A node that was slow for a part of the run.

    :param rank: of the node; :param side: ``sending``, ``receiving`` or ``both``; :param share: its rate then.
    :param begin: the first round of the run in which it was; :param end: the last.
    :param low: the number of low measurements; :param of: the number of all from begin to end.
    :param flaps: whether it was slow at least :data:`TIMES` times, alone as well, at one level.
    """

    rank: int
    side: str
    share: float
    begin: int
    end: int
    low: int
    of: int
    flaps: bool


def of_nodes(mapped: MappedEvidence, blamed: Numbers) -> list[Change]:
    """Return the nodes that were slow for a part of the run, those with most low measurements first.

    :param blamed: positions of the pairs of parts that are slow: they say nothing of other nodes.
    """
    evidence, series = mapped.evidence, mapped.evidence.series
    scanned = mapped.rest if mapped.corrected else evidence.scan
    limit = -float(max(LOW_ERRORS * (mapped.of_rest if mapped.corrected else evidence.noise.scan), LEAST_LOW))
    if not np.any(scanned < limit) or np.mean(scanned[~np.isnan(scanned)] < limit) > MOST_LOW:
        return []
    in_scan = ~series.alone & (series.when < evidence.rounds[0])
    rate = np.asarray(np.where(in_scan, scanned[series.pair], series.rate))
    # Suspects together are slow by sharing, which is corrected for in the scan only.
    usable = ~np.isnan(rate) & ~np.isin(series.pair, blamed)
    usable &= series.alone | in_scan
    if not mapped.corrected:
        usable &= rate > SHARED
    pair, when, rates = series.pair[usable], series.when[usable], rate[usable]
    low, alone = rates < limit, series.alone[usable]
    found: list[Change] = []
    left = np.ones(len(pair), dtype=bool)
    ends = evidence.sender[pair], evidence.receiver[pair]
    while len(found) < evidence.nodes // 4:
        counts, lows = (
            np.bincount(np.concatenate([side[which] for side in ends]), minlength=evidence.ranks)
            for which in (left, left & low)
        )
        share = max(LEAST_LOW_SHARE, float(np.median(lows / np.maximum(counts, 1))))
        chance: Array = np.asarray(evidence.ranks * binom.sf(lows - 1, counts, share))
        rank = int(np.argmin(np.where(lows >= FEWEST_LOW, chance, np.inf)))
        if lows[rank] < FEWEST_LOW or chance[rank] > CHANCE:
            break
        own = np.flatnonzero(left & ((ends[0] == rank) | (ends[1] == rank)))
        own = own[np.argsort(when[own], kind="stable")]
        rows = when[own], rates[own], low[own], alone[own]
        change = _change(rank, ends[0][own] == rank, rows, evidence.noise.scan)
        found += [change] if change else []
        left[own] = False
    return found


def _change(rank: int, sends: Mask, rows: tuple[Numbers, Array, Mask, Mask], spread: float) -> Change | None:
    """Return when a node was slow; None if it may be slow at the end, or only on some paths.

    A node comes and goes at one level, both ways: traffic of others is at any level, and slows one of its sides.

    :param sends: in which measurements it was the sender; :param rows: their times, rates, and masks of those that are
        low and of those alone, in the order of time; :param spread: the deviation of one measurement.
    """
    when, rate, low, alone = rows
    of_sides = {"sending": sends, "receiving": ~sends}
    side = max(of_sides, key=lambda each: int(low[of_sides[each]].sum()))
    both = min(low[mask].sum() for mask in of_sides.values()) * len(of_sides) ** 2 >= low.sum()
    began = [low[mask] & ~np.append(False, low[mask][:-1]) for name, mask in of_sides.items() if both or name == side]
    times = min(int(each.sum()) for each in began)
    own = np.flatnonzero(np.ones(len(low), dtype=bool) if both else of_sides[side])
    when, rate, low, alone = when[own], rate[own], low[own], alone[own]
    lows = np.flatnonzero(low)
    first, last = int(lows[0]), int(lows[-1])
    inside = low[first : last + 1]
    ended = inside.mean() >= MOST_OF_TIME and len(low) - last - 1 >= FEWEST_AFTER
    flaps = both and times >= TIMES and bool(low[alone].any()) and float(np.std(rate[low])) < ONE_LEVEL * spread
    if not ended and times < 2:
        return None
    share = float(np.exp(np.median(rate[low])))
    begin, end = int(when[first]), int(when[last])
    return Change(rank, "both" if both else side, share, begin, end, len(lows), len(inside), bool(flaps and not ended))
