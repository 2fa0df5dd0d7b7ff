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
        return replace(self, noise=_most(left, self.noise))

    def error(self, which: NDArray[np.bool_] | Numbers) -> Array:
        """Return the standard errors of ``alone`` of some pairs by repetition."""
        return OF_BEST * self.noise.repeat / np.sqrt(np.maximum(self.repeats[which], 1))


def of_output(output: RotateOutput) -> Evidence:
    """Return the evidence of a run."""
    ranks = len(output.hosts)
    # While others run, the best rate of a pair is that with the least sharing.
    measured = {phase: _medians(part, ranks, best=phase == "together") for phase, part in output.phases.items()}
    keys = np.unique(np.concatenate([key for key, _, _ in measured.values()]))
    size = len(keys)
    scan, together, alone, middle = (np.full(size, np.nan) for _ in range(4))
    repeats = np.zeros(size, dtype=np.int64)
    for phase, into in (("scan", scan), ("together", together)):
        key, value, _ = measured[phase]
        into[np.searchsorted(keys, key)] = value
    by_themselves = _joined(output.phases["control"], output.phases["alone"])
    key, value, count = _medians(by_themselves, ranks, best=True)
    place = np.searchsorted(keys, key)
    alone[place], repeats[place] = value, count
    middle[place] = _medians(by_themselves, ranks)[1]
    top, spread, seen = top_of(measured["scan"][1])
    controls = _by_pair(output.phases["control"], ranks)
    repeat = _pooled([*controls, *_by_pair(output.phases["alone"], ranks)])
    best = np.array([np.sort(values)[-_counted(len(values)) :].mean() for values in controls])
    reference = float(np.median(best)) if controls else top
    freedom = max(len(output.phases["control"]) + len(output.phases["alone"]) - int((repeats > 0).sum()), 1)
    by_chance = repeat * (1 + ERRORS_OF_SPREAD * np.sqrt(1.4 / seen + 0.5 / freedom))
    of_top = float(np.sqrt(spread**2 - repeat**2)) if repeat and spread > by_chance else 0.0
    alike = _most_of_controls(controls, repeat)
    if alike is not None and _ranks_of(output.phases["control"]) < ENOUGH_CONTROLS * ranks:
        alike = None
    if alike is not None:
        of_top = min(of_top, alike)
    between = max(_between(controls), of_top)
    of_reference = OF_MEDIAN * np.hypot(OF_BEST * repeat / 2, between) / np.sqrt(max(len(controls), 1))
    of_reference = np.hypot(of_reference, OF_BEST * _common(output.phases["control"], output.phases["alone"]) / 2)
    bound = np.fmax(scan, together) - reference
    key = output.scan.sender.astype(np.int64) * ranks + output.scan.receiver
    round_ = np.full(size, -1, dtype=np.int64)
    round_[np.searchsorted(keys, key)] = output.scan.round
    sender, receiver = keys // ranks, keys % ranks
    # No network is between two ranks of one host, unless there is but one and it is what is measured.
    numbers = {host: number for number, host in enumerate(dict.fromkeys(output.hosts))}
    host = np.array([numbers[name] for name in output.hosts])
    within = (host[sender] == host[receiver]) & (len(numbers) > 1)
    for values in (scan, alone, middle, bound):
        values[within] = np.nan
    nodes = _nodes(scan - reference, sender, receiver, ranks, spread)
    if alike is not None:
        nodes = min(nodes, alike)
    noise = Noise(
        repeat=repeat,
        scan=max(spread, float(np.hypot(repeat, _between(controls, most=True)))),
        between=between,
        top=of_top,
        nodes=nodes,
        reference=float(of_reference),
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
        bound,
        scan - reference,
        round_,
        float(np.exp(reference)),
        _most(controls, noise),
        ranks,
        len(numbers) if len(numbers) > 1 else ranks,
        tuple(zip(np.searchsorted(keys, _keys(output.phases["control"], ranks)).tolist(), controls, strict=True)),
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


def _nodes(scan: Array, sender: Numbers, receiver: Numbers, ranks: int, spread: float) -> float:
    """Return the spread of healthy nodes beyond chance, by a high quantile of the pairs of each."""
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


def _counted(repeats: int) -> int:
    """Return the number of repeats that count: the best quarter."""
    return -(-repeats // 4)


def _best(rate: pl.Expr) -> pl.Expr:
    """Return the mean of the best quarter."""
    return rate.sort(descending=True).head((pl.len() + 3) // 4).mean()


def _joined(one: Transfers, other: Transfers) -> Transfers:
    return Transfers(
        *(
            np.concatenate((getattr(one, name), getattr(other, name)))
            for name in ("round", "sender", "receiver", "MBps")
        )
    )


def _medians(part: Transfers, ranks: int, *, best: bool = False) -> tuple[Numbers, Array, Numbers]:
    """Return the pairs of a phase as numbers, ascending, the logarithm of the median of each, and its measurements.

    :param best: the best quarter of each in place of the median: traffic of other jobs only makes a pair slower.
    """
    key = part.sender.astype(np.int64) * ranks + part.receiver
    table = (
        pl.DataFrame({"key": key, "rate": np.log(part.MBps)}, schema={"key": pl.Int64, "rate": pl.Float64})
        .group_by("key")
        .agg(_best(pl.col("rate")) if best else pl.col("rate").median(), pl.len())
        .sort("key")
    )
    return table["key"].to_numpy(), table["rate"].to_numpy(), table["len"].to_numpy().astype(np.int64)


def _keys(part: Transfers, ranks: int) -> Numbers:
    """Return the pairs of a phase as numbers, each once, ascending."""
    return np.unique(part.sender.astype(np.int64) * ranks + part.receiver)


def _ranks_of(part: Transfers) -> int:
    """Return the number of ranks that send or receive."""
    return len(np.union1d(part.sender, part.receiver))


def _by_pair(part: Transfers, ranks: int) -> list[Array]:
    """Return the logarithms of each pair's rates, in the order of :func:`_keys`."""
    key = part.sender.astype(np.int64) * ranks + part.receiver
    order = np.argsort(key, kind="stable")
    ends = np.flatnonzero(np.diff(key[order])) + 1
    return [values for values in np.split(np.log(part.MBps[order]), ends) if len(values)]


def _pooled(samples: list[Array]) -> float:
    """Return the standard deviation within the samples, pooled; 0 if all have only one value."""
    several = [values for values in samples if len(values) > 1]
    freedom = sum(len(values) - 1 for values in several)
    return float(np.sqrt(sum(np.var(values) * len(values) for values in several) / freedom)) if freedom else 0.0


def _common(controls: Transfers, alone: Transfers) -> float:
    """Return the standard deviation of the drift common to consecutive measurements; 0 if that is chance.

    Controls are measured before suspects: a drift in between is no fault of theirs, and more pairs do not average it
    away. It is the covariance of neighbours, of the deviations of each pair from its own mean.
    """
    parts = [_in_turns(part) for part in (controls, alone) if len(part)]
    if not parts or len(parts[0]) < 2:
        return 0.0
    rest = np.hstack([part - part.mean(axis=0) for part in parts])
    if rest.shape[1] < 2:
        return 0.0
    together, own = float(np.mean(rest[:, 1:] * rest[:, :-1])), float(np.mean(rest**2))
    if together <= ERRORS_OF_COMMON * own / np.sqrt(rest[:, 1:].size):
        return 0.0
    return float(np.sqrt(together * len(rest) / (len(rest) - 1)))


def _in_turns(part: Transfers) -> Array:
    """Return the logarithms of pairs measured one after the other in each repeat: repeats x pairs."""
    repeats = int(((part.sender == part.sender[0]) & (part.receiver == part.receiver[0])).sum())
    found: Array = np.log(part.MBps).reshape(repeats, -1)
    return found


def _between(samples: list[Array], *, most: bool = False) -> float:
    """Return the standard deviation from sample to sample beyond chance; 0 if there is none.

    It is the variance component between groups of a one-way analysis of variance with random effects.

    :param most: limit it to that of most samples: a few may be slow, which is not the spread of healthy ones.
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
    if most:
        spread = min(spread, 1.4826 * float(np.median(np.abs(means - np.median(means)))))
    return float(np.sqrt(max(0.0, spread**2 - of_mean)))


def _most_of_controls(samples: list[Array], repeat: float) -> float | None:
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


def _most(samples: list[Array], noise: Noise) -> Noise:
    """Return the noise with the spread of healthy pairs that these controls show."""
    between = max(_between(samples), noise.top)
    of_controls = _most_of_controls(samples, noise.repeat)
    # The fastest pairs of a scan were measured once each, and are many.
    spread = noise.fastest * (1 + 1.64 * np.sqrt(1.4 / max(noise.seen, 1)))
    of_scan = float(np.sqrt(max(0.0, spread**2 - noise.repeat**2)))
    # Where the controls differ beyond chance, their spread is used.
    most = of_scan if of_controls is None else of_controls if between > noise.top else min(of_controls, of_scan)
    return replace(noise, between=between, most=max(between, most))
