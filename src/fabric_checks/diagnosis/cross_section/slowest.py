# SPDX-License-Identifier: BSD-3-Clause
"""Estimate how slow the slowest of healthy nodes is by chance, from the spread of the nodes of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.special import ndtr

from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import OF_MAD, Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence, Mask
from fabric_checks.diagnosis.cross_section.settings import SETTINGS

#: The rate of a pair is the lesser of its two sides, independent normal numbers. Of the variance of a side
#: each side contributes a quarter, and 1 - 1/pi - 1/2 is the pair's own; its mean is 1/sqrt(pi) deviations
#: below that of a side (Clark, The greatest of a finite set of random variables, Operations Research 9,
#: 1961).
OF_SIDE, OF_PAIR, BELOW_SIDES = 0.25, 0.5 - 1 / np.pi, 1 / np.sqrt(np.pi)
#: The variance of a median of four over that of their mean; and that of the larger one of two (Clark, too).
OF_MEDIAN_OF_FEW, OF_LARGER = 1.2, 2 * (1 - 1 / np.pi)
#: Deviations of nodes to try, dense at a few percent.
DEVIATIONS: Array = 0.6 * np.linspace(0, 1, 121)[1:] ** 2
#: Deviations of the pairs' own part to try where controls differ. Coarse, so that the spread of nodes is not
#: attributed to pairs where too few pairs of each node were measured.
OF_PAIRS = (0.0, 0.05, 0.1, 0.2)
#: Losses to try, as logarithms.
LOSSES: Array = np.linspace(0, 2, 2001)

#: Positions of pairs, the logarithm of their rates, and its variance by chance.
_Seen = tuple[Numbers, Array, Array]


def by_chance(mapped: MappedEvidence, blamed: Numbers) -> float:
    """Return the loss, as a logarithm, that the slowest of healthy nodes has in ``chance_of_slowest_node`` of
    runs.

    The spread of nodes is unknown. Each deviation is weighted by its likelihood, given all pairs that share a
    node or do not, and so is the chance that any of all sides is so slow: few pairs leave more deviations
    possible, and the loss is larger.

    :param blamed: positions of the pairs of parts that are slow or in question: they are left out.
    :returns: infinity if the run does not show the spread at all.
    """
    alone, scan = _alone(mapped, blamed), _scanned(mapped, blamed)
    if (mapped.evidence.repeats > 0).all():
        return _least(
            mapped, [alone]
        )  # a matrix of another program: what was scanned is the same
    both = _least(mapped, [alone, scan])
    # Unknown sharing makes nodes seem to differ; pairs measured alone share nothing.
    return both if mapped.corrected else min(both, _least(mapped, [alone]))


def low_each_time(
    evidence: Evidence, level: float, *, with_reverse: bool = False
) -> float:
    """Return the number of healthy pairs that are expected below a level in all of their measurements alone.

    The chance of a single measurement is the share of those below it, by the estimate of Krichevsky and
    Trofimov (The performance of universal encoding, IEEE Trans. Inform. Theory 27, 1981): what was not seen
    may be there.

    :param level: a logarithm; pairs whose best measurement is nearer to it are slow themselves, and no
        evidence.
    :param with_reverse: in those of both of their directions.
    """
    series = evidence.series
    seen = (
        series.alone
        & ~np.isnan(series.rate)
        & (evidence.alone[series.pair] > level / 2)
    )
    low = (np.count_nonzero(series.rate[seen] <= level) + 0.5) / (
        np.count_nonzero(seen) + 1
    )
    ends = np.sort(np.column_stack((evidence.sender, evidence.receiver)), axis=1) @ (
        evidence.ranks,
        1,
    )
    times = np.bincount(ends, evidence.repeats) if with_reverse else evidence.repeats
    repeats, pairs = np.unique(times[times > 0], return_counts=True)
    return float((pairs * low**repeats).sum()) / (2 if evidence.both_ways else 1)


@cache
def _beyond() -> Array:
    """Return the chance of one side to lose more: losses x deviations."""
    return np.asarray(ndtr(-(LOSSES[:, None] / DEVIATIONS + BELOW_SIDES)))


def _least(mapped: MappedEvidence, seen: Sequence[_Seen]) -> float:
    """Return the loss by the pairs seen, from the likelihood of each of :data:`DEVIATIONS`, with a flat
    prior.

    Restricted likelihood of a model of random effects (Patterson and Thompson, Biometrika 58, 1971): the
    usual rates alone and in the scan are unknown.
    """
    pair, value, variance = (np.concatenate(each) for each in zip(*seen, strict=True))
    group = np.repeat(np.arange(len(seen)), [len(each[0]) for each in seen])
    groups = np.unique(group)
    if len(pair) < SETTINGS.fewest_pairs_of_spread + len(groups):
        return np.inf
    evidence = mapped.evidence
    sender, receiver = evidence.sender[pair], evidence.receiver[pair]
    alike = OF_SIDE * (
        np.equal.outer(sender, sender).astype(float)
        + np.equal.outer(receiver, receiver)
    )
    alike += OF_PAIR * np.equal.outer(pair, pair)
    logs = []
    for own in OF_PAIRS if evidence.noise.between else OF_PAIRS[:1]:
        # Scaled by the noise of measurements, the model has one parameter.
        each = 1 / np.sqrt(variance + own**2)
        axes, scale = np.linalg.qr(
            np.equal.outer(group, groups) * each[:, None], mode="complete"
        )
        rest = axes[:, len(groups) :]
        size, axes = np.linalg.eigh(rest.T @ (alike * np.outer(each, each)) @ rest)
        squares = (axes.T @ (rest.T @ (value * each))) ** 2
        of_each = 1 + np.outer(DEVIATIONS**2, np.maximum(size, 0))
        of_scale = np.log(each).sum() - np.log(np.abs(scale.diagonal())).sum()
        logs.append(of_scale - 0.5 * (np.log(of_each) + squares / of_each).sum(axis=1))
    log = np.array(logs)
    weight = (np.exp(log - log.max()) * np.gradient(DEVIATIONS)).sum(axis=0)
    chance = 2 * evidence.nodes * _beyond() @ (weight / weight.sum())
    enough = np.flatnonzero(chance < SETTINGS.chance_of_slowest_node)
    return float(LOSSES[enough[0]]) if len(enough) else np.inf


def _alone(mapped: MappedEvidence, blamed: Numbers) -> _Seen:
    evidence = mapped.evidence
    pair = _some(~np.isnan(evidence.middle), blamed, evidence)
    variance = max(evidence.noise.repeat, SETTINGS.least_spread) ** 2
    repeats = np.maximum(evidence.repeats[pair], 1)
    of_median = np.select(
        [repeats > 2, repeats > 1], [OF_MEDIAN_OF_FEW, OF_LARGER], 1.0
    )
    # The median of two is low if one of them was disturbed. A pair far below all others, which share its
    # nodes, was disturbed each time, or is slow by itself.
    rate = np.where(repeats == 2, evidence.alone[pair], evidence.middle[pair])
    rate -= np.median(rate) if len(rate) else 0.0
    spread = max(
        OF_MAD * float(np.median(np.abs(rate))) if len(rate) else 0.0,
        evidence.noise.repeat,
        SETTINGS.least_spread,
    )
    return (
        pair,
        np.maximum(rate, -SETTINGS.disturbed_pair_errors * spread),
        variance * of_median / repeats,
    )


def _scanned(mapped: MappedEvidence, blamed: Numbers) -> _Seen:
    """Return pairs of the scan that shared nothing, by the map or because those that share are far below."""
    evidence = mapped.evidence
    value, spread = evidence.scan, evidence.noise.scan
    if mapped.corrected:
        value, spread = (
            np.where(mapped.expected > -SETTINGS.least_spread, mapped.rest, np.nan),
            mapped.of_rest,
        )
    is_usable = value > -SETTINGS.disturbed_pair_errors * spread
    pair = _some(is_usable, blamed, evidence)
    return (
        pair,
        value[pair],
        np.full(len(pair), max(evidence.noise.repeat, SETTINGS.least_spread) ** 2),
    )


def _some(usable: Mask, blamed: Numbers, evidence: Evidence) -> Numbers:
    """Return usable pairs, at most ``most_pairs_of_scan``, evenly spread; a rate of both directions counts
    once."""
    usable[blamed] = False
    if evidence.both_ways:
        usable &= evidence.sender < evidence.receiver
    pair = np.flatnonzero(usable)
    if len(pair) > SETTINGS.most_pairs_of_scan:
        pair = pair[
            np.linspace(0, len(pair) - 1, SETTINGS.most_pairs_of_scan).astype(np.int64)
        ]
    return pair
