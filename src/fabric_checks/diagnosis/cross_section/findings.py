# SPDX-License-Identifier: BSD-3-Clause
"""Findings of a cross-section run: the node, cable or switch that is slow, in words and data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fabric_checks.core.text import count_text, names_text
from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.inference import (
    LEAST_FAULT,
    NEIGHBOURS,
    OF_NODES,
    Culprit,
    explain,
)
from fabric_checks.diagnosis.cross_section.matrix import name_of
from fabric_checks.diagnosis.cross_section.parts import FEWEST_PAIRS, MappedEvidence
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
    :param share: its bandwidth as a share of that of healthy parts; of ``sharing`` and ``noise`` the number of pairs.
    :param confirmed: whether it was measured alone and exceeds chance, or so many pairs of the scan, corrected for
        sharing, show it that it need not be.
    :param slow: the number of its pairs that were slow alone; :param slow_in_scan: that were slow in the scan only;
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
    slow_in_scan: int = 0
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


def find(output: RotateOutput, mapped: MappedEvidence) -> list[Finding]:
    """Return the findings of a run: faults first, the slowest first, pairs after nodes, cables and switches.

    A fault is slow alone. Without that measurement (``rotate --confirm``) nothing is found, except where many pairs of
    the scan show it when it is corrected for sharing.

    :param mapped: the evidence of the run on the map of its fabric.
    """
    evidence = mapped.evidence
    if output.confirmed and evidence.noise.repeat > MOST_NOISE:
        return [_noise(mapped, int((evidence.repeats > 0).sum()))]
    if not output.confirmed and not mapped.corrected:
        return []
    culprits, unsure = explain(mapped)
    findings = [_finding(mapped, output.hosts, each) for each in culprits if not _is_symptom(each, culprits)]
    certain = faults(findings)
    # Suspects are not reported next to certain faults, and pairs that were slow alone are reported as noise.
    findings = certain or [each for each in findings if not each.slow][:MOST_PAIRS]
    pairs = [each for each in certain if each.kind == "pair"]
    if len(pairs) > MOST_PAIRS:
        findings = [each for each in certain if each.kind != "pair"] + [_group(output.hosts, pairs)]
    findings += _unexplained(mapped, output, culprits, unsure)
    order = {"pair": 1, "sharing": 2, "noise": 3}
    return sorted(findings, key=lambda finding: (order.get(finding.kind, 0), not finding.confirmed, finding.share))


def _is_symptom(culprit: Culprit, culprits: Sequence[Culprit]) -> bool:
    """Return whether the other slow parts on the route of a pair explain its rate, taken together."""
    if culprit.part.kind != "pair":
        return False
    pair = culprit.part.pairs[0]
    shares = [each.share for each in culprits if each.part.kind != "pair" and pair in each.part.pairs]
    return bool(shares) and culprit.share > OF_ALL * float(np.prod(shares))


def _finding(mapped: MappedEvidence, hosts: tuple[str, ...], culprit: Culprit) -> Finding:
    part = culprit.part
    named = words.of_part(mapped, hosts, part)
    # A cable that is slow one way may be slow both ways if the other direction was not measured.
    others = [words.of_part(mapped, hosts, each) for each in culprit.others]
    names = tuple(dict.fromkeys(each.name for each in others if each.name != named.name))
    also = sorted({each.side for each in others if each.name == named.name and each.side != named.side})
    side = f" {named.side}" if named.side and part.kind not in (*OF_NODES, "pair") else ""
    text = f"{named.name} {named.verb}{side} at {culprit.share:.2f} of the rate of others, {_evidence(culprit)}"
    if names:
        text += f"; {names_text(names, words.MOST_NAMES)} would explain it too"
    if part.kind in OF_NODES and not _near(mapped, culprit):
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
        len(np.setdiff1d(culprit.slow_in_scan, culprit.slow)),
        len(culprit.fast),
        culprit.confidence,
        names,
        named.look,
    )


def _near(mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether a node was measured with one at its switch, or with one of the next ranks."""
    evidence, pairs = mapped.evidence, culprit.part.pairs
    if mapped.known.hosts:
        return bool(mapped.within[pairs].any() or not mapped.within.any())
    return bool((np.abs(evidence.sender[pairs] - evidence.receiver[pairs]) <= NEIGHBOURS).any())


def _evidence(culprit: Culprit) -> str:
    """Return the evidence for a culprit, in words."""
    is_pair = culprit.part.kind == "pair"
    if len(culprit.slow) < (1 if is_pair else FEWEST_PAIRS):
        pairs = count_text(len(culprit.slow_in_scan), "pair")
        return f"in the scan, corrected for what pairs share ({pairs}, {len(culprit.fast)} against), not measured alone"
    counts = "" if is_pair else f" ({count_text(len(culprit.slow), 'pair')}, {len(culprit.fast)} against)"
    return f"alone as well{counts}"


def _group(hosts: tuple[str, ...], pairs: list[Finding]) -> Finding:
    """Fold slow pairs that no part explains into one finding."""
    senders = sorted({each.ranks[0] for each in pairs})
    receivers = sorted({each.ranks[1] for each in pairs})
    share = float(np.median([each.share for each in pairs]))
    ends = " to ".join(_range(hosts, ranks) for ranks in (senders, receivers))
    look = "give the switches of the hosts (--topology), or the forwarding tables, to have the cable or switch named"
    text = (
        f"{len(pairs)} pairs, {ends}, run at {share:.2f} of the rate of others alone, and none of their nodes is slow "
        f"with every partner; that they behave alike is inferred from the rates: {look}"
    )
    part = f"what is between {ends}"
    return Finding("group", (), (), share, True, text, part, "", len(pairs), look=look)


def _range(hosts: tuple[str, ...], ranks: list[int]) -> str:
    """Return ranks in words: as a range if most of them are consecutive."""
    first, last = ranks[0], ranks[-1]
    if len(ranks) > 2 and last - first + 1 <= 2 * len(ranks):
        return f"from among {name_of(hosts, first)} to {name_of(hosts, last)}"
    return names_text([name_of(hosts, rank) for rank in ranks], words.MOST_NAMES)


def _unexplained(
    mapped: MappedEvidence, output: RotateOutput, culprits: Sequence[Culprit], unsure: Numbers
) -> list[Finding]:
    """Return the findings about suspect pairs that no fault explains; :param unsure: may be slow by chance."""
    evidence = mapped.evidence
    part = output.phases["alone"]
    again = np.unique(part.sender.astype(np.int64) * evidence.ranks + part.receiver)
    suspects = np.searchsorted(evidence.sender * evidence.ranks + evidence.receiver, again)
    blamed = np.concatenate([each.part.pairs for each in culprits if each.sure] or [suspects[:0]])
    left = np.setdiff1d(suspects, blamed)
    rates = evidence.alone[left]
    healthy = left[rates >= np.log1p(-LEAST_FAULT)]
    findings = []
    if len(healthy):
        least = float(np.exp(evidence.alone[healthy].min()))
        text = (
            f"{len(healthy)} of {len(suspects)} suspect pairs reach at least {least:.2f} of the rate of others when "
            "measured alone, and are slower only while others run: they share what they pass through"
        )
        findings.append(Finding("sharing", (), (), float(len(healthy)), True, text))
    if noisy := len(np.intersect1d(left, unsure)):
        findings.append(_noise(mapped, noisy))
    return findings


def _noise(mapped: MappedEvidence, pairs: int) -> Finding:
    noise = mapped.evidence.noise
    others = f" and healthy pairs by {100 * noise.between:.0f} % from each other" if noise.between > 0 else ""
    text = (
        f"a pair differs by {100 * noise.repeat:.0f} % from one measurement to the next{others}, so nothing is certain "
        f"about {count_text(pairs, 'pair')} that look{'s' if pairs == 1 else ''} slow; measure on idle nodes, one "
        "process on each"
    )
    # More repeats reduce the noise of a pair, but not the spread of healthy pairs.
    text += "" if noise.between > noise.repeat else ", or raise --confirm-repeats"
    return Finding("noise", (), (), float(pairs), False, text)


def faults(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are certain."""
    return [finding for finding in found if finding.is_fault]
