# SPDX-License-Identifier: BSD-3-Clause
"""The evidence of a run on each pair: its rate alone, its highest rate in any phase, and the noise of both.

A path is at least as fast as its pair was in any phase, and so is every part of it. While other pairs ran, a low rate
may be due to them. So only a measurement alone shows that a path is slow (a healthy path exonerates all its parts: Tan
and others, NetBouncer, NSDI 2019).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaincinv

from fabric_checks.parsers.rotate import RotateOutput, Transfers

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: The level of significance at which healthy pairs differ from each other.
CHANCE = 0.02
#: The least error of any model of a fabric, as a standard deviation of logarithms.
LEAST_SPREAD = 0.012
#: The standard error of a median over that of a mean.
OF_MEDIAN = 1.25
#: The standard error of the mean of the best quarter over that of the mean of all: 1.40 for the best of four (Harter,
#: Expected values of normal order statistics, Biometrika 48, 1961, has the moments).
OF_BEST = 1.4
#: The confidence bound of the spread of healthy pairs leaves out this share.
BOUND_CHANCE = 0.05
#: A spread exceeds chance from so many of its standard errors on.
ERRORS_OF_SPREAD = 2.5
#: A drift common to consecutive measurements exceeds chance from so many standard errors on.
ERRORS_OF_COMMON = 3.0
#: The largest spread of nodes over that of pairs, if that is all due to their two nodes.
OF_NODE = 0.71
#: While others run, nodes and pairs are slow by sharing, too: where controls, which run alone, cover this share of the
#: nodes, their spread bounds that of nodes and of the fastest pairs of the scan.
ENOUGH_CONTROLS = 2 / 3
#: The rate of a node is this quantile of its pairs: few share every cable in every round.
NODE_QUANTILE = 0.85


@dataclass(frozen=True)
class Noise:
    """The spread of measurements, as standard deviations of their logarithms.

    :param repeat: of one measurement of a pair to the next; :param scan: among healthy pairs of the scan;
        :param between: among healthy pairs beyond chance; :param top: the same by the fastest pairs of the scan;
        :param nodes: among healthy nodes beyond chance; :param reference: the error of the reference rate, with the
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


@dataclass(frozen=True)
class Evidence:
    """All pairs that were measured, each once; rates are logarithms of the share of a healthy pair's rate alone.

    :param sender: ranks; :param receiver: ranks.
    :param alone: the best rate alone; NaN where it was not measured alone.
    :param middle: the median rate alone; :param repeats: the number of these measurements.
    :param bound: the highest rate while others ran; NaN where it was measured alone only.
    :param scan: the rate in the scan, or NaN; :param round: its round, or -1.
    :param reference_MBps: the rate of healthy pairs alone.
    :param noise: the spread of all this.
    :param ranks: the number of ranks of the run.
    :param nodes: the number of nodes; that of ranks if all are on one.
    :param controls: the position of each control and the logarithms of its rates.
    """

    sender: Numbers
    receiver: Numbers
    alone: Array
    middle: Array
    repeats: Numbers
    bound: Array
    scan: Array
    round: Numbers
    reference_MBps: float
    noise: Noise
    ranks: int
    nodes: int
    controls: tuple[tuple[int, Array], ...]

    def without(self, blamed: Numbers) -> Evidence:
        """Return the evidence with the spread of healthy pairs estimated without those of parts that are blamed.

        :param blamed: positions of the pairs of these parts.
        """
        left = [values for pair, values in self.controls if pair not in blamed]
        return replace(self, noise=_with_spread(left, self.noise))

    def error(self, which: NDArray[np.bool_] | Numbers) -> Array:
        """Return the standard errors of ``alone`` of some pairs by repetition."""
        return OF_BEST * self.noise.repeat / np.sqrt(np.maximum(self.repeats[which], 1))


def of_output(output: RotateOutput) -> Evidence:
    """Return the evidence of a run."""
    ranks = len(output.hosts)
    phases = output.phases
    control, alone_again = phases["control"], phases["alone"]
    by_themselves = Transfers(
        *(np.concatenate(columns) for columns in zip(vars(control).values(), vars(alone_again).values(), strict=True))
    )
    scanned, scanned_rate, _ = _by_pair(phases["scan"], ranks, _MEDIAN)
    # While others run, the best rate of a pair is that with the least sharing.
    shared, shared_rate, _ = _by_pair(phases["together"], ranks, _BEST)
    single, best_rate, count = _by_pair(by_themselves, ranks, _BEST)
    pairs = np.unique(np.concatenate((scanned, shared, single)))
    scan, together, alone, middle = (np.full(len(pairs), np.nan) for _ in range(4))
    repeats = np.zeros(len(pairs), dtype=np.int64)
    scan[np.searchsorted(pairs, scanned)] = scanned_rate
    together[np.searchsorted(pairs, shared)] = shared_rate
    position = np.searchsorted(pairs, single)
    alone[position], repeats[position] = best_rate, count
    middle[position] = _by_pair(by_themselves, ranks, _MEDIAN)[1]
    round_ = np.full(len(pairs), -1, dtype=np.int64)
    round_[np.searchsorted(pairs, _pair_numbers(phases["scan"], ranks))] = phases["scan"].round
    controlled, best_of_controls, _ = _by_pair(control, ranks, _BEST)
    top, spread, seen = top_of(scanned_rate)
    reference = float(np.median(best_of_controls)) if len(controlled) else top

    samples = _samples(control, ranks)
    repeat = _pooled([*samples, *_samples(alone_again, ranks)])
    freedom = max(len(by_themselves) - len(single), 1)
    by_chance = repeat * (1 + ERRORS_OF_SPREAD * np.sqrt(1.4 / seen + 0.5 / freedom))
    of_top = float(np.sqrt(spread**2 - repeat**2)) if repeat and spread > by_chance else 0.0
    sender, receiver = pairs // ranks, pairs % ranks
    # No network is between two ranks of one host, unless there is but one and it is what is measured.
    _, host = np.unique(output.hosts, return_inverse=True)
    hosts = int(host.max()) + 1
    within = (host[sender] == host[receiver]) & (hosts > 1)
    for values in (scan, together, alone, middle):
        values[within] = np.nan
    nodes = _node_spread(scan - reference, sender, receiver, spread)
    largest = _largest_spread(samples, repeat)
    if largest is not None and len(np.union1d(control.sender, control.receiver)) >= ENOUGH_CONTROLS * ranks:
        of_top, nodes = min(of_top, largest), min(nodes, largest)
    between = max(_between(samples), of_top)
    error = OF_MEDIAN * np.hypot(OF_BEST * repeat / 2, between) / np.sqrt(max(len(samples), 1))
    noise = Noise(
        repeat=repeat,
        scan=max(spread, float(np.hypot(repeat, _between(samples, robust=True)))),
        between=between,
        top=of_top,
        nodes=nodes,
        reference=float(np.hypot(error, OF_BEST * _drift(control, alone_again) / 2)),
        most=between,
        fastest=spread,
        seen=seen,
    )
    return Evidence(
        sender,
        receiver,
        alone - reference,
        middle - reference,
        repeats,
        np.fmax(scan, together) - reference,
        scan - reference,
        round_,
        float(np.exp(reference)),
        _with_spread(samples, noise),
        ranks,
        hosts if hosts > 1 else ranks,
        tuple(zip(np.searchsorted(pairs, controlled).tolist(), samples, strict=True)),
    )


def top_of(logs: Array) -> tuple[float, float, int]:
    """Return the level of the fastest pairs, their spread, and the number of pairs that show it.

    Sharing only makes pairs slower, so the rates above the level show the spread of healthy pairs.

    :param logs: logarithms of the rates.
    """
    high, width = float(np.percentile(logs, 95)), 0.12
    while True:
        near = logs[np.abs(logs - high) <= width]
        if len(near) > 2 or len(near) == len(logs):
            level = float(np.median(near))
            above = near[near >= level] - level
            spread = 1.4826 * float(np.median(above))
            if spread <= width / 3 or width > 1:
                return level, spread, len(above)
        width *= 1.5


def _node_spread(scan: Array, sender: Numbers, receiver: Numbers, spread: float) -> float:
    """Return the spread of healthy nodes beyond chance, by a high quantile of the pairs of each.

    :param spread: that of the fastest pairs of the scan.
    """
    found = [0.0]
    for side in (sender, receiver):
        table = (
            pl.DataFrame({"rank": side, "rate": scan})
            .filter(pl.col("rate").is_not_nan())
            .group_by("rank")
            .agg(pl.col("rate").quantile(NODE_QUANTILE, "linear"), pl.len())
        )
        rates, counts = table["rate"].to_numpy(), table["len"].to_numpy()
        if len(rates) < 4:
            continue
        middle = float(np.median(rates))
        above = rates[rates >= middle] - middle
        chance = 1.55 * spread / np.sqrt(max(float(np.median(counts)), 1.0))
        seen = 1.4826 * float(np.median(above))
        if seen > chance * (1 + ERRORS_OF_SPREAD * np.sqrt(1.4 / len(above))):
            found.append(np.sqrt(seen**2 - chance**2))
    return float(max(found))


#: The rate of a pair by its measurements: their median, and the mean of the best quarter, for traffic of other jobs
#: only makes a pair slower.
_MEDIAN = pl.col("rate").median()
_BEST = pl.col("rate").sort(descending=True).head((pl.len() + 3) // 4).mean()


def _pair_numbers(part: Transfers, ranks: int) -> Numbers:
    """Return the number of the pair of each measurement: sender x ranks + receiver."""
    return part.sender.astype(np.int64) * ranks + part.receiver


def _by_pair(part: Transfers, ranks: int, rate: pl.Expr) -> tuple[Numbers, Array, Numbers]:
    """Return the pairs of a phase, ascending, the logarithm of the rate of each, and the number of its measurements."""
    table = (
        pl.DataFrame({"pair": _pair_numbers(part, ranks), "rate": np.log(part.MBps)})
        .group_by("pair")
        .agg(rate, pl.len().cast(pl.Int64))
        .sort("pair")
    )
    return table["pair"].to_numpy(), table["rate"].to_numpy(), table["len"].to_numpy()


def _samples(part: Transfers, ranks: int) -> list[Array]:
    """Return the logarithms of the rates of each pair of a phase; the pairs ascend."""
    pair = _pair_numbers(part, ranks)
    order = np.argsort(pair, kind="stable")
    ends = np.flatnonzero(np.diff(pair[order])) + 1
    return [values for values in np.split(np.log(part.MBps[order]), ends) if len(values)]


def _pooled(samples: list[Array]) -> float:
    """Return the standard deviation within the samples, pooled; 0 if all have only one value."""
    several = [values for values in samples if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    return float(np.sqrt(sum(np.var(values) * len(values) for values in several) / freedom)) if freedom else 0.0


def _drift(controls: Transfers, alone: Transfers) -> float:
    """Return the standard deviation of the drift common to consecutive measurements; 0 if that is chance.

    Controls are measured before suspects: a drift between them is no fault of the suspects, and more pairs do not
    average it away. It is the covariance of neighbours, of the deviations of each pair from its own mean.
    """
    parts = [_in_turns(part) for part in (controls, alone) if len(part)]
    if not parts or len(parts[0]) < 2:
        return 0.0
    rest = np.hstack([part - part.mean(axis=0) for part in parts])
    if rest.shape[1] < 2:
        return 0.0
    common, own = float(np.mean(rest[:, 1:] * rest[:, :-1])), float(np.mean(rest**2))
    if common <= ERRORS_OF_COMMON * own / np.sqrt(rest[:, 1:].size):
        return 0.0
    return float(np.sqrt(common * len(rest) / (len(rest) - 1)))


def _in_turns(part: Transfers) -> Array:
    """Return the logarithms of pairs measured one after the other in each repeat: repeats x pairs."""
    repeats = int(((part.sender == part.sender[0]) & (part.receiver == part.receiver[0])).sum())
    return np.asarray(np.log(part.MBps).reshape(repeats, -1))


def _between(samples: list[Array], *, robust: bool = False) -> float:
    """Return the standard deviation from sample to sample beyond chance; 0 if there is none.

    It is the variance component between groups of a one-way analysis of variance with random effects.

    :param robust: bound it by the spread of most samples: a few may be slow, which is not the spread of healthy ones.
    """
    from scipy.stats import f_oneway  # noqa: PLC0415  (slow to import)

    several = [values for values in samples if len(values) > 1]
    if len(several) < 3 or not any(np.ptp(values) for values in several):
        return 0.0
    if f_oneway(*several).pvalue >= CHANCE:
        return 0.0
    of_mean = np.mean([np.var(values, ddof=1) / len(values) for values in several])
    means = np.array([np.mean(values) for values in several])
    spread = float(np.std(means, ddof=1))
    if robust:
        spread = min(spread, 1.4826 * float(np.median(np.abs(means - np.median(means)))))
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
    most = variance * freedom / float(2 * gammaincinv(freedom / 2, BOUND_CHANCE))
    return float(np.sqrt(max(0.0, most - repeat**2 * float(np.mean([1 / len(values) for values in several])))))


def _with_spread(samples: list[Array], noise: Noise) -> Noise:
    """Return the noise with the spread of healthy pairs that the samples of controls show."""
    between = max(_between(samples), noise.top)
    of_controls = _largest_spread(samples, noise.repeat)
    # The fastest pairs of a scan were measured once each, and are many.
    spread = noise.fastest * (1 + 1.64 * np.sqrt(1.4 / max(noise.seen, 1)))
    of_scan = float(np.sqrt(max(0.0, spread**2 - noise.repeat**2)))
    # Where the controls differ beyond chance, their spread is used.
    most = of_scan if of_controls is None else of_controls if between > noise.top else min(of_controls, of_scan)
    return replace(noise, between=between, most=max(between, most))
