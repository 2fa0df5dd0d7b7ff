# SPDX-License-Identifier: BSD-3-Clause
"""Which node or which path is slow, in words and data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f_oneway

from fabric_checks.analysis.cross_section import suspects
from fabric_checks.analysis.cross_section.matrix import PairMatrix, name_of
from fabric_checks.analysis.cross_section.polish import median_polish
from fabric_checks.parsers.rotate import RotateOutput, Transfers

Kind = Literal["sender", "receiver", "pair", "sharing", "noise"]

#: What is slower by less than this share is not reported, however sure it is.
FAULT_SHARE = 0.10
#: How many standard errors below the others a confirmed value has to be; ...
CONFIRMED_ERRORS = 4.0
#: ... and one that was measured only once, among as many as there are pairs.
SINGLE_ERRORS = 6.0
#: Where a pair differs so much from one measurement to the next, nobody is blamed.
MOST_NOISE = 0.25
#: Healthy pairs differ from each other if that would be chance in no more than this share of runs.
CHANCE = 0.001
#: A node is blamed for its pairs only if so many of them, with different partners, were measured.
FEWEST_PARTNERS = 3


@dataclass(frozen=True)
class Finding:
    """One thing that is slow, or looks slow.

    :param kind: ``sender`` or ``receiver``: a node, with everybody; ``pair``: a path; ``sharing``: pairs that are slow
        only when others run too, which is no fault; ``noise``: pairs of which nothing can be said for certain.
    :param ranks: the node's rank, or those of sender and receiver.
    :param hosts: their names.
    :param share: the bandwidth as a share of what others have; of ``sharing`` and ``noise`` the number of pairs.
    :param confirmed: whether it was measured again and stayed so.
    :param text: the same in words.
    """

    kind: Kind
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    share: float
    confirmed: bool
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether a node or a path is slow for certain."""
        return self.confirmed and self.kind in ("sender", "receiver", "pair")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for a record."""
        return {**asdict(self), "fault": self.is_fault}


def find(output: RotateOutput, matrix: PairMatrix) -> list[Finding]:
    """Return what is slow in a run: nodes first, then pairs, the slowest first, then what only shares its path.

    A fault is what was slow in the scan, slow again with its neighbours, and slow alone. Without the second and third
    measurement (``rotate --confirm``) what stands out is reported as not confirmed.

    :param matrix: the scan of that run as a matrix.
    """
    found = _confirmed(output) if output.confirmed else _unconfirmed(output, matrix)
    order = {"sender": 0, "receiver": 0, "pair": 1, "sharing": 2, "noise": 3}
    return sorted(found, key=lambda finding: (order[finding.kind], finding.share))


def _confirmed(output: RotateOutput) -> list[Finding]:
    control, alone = output.phases["control"], output.phases["alone"]
    if not len(alone):
        return []
    rates = _by_pair(alone)
    median = {pair: float(np.median(values)) for pair, values in rates.items()}
    noise = _spread([*rates.values(), *_by_pair(control).values()])
    reference = float(np.median(control.MBps)) if len(control) else _overall(output)
    # The standard error of a median of a few values is about 1.25 times that of their mean.
    error = 1.25 * noise * np.sqrt(len(rates) / len(alone) + (1 / len(control) if len(control) else 0.0))
    between = _between(_by_pair(control).values())
    level = _level(error, between)
    share = {pair: value / reference for pair, value in median.items()}
    if noise > MOST_NOISE:
        return [_noise(len(share), noise, between)]
    faults = _nodes(output, share, error, between)
    blamed = {(finding.kind, finding.ranks[0]) for finding in faults}
    for (sender, receiver), value in share.items():
        if value < level and ("sender", sender) not in blamed and ("receiver", receiver) not in blamed:
            faults.append(_pair(output, sender, receiver, value, confirmed=True))
    healthy = sum(value >= 1 - FAULT_SHARE for value in share.values())
    if healthy:
        text = (
            f"{healthy} of {len(share)} suspect pairs run at full rate alone and are slow only while others run: they "
            "share paths, no node and no cable of theirs is slow"
        )
        faults.append(Finding("sharing", (), (), float(healthy), True, text))
    unsure = sum(level <= value < 1 - FAULT_SHARE for value in share.values())
    if unsure and noise > 0:
        faults.append(_noise(unsure, noise, between))
    return faults


def _noise(pairs: int, noise: float, between: float) -> Finding:
    others = f" and healthy pairs by {100 * between:.0f} % from each other" if between > 0 else ""
    text = (
        f"a pair differs by {100 * noise:.0f} % from one measurement to the next{others}, so nothing is certain of "
        f"{pairs} suspect pairs; measure on idle nodes, one process on each"
    )
    # Repeats show a pair more exactly, and what others are no better.
    text += "" if between > noise else ", or raise --confirm-repeats"
    return Finding("noise", (), (), float(pairs), False, text)


def _level(error: float, between: float) -> float:
    """Return the share below which a value counts as slow.

    :param error: the standard error of its logarithm; that of a median is about 1.25 times that of a mean.
    :param between: how much healthy pairs differ, as the standard deviation of the same. Measuring a suspect again does
        not make that smaller: the slowest of all pairs is what it was.
    """
    return min(1 - FAULT_SHARE, float(np.exp(-np.hypot(CONFIRMED_ERRORS * error, SINGLE_ERRORS * between))))


def _nodes(output: RotateOutput, share: dict[tuple[int, int], float], error: float, between: float) -> list[Finding]:
    """Blame a node that looked slow in the scan if its pairs, with different partners, are slow alone.

    :param share: the pairs that were measured alone, as shares of what healthy pairs have.
    :param error: the standard error of the logarithm of each; :param between: how much healthy pairs differ.
    """
    scan = suspects.find(output.scan, len(output.hosts), output.suspect_share)
    faults = []
    sides: tuple[tuple[Literal["sender", "receiver"], int, dict[int, float]], ...] = (
        ("sender", 0, scan.senders),
        ("receiver", 1, scan.receivers),
    )
    for kind, side, nodes in sides:
        for rank in nodes:
            values = [value for pair, value in share.items() if pair[side] == rank]
            if len(values) < FEWEST_PARTNERS:
                continue
            middle = float(np.median(values))
            # A median over pairs of which a few are faster or slower by themselves is that of the node.
            of_middle = 1.25 / np.sqrt(len(values))
            if middle < _level(of_middle * error, of_middle * between):
                faults.append(_node(output, kind, rank, middle, confirmed=True))
    return faults


def _unconfirmed(output: RotateOutput, matrix: PairMatrix) -> list[Finding]:
    """Report what stands out of the noise of a scan; one low value among many proves nothing."""
    polished = median_polish(matrix.MBps)
    rest = np.log(polished.rest[~np.isnan(polished.rest)])
    noise = 1.4826 * float(np.median(np.abs(rest)))
    faults = []
    sides: tuple[tuple[Literal["sender", "receiver"], NDArray[np.int64], NDArray[np.float64], int], ...] = (
        ("sender", matrix.senders, polished.sender, len(matrix.receivers)),
        ("receiver", matrix.receivers, polished.receiver, len(matrix.senders)),
    )
    for kind, ranks, shares, partners in sides:
        error = 1.25 * noise / np.sqrt(partners)
        level = min(1 - FAULT_SHARE, float(np.exp(-SINGLE_ERRORS * error)))
        if partners >= FEWEST_PARTNERS:
            faults += [
                _node(output, kind, int(rank), float(share), confirmed=False)
                for rank, share in zip(ranks, shares, strict=True)
                if share < level
            ]
    level = min(1 - FAULT_SHARE, float(np.exp(-SINGLE_ERRORS * noise)))
    for row, column in zip(*np.nonzero(polished.rest < level), strict=True):
        sender, receiver = int(matrix.senders[row]), int(matrix.receivers[column])
        faults.append(_pair(output, sender, receiver, float(polished.rest[row, column]), confirmed=False))
    return faults


def _node(
    output: RotateOutput, kind: Literal["sender", "receiver"], rank: int, share: float, *, confirmed: bool
) -> Finding:
    name = name_of(output.hosts, rank)
    action = "sends at {:.2f} of the median to everybody" if kind == "sender" else None
    action = action or "receives at {:.2f} of the median from everybody"
    text = f"node {name} {action.format(share)}" + _how_sure(confirmed)
    return Finding(kind, (rank,), (output.hosts[rank],), share, confirmed, text)


def _pair(output: RotateOutput, sender: int, receiver: int, share: float, *, confirmed: bool) -> Finding:
    names = [name_of(output.hosts, rank) for rank in (sender, receiver)]
    text = f"{names[0]} to {names[1]} runs at {share:.2f} of the median, both with others at full rate"
    hosts = (output.hosts[sender], output.hosts[receiver])
    return Finding("pair", (sender, receiver), hosts, share, confirmed, text + _how_sure(confirmed))


def _how_sure(confirmed: bool) -> str:
    return ", alone as well" if confirmed else "; not measured again, use --confirm"


def _overall(output: RotateOutput) -> float:
    return suspects.find(output.scan, len(output.hosts), output.suspect_share).overall_MBps


def _by_pair(part: Transfers) -> dict[tuple[int, int], list[float]]:
    """Return the bandwidths of each pair."""
    rates: dict[tuple[int, int], list[float]] = {}
    for sender, receiver, rate in zip(part.sender, part.receiver, part.MBps, strict=True):
        rates.setdefault((int(sender), int(receiver)), []).append(float(rate))
    return rates


def _spread(samples: Iterable[list[float]]) -> float:
    """Return the standard deviation of the logarithms within the samples, pooled; 0 if all have only one value."""
    logs = [np.log(values) for values in samples if len(values) > 1]
    freedom = sum(len(values) - 1 for values in logs)
    return float(np.sqrt(sum(np.var(values) * len(values) for values in logs) / freedom)) if freedom else 0.0


def _between(samples: Iterable[list[float]]) -> float:
    """Return the standard deviation of the logarithms from sample to sample that is beyond chance; 0 if none is.

    The component of variance between groups of a one-way analysis of variance with random effects.
    """
    logs = [np.log(values) for values in samples if len(values) > 1]
    if len(logs) < FEWEST_PARTNERS or not any(np.ptp(values) for values in logs):
        return 0.0
    if f_oneway(*logs).pvalue >= CHANCE:
        return 0.0
    of_mean = np.mean([np.var(values, ddof=1) / len(values) for values in logs])
    return float(np.sqrt(max(0.0, np.var([np.mean(values) for values in logs], ddof=1) - of_mean)))


def faults(found: Iterable[Finding]) -> list[Finding]:
    """Return only what is slow for certain."""
    return [finding for finding in found if finding.is_fault]
