# SPDX-License-Identifier: BSD-3-Clause
"""What a run shows of each pair: what it reached alone, what it reached at least, and how far both can be trusted.

Whatever a pair reached in any phase, its path can do: every part of the path is at least as fast. What it did not reach
beside others may be their doing. So only what was measured alone tells that a path is slow (a healthy path exonerates
all its parts: Tan and others, NetBouncer, NSDI 2019).
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

#: Healthy pairs differ from each other if that would be chance in no more than this share of runs.
CHANCE = 0.02
#: What no model of a fabric is more exact than, as a standard deviation of logarithms.
LEAST_SPREAD = 0.012
#: The standard error of a median over that of a mean.
OF_MEDIAN = 1.25
#: The standard error of the mean of the best quarter over that of the mean of all: 1.40 for the best of four (Harter,
#: Expected values of normal order statistics, Biometrika 48, 1961, has the moments).
OF_BEST = 1.4
#: How sure it has to be that healthy pairs differ by no more than is allowed for.
BOUND_CHANCE = 0.05
#: A spread is beyond chance from so many of its standard errors on.
ERRORS_OF_SPREAD = 2.5
#: What measurements that follow each other have in common is beyond chance from so many standard errors on.
ERRORS_OF_COMMON = 3.0
#: What nodes differ by at most, if all that pairs differ by is due to their two nodes.
OF_NODE = 0.71
#: Beside others a node and a pair are slow by what they share, too: where controls, which run alone, reach so large a
#: share of the nodes, nodes and the fastest of the scan differ by no more than these pairs can.
ENOUGH_CONTROLS = 2 / 3
#: A node's rate is what so large a share of its pairs do not exceed: few share every cable in every round.
NODE_QUANTILE = 0.85


@dataclass(frozen=True)
class Noise:
    """How much measurements differ, as standard deviations of their logarithms.

    :param repeat: one measurement of a pair from the next; :param scan: one of a healthy pair of the scan from that of
        another; :param between: healthy pairs from each other beyond chance; :param top: the same as the fastest of the
        scan show it; :param nodes: healthy nodes from each other beyond chance; :param reference: the error of what all
        are held to, with what drifts between it and them.
    :param most: by how much healthy pairs may differ beyond chance, as far as few of them can show it.
    :param fastest: by how much the fastest of the scan differ; :param seen: how many these are.
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
    """All pairs that were measured, each once, in logarithms of the share of what healthy pairs have alone.

    :param sender: ranks; :param receiver: ranks.
    :param alone: what it reached alone, at its best; NaN where it was not measured alone.
    :param middle: the median of what it reached alone.
    :param repeats: how often that was.
    :param bound: the most that it reached beside others; NaN where it was measured alone only.
    :param scan: what it reached in the scan, or NaN; :param round: in which round of it, or -1.
    :param reference_MBps: what healthy pairs have alone.
    :param noise: how much all this differs by chance.
    :param ranks: the number of ranks of the run.
    :param nodes: how many nodes these are; the number of ranks if all are on one.
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
        """Return the same, where what healthy pairs differ by is not taken from pairs of parts that are blamed.

        :param blamed: positions of the pairs of these parts.
        """
        left = [values for pair, values in self.controls if pair not in blamed]
        return replace(self, noise=_most(left, self.noise))

    def error(self, which: NDArray[np.bool_] | Numbers) -> Array:
        """Return the standard errors of ``alone`` of some pairs, by chance alone."""
        return OF_BEST * self.noise.repeat / np.sqrt(np.maximum(self.repeats[which], 1))


def of_output(output: RotateOutput) -> Evidence:
    """Return what a run shows of its pairs."""
    ranks = len(output.hosts)
    # Beside others a pair reaches the more the fewer it shares with.
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
    """Return the level at which the fastest pairs run, how much they differ, and by how many that is seen.

    :param logs: logarithms of the rates.

    Sharing makes pairs slower and never faster, so what is above the level shows how much healthy pairs differ.
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
    """Return how much healthy nodes differ beyond chance, by what most of the pairs of each do not exceed."""
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
    """Return how many of the repeats of a pair count: the best quarter."""
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

    :param best: the best quarter of each in place of the median: other people's traffic only makes a pair slower.
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
    """Return how many ranks send or receive."""
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
    """Return the standard deviation of what measurements that follow each other have in common; 0 if that is chance.

    Controls are measured before suspects: what drifts meanwhile is no fault of theirs, and more pairs do not average
    it away. The covariance of neighbours, of what is left of each pair without its own mean.
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
    """Return the logarithms of pairs that were measured one after the other, and all again: repeats x pairs."""
    repeats = int(((part.sender == part.sender[0]) & (part.receiver == part.receiver[0])).sum())
    found: Array = np.log(part.MBps).reshape(repeats, -1)
    return found


def _between(samples: list[Array], *, most: bool = False) -> float:
    """Return the standard deviation from sample to sample that is beyond chance; 0 if none is.

    :param most: that of most of them: a few may be slow, which says nothing of how much healthy ones differ.

    The component of variance between groups of a one-way analysis of variance with random effects.
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
    """Return by how much pairs may differ beyond chance without their controls showing it; None with too few of them.

    An upper confidence bound of the variance from sample to sample (chi square).

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
    """Return the noise with what these controls show of how much healthy pairs differ."""
    between = max(_between(samples), noise.top)
    of_controls = _most_of_controls(samples, noise.repeat)
    # The fastest of a scan were measured once each, and are many.
    spread = noise.fastest * (1 + 1.64 * np.sqrt(1.4 / max(noise.seen, 1)))
    of_scan = float(np.sqrt(max(0.0, spread**2 - noise.repeat**2)))
    # Where the controls do differ beyond chance, they are what is believed.
    most = of_scan if of_controls is None else of_controls if between > noise.top else min(of_controls, of_scan)
    return replace(noise, between=between, most=max(between, most))
