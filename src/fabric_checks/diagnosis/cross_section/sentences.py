# SPDX-License-Identifier: BSD-3-Clause
"""Put what was decided about a run into findings: the sentence, the details below it, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fabric_checks.core.finding import Severity
from fabric_checks.core.text import count_text, names_text
from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.inference import Culprit
from fabric_checks.diagnosis.cross_section.intermittent import Change, Paths
from fabric_checks.diagnosis.cross_section.parts import OF_NODES, MappedEvidence, Part
from fabric_checks.diagnosis.finding import RankFinding, advised, note

#: The kinds of findings about parts whose kinds have other names.
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
#: The most pairs that are listed in one finding, and the most nodes.
MOST_LISTED, MOST_NODES = 8, 3
_TYPICAL = "of the typical rate"
_ONCE = "measured once: chance, or traffic of others, could explain this"
_LATE = "traffic of others that began meanwhile looks the same: measure again"
_CHANCE = "chance, or the differences between healthy ones, could explain this"
_NO_NEIGHBOUR = (
    "no pair with its neighbours was measured: its path to all other nodes may "
    "be the cause instead"
)
_LOSS = "their nodes do not with most others; errors of a cable that these paths share do that"
_ONE_WAY = "the other direction was not measured often enough to tell"


def slow(mapped: MappedEvidence, culprit: Culprit) -> RankFinding:
    """Return the finding of a slow part: a fault if it is sure, else a suspect."""
    part, evidence = culprit.part, mapped.evidence
    named = words.of_part(mapped, part)
    names: dict[str, set[str]] = {named.name: {named.side}}
    for each in culprit.others:
        other = words.of_part(mapped, each)
        names.setdefault(other.name, set()).add(other.side)
    # A cable that is slow one way may be slow both ways if the other direction was not measured.
    where = _ONE_WAY if len(names.pop(named.name)) > 1 else ""
    others = list(names)
    has_class = part.kind in OF_NODES and len(evidence.kinds) > 1
    typical = "of the rate of its class" if has_class else _TYPICAL
    name = words.any_of(named.name, others)
    text = f"{name} {named.verb_and_side} at {_percent(culprit.share)} {typical}"
    return advised(
        named.look,
        words.would_explain(others),
        _NO_NEIGHBOUR if _may_be_its_path(mapped, part) else where,
        _doubt(mapped, culprit),
        kind=_KINDS.get(part.kind, part.kind),
        severity=Severity.FAULT if culprit.sure else Severity.SUSPECT,
        text=f"{text}{_since(mapped, culprit)} ({_measured(mapped, culprit)})",
        part=named.name,
        hosts=tuple(mapped.hosts[rank] for rank in named.ranks),
        size=1 - culprit.share,
        data={
            "ranks": list(named.ranks),
            "side": named.side,
            "slow": len(culprit.slow),
            "others": others,
            "since": culprit.since / evidence.rounds[1],
        },
    )


def _since(mapped: MappedEvidence, culprit: Culprit) -> str:
    scan = mapped.evidence.rounds[0]
    if culprit.since == scan:
        return " since late in the scan or after it"
    share, round_ = _percent(culprit.since / scan), int(culprit.since)
    return f" since about {share} of the scan (round {round_})" if culprit.since else ""


def _measured(mapped: MappedEvidence, culprit: Culprit) -> str:
    """Return how often, and how, a culprit was measured."""
    how = (
        "other pairs may have run at the same time"
        if mapped.evidence.at_once
        else "measured alone"
    )
    if culprit.part.kind == "pair":
        return how
    alone = int((~np.isnan(mapped.evidence.alone[culprit.part.pairs])).sum())
    directions = 1 + mapped.evidence.both_ways  # a value of both is there for each
    return f"{len(culprit.slow) // directions} of {count_text(alone // directions, 'pair')}, {how}"


def _may_be_its_path(mapped: MappedEvidence, part: Part) -> bool:
    """Return whether only the path of a node may be slow, because no pair with its neighbours was
    measured."""
    near = mapped.evidence.near
    if mapped.known.hosts:
        near = mapped.within | (not mapped.within.any())
    return part.kind in OF_NODES and not near[part.pairs].any()


def _doubt(mapped: MappedEvidence, culprit: Culprit) -> str:
    """Return what else could explain a suspect; empty for a fault."""
    if not culprit.sure and not mapped.evidence.is_repeated(culprit.slow):
        return _ONCE
    if culprit.since == mapped.evidence.rounds[0]:
        return _LATE
    return "" if culprit.sure else _CHANCE


def changed(mapped: MappedEvidence, change: Change) -> RankFinding:
    """Return what comes and goes as a suspicion, which traffic may do, too; what loses time in most tests as
    a fault."""
    named = words.of_changed(mapped, change.number)
    lows = f"{change.low} of {change.of} measurements"
    when = (
        f"from round {change.begin} to {change.end} of {mapped.evidence.rounds[1]}; others vary so much in at"
        f" most {_percent(change.usual)} of their measurements"
    )
    while_it = {"sending": "only while it sent", "receiving": "only while it received"}
    side = while_it.get(change.side, "")
    how = "loses time in most transfers" if change.lasts else "is intermittent"
    kind = "node" if named.ranks else "cable"
    return advised(
        named.look,
        when,
        side if named.ranks else "",
        kind=kind if change.lasts else "past",
        severity=Severity.FAULT if change.lasts else Severity.SUSPECT,
        text=f"{named.name} {how}: at {_percent(change.share)} of its own rate in {lows}",
        part=named.name,
        hosts=tuple(mapped.hosts[rank] for rank in named.ranks),
        size=1 - change.share,
        data={"ranks": list(named.ranks), "side": change.side, "slow": change.low},
    )


def paths_changed(mapped: MappedEvidence, paths: Paths) -> RankFinding:
    """Return pairs that lose time: a fault if they do in most tests."""
    evidence = mapped.evidence
    ends = np.column_stack((evidence.sender, evidence.receiver))[paths.pairs]
    common, ranks = words.common_end(mapped, ends)
    how = "lose time in most transfers" if paths.lasts else "are intermittent"
    listed = [
        f"{mapped.name(one)} to {mapped.name(other)}" for one, other in ends.tolist()
    ]
    look, first = words.to_name_it(mapped), f"{common}: " if common else ""
    return advised(
        look,
        names_text(listed, MOST_LISTED),
        _LOSS,
        kind="group" if paths.lasts else "past",
        severity=Severity.FAULT if paths.lasts else Severity.SUSPECT,
        text=f"{first}{len(ends)} paths {how}: at {_percent(paths.share)} of their own rate in {paths.low} of"
        f" {paths.of} measurements",
        part=f"paths {common}" if common else f"{len(ends)} paths",
        size=1 - paths.share,
        data={"slow": len(ends), "ranks": ranks},
    )


def node_classes(
    mapped: MappedEvidence,
) -> RankFinding:
    """Return the observation that nodes are of several classes, which blames nobody."""
    evidence, (fastest, *slower) = mapped.evidence, mapped.evidence.kinds
    units = (
        "GPUs or adapters"
        if evidence.rails > 1 or mapped.nodes != mapped.hosts
        else "nodes"
    )
    listed = [
        f"{len(fastest.ranks)} of {len(mapped.hosts)} {units} reach {_GBps(evidence.reference_MBps)}"
    ]
    details = [
        "alike among themselves: no fault unless all should be equal; each is compared with its own class"
    ]
    for each in slower:
        count, ranks = len(each.ranks), list(each.ranks)
        names = names_text([mapped.name(rank) for rank in ranks], MOST_NODES)
        listed.append(
            f"{count} ({names}) reach {_GBps(evidence.reference_MBps * each.share)}"
        )
        leaves = np.unique(mapped.leaf[ranks])
        if leaves.min() >= 0 and np.isin(mapped.leaf, leaves).sum() == count:
            names = names_text(
                [mapped.known.switches[leaf] for leaf in leaves], words.MOST_NAMES
            )
            details.append(f"the {count} are all nodes of {names}: look at it, too")
    text = f"{len(evidence.kinds)} node classes: {', '.join(listed)}"
    return replace(
        note("node classes", text), size=1 - slower[-1].share, details=tuple(details)
    )


def group(mapped: MappedEvidence, pairs: Sequence[RankFinding]) -> RankFinding:
    """Return the fault of many slow pairs that no part explains; what all of them have in common comes
    first."""
    ends = np.array([each.ranks for each in pairs])
    senders, receivers = (
        names_text([mapped.name(rank) for rank in np.unique(side)], words.MOST_NAMES)
        for side in ends.T
    )
    share = float(np.median([each.share for each in pairs]))
    among = (
        f"among {senders}" if senders == receivers else f"from {senders} to {receivers}"
    )
    part = f"{len(pairs)} paths {among}"
    common, ranks = words.common_end(mapped, ends)
    least: dict[tuple[int, ...], float] = {}
    for each in sorted(pairs, key=lambda pair: pair.share):
        least.setdefault(tuple(sorted(each.ranks)), each.share)
    listed = [
        f"{mapped.name(a)} and {mapped.name(b)} ({_percent(each)})"
        for (a, b), each in least.items()
    ]
    look = words.to_name_it(mapped)
    first = f"{common}: " if common else ""
    return advised(
        look,
        f"between {names_text(listed, MOST_LISTED)}",
        "none of their nodes is slow with every partner; a cable or a switch may be common to them",
        kind="group",
        text=f"{first}{part} run at {_percent(share)} {_TYPICAL} (measured alone)",
        part=f"paths {common}" if common else part,
        size=1 - share,
        data={"slow": len(pairs), "ranks": ranks},
    )


def of_rail(mapped: MappedEvidence, devices: Sequence[RankFinding]) -> RankFinding:
    """Return the fault of several devices of one rail."""
    ranks = [rank for each in devices for rank in each.ranks]
    share = float(np.median([each.share for each in devices]))
    part = f"rail {ranks[0] % mapped.evidence.rails} of {len(ranks)} nodes"
    look = "look at the switch of this rail that these nodes have in common, before their adapters"
    nodes = names_text([mapped.nodes[rank] for rank in sorted(ranks)], MOST_LISTED)
    return advised(
        look,
        nodes,
        kind="rail",
        text=f"{part} is at {_percent(share)} {_TYPICAL} (measured alone), and no other rail of theirs is",
        part=part,
        hosts=tuple(mapped.hosts[rank] for rank in ranks),
        size=1 - share,
        key=f"rail {part} {nodes}",
        data={"ranks": ranks, "slow": sum(each.data["slow"] for each in devices)},
    )


def by_traffic(parts: Sequence[RankFinding], pairs: int) -> RankFinding:
    """Return the suspicion that traffic of others makes parts slow, and pairs that these do not explain."""
    look = (
        "measure again while nothing else runs, and look at the width and speed of these links: what is slow"
        " then is at fault"
    )
    share = float(np.median([each.share for each in parts]))
    return advised(
        look,
        *(each.text for each in parts[:MOST_LISTED]),
        kind="traffic",
        severity=Severity.SUSPECT,
        text=f"{count_text(len(parts), 'part')} and {count_text(pairs, 'further pair')} at once are at about"
        " a half, a third or a quarter of their rate: traffic of others leaves that, and so do links at a"
        " part of their width",
        size=1 - share,
    )


def inconclusive(
    mapped: MappedEvidence, pairs: int, share: float | None = None
) -> RankFinding:
    """Return the finding of pairs that may be slow by chance; :param share: their rate alone, as a share."""
    noise = mapped.evidence.noise
    at = f" (at {_percent(share)} {_TYPICAL})" if share is not None else ""
    text = (
        f"{count_text(pairs, 'pair')}{at} inconclusive: repeats of one pair vary by "
        f"{_percent(noise.repeat)}"
    )
    text += f", healthy pairs by up to {_percent(noise.most)}" if noise.most > 0 else ""
    if share is not None and noise.nodes > 1 - share:
        text += f", nodes by up to {_percent(1 - float(np.exp(-noise.nodes)))}, as beside traffic of others"
    # More repeats reduce the noise of a pair, but not the spread of healthy pairs.
    more = "" if noise.most > noise.repeat else ", or raise --confirm-repeats"
    look = f"repeat on idle nodes, one process on each{more}"
    return _unsure(text, look)


def slow_alone_only(pairs: int, share: float) -> RankFinding:
    """Return the finding of pairs that are slow alone beyond chance, without a part that explains them."""
    text = (
        f"{count_text(pairs, 'pair')} (at {_percent(share)} {_TYPICAL}) inconclusive: slow alone"
        " beyond chance, but no part explains them, and traffic of others may"
    )
    return _unsure(text, "measure again: what is slow then is at fault")


def _unsure(text: str, look: str) -> RankFinding:
    return advised(
        look,
        kind="noise",
        severity=Severity.SUSPECT,
        text=text,
        key=f"noise {look}",
    )


def below_line_rate(reached_MBps: float, link_MBps: float) -> RankFinding:
    """Return the fault that even healthy pairs are far below the rate of a link."""
    share = reached_MBps / link_MBps
    rates = f"{reached_MBps / 1000:.3g} of {_GBps(link_MBps)} ({_percent(share)} of line rate)"
    look = (
        "look at what all have in common: driver, speed of the links, settings; one process may not fill a"
        " link"
    )
    return advised(
        look,
        kind="line rate",
        text=f"all nodes are slow: isolated pairs reach {rates}",
        size=1 - share,
    )


def half_slow(share: float, slow_hosts: Sequence[str]) -> RankFinding:
    """Return the observation that most pairs have about half of the fastest ones' rate."""
    text = (
        f"most pairs reach {_percent(share)} of the fastest ones: half of the nodes are slow, or they share"
        " cables"
    )
    others = (
        f"no pair of {names_text(slow_hosts, MOST_NODES)} is fast" if slow_hosts else ""
    )
    look = "give the rate of a link (extras['link_MBps'], --link-MBps), which tells"
    return advised(
        look,
        others,
        kind="sharing",
        severity=Severity.NOTE,
        text=text,
    )


def map_doubt(what: str) -> RankFinding:
    """Return the suspicion that the map of the fabric is out of date, so that nothing is named by it."""
    look = "write the topology, and the forwarding tables, anew"
    text = (
        f"the map does not fit what was measured: {what}; is it from before the last change of cables or"
        f" tables? Nothing is named by it: {look}"
    )
    return RankFinding(kind="map", severity=Severity.SUSPECT, text=text, advice=look)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _GBps(rate_MBps: float) -> str:
    return f"{rate_MBps / 1000:.3g} GB/s"
