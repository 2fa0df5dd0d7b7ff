# SPDX-License-Identifier: BSD-3-Clause
"""Findings of a cross-section run: the node, cable or switch that is slow, in words and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import count_text, names_text
from fabric_checks.diagnosis.cross_section import changes, words
from fabric_checks.diagnosis.cross_section.changes import Change
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.inference import (
    LEAST_FAULT,
    NEIGHBOURS,
    OF_NODES,
    Culprit,
    explain,
    slow_since_scan,
)
from fabric_checks.diagnosis.cross_section.matrix import name_of
from fabric_checks.diagnosis.cross_section.parts import FEWEST_PAIRS, OF_DEVICES, MappedEvidence, part_of
from fabric_checks.diagnosis.fabric_map.model import NONE
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import faults, note
from fabric_checks.parsers.rotate import RotateOutput

#: Of the kinds of parts those that findings call otherwise.
_KINDS = {
    "arc": "cable",
    "leaf out": "uplinks",
    "leaf in": "uplinks",
    "leaf": "uplinks",
    "downlink": "uplink",
    "link": "uplink",
    "leaf pair": "uplink",
    "above": "switch",
    "host": "node",
    "adapter": "node",
}
#: Nothing is blamed if one measurement of a pair differs so much from the next.
MOST_NOISE = 0.25
#: The rate of a pair over the product of the shares of the parts on its route, down to which these explain it.
OF_ALL = 0.93
#: Pairs alone reach this share of a link, even where one process does not fill it (670 of 968 MB/s on Feynman: 0.69);
#: where all lost two fifths they do not.
LEAST_OF_LINK = 0.65
#: So many pairs have to be fast before others are called slow.
FEWEST_FAST = 2
#: The most single slow pairs that are findings of their own, that are listed in one, the most nodes of a kind, and the
#: most suspects.
MOST_PAIRS, MOST_LISTED, MOST_OF_KIND, MOST_SUSPECTS = 3, 8, 3, 5


def find(output: RotateOutput, mapped: MappedEvidence) -> list[Finding]:
    """Return the findings of a run: faults first, the slowest first, pairs after nodes, cables and switches.

    A fault is slow alone. Without that measurement (``rotate --confirm``) there are suspects only, and these only where
    the scan is corrected for sharing.

    :param mapped: the evidence of the run on the map of its fabric.
    """
    evidence = mapped.evidence
    if output.confirmed and evidence.noise.repeat > MOST_NOISE and not output.at_once:
        return [_noise(mapped, int((evidence.repeats > 0).sum()))]
    if not output.confirmed and not mapped.corrected and not output.is_table:
        return []
    culprits, unsure = explain(mapped)
    if output.is_table:
        # Where pairs within a switch are slow, too, its nodes may be of a kind that was not separated.
        alike = [each.part.kind == "switch" and bool(mapped.within[each.slow].any()) for each in culprits]
        culprits = tuple(
            replace(each, sure=each.sure and _is_repeated(mapped, each) and not of_kind)
            for each, of_kind in zip(culprits, alike, strict=True)
        )
    else:
        culprits = tuple(replace(each, sure=each.sure and changes.is_steady(evidence, each.slow)) for each in culprits)
    findings = [_finding(mapped, output.hosts, each) for each in culprits if not _is_symptom(each, culprits)]
    certain = faults(findings)
    # Suspects are not reported next to certain faults, and pairs that were slow alone are reported as noise.
    suspects = [each for each in findings if output.is_table or not each.data["slow"]]
    findings = certain or suspects[: MOST_SUSPECTS if output.is_table else MOST_PAIRS]
    pairs = [each for each in certain if each.kind == "pair"]
    if len({frozenset(each.ranks) for each in pairs}) > MOST_PAIRS:
        findings = [each for each in certain if each.kind != "pair"] + [_group(output.hosts, pairs)]
    blamed = np.concatenate([each.part.pairs for each in culprits if each.sure] or [unsure[:0]])
    if not output.is_table:
        findings += [_changed(mapped, output.hosts, each) for each in changes.of_parts(mapped, blamed)]
        findings += _unexplained(mapped, output, blamed, unsure)
    findings += _kinds(mapped, output.hosts)
    order = {"pair": 1, "past": 2, "node classes": 3, "sharing": 4, "noise": 5}
    return sorted(findings, key=lambda finding: (order.get(finding.kind, 0), not finding.is_fault, finding.share))


def _is_repeated(mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether most of the slow pairs of a part were measured more than once."""
    return len(culprit.slow) > 0 and float(np.median(mapped.evidence.repeats[culprit.slow])) >= 2


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
    side = f" {named.side}" if named.side and part.kind not in (*OF_NODES, "pair", *OF_DEVICES) else ""
    of_others = "its kind" if part.kind in OF_NODES and len(mapped.evidence.kinds) > 1 else "others"
    text = f"{named.name} {named.verb}{side} at {culprit.share:.2f} of the rate of {of_others}"
    rounds, since = mapped.evidence.rounds[0], culprit.since
    if since == rounds:
        text += " since late in the scan or after it"
    elif since:
        text += f" since about {100 * since / rounds:.0f} % of the scan (round {int(since)})"
    text += f", {_evidence(mapped, culprit)}"
    details = [f"{names_text(names, words.MOST_NAMES)} would explain it too"] if names else []
    evidence, pairs = mapped.evidence, part.pairs
    near = np.abs(evidence.sender[pairs] - evidence.receiver[pairs]) <= NEIGHBOURS * evidence.rails
    if mapped.known.hosts:
        near = mapped.within[pairs] | (not mapped.within.any())
    if part.kind in OF_NODES and not near.any():
        details.append("no pair with its neighbours was measured: its path to all other nodes may be the cause instead")
    elif also:
        details.append("the other direction was not measured often enough to tell")
    if not culprit.sure and len(culprit.slow) and not _is_repeated(mapped, culprit):
        details.append("measured once: chance, or traffic of others, could explain this")
    elif since == rounds:
        details.append("traffic of others that began meanwhile looks the same: measure again")
    elif not culprit.sure:
        details.append("chance, or the differences between healthy ones, could explain this")
    # Bundles that have no host in common may be of several cables as well as of one switch.
    is_group = part.kind == "above" and part.key[0] == NONE
    data = {
        "ranks": list(named.ranks),
        "side": named.side,
        "slow": len(culprit.slow),
        "slow_in_scan": len(np.setdiff1d(culprit.slow_in_scan, culprit.slow)),
        "others": list(names),
        "since": culprit.since / mapped.evidence.rounds[1],
    }
    return Finding(
        kind="group" if is_group else _KINDS.get(part.kind, part.kind),
        severity=Severity.FAULT if culprit.sure else Severity.SUSPECT,
        text=text,
        part=named.name,
        hosts=tuple(hosts[rank] for rank in named.ranks),
        size=1 - culprit.share,
        advice=named.look,
        details=(*details, named.look),
        data=data,
    )


def _evidence(mapped: MappedEvidence, culprit: Culprit) -> str:
    """Return the evidence for a culprit, in words."""
    how = "measured, others ran" if mapped.evidence.at_once else "measured alone"
    if culprit.part.kind == "pair" and len(culprit.slow):
        return how
    if len(culprit.slow) < FEWEST_PAIRS:
        pairs = count_text(len(culprit.slow_in_scan), "pair")
        return f"by {pairs} of the scan, corrected for sharing, not measured alone"
    alone = int((~np.isnan(mapped.evidence.alone[culprit.part.pairs])).sum())
    directions = 1 + mapped.evidence.both_ways  # a value of both is there for each
    return f"{len(culprit.slow) // directions} of {count_text(alone // directions, 'pair')} {how}"


def _changed(mapped: MappedEvidence, hosts: tuple[str, ...], change: Change) -> Finding:
    """Return the observation of what was slow for a part of the run: of a node, a cable or traffic may do that, too."""
    rounds, cable = mapped.evidence.rounds[1], change.number - mapped.evidence.ranks
    ranks = (change.number,) if cable < 0 else ()
    side = {"sending": "while it sent", "receiving": "while it received"}.get(change.side) if ranks else None
    look = "look at the error counters and the link-down counter of its port, and at what else ran on it"
    if ranks:
        name = words.of_rank(mapped, hosts, change.number)
    else:
        named = words.of_part(mapped, hosts, part_of("cable", (cable,), np.zeros(0, dtype=bool)))
        name, look = named.name, named.look
    at = f"at {change.share:.2f} of the rate of others"
    span = f"from round {change.begin} to {change.end} of {rounds}"
    when = f"{at} {span}: {change.low} of {change.of} measurements"
    text = f"{name} was slow, {at}, for some of the run only"
    if change.usual is not None:
        at = f"at {change.share:.2f} of its own rate"
        text = f"{name} comes and goes: {at} in {change.low} of {change.of} measurements"
        when = f"{span}; others vary so much in at most {100 * change.usual:.0f} % of their measurements"
    details = (when, f"only {side}", look) if side else (when, look)
    return Finding(
        kind="past",
        severity=Severity.SUSPECT,
        text=text,
        part=name,
        hosts=tuple(hosts[rank] for rank in ranks),
        size=1 - change.share,
        advice=look,
        details=details,
        data={"ranks": list(ranks), "side": change.side, "slow_in_scan": change.low},
    )


def _kinds(mapped: MappedEvidence, hosts: tuple[str, ...]) -> list[Finding]:
    """Return the finding that the nodes are of several kinds; none if they are alike."""
    evidence = mapped.evidence
    if len(evidence.kinds) < 2:
        return []
    fastest, *slower = evidence.kinds
    reached = [f"{evidence.reference_MBps * each.share / 1000:.3g}" for each in evidence.kinds]
    units = "nodes" if evidence.rails == 1 else "GPUs"
    text = f"{len(fastest.ranks)} of {len(hosts)} {units} reach {reached[0]} GB/s, " + ", ".join(
        f"{len(each.ranks)} ({names_text([name_of(hosts, rank) for rank in each.ranks], MOST_OF_KIND)}) {rate}"
        for each, rate in zip(slower, reached[1:], strict=True)
    )
    details = ["alike among themselves: not faults unless all nodes should be equal; each is held to its own kind"]
    for each in slower:
        leaves = np.unique(mapped.leaf[list(each.ranks)])
        if leaves.min() >= 0 and np.isin(mapped.leaf, leaves).sum() == len(each.ranks):
            names = names_text([mapped.known.switches[int(leaf)] for leaf in leaves], words.MOST_NAMES)
            details.append(f"the {len(each.ranks)} are all nodes of {names}: look at it, too")
    loss = 1 - slower[-1].share
    return [replace(note("node classes", text), size=loss, details=tuple(details))]


def _group(hosts: tuple[str, ...], pairs: list[Finding]) -> Finding:
    """Fold slow pairs that no part explains into one finding."""
    senders = sorted({each.ranks[0] for each in pairs})
    receivers = sorted({each.ranks[1] for each in pairs})
    share = float(np.median([each.share for each in pairs]))
    ends, to = (names_text([name_of(hosts, rank) for rank in each], words.MOST_NAMES) for each in (senders, receivers))
    ends = f"among {ends}" if senders == receivers else f"from {ends} to {to}"
    look = "with the topology and the forwarding tables of today (--topology) the cable or switch is named"
    part = f"{len(pairs)} paths {ends}"
    text = f"{part}, run at {share:.2f} of the rate of others, measured alone"
    least: dict[tuple[int, ...], float] = {}
    for each in sorted(pairs, key=lambda pair: pair.share):
        least.setdefault(tuple(sorted(each.ranks)), each.share)
    slow = [f"{name_of(hosts, one)} and {name_of(hosts, other)} ({each:.2f})" for (one, other), each in least.items()]
    details = (
        f"between {names_text(slow, MOST_LISTED)}",
        "none of their nodes is slow with every partner; a cable or a switch may be common to them",
        look,
    )
    return Finding(
        kind="group",
        severity=Severity.FAULT,
        text=text,
        part=part,
        size=1 - share,
        advice=look,
        details=details,
        data={"slow": len(pairs)},
    )


def _unexplained(mapped: MappedEvidence, output: RotateOutput, blamed: Numbers, unsure: Numbers) -> list[Finding]:
    """Return the findings about suspect pairs that no fault explains.

    :param blamed: positions of the pairs of what is slow; :param unsure: of those that may be slow by chance.
    """
    evidence = mapped.evidence
    part = output.phases["alone"]
    again = np.unique(part.sender.astype(np.int64) * evidence.ranks + part.receiver)
    suspects = np.searchsorted(evidence.sender * evidence.ranks + evidence.receiver, again)
    left = np.setdiff1d(suspects, blamed)
    rates = evidence.alone[left]
    # Pairs of a slower kind of nodes are as slow alone.
    healthy = left[(rates >= np.log1p(-LEAST_FAULT)) & (evidence.of_pair[left] == 0)]
    findings = []
    if len(healthy):
        least = float(np.exp(evidence.alone[healthy].min()))
        text = (
            f"{len(healthy)} of {len(suspects)} suspect pairs reach at least {least:.2f} of the rate of others when "
            "measured alone, and are slower only while others run"
        )
        findings.append(note("sharing", text, pairs=len(healthy)))
    if late := slow_since_scan(mapped, unsure):
        findings.append(_finding(mapped, output.hosts, late))
        unsure = np.setdiff1d(unsure, late.slow)
    noisy = np.intersect1d(left, unsure)
    if len(noisy):
        findings.append(_noise(mapped, len(noisy), float(np.exp(np.median(evidence.alone[noisy])))))
    return findings


def _noise(mapped: MappedEvidence, pairs: int, share: float | None = None) -> Finding:
    """Return the finding about pairs that nothing is certain of; :param share: their rate alone, as a share."""
    noise = mapped.evidence.noise
    others = f", healthy pairs by up to {100 * noise.most:.0f} % from each other" if noise.most > 0 else ""
    at = f" at {share:.2f} of the rate of others" if share is not None else ""
    text = f"nothing is certain about {count_text(pairs, 'pair')}{at}: "
    text += f"a pair differs by {100 * noise.repeat:.0f} % from one measurement to the next{others}"
    # More repeats reduce the noise of a pair, but not the spread of healthy pairs.
    more = "" if noise.most > noise.repeat else ", or raise --confirm-repeats"
    look = f"measure on idle nodes, one process on each{more}"
    return Finding(
        kind="noise", severity=Severity.SUSPECT, text=text, advice=look, details=(look,), data={"pairs": pairs}
    )


def below_line_rate(mapped: MappedEvidence, link_MBps: float | None) -> list[Finding]:
    """Return the finding that even healthy pairs are far below the rate of a link, if that is known."""
    share = mapped.evidence.reference_MBps / link_MBps if link_MBps else 1.0
    if share >= LEAST_OF_LINK:
        return []
    reached, link = (f"{rate / 1000:.3g}" for rate in (mapped.evidence.reference_MBps, link_MBps or 0.0))
    text = f"all nodes are slow: pairs alone reach {reached} GB/s, {share:.2f} of the {link} GB/s of a link"
    look = "look at what all have in common: driver, speed of the links, settings; one process may not fill a link"
    return [Finding(kind="line rate", severity=Severity.FAULT, text=text, size=1 - share, advice=look, details=(look,))]


def half_slow(mapped: MappedEvidence, hosts: Sequence[str]) -> list[Finding]:
    """Return the observation that most pairs have about half of the fastest ones' rate, and nothing says why.

    Nodes that share cables look like that, and so does a machine half of which is slow, if it is too small for
    :mod:`fabric_checks.diagnosis.cross_section.kinds` or the scan has too few pairs of two fast nodes.
    """
    evidence = mapped.evidence
    best = np.fmax(np.fmax(evidence.alone, evidence.bound), evidence.scan)
    fastest = float(np.sort(best)[-FEWEST_FAST:].min()) if len(best) > FEWEST_FAST else 0.0
    is_fast = best > fastest + float(np.log(LEAST_OF_LINK)) / 2
    share = float(np.exp(np.median(best) - fastest))
    if share >= LEAST_OF_LINK or is_fast.mean() >= 0.5:
        return []
    fast = np.union1d(evidence.sender[is_fast], evidence.receiver[is_fast])
    slow = [host for rank, host in enumerate(hosts) if rank not in fast]
    text = f"most pairs reach {share:.2f} of the fastest ones: half of the nodes are slow, or they share cables"
    others = [f"no pair of {names_text(slow, MOST_OF_KIND)} is fast"] if slow else []
    look = "give the rate of a link (extras['link_MBps'], --link-MBps), which tells"
    pairs = int((~is_fast).sum())
    return [replace(note("sharing", text, pairs=pairs), advice=look, details=(*others, look))]
