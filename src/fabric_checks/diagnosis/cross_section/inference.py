# SPDX-License-Identifier: BSD-3-Clause
"""Infer the fewest parts of a fabric that explain which pairs are slow and which are not.

:mod:`fabric_checks.diagnosis.cross_section.search` chooses the parts that explain best what was measured;
    here each is
held against chance. Parts that explain the same as well are named with the one that was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from fabric_checks.diagnosis.cross_section import noise as spreads
from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import OF_MEDIAN, OF_NODE, Array, levels_of_nodes
from fabric_checks.diagnosis.cross_section.parts import (
    OF_NODES,
    MappedEvidence,
    Mask,
    Part,
    candidates,
    of_ranks,
)
from fabric_checks.diagnosis.cross_section.search import Choice, Search
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.cross_section.slowest import by_chance, low_each_time


@dataclass(frozen=True)
class Culprit:
    """A slow part.

    :param part: the part; :param others: parts that explain the same as well.
    :param share: the rate of its pairs alone, as a share of that of healthy ones.
    :param slow: positions of its pairs that were slow alone; :param slow_in_scan: of those that were below
        their expectation in the scan.
    :param since: the round of the run from which on it is slow, 0 if always.
    :param sure: whether the loss exceeds chance and the spread of healthy parts.
    """

    part: Part
    others: tuple[Part, ...]
    share: float
    slow: Numbers
    slow_in_scan: Numbers
    since: float
    sure: bool


def least_loss(
    mapped: MappedEvidence, errors: float, kind: str, nodes: int = 1, *, slowest: float = 0.0
) -> float:
    """Return the loss, as a logarithm, from which on a part is slow for certain.

    :param errors: the standard error of its rate; :param kind: of the part.
    :param nodes: the number of senders, or of receivers, that show it: their own spread averages out.
    :param slowest: for a node, the loss of the slowest healthy node by chance:
        :func:`fabric_checks.diagnosis.cross_section.slowest.by_chance`.
    """
    noise = mapped.evidence.noise
    if kind not in OF_NODES:
        slowest = SETTINGS.spread_errors * max(
            noise.most * (1.0 if kind == "pair" else OF_NODE), noise.nodes / np.sqrt(nodes)
        )
    sure = SETTINGS.confirmed_errors_of_pair if kind == "pair" else SETTINGS.confirmed_errors
    beyond = np.hypot(sure * np.hypot(errors, noise.reference), slowest)
    return max(-float(np.log1p(-SETTINGS.least_fault)), float(beyond))


def explain(mapped: MappedEvidence) -> tuple[tuple[Culprit, ...], Numbers]:
    """Return the slow parts, those that explain most first, and the positions of pairs that may be slow by
    chance."""
    evidence = mapped.evidence
    if evidence.at_once:
        nodes, free = while_others_ran(mapped), _unshared(mapped)
        others = (
            [each for each in explain(free)[0] if each.part.kind not in OF_NODES] if mapped.corrected else []
        )
        return (*nodes, *others), np.empty(0, dtype=np.int64)
    measured = np.flatnonzero(~np.isnan(evidence.alone))
    errors = evidence.error(measured)
    looks_slow = np.union1d(_slow_alone(evidence, measured, errors), _low_in_scan(mapped))
    if not len(looks_slow):
        return (), looks_slow
    mapped, chosen = _searched(mapped, looks_slow)
    limit = np.array([least_loss(mapped, float(error), "pair") for error in errors])
    certain = measured[evidence.alone[measured] < -limit]
    culprits = _judged(mapped, chosen, certain)
    some = measured[evidence.alone[measured] < np.log1p(-SETTINGS.least_fault)]
    explained = np.concatenate([some[:0], *(each.part.pairs for each in culprits if each.sure)])
    return culprits, np.setdiff1d(some, explained)


def _slow_alone(evidence: Evidence, measured: Numbers, errors: Array) -> Numbers:
    """Return the pairs that look slow alone, the slowest; :param errors: of each measured one."""
    beyond = np.maximum(3 * np.hypot(errors, evidence.noise.reference), 0.025)
    slow = measured[evidence.alone[measured] < -beyond]
    return np.asarray(slow[np.argsort(evidence.alone[slow], kind="stable")][: SETTINGS.most_slow_pairs])


def _searched(mapped: MappedEvidence, looks_slow: Numbers) -> tuple[MappedEvidence, list[Choice]]:
    """Return the parts that explain what looks slow, and the evidence with the spread of those that are
    left."""
    parts = candidates(mapped, looks_slow)
    chosen = Search(mapped, parts).best()
    if not chosen:
        return mapped, chosen
    # Controls may pass through a slow part: the spread of healthy pairs is estimated without them.
    evidence = mapped.evidence
    blamed = np.concatenate([each.part.pairs for each in chosen])
    pair, samples = evidence.controls
    left = samples[~np.isin(pair, blamed)]
    mapped = replace(mapped, evidence=replace(evidence, noise=spreads.with_spread(left, evidence.noise)))
    # Slow cables show once the pairs of slow nodes are left out.
    of_nodes = [each.part.pairs for each in chosen if each.part.kind in OF_NODES]
    if of_nodes:
        rest = np.setdiff1d(looks_slow, np.concatenate(of_nodes))
        there = {(part.kind, part.key) for part in parts}
        parts += [part for part in candidates(mapped, rest) if (part.kind, part.key) not in there]
    return mapped, Search(mapped, parts).best()


def _unshared(mapped: MappedEvidence) -> MappedEvidence:
    """Return the evidence of pairs that shared nothing in their round, by static routes: these are as good as
    alone."""
    evidence = mapped.evidence
    free = (mapped.expected > -SETTINGS.least_spread) & (mapped.sharing == 0).all(axis=1)
    rates = (evidence.alone, evidence.middle, evidence.scan, mapped.rest)
    alone, middle, scan, rest = (np.where(free, rate, np.nan) for rate in rates)
    repeats = np.where(free, evidence.repeats, 0)
    evidence = replace(evidence, alone=alone, middle=middle, scan=scan, repeats=repeats, at_once=False)
    return replace(mapped, evidence=evidence, rest=rest)


def while_others_ran(mapped: MappedEvidence) -> tuple[Culprit, ...]:
    """Return the nodes that are slow with all partners, where all pairs were measured while others ran.

    Sharing makes pairs slower, never faster, so a node is as fast as its best pairs. It is slow if these are
    below those of the other nodes of its kind by more than they differ, every time. If many are, it is what
    they share.
    """
    evidence, series = mapped.evidence, mapped.evidence.series
    turn = np.arange(len(series.pair)) - series.first[series.pair]
    found: dict[int, list[Culprit]] = {}
    for kind, ends in _sides(evidence).items():
        best = evidence.alone + evidence.of_pair
        loss, bar, level = losses_of_nodes(evidence, evidence.alone, ends)
        # Some faster pairs show that the others of a node share cables.
        ranks = np.concatenate(ends)
        above = np.tile(best, len(ends)) > (level + loss / 2)[ranks]
        faster, count = (
            np.bincount(ranks, weights, evidence.ranks) for weights in (above.astype(float), None)
        )
        shares = faster > np.floor(SETTINGS.most_contradictions * count)
        slow = np.flatnonzero((loss > bar) & ~shares)
        every = np.ones(evidence.ranks, dtype=bool)
        for one in range(1, int(turn.max()) + 1):
            pair, rate = series.pair[turn == one], series.rate[turn == one]
            of_turn = np.full(len(best), np.nan)
            of_turn[pair] = rate
            every &= losses_of_nodes(evidence, of_turn, ends)[0] >= bar / 2
        few = len(np.unique(evidence.host[slow])) <= max(SETTINGS.most_slow_at_once, evidence.nodes // 16)
        for rank in slow.tolist():
            part = of_ranks(kind, (rank,), ends)
            # With partners of a slower kind a node is as slow as these.
            own = part.pairs[evidence.of_pair[part.pairs] >= evidence.of_kind[rank]]
            below = own[evidence.alone[own] < -loss[rank] / 2]
            sure = few and bool(every[rank]) and len(below) >= max(SETTINGS.fewest_partners, len(own) / 3)
            culprit = Culprit(part, (), float(np.exp(-loss[rank])), below, below[:0], 0.0, sure)
            found.setdefault(rank, []).append(culprit)
    both = [evidence.sender, evidence.receiver]
    whole = [_joined(each, of_ranks("node", (rank,), both)) for rank, each in found.items()]
    for host in np.unique(evidence.host) if evidence.nodes < evidence.ranks else ():
        own_ranks = np.flatnonzero(evidence.host == host)
        devices = [each for each in whole if each.part.key[0] in own_ranks]
        if len(devices) == len(own_ranks) > 1:
            host_part = of_ranks("host", tuple(own_ranks.tolist()), both)
            whole = [each for each in whole if each.part.key[0] not in own_ranks] + [
                _joined(devices, host_part)
            ]
    return tuple(sorted(whole, key=lambda each: each.share))


def losses_of_nodes(evidence: Evidence, rate: Array, ends: Sequence[Numbers]) -> tuple[Array, Array, Array]:
    """Return by rank the loss of its best pairs against those of its kind, what exceeds chance, and their
    rate.

    All are logarithms. The slowest nodes are compared with those that remain without them, the fastest of
    them first: if it is an outlier, so are the slower ones (Rosner, Percentage points for a generalized ESD
    many-outlier procedure, Technometrics 25, 1983). Kinds that were not separated widen the spread of those
    that remain. Pairs with a node of a slower kind do not show how fast a node is.

    :param rate: of all pairs, relative to that of their kinds; NaN where not measured.
    :param ends: their senders, receivers, or both.
    """
    of_pair = evidence.of_pair
    shown = [np.where(of_pair < evidence.of_kind[side], np.nan, rate + of_pair) for side in ends]
    level = levels_of_nodes(np.concatenate(shown), np.concatenate(ends), evidence.ranks)[0]
    off, error = np.full(evidence.ranks, np.nan), np.ones(evidence.ranks)
    for kind in evidence.kinds:
        ranks = np.array(kind.ranks)
        off[ranks] = level[ranks] - (
            np.nanmedian(level[ranks]) if (~np.isnan(level[ranks])).any() else np.nan
        )
        error[ranks] = np.sqrt(1 + OF_MEDIAN**2 / len(ranks))
    order = np.argsort(-off, kind="stable")[: np.count_nonzero(~np.isnan(off))]
    most = max(SETTINGS.most_slow_at_once, evidence.nodes // 16) * evidence.ranks // evidence.nodes
    bar = np.full(evidence.ranks, np.inf)
    for count in range(max(len(order) - most, SETTINGS.fewest_alike + len(evidence.kinds) - 1), len(order)):
        spread = max(float(off[order[:count]].std(ddof=len(evidence.kinds))), SETTINGS.least_spread / 2)
        # The error of a further node of the same population, by the t distribution.
        errors = float(stdtrit(count - len(evidence.kinds), 1 - SETTINGS.chance_of_slow_at_once / len(order)))
        bar = np.maximum(-float(np.log1p(-SETTINGS.least_fault)), errors * spread * error)
        if off[order[count]] < -bar[order[count]]:
            break
    return np.nan_to_num(-off), bar, level


def least_of_nodes(evidence: Evidence) -> float | None:
    """Return the smallest loss of a node, as a share, that :func:`while_others_ran` would name; None if none.

    None, too, if a node has no pairs of its own kind: it would not be named.
    """
    smallest = 0.0
    for ends in _sides(evidence).values():
        _, bar, level = losses_of_nodes(evidence, evidence.alone, ends)
        smallest = max(
            smallest, float(bar.max()), np.inf if np.isnan(level[np.concatenate(ends)]).any() else 0.0
        )
    return 1 - float(np.exp(-smallest)) if np.isfinite(smallest) else None


def _sides(evidence: Evidence) -> dict[str, Sequence[Numbers]]:
    """Return the ends of the pairs for each side of a node that can be distinguished from the other side."""
    if evidence.both_ways:
        return {"node": (evidence.sender, evidence.receiver)}
    return {"sender": (evidence.sender,), "receiver": (evidence.receiver,)}


def _joined(parts: Sequence[Culprit], whole: Part) -> Culprit:
    """Return several slow parts as one: both sides of a node, or all devices of a host."""
    if len(parts) == 1:
        return parts[0]
    slow = np.unique(np.concatenate([each.slow for each in parts]))
    share = float(np.exp(np.mean(np.log([each.share for each in parts]))))
    return replace(parts[0], part=whole, slow=slow, share=share, sure=all(each.sure for each in parts))


def _judged(mapped: MappedEvidence, chosen: Sequence[Choice], certain: Numbers) -> tuple[Culprit, ...]:
    """Return the chosen parts as culprits; a node is sure only if no healthy node is as slow by chance.

    :param certain: positions of pairs that are slow alone for certain: the spread of nodes does not explain
        them.
    """
    pairs = ((each, _culprit(mapped, each, chosen)) for each in chosen)
    found = [(each, culprit) for each, culprit in pairs if culprit is not None]
    sure = _sure_nodes(mapped, chosen, found, certain)
    return tuple(
        replace(each, sure=False) if each.part.kind in OF_NODES and id(each) not in sure else each
        for _, each in found
    )


def _sure_nodes(
    mapped: MappedEvidence,
    chosen: Sequence[Choice],
    found: Sequence[tuple[Choice, Culprit]],
    certain: Numbers,
) -> set[int]:
    """Return which nodes are slower than the slowest of healthy nodes by chance.

    A node is compared with those that remain without it and all slower ones, and if it is sure, so are these:
    two slow nodes would mask each other, and without all that look slow the others are always more alike; see
    :func:`losses_of_nodes`.
    """
    out = [certain, *(each.part.pairs for _, each in found if each.sure and each.part.kind not in OF_NODES)]
    nodes = sorted((each for each in found if each[1].part.kind in OF_NODES), key=lambda each: each[1].share)
    sure = 0
    for number, (choice, culprit) in enumerate(nodes):
        out.append(culprit.part.pairs)
        if culprit.sure:
            again = _culprit(mapped, choice, chosen, by_chance(mapped, np.concatenate(out)))
            sure = number + 1 if again is not None and again.sure else sure
    return {id(culprit) for _, culprit in nodes[:sure] if not _is_of_kind(mapped, culprit)}


def _is_of_kind(mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether a slow node is as fast as nodes of a slower kind than its own: it may be one of
    these."""
    evidence = mapped.evidence
    own = float(evidence.of_kind[culprit.part.key[0]])
    kinds = np.log([kind.share for kind in evidence.kinds])
    apart = np.abs(own + np.log(culprit.share) - kinds[kinds < own - SETTINGS.least_spread])
    return bool((apart < 2 * SETTINGS.least_spread).any())


def slow_since_scan(mapped: MappedEvidence, slow: Numbers) -> Culprit | None:
    """Return the node that was fast in the scan, and is slow in nearly all its measurements alone; None
    without one.

    Traffic of others that began meanwhile looks the same, so that it is not sure.

    :param slow: positions of pairs that are slow alone and not explained.
    """
    evidence = mapped.evidence
    if not len(slow):
        return None
    counts = np.bincount(np.concatenate((evidence.sender[slow], evidence.receiver[slow])))
    rank = int(counts.argmax())
    if (counts == counts[rank]).sum() > 1:
        return None  # the two ends of pairs are as likely
    sides = {"sender": evidence.sender, "receiver": evidence.receiver}
    sides = {kind: side for kind, side in sides.items() if (side[slow] == rank).any()}
    part = of_ranks("node" if len(sides) > 1 else next(iter(sides)), (rank,), list(sides.values()))
    own, alone = np.intersect1d(slow, part.pairs), ~np.isnan(evidence.alone[part.pairs])
    if len(own) < max(SETTINGS.fewest_pairs, (1 - SETTINGS.most_slow_before) * alone.sum()):
        return None
    level = float(np.median(evidence.alone[own]))
    if not (evidence.scan[part.pairs] > level / 2).any():
        return None
    return Culprit(part, (), float(np.exp(level)), own, own[:0], evidence.rounds[0], sure=False)


def _low_in_scan(mapped: MappedEvidence) -> Numbers:
    """Return pairs that were below their expectation in the scan: single ones, and those of parts that are
    low."""
    rest = mapped.rest
    if not mapped.corrected:
        return np.empty(0, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(rest))
    low = known[
        rest[known] < -max(SETTINGS.spread_errors * mapped.of_rest, -float(np.log1p(-SETTINGS.least_fault)))
    ]
    found = [low[np.argsort(rest[low], kind="stable")][: SETTINGS.most_low_pairs]]
    bounded = np.clip(rest / mapped.of_rest, -4, 4)
    for part_of_pair in (mapped.evidence.sender, mapped.evidence.receiver, *mapped.arcs.T):
        pair = known[part_of_pair[known] >= 0]
        part = part_of_pair[pair]
        if not len(part):
            continue
        count, total = np.bincount(part), np.bincount(part, bounded[pair])
        score = np.where(count >= SETTINGS.fewest_pairs, total / np.sqrt(np.maximum(count, 1)), 0.0)
        worst = np.argsort(score, kind="stable")[: SETTINGS.most_worst_parts]
        for number in worst[score[worst] < -SETTINGS.spread_errors]:
            own = pair[part == number]
            found.append(own[np.argsort(rest[own], kind="stable")][:8])
    return np.unique(np.concatenate(found))


class _Shown:
    """What was measured of the pairs of a chosen part.

    :param pairs: their positions; :param shown: the level of the part that each shows alone; :param own: the
        level that it should have; :param by_others: whether another part makes it slower.
    :param slow: positions of the pairs that are slow alone; :param low: of those that were low in the scan.
    """

    def __init__(self, mapped: MappedEvidence, choice: Choice, chosen: Sequence[Choice]) -> None:
        evidence, part = mapped.evidence, choice.part
        self.mapped, self.choice, self.part, self.pairs = mapped, choice, part, part.pairs
        self.search = search = Search(mapped, ())
        self.middle = choice.level / 2
        self.shown, self.own = search.own(part), search.levels(part, choice.level)
        others = [each for each in chosen if each is not choice]
        self.by_others = search.predicted(others)[0, self.pairs] < self.own
        self.slow = self.pairs[(self.shown < self.middle) & ~self.by_others]
        if (evidence.repeats > 0).all():
            # With a partner of a slower kind a node may lose the difference before the pair is slow.
            is_slow = (self.own < -search.floor) & (evidence.alone[self.pairs] < self.own / 2)
            self.slow = self.pairs[is_slow & ~self.by_others]
        self.scan = search.scan[self.pairs] + part.sharing - search.slack(part)
        least = max(2 * search.of_scan, -self.middle)
        self.is_low = (mapped.rest[self.pairs] < -least) & (self.scan < self.middle)
        self.is_low &= (evidence.when[self.pairs] >= choice.since) & ~self.by_others
        self.low = self.pairs[self.is_low]

    @property
    def level(self) -> float:
        """The level of the part by its slow pairs."""
        return float(np.median(self.shown[np.isin(self.pairs, self.slow)]))

    @property
    def partners(self) -> int:
        """The number of nodes at the other ends of slow pairs."""
        evidence = self.mapped.evidence
        return len(
            np.unique((evidence.receiver if self.part.kind == "sender" else evidence.sender)[self.slow])
        )


def _culprit(
    mapped: MappedEvidence, choice: Choice, chosen: Sequence[Choice], slowest: float = 0.0
) -> Culprit | None:
    """Return a chosen part as a culprit; None if its pairs do not confirm it.

    :param chosen: all parts: a pair that another one makes slower is no evidence; :param slowest: see
        :func:`least_loss`.
    """
    found = _Shown(mapped, choice, chosen)
    needed = 1 if choice.part.kind == "pair" else SETTINGS.fewest_pairs
    if len(found.slow) + len(found.low) < needed:
        return None
    if len(found.slow) < needed:
        # Traffic of other jobs may last as long as a scan. It is usually over when pairs are measured alone.
        alone = mapped.evidence.alone[found.slow]
        level, sure = float(np.median(alone if len(alone) else found.scan[found.is_low])), False
    else:
        level, sure = found.level, not (_is_small(found, slowest) or any(doubt(found) for doubt in _DOUBTS))
    return Culprit(
        choice.part, choice.others, float(np.exp(level)), found.slow, found.low, choice.since, sure
    )


def _is_small(found: _Shown, slowest: float) -> bool:
    """Return whether the loss is within chance and the spread of healthy parts."""
    evidence, slow, kind = found.mapped.evidence, found.slow, found.part.kind
    # Of a cable or a switch that carries pairs of a slow kind only, what these lose beyond their kind.
    beyond = (
        found.level if kind in OF_NODES else max(found.level, float(np.quantile(evidence.alone[slow], 0.25)))
    )
    count = len(slow) / (2 if evidence.both_ways else 1)
    errors = float(np.median(evidence.error(slow))) / np.sqrt(count) * (OF_MEDIAN if len(slow) > 2 else 1.0)
    ends = min(len(np.unique(side[slow])) for side in (evidence.sender, evidence.receiver))
    return -beyond <= least_loss(
        found.mapped, errors, kind if len(slow) > 1 else "pair", ends, slowest=slowest
    )


def _is_partial(found: _Shown) -> bool:
    """Return whether too few of the pairs that should be slow are."""
    alone = found.mapped.evidence.alone[found.pairs]
    expected = (found.own < -found.search.floor) & ~np.isnan(alone) & ~found.by_others
    return len(found.slow) < SETTINGS.least_slow * int(expected.sum())


def _has_few_slow_pairs(found: _Shown) -> bool:
    """Return whether a node has so few slow pairs that they may have it in common by chance."""
    below = (found.shown < found.middle) | (found.search.bound[found.pairs] < found.middle)
    fewest = min(SETTINGS.fewest_partners, found.mapped.evidence.nodes - 2)
    return found.part.kind in OF_NODES and int(below.sum()) < fewest


def _was_exceeded(found: _Shown) -> bool:
    """Return whether pairs of a node were faster, while others ran, than what it gives."""
    if found.part.kind not in OF_NODES or found.choice.since > 0:
        return False
    levels = found.search.levels(found.part, found.level)
    return float(np.nanmedian(found.search.bound[found.pairs] - levels / 2)) > 0


def _may_be_its_path(found: _Shown) -> bool:
    """Return whether a node was not measured with its neighbours, so that its path may be slow instead."""
    since, kind = found.choice.since, found.part.kind
    # What became slow to so many partners is no cable: tables send what a node sends by as many as there are.
    became_slow = since > 0 and kind != "receiver" and found.partners >= SETTINGS.fewest_partners
    return not became_slow and not _has_neighbours(found.mapped, found.part, since)


def _was_fast_in_scan(found: _Shown) -> bool:
    """Return whether a pair was slow only while it was measured again.

    Traffic of other jobs may last as long as the confirmation, which is short where few pairs are suspect: a
    slow pair was slow in the scan, too, or, if it is missing there, so was its other direction.
    """
    mapped, evidence = found.mapped, found.mapped.evidence
    if found.part.kind != "pair":
        return False
    scanned = evidence.scan[found.slow[0]]
    if not np.isnan(scanned):
        return bool(scanned >= found.middle)
    # Where sharing alone explains a low rate of the scan, that rate says nothing of the pair itself.
    own_scan = np.where(mapped.expected > found.middle, mapped.rest, np.nan)
    is_alone = ~np.isnan(evidence.alone)
    best = np.where(is_alone, evidence.alone, np.fmax(own_scan, evidence.bound))
    is_low = (evidence.scan < found.middle) & (best < found.middle)
    return not is_low[_reverse(found)].any()


def _is_low_by_chance(found: _Shown) -> bool:
    """Return whether any of the healthy pairs would be as low in all of its measurements alone."""
    evidence = found.mapped.evidence
    if found.part.kind != "pair":
        return False
    back = np.flatnonzero(_reverse(found) & ~np.isnan(evidence.alone) & (evidence.alone < found.middle))
    best = float(evidence.alone[np.union1d(found.slow, back)].max())
    return low_each_time(evidence, best, with_reverse=len(back) > 0) >= SETTINGS.chance_of_slow_at_once


def _reverse(found: _Shown) -> Mask:
    """Return the other direction of a pair, as a mask; nothing where a rate is of both."""
    evidence, (sender, receiver) = found.mapped.evidence, found.part.key
    is_reverse = (evidence.sender == receiver) & (evidence.receiver == sender)
    return np.asarray(is_reverse & (not evidence.both_ways))


#: The reasons not to be sure of a part, beside that its loss is small.
_DOUBTS = (
    _is_partial,
    _has_few_slow_pairs,
    _was_exceeded,
    _may_be_its_path,
    _was_fast_in_scan,
    _is_low_by_chance,
)


def _has_neighbours(mapped: MappedEvidence, part: Part, since: float = 0.0) -> bool:
    """Return whether a node was measured with nodes at its switch.

    Where its switch is unknown the next ranks stand for these: if only pairs with them are fast, the node is
    healthy. Without such a pair a node cannot be distinguished from its path to the others.
    """
    evidence = mapped.evidence
    if part.kind not in OF_NODES or mapped.known.has_routes:
        return True  # with known routes its path is among the parts that are compared
    pairs = part.pairs
    if since:
        pairs = pairs[(evidence.when[pairs] >= since) | ~np.isnan(evidence.alone[pairs])]
    if mapped.leaf[part.key[0]] >= 0:
        return bool(mapped.within[pairs].any() or not mapped.within.any())
    near = np.abs(evidence.sender - evidence.receiver) <= SETTINGS.neighbours * evidence.rails
    if len(np.unique(evidence.sender[near])) < evidence.ranks / 2:
        return True  # the pattern has no such pairs; the finding has a note of it
    return int(near[pairs].sum()) >= 2
