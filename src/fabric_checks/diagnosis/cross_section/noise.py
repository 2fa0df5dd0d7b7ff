# SPDX-License-Identifier: BSD-3-Clause
"""The noise of a run: how much measurements of a pair, healthy pairs and healthy nodes differ from each
other.

All are standard deviations of logarithms of rates. Of measurements one in a hundred may be far off, and a
control may be sick: neither is how healthy pairs differ, so estimates are robust at first (Huber, Robust
statistics, 1981), and those of healthy pairs are made once more without what is blamed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri
from scipy.stats import f_oneway, median_abs_deviation

from fabric_checks.diagnosis.cross_section.settings import SETTINGS

Array = NDArray[np.float64]


#: Standard errors of ``chance_of_spread``, both sides; and of ``chance_beyond_bound``, one side.
_ERRORS, _BOUND_ERRORS = (
    float(-ndtri(SETTINGS.chance_of_spread / 2)),
    float(-ndtri(SETTINGS.chance_beyond_bound)),
)
#: The standard deviation over the median absolute deviation.
OF_MAD = float(1 / ndtri(0.75))
#: The variance of a standard deviation by n absolute deviations, times n, relative (their efficiency is 37 %:
#: Rousseeuw and Croux, Alternatives to the median absolute deviation, JASA 88, 1993); and of one by n
#: squares.
_OF_ABSOLUTE, _OF_SQUARES = 0.5 / 0.37, 0.5
#: The standard error of a median over that of a mean.
OF_MEDIAN = float(np.sqrt(np.pi / 2))
_QUANTILE = SETTINGS.node_quantile
#: The standard error of the quantile of nodes over that of a mean.
_OF_QUANTILE = float(
    np.sqrt(2 * np.pi * _QUANTILE * (1 - SETTINGS.node_quantile))
    * np.exp(0.5 * float(ndtri(SETTINGS.node_quantile)) ** 2)
)
#: The standard error of the mean of the best quarter over that of the mean of all: 1.40 for the best of four
#: (Harter, Expected values of normal order statistics, Biometrika 48, 1961, has the moments).
OF_BEST = 1.4
#: The largest spread of nodes over that of pairs, if that is all due to their two nodes.
OF_NODE = float(1 / np.sqrt(2))


@dataclass(frozen=True)
class Noise:
    """The spread of measurements, as standard deviations of their logarithms.

    :param repeat: of one measurement of a pair to the next; :param scan: among healthy pairs of the scan;
        :param between: among healthy pairs beyond chance; :param top: the same by the fastest pairs of the
            scan;
        :param nodes: among healthy nodes beyond chance; :param reference: the error of the reference rate,
            with the
        drift between it and the suspects.
    :param most: the largest spread among healthy pairs that the few controls leave possible.
    :param fastest: of the fastest pairs of the scan; :param seen: the number of these.
    """

    repeat: float
    scan: float
    between: float
    top: float
    nodes: float
    reference: float
    most: float
    fastest: float
    seen: int


def of_controls(
    samples: list[Array],
    again: list[Array],
    repeat: float,
    top: tuple[float, int],
    nodes: tuple[float, float, float],
) -> Noise:
    """Return the noise of a run.

    :param samples: the rates of each control; :param again: of each suspect alone; :param repeat: of one
        measurement.
    :param top: the spread of the fastest pairs of the scan, and their number; :param nodes: of nodes, by the
        scan; and the shares of the nodes that controls begin or end at, and controls or suspects alone.
    """
    fastest, seen = top
    of_nodes, reached, reached_alone = nodes
    freedom = max(sum(len(values) - 1 for values in (*samples, *again)), 1)
    by_chance = repeat * (1 + _ERRORS * np.sqrt(_OF_ABSOLUTE / seen + _OF_SQUARES / freedom))
    of_top = float(np.sqrt(fastest**2 - repeat**2)) if repeat and fastest > by_chance else 0.0
    largest = _largest_spread(samples, repeat)
    if largest is not None and reached >= SETTINGS.enough_controls:
        of_top, of_nodes = min(of_top, largest), min(of_nodes, largest)
    elif reached_alone >= SETTINGS.enough_controls:
        # Most suspects are slow by sharing only, and healthy alone.
        means = [np.mean(values) for values in (*samples, *again)]
        spread = median_abs_deviation(means, scale="normal")
        of_nodes = min(of_nodes, float(spread * (1 + _BOUND_ERRORS * np.sqrt(_OF_ABSOLUTE / len(means)))))
    of_most = _between(samples, robust=True)
    between = max(of_most, of_top)
    error = OF_MEDIAN * np.hypot(OF_BEST * repeat / 2, between) / np.sqrt(max(len(samples), 1))
    noise = Noise(
        repeat=repeat,
        scan=max(fastest, float(np.hypot(repeat, of_most))),
        between=between,
        top=of_top,
        nodes=of_nodes,
        reference=float(np.hypot(error, OF_BEST * _drift(samples, again) / 2)),
        most=between,
        fastest=fastest,
        seen=seen,
    )
    return replace(with_spread(samples, noise), between=between)


def with_spread(samples: list[Array], noise: Noise) -> Noise:
    """Return the noise with the spread of healthy pairs that the samples of controls show."""
    between = max(_between(samples), noise.top)
    of_controls = _largest_spread(samples, noise.repeat)
    # The fastest pairs of a scan were measured once each, and are many.
    spread = noise.fastest * (1 + _BOUND_ERRORS * np.sqrt(_OF_ABSOLUTE / max(noise.seen, 1)))
    of_scan = float(np.sqrt(max(0.0, spread**2 - noise.repeat**2)))
    # Where the controls differ beyond chance, their spread is used.
    most = (
        of_scan if of_controls is None else of_controls if between > noise.top else min(of_controls, of_scan)
    )
    return replace(noise, between=between, most=max(between, most))


def top_of(logs: Array) -> tuple[float, float, int]:
    """Return the level of the fastest pairs, their spread, and the number of pairs that show it.

    Sharing only makes pairs slower, so the rates above the level show the spread of healthy pairs.

    :param logs: logarithms of the rates.
    """
    high, width = float(np.percentile(logs, 95)), SETTINGS.near_top
    while True:
        near = logs[np.abs(logs - high) <= width]
        if len(near) > 2 or len(near) == len(logs):
            level = float(np.median(near))
            above = near[near >= level] - level
            spread = OF_MAD * float(np.median(above))
            if spread <= width / 3 or width > 1:
                return level, spread, len(above)
        width *= 1.5


def levels_of_nodes(rate: Array, rank: NDArray[np.int64], ranks: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the :attr:`SETTINGS.node_quantile` of the rates of each rank, NaN without any, and their
    number."""
    table = (
        pl.DataFrame({"rank": rank, "rate": rate})
        .filter(pl.col("rate").is_not_nan())
        .group_by("rank")
        .agg(pl.col("rate").quantile(SETTINGS.node_quantile, "linear"), pl.len().cast(pl.Int64))
    )
    levels, counts = np.full(ranks, np.nan), np.zeros(ranks, dtype=np.int64)
    levels[table["rank"].to_numpy()], counts[table["rank"].to_numpy()] = table["rate"], table["len"]
    return levels, counts


def error_of_level(spread: float, count: float) -> float:
    """Return the standard error of the level of a node by so many pairs of a spread."""
    return float(_OF_QUANTILE * spread / np.sqrt(max(count, 1.0)))


def node_spread(scan: Array, sender: NDArray[np.int64], receiver: NDArray[np.int64], spread: float) -> float:
    """Return the spread of healthy nodes beyond chance, by a high quantile of the pairs of each.

    :param spread: that of the fastest pairs of the scan.
    """
    found = [0.0]
    for side in (sender, receiver):
        levels, counts = levels_of_nodes(scan, side, int(side.max()) + 1)
        rates = levels[counts > 0]
        if len(rates) < 4:
            continue
        middle = float(np.median(rates))
        above = rates[rates >= middle] - middle
        chance = error_of_level(spread, float(np.median(counts[counts > 0])))
        seen = OF_MAD * float(np.median(above))
        if seen > chance * (1 + _ERRORS * np.sqrt(_OF_ABSOLUTE / len(above))):
            found.append(np.sqrt(seen**2 - chance**2))
    return float(max(found))


def of_repeats(samples: list[Array]) -> float:
    """Return the standard deviation within the samples, pooled, disturbed values apart; 0 if all have only
    one value.

    The first estimate is by the median of all differences within samples, which has a breakdown point of 29
    %.
    """
    several = [values for values in samples if len(values) > 1]
    if not several:
        return 0.0
    differences = np.concatenate(
        [np.abs(np.subtract.outer(each, each))[np.triu_indices(len(each), 1)] for each in several]
    )
    first = OF_MAD * float(np.median(differences)) / np.sqrt(2)
    freedom = sum(len(values) - 1 for values in several)
    return float(np.sqrt(sum(np.var(values) * len(values) for values in clipped(several, first)) / freedom))


def clipped(samples: list[Array], spread: float) -> list[Array]:
    """Return samples whose disturbed values are replaced by the median of their sample."""
    if not spread:
        return samples
    middles = [float(np.median(values)) for values in samples]
    return [
        np.where(np.abs(values - middle) > SETTINGS.disturbed_errors * spread, middle, values)
        for values, middle in zip(samples, middles, strict=True)
    ]


def _drift(controls: list[Array], again: list[Array]) -> float:
    """Return the standard deviation of the drift common to consecutive measurements; 0 if that is chance.

    Controls are measured before suspects: a drift between them is no fault of the suspects, and more pairs do
    not average it away. It is the covariance of neighbours, of the deviations of each pair from its own mean.
    """
    samples = [*controls, *again]
    repeats = min((len(values) for values in samples), default=0)
    if repeats < 2 or len(samples) < 2:
        return 0.0
    turns = np.array([values[:repeats] for values in samples]).T
    rest = turns - turns.mean(axis=0)
    common, own = float(np.mean(rest[:, 1:] * rest[:, :-1])), float(np.mean(rest**2))
    if common <= _ERRORS * own / np.sqrt(rest[:, 1:].size):
        return 0.0
    return float(np.sqrt(common * repeats / (repeats - 1)))


def _between(samples: list[Array], *, robust: bool = False) -> float:
    """Return the standard deviation from sample to sample beyond chance; 0 if there is none.

    It is the variance component between groups of a one-way analysis of variance with random effects.

    :param robust: bound it by the spread of most samples: a few may be slow, which is not the spread of
        healthy ones.
    """
    several = [values for values in samples if len(values) > 1]
    if len(several) < 3 or not any(np.ptp(values) for values in several):
        return 0.0
    if f_oneway(*several).pvalue >= SETTINGS.chance_of_spread:
        return 0.0
    of_mean = np.mean([np.var(values, ddof=1) / len(values) for values in several])
    means = [np.mean(values) for values in several]
    spread = float(np.std(means, ddof=1))
    if robust:
        spread = min(spread, float(median_abs_deviation(means, scale="normal")))
    return float(np.sqrt(max(0.0, spread**2 - of_mean)))


def _largest_spread(samples: list[Array], repeat: float) -> float | None:
    """Return the largest spread of pairs that the controls leave possible; None with too few of them.

    It is an upper confidence bound of the variance from sample to sample (chi square).

    :param samples: the logarithms of the controls; :param repeat: the deviation of one measurement.
    """
    several = [values for values in samples if len(values) > 1]
    if len(several) < 3:
        return None
    freedom = len(several) - 1
    variance = float(np.var([np.mean(values) for values in several], ddof=1))
    most = variance * freedom / float(2 * gammaincinv(freedom / 2, SETTINGS.chance_beyond_bound))
    return float(
        np.sqrt(max(0.0, most - repeat**2 * float(np.mean([1 / len(values) for values in several]))))
    )
