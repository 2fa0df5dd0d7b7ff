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
from scipy.special import fdtrc, gammaincinv, ndtri

from fabric_checks.diagnosis.cross_section.settings import SETTINGS

Array = NDArray[np.float64]


#: Standard errors of ``chance_of_spread``, both sides; and of ``chance_beyond_bound``, one side.
_ERRORS, _BOUND_ERRORS = -ndtri(
    (SETTINGS.chance_of_spread / 2, SETTINGS.chance_beyond_bound)
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
_OF_QUANTILE = np.sqrt(2 * np.pi * _QUANTILE * (1 - _QUANTILE)) * np.exp(
    ndtri(_QUANTILE) ** 2 / 2
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
    samples: Array,
    is_control: NDArray[np.bool_],
    repeat: float,
    top: tuple[float, int],
    nodes: tuple[float, float, float],
) -> Noise:
    """Return the noise of a run.

    :param samples: the rates of each pair that was measured alone, a row each; :param is_control: whether it
        is one; others are suspects. :param repeat: the spread of one measurement.
    :param top: the spread of the fastest pairs of the scan, and their number; :param nodes: of nodes, by the
        scan; and the shares of the nodes that controls begin or end at, and controls or suspects alone.
    """
    fastest, seen = top
    of_nodes, reached, reached_alone = nodes
    controls = samples[is_control]
    freedom = np.maximum(np.count_nonzero(~np.isnan(samples)) - len(samples), 1)
    by_chance = repeat * (
        1 + _ERRORS * np.sqrt(_OF_ABSOLUTE / seen + _OF_SQUARES / freedom)
    )
    of_top = (
        float(np.sqrt(fastest**2 - repeat**2))
        if repeat and fastest > by_chance
        else 0.0
    )
    largest = _largest_spread(controls, repeat)
    if largest is not None and reached >= SETTINGS.enough_controls:
        of_top, of_nodes = min(of_top, largest), min(of_nodes, largest)
    elif reached_alone >= SETTINGS.enough_controls:
        # Most suspects are slow by sharing only, and healthy alone.
        spread = deviation(np.nanmean(samples, axis=1))
        of_nodes = min(
            of_nodes,
            float(spread * (1 + _BOUND_ERRORS * np.sqrt(_OF_ABSOLUTE / len(samples)))),
        )
    of_most = _between(controls, robust=True)
    between = max(of_most, of_top)
    error = (
        OF_MEDIAN
        * np.hypot(OF_BEST * repeat / 2, between)
        / np.sqrt(max(len(controls), 1))
    )
    scan = max(fastest, float(np.hypot(repeat, of_most)))
    reference = float(np.hypot(error, OF_BEST * _drift(samples) / 2))
    noise = Noise(
        repeat, scan, between, of_top, of_nodes, reference, between, fastest, seen
    )
    return replace(with_spread(controls, noise), between=between)


def with_spread(samples: Array, noise: Noise) -> Noise:
    """Return the noise with the spread of healthy pairs that the samples of controls show."""
    between = max(_between(samples), noise.top)
    most = _largest_spread(samples, noise.repeat)
    # The fastest pairs of a scan were measured once each, and are many.
    spread = noise.fastest * (
        1 + _BOUND_ERRORS * np.sqrt(_OF_ABSOLUTE / max(noise.seen, 1))
    )
    of_scan = float(np.sqrt(max(0.0, spread**2 - noise.repeat**2)))
    # Where the controls differ beyond chance, their spread is used.
    if most is None or between <= noise.top:
        most = of_scan if most is None else min(most, of_scan)
    return replace(noise, between=between, most=max(between, most))


def deviation(values: Array, axis: int | None = None) -> Array:
    """Return the standard deviation by the median absolute deviation."""
    middle = np.median(values, axis=axis, keepdims=True)
    return np.asarray(OF_MAD * np.median(np.abs(values - middle), axis=axis))


def top_of(logs: Array) -> tuple[float, float, int]:
    """Return the level of the fastest pairs, their spread, and the number of pairs that show it.

    Sharing only makes pairs slower, so the rates above the level show the spread of healthy pairs.

    :param logs: logarithms of the rates.
    """
    high, width = float(np.percentile(logs, 95)), SETTINGS.near_top
    while True:
        near = logs[np.abs(logs - high) <= width]
        if len(near) > 2 or len(near) == len(logs):
            level, spread, count = _upper(near)
            if spread <= width / 3 or width > 1:
                return level, spread, count
        width *= 1.5


def _upper(values: Array) -> tuple[float, float, int]:
    """Return the median, the deviation of the values above it, and their number."""
    middle = float(np.median(values))
    above = values[values >= middle] - middle
    return middle, OF_MAD * float(np.median(above)), len(above)


def levels_of_nodes(
    rate: Array, rank: NDArray[np.int64], ranks: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return the :attr:`SETTINGS.node_quantile` of the rates of each rank, NaN without any, and their
    number."""
    table = (
        pl.DataFrame({"rank": rank, "rate": rate})
        .filter(pl.col("rate").is_not_nan())
        .group_by("rank")
        .agg(
            pl.col("rate").quantile(SETTINGS.node_quantile, "linear"),
            pl.len().cast(pl.Int64),
        )
    )
    levels, counts = np.full(ranks, np.nan), np.zeros(ranks, dtype=np.int64)
    levels[table["rank"].to_numpy()], counts[table["rank"].to_numpy()] = (
        table["rate"],
        table["len"],
    )
    return levels, counts


def node_spread(
    scan: Array, sender: NDArray[np.int64], receiver: NDArray[np.int64], spread: float
) -> float:
    """Return the spread of healthy nodes beyond chance, by a high quantile of the pairs of each.

    :param spread: that of the fastest pairs of the scan.
    """
    found = [0.0]
    for side in (sender, receiver):
        levels, counts = levels_of_nodes(scan, side, int(side.max()) + 1)
        rates = levels[counts > 0]
        if len(rates) < 4:
            continue
        _, seen, count = _upper(rates)
        chance = _OF_QUANTILE * spread / np.sqrt(np.median(counts[counts > 0]))
        if seen > chance * (1 + _ERRORS * np.sqrt(_OF_ABSOLUTE / count)):
            found.append(float(np.sqrt(seen**2 - chance**2)))
    return max(found)


def of_repeats(samples: Array) -> float:
    """Return the standard deviation within the samples, pooled, disturbed values apart; 0 if all have only
    one value.

    The first estimate is by the median of all differences within samples, which has a breakdown point of 29
    %.

    :param samples: a row for each pair, filled with NaN.
    """
    one, other = np.triu_indices(samples.shape[1], 1)
    differences = np.abs(samples[:, one] - samples[:, other])
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return 0.0
    _, variance, count = _by_pair(
        clipped(samples, OF_MAD * float(np.median(differences)) / np.sqrt(2))
    )
    return float(np.sqrt(np.average(variance, weights=count - 1)))


def clipped(samples: Array, spread: float) -> Array:
    """Return samples whose disturbed values are replaced by the median of their sample."""
    if not spread:
        return samples
    middle = np.nanmedian(samples, axis=1)[:, None]
    return np.where(
        np.abs(samples - middle) > SETTINGS.disturbed_errors * spread, middle, samples
    )


def _by_pair(samples: Array) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return the mean, the variance and the number of the values of each pair that has several."""
    several = samples[np.count_nonzero(~np.isnan(samples), axis=1) > 1]
    count = np.count_nonzero(~np.isnan(several), axis=1)
    return np.nanmean(several, axis=1), np.nanvar(several, axis=1, ddof=1), count


def _drift(samples: Array) -> float:
    """Return the standard deviation of the drift common to consecutive measurements; 0 if that is chance.

    Controls are measured before suspects: a drift between them is no fault of the suspects, and more pairs do
    not average it away. It is the covariance of neighbours, of the deviations of each pair from its own mean.
    """
    rest = samples[:, ~np.isnan(samples).any(axis=0)]
    repeats = rest.shape[1]
    if repeats < 2 or len(rest) < 2:
        return 0.0
    rest = rest - rest.mean(axis=1, keepdims=True)
    common, own = float(np.mean(rest[1:] * rest[:-1])), float(np.mean(rest**2))
    if common <= _ERRORS * own / np.sqrt(rest[1:].size):
        return 0.0
    return float(np.sqrt(common * repeats / (repeats - 1)))


def _between(samples: Array, *, robust: bool = False) -> float:
    """Return the standard deviation from sample to sample beyond chance; 0 if there is none.

    It is the variance component between groups of a one-way analysis of variance with random effects.

    :param robust: bound it by the spread of most samples: a few may be slow, which is not the spread of
        healthy ones.
    """
    mean, variance, count = _by_pair(samples)
    if len(mean) < 3 or not variance.any():
        return 0.0
    apart = np.sum(count * (mean - np.average(mean, weights=count)) ** 2) / (
        len(mean) - 1
    )
    ratio = apart / np.average(variance, weights=count - 1)
    if fdtrc(len(mean) - 1, np.sum(count - 1), ratio) >= SETTINGS.chance_of_spread:
        return 0.0
    spread = float(np.std(mean, ddof=1))
    if robust:
        spread = min(spread, float(deviation(mean)))
    return float(np.sqrt(np.maximum(spread**2 - np.mean(variance / count), 0)))


def _largest_spread(samples: Array, repeat: float) -> float | None:
    """Return the largest spread of pairs that the controls leave possible; None with too few of them.

    It is an upper confidence bound of the variance from sample to sample (chi square).

    :param samples: the logarithms of the controls; :param repeat: the deviation of one measurement.
    """
    mean, _, count = _by_pair(samples)
    freedom = len(mean) - 1
    if freedom < 2:
        return None
    most = (
        np.var(mean, ddof=1)
        * freedom
        / (2 * gammaincinv(freedom / 2, SETTINGS.chance_beyond_bound))
    )
    return float(np.sqrt(np.maximum(most - repeat**2 * np.mean(1 / count), 0)))
