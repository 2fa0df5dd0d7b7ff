# SPDX-License-Identifier: BSD-3-Clause
"""Findings of a cross-section run: the node, cable or switch that is slow, in words and data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.evidence import Array, of_output
from fabric_checks.diagnosis.cross_section.inference import (
    LEAST_FAULT,
    NEIGHBOURS,
    OF_NODES,
    SPREAD_ERRORS,
    Culprit,
    Explanation,
    explain,
)
from fabric_checks.diagnosis.cross_section.matrix import PairMatrix, name_of
from fabric_checks.diagnosis.cross_section.parts import FEWEST_PAIRS, Ground, lay
from fabric_checks.diagnosis.cross_section.words import listed
from fabric_checks.parsers.rotate import RotateOutput

#: The kinds of faults: a node by its side; a cable between switches, or one that is known by its pairs only; a switch;
#: all cables of a switch; pairs with something in common; a pair. No faults are ``sharing``, pairs that are slow only
#: while others run, and ``noise``, pairs of which nothing is certain.
FAULTS = ("sender", "receiver", "node", "cable", "uplinks", "uplink", "switch", "group", "pair")
_KINDS = {
    "arc": "cable",
    "leaf out": "uplinks",
    "leaf in": "uplinks",
    "leaf": "uplinks",
    "downlink": "uplink",
    "link": "uplink",
    "leaf pair": "uplink",
    "above": "switch",
}
#: Nothing is blamed if one measurement of a pair differs so much from the next.
MOST_NOISE = 0.25
#: The fewest measured pairs for which a node is suspected after a scan that was not confirmed.
FEWEST_PARTNERS = 3
#: The rate of a pair over the product of the shares of the parts on its route, down to which these explain it.
OF_ALL = 0.93
#: The most single slow pairs that are listed one by one.
MOST_PAIRS = 3


@dataclass(frozen=True)
class Finding:
    """A part that is slow, or looks slow.

    :param kind: one of :data:`FAULTS`, ``sharing`` or ``noise``.
    :param part: the name of the part, empty without one; :param side: the direction in which it is slow, or empty.
    :param ranks: of the node, or of sender and receiver; :param hosts: their names.
    :param share: its bandwidth as a share of that of others; of ``sharing`` and ``noise`` the number of pairs.
    :param confirmed: whether it was measured alone and exceeds chance, or so many pairs of the scan, corrected for
        sharing, show it that it need not be.
    :param slow: the number of its pairs that were slow alone; :param beside: that were slow in the scan only;
        :param fast: that were faster than it allows.
    :param confidence: from 0 to 1, of this part against others that explain the same.
    :param others: the names of parts that explain it as well.
    :param look: what to look at or measure next.
    :param text: all this in words.
    """

    kind: str
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    share: float
    confirmed: bool
    text: str
    part: str = ""
    side: str = ""
    slow: int = 0
    beside: int = 0
    fast: int = 0
    confidence: float = 1.0
    others: tuple[str, ...] = ()
    look: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether something is slow for certain."""
        return self.confirmed and self.kind in FAULTS

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for a record."""
        return asdict(self) | {"fault": self.is_fault}


def find(output: RotateOutput, matrix: PairMatrix, ground: Ground | None = None) -> list[Finding]:
    """Return the findings of a run: faults first, the slowest first, pairs after nodes, cables and switches.

    A fault is slow alone. Without that measurement (``rotate --confirm``) outliers are reported as not confirmed,
    except those that many pairs of the scan show when it is corrected for sharing.

    :param matrix: the scan of that run as a matrix.
    :param ground: its evidence on the map of the fabric; without one the fabric is unknown.
    """
    ground = ground or lay(of_output(output), output.hosts, None)
    evidence = ground.evidence
    if output.confirmed and evidence.noise.repeat > MOST_NOISE:
        return [_noise(ground, int((evidence.repeats > 0).sum()))]
    if not output.confirmed and not ground.corrected:
        return _sorted(_unconfirmed(output, matrix))
    found = explain(ground)
    findings = [_finding(ground, output.hosts, culprit) for culprit in found.culprits if not _symptom(culprit, found)]
    certain = [each for each in findings if each.is_fault]
    pairs = [each for each in certain if each.kind == "pair"]
    if len(pairs) > MOST_PAIRS:
        findings = [each for each in findings if each not in pairs] + [_group(ground, output.hosts, pairs)]
    # Suspects are not reported next to certain faults, and pairs that were slow alone are reported as noise.
    doubtful = [each for each in findings if not each.is_fault and not each.slow and not certain]
    findings = [each for each in findings if each.is_fault] + doubtful[:MOST_PAIRS]
    return _sorted([*findings, *_rest(ground, output, found)])


def _symptom(culprit: Culprit, found: Explanation) -> bool:
    """Return whether the other slow parts on the route of a pair explain its rate, taken together."""
    if culprit.part.kind != "pair":
        return False
    on_way = [each for each in found.culprits if each.part.kind != "pair" and culprit.part.pairs[0] in each.part.pairs]
    return bool(on_way) and culprit.share > OF_ALL * float(np.prod([each.share for each in on_way]))


def _sorted(found: Iterable[Finding]) -> list[Finding]:
    order = {"pair": 1, "sharing": 2, "noise": 3}
    return sorted(found, key=lambda finding: (order.get(finding.kind, 0), not finding.confirmed, finding.share))


def _finding(ground: Ground, hosts: tuple[str, ...], culprit: Culprit) -> Finding:
    part = culprit.part
    named = words.of_part(ground, hosts, part)
    # A cable that is slow one way may be slow both ways if the other direction was not measured.
    others = [words.of_part(ground, hosts, each) for each in culprit.others]
    names = tuple(dict.fromkeys(each.name for each in others if each.name != named.name))
    also = sorted({each.side for each in others if each.name == named.name and each.side != named.side})
    side = f" {named.side}" if named.side and part.kind not in (*OF_NODES, "pair") else ""
    text = f"{named.name} {named.verb}{side} at {culprit.share:.2f} of the rate of others, {_evidence(culprit)}"
    if names:
        text += f"; {listed(names)} would explain it too"
    if part.kind in OF_NODES and not _near(ground, culprit):
        text += "; no pair with its neighbours was measured, so its path to all other nodes may be the cause instead"
    elif also:
        text += "; the other direction was not measured often enough to tell"
    if not culprit.sure:
        text += "; chance, or the differences between healthy ones, could explain this"
    return Finding(
        _KINDS.get(part.kind, part.kind),
        named.ranks,
        tuple(hosts[rank] for rank in named.ranks),
        culprit.share,
        culprit.sure,
        f"{text}: {named.look}",
        named.name,
        named.side,
        len(culprit.slow),
        len(np.setdiff1d(culprit.beside, culprit.slow)),
        len(culprit.fast),
        culprit.confidence,
        names,
        named.look,
    )


def _near(ground: Ground, culprit: Culprit) -> bool:
    """Return whether a node was measured with one at its switch, or with one of the next ranks."""
    evidence, pairs = ground.evidence, culprit.part.pairs
    if ground.known is not None:
        return bool(ground.within[pairs].any() or not ground.within.any())
    return bool((np.abs(evidence.sender[pairs] - evidence.receiver[pairs]) <= NEIGHBOURS).any())


def _evidence(culprit: Culprit) -> str:
    """Return the evidence for a culprit, in words."""
    alone = len(culprit.slow)
    if alone < (1 if culprit.part.kind == "pair" else FEWEST_PAIRS):
        pairs = _pairs(len(culprit.beside))
        return f"in the scan, corrected for what pairs share ({pairs}, {len(culprit.fast)} against), not measured alone"
    if culprit.part.kind == "pair":
        return "alone as well"
    return f"alone as well ({_pairs(alone)}, {len(culprit.fast)} against)"


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _group(ground: Ground, hosts: tuple[str, ...], pairs: list[Finding]) -> Finding:
    """Fold slow pairs that no part explains into one finding."""
    senders = sorted({each.ranks[0] for each in pairs})
    receivers = sorted({each.ranks[1] for each in pairs})
    share = float(np.median([each.share for each in pairs]))
    ends = " to ".join(_alike(hosts, ranks) for ranks in (senders, receivers))
    look = "give the switches of the hosts (--topology), or the forwarding tables, to have the cable or switch named"
    text = (
        f"{len(pairs)} pairs, {ends}, run at {share:.2f} of the rate of others alone, and none of their nodes is slow "
        f"with every partner; that they behave alike is inferred from the rates: {look}"
    )
    part = f"what is between {ends}"
    return Finding("group", (), (), share, True, text, part, "", len(pairs), look=look)


def _alike(hosts: tuple[str, ...], ranks: list[int]) -> str:
    """Return ranks in words: as a range if most of them are consecutive."""
    first, last = ranks[0], ranks[-1]
    if len(ranks) > 2 and last - first + 1 <= 2 * len(ranks):
        return f"from among {name_of(hosts, first)} to {name_of(hosts, last)}"
    return listed([name_of(hosts, rank) for rank in ranks])


def _rest(ground: Ground, output: RotateOutput, found: Explanation) -> list[Finding]:
    """Return the findings about suspect pairs that no fault explains."""
    evidence = ground.evidence
    alone = np.zeros(len(evidence.sender), dtype=bool)
    keys = evidence.sender * evidence.ranks + evidence.receiver
    part = output.phases["alone"]
    alone[np.searchsorted(keys, np.unique(part.sender.astype(np.int64) * evidence.ranks + part.receiver))] = True
    suspects = np.flatnonzero(alone)
    blamed = np.concatenate([each.part.pairs for each in found.culprits if each.sure] or [suspects[:0]])
    left = np.setdiff1d(suspects, blamed)
    rates = evidence.alone[left]
    healthy = left[rates >= np.log1p(-LEAST_FAULT)]
    rest = []
    if len(healthy):
        least = float(np.exp(evidence.alone[healthy].min()))
        text = (
            f"{len(healthy)} of {len(suspects)} suspect pairs reach at least {least:.2f} of the rate of others when "
            "measured alone, and are slower only while others run: they share what they pass through"
        )
        rest.append(Finding("sharing", (), (), float(len(healthy)), True, text))
    unsure = np.intersect1d(left, found.unsure)
    if len(unsure):
        rest.append(_noise(ground, len(unsure)))
    return rest


def _noise(ground: Ground, pairs: int) -> Finding:
    noise = ground.evidence.noise
    others = f" and healthy pairs by {100 * noise.between:.0f} % from each other" if noise.between > 0 else ""
    text = (
        f"a pair differs by {100 * noise.repeat:.0f} % from one measurement to the next{others}, so nothing is certain "
        f"about {_pairs(pairs)} that look{'s' if pairs == 1 else ''} slow; measure on idle nodes, one process on each"
    )
    # More repeats reduce the noise of a pair, but not the spread of others.
    text += "" if noise.between > noise.repeat else ", or raise --confirm-repeats"
    return Finding("noise", (), (), float(pairs), False, text)


# ------------------------------------------------------------------------------------- without anything measured alone


def _unconfirmed(output: RotateOutput, matrix: PairMatrix) -> list[Finding]:
    """Return the outliers of a scan; one low value among many proves nothing."""
    polished = median_polish(matrix.MBps)
    rest = np.log(polished.rest[~np.isnan(polished.rest)])
    noise = 1.4826 * float(np.median(np.abs(rest)))
    faults = []
    sides: tuple[tuple[Literal["sender", "receiver"], NDArray[np.int64], Array, int], ...] = (
        ("sender", matrix.senders, polished.sender, 1),
        ("receiver", matrix.receivers, polished.receiver, 0),
    )
    measured = ~np.isnan(matrix.MBps)
    for kind, ranks, shares, axis in sides:
        partners = measured.sum(axis=axis)
        error = 1.25 * noise / np.sqrt(np.maximum(partners, 1))
        level = np.minimum(1 - LEAST_FAULT, np.exp(-SPREAD_ERRORS * error))
        faults += [
            _suspect_node(output, kind, int(rank), float(share))
            for rank, share, bound, count in zip(ranks, shares, level, partners, strict=True)
            if count >= FEWEST_PARTNERS and share < bound
        ]
    level_of_pair = min(1 - LEAST_FAULT, float(np.exp(-SPREAD_ERRORS * noise)))
    for row, column in zip(*np.nonzero(polished.rest < level_of_pair), strict=True):
        sender, receiver = int(matrix.senders[row]), int(matrix.receivers[column])
        faults.append(_suspect_pair(output, sender, receiver, float(polished.rest[row, column])))
    return faults


@dataclass(frozen=True)
class Polished:
    """A matrix taken apart: ``value = typical * sender * receiver * rest``.

    :param typical: the common level, in the unit of the matrix.
    :param sender: the share of each row, its median over rows is 1.
    :param receiver: the share of each column, its median over columns is 1.
    :param rest: rows x columns: what belongs to the pair alone, 1 for most; NaN where nothing was measured.
    """

    typical: float
    sender: Array
    receiver: Array
    rest: Array


def median_polish(values: Array, *, sweeps: int = 4, tolerance: float = 1e-4) -> Polished:
    """Take a matrix apart by Tukey's median polish (Exploratory Data Analysis, 1977, ch. 11), on logarithms.

    Medians keep a few very slow pairs from spoiling the shares of their sender and receiver.

    :param values: rows x columns, positive; NaN where nothing was measured.
    :param sweeps: the most passes over rows and columns.
    :param tolerance: stop when no median changes by more than this share.
    """
    rest = np.log(values)
    median = np.nanmedian if np.isnan(rest).any() else np.median
    common = 0.0
    row, column = np.zeros(rest.shape[0]), np.zeros(rest.shape[1])
    for _ in range(sweeps):
        change = 0.0
        for axis, effect in ((1, row), (0, column)):
            step = np.asarray(median(rest, axis=axis))
            rest -= np.expand_dims(step, axis)
            np.add(effect, step, out=effect)
            middle = float(np.median(effect))
            np.subtract(effect, middle, out=effect)
            common += middle
            change = max(change, float(np.max(np.abs(step - np.median(step)))))
        if change < tolerance:
            break
    return Polished(float(np.exp(common)), np.exp(row), np.exp(column), np.exp(rest))


_AGAIN = "not measured again; use --confirm"


def _suspect_node(output: RotateOutput, kind: Literal["sender", "receiver"], rank: int, share: float) -> Finding:
    name = name_of(output.hosts, rank)
    verb = "sends" if kind == "sender" else "receives"
    text = f"node {name} {verb} at {share:.2f} of the rate of others; {_AGAIN}"
    side = "sending" if kind == "sender" else "receiving"
    return Finding(kind, (rank,), (output.hosts[rank],), share, False, text, f"node {name}", side, look=_AGAIN)


def _suspect_pair(output: RotateOutput, sender: int, receiver: int, share: float) -> Finding:
    names = " to ".join(name_of(output.hosts, rank) for rank in (sender, receiver))
    text = f"{names} runs at {share:.2f} of the rate that its nodes reach with others; {_AGAIN}"
    hosts = (output.hosts[sender], output.hosts[receiver])
    return Finding("pair", (sender, receiver), hosts, share, False, text, names, "one way", look=_AGAIN)


def faults(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are certain."""
    return [finding for finding in found if finding.is_fault]
