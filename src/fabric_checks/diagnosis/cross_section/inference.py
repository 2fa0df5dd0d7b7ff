# SPDX-License-Identifier: BSD-3-Clause
"""Infer the fewest parts of a fabric that explain which pairs are slow and which are not.

:mod:`fabric_checks.diagnosis.cross_section.search` chooses the parts that explain best what was measured;
    here each is
held against chance. Parts that explain the same as well are named with the one that was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from fabric_checks.diagnosis.cross_section import noise as spreads
from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import (
    OF_MEDIAN,
    OF_NODE,
    Array,
    levels_of_nodes,
)
from fabric_checks.diagnosis.cross_section.parts import (
    OF_NODES,
    MappedEvidence,
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
    :param slow: positions of its pairs that were slow alone.
    :param since: the round of the run from which on it is slow, 0 if always.
    :param sure: whether the loss exceeds chance and the spread of healthy parts.
    """

    part: Part
    others: tuple[Part, ...]
    share: float
    slow: Numbers
    since: float
    sure: bool


def least_loss(
    mapped: MappedEvidence,
    errors: float,
    kind: str,
    nodes: int = 1,
    *,
    slowest: float = 0.0,
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
            noise.most * (1.0 if kind == "pair" else OF_NODE),
            noise.nodes / np.sqrt(nodes),
        )
    sure = (
        SETTINGS.confirmed_errors_of_pair
        if kind == "pair"
        else SETTINGS.confirmed_errors
    )
    beyond = np.hypot(sure * np.hypot(errors, noise.reference), slowest)
    return max(-float(np.log1p(-SETTINGS.least_fault)), float(beyond))


def explain(mapped: MappedEvidence) -> tuple[tuple[Culprit, ...], Numbers]:
    """Return the slow parts, those that explain most first, and the positions of pairs that may be slow by
    chance."""
    evidence = mapped.evidence
    if evidence.at_once:
        others = explain(_unshared(mapped))[0] if mapped.corrected else ()
        others = tuple(each for each in others if each.part.kind not in OF_NODES)
        return (*while_others_ran(mapped), *others), np.empty(0, dtype=np.int64)
    measured = np.flatnonzero(~np.isnan(evidence.alone))
    errors = evidence.error(measured)
    beyond = np.maximum(3 * np.hypot(errors, evidence.noise.reference), 0.025)
    slow = measured[evidence.alone[measured] < -beyond]
    looks_slow = np.sort(
        slow[np.argsort(evidence.alone[slow], kind="stable")][
            : SETTINGS.most_slow_pairs
        ]
    )
    if not len(looks_slow):
        return (), looks_slow
    mapped, chosen = _searched(mapped, looks_slow)
    limit = np.array([least_loss(mapped, float(error), "pair") for error in errors])
    certain = measured[evidence.alone[measured] < -limit]
    culprits = _judged(mapped, chosen, certain)
    some = measured[evidence.alone[measured] < np.log1p(-SETTINGS.least_fault)]
    explained = np.concatenate(
        [some[:0], *(each.part.pairs for each in culprits if each.sure)]
    )
    return culprits, np.setdiff1d(some, explained)


def _searched(
    mapped: MappedEvidence, looks_slow: Numbers
) -> tuple[MappedEvidence, list[Choice]]:
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
    mapped = replace(
        mapped,
        evidence=replace(evidence, noise=spreads.with_spread(left, evidence.noise)),
    )
    # Slow cables show once the pairs of slow nodes are left out.
    of_nodes = [each.part.pairs for each in chosen if each.part.kind in OF_NODES]
    if of_nodes:
        rest = np.setdiff1d(looks_slow, np.concatenate(of_nodes))
        there = {(part.kind, part.key) for part in parts}
        parts += [
            part
            for part in candidates(mapped, rest)
            if (part.kind, part.key) not in there
        ]
    return mapped, Search(mapped, parts).best()


def _unshared(mapped: MappedEvidence) -> MappedEvidence:
    """Return the evidence of pairs that shared nothing in their round, by static routes: these are as good as
    alone."""
    evidence = mapped.evidence
    free = (mapped.expected > -SETTINGS.least_spread) & (mapped.sharing == 0).all(
        axis=1
    )
    alone, middle, scan, rest = (
        np.where(free, rate, np.nan)
        for rate in (evidence.alone, evidence.middle, evidence.scan, mapped.rest)
    )
    repeats = np.where(free, evidence.repeats, 0)
    evidence = replace(
        evidence, alone=alone, middle=middle, scan=scan, repeats=repeats, at_once=False
    )
    return replace(mapped, evidence=evidence, rest=rest)


def while_others_ran(mapped: MappedEvidence) -> tuple[Culprit, ...]:
    """Return the nodes that are slow with all partners, where all pairs were measured while others ran.

    Sharing makes pairs slower, never faster, so a node is as fast as its best pairs. It is slow if these are
    below those of the other nodes of its kind by more than they differ, every time. If many are, it is what
    they share.
    """
    evidence, found = mapped.evidence, dict[int, list[Culprit]]()
    for kind, ends in _sides(evidence).items():
        for rank, culprit in _slow_at_once(evidence, kind, ends):
            found.setdefault(rank, []).append(culprit)
    both = [evidence.sender, evidence.receiver]
    whole = {
        rank: _joined(each, of_ranks("node", (rank,), both))
        for rank, each in found.items()
    }
    for host in np.unique(evidence.host) if evidence.nodes < evidence.ranks else ():
        own_ranks = tuple(np.flatnonzero(evidence.host == host).tolist())
        if len(own_ranks) > 1 and whole.keys() >= set(own_ranks):
            devices = [whole.pop(rank) for rank in own_ranks]
            whole[own_ranks[0]] = _joined(devices, of_ranks("host", own_ranks, both))
    return tuple(sorted(whole.values(), key=lambda each: each.share))


def _slow_at_once(
    evidence: Evidence, kind: str, ends: Sequence[Numbers]
) -> Iterator[tuple[int, Culprit]]:
    """Yield the ranks that are slow on one side of nodes, see :func:`while_others_ran`, with what is slow."""
    series = evidence.series
    turn = np.arange(len(series.pair)) - series.first[series.pair]
    turns = np.full((int(turn.max()) + 1, len(evidence.alone)), np.nan)
    turns[turn, series.pair] = series.rate
    loss, bar, level = losses_of_nodes(evidence, evidence.alone, ends)
    every = np.all(
        [losses_of_nodes(evidence, each, ends)[0] >= bar / 2 for each in turns],
        axis=0,
    )
    # Some faster pairs show that the others of a node share cables.
    ranks = np.concatenate(ends)
    above = (
        np.tile(evidence.alone + evidence.of_pair, len(ends))
        > (level + loss / 2)[ranks]
    )
    faster, count = (
        np.bincount(each, minlength=evidence.ranks) for each in (ranks[above], ranks)
    )
    slow = np.flatnonzero(
        (loss > bar) & (faster <= np.floor(SETTINGS.most_contradictions * count))
    )
    few = len(np.unique(evidence.host[slow])) <= max(
        SETTINGS.most_slow_at_once, evidence.nodes // 16
    )
    for rank in slow.tolist():
        part = of_ranks(kind, (rank,), ends)
        # With partners of a slower kind a node is as slow as these.
        own = part.pairs[evidence.of_pair[part.pairs] >= evidence.of_kind[rank]]
        below = own[evidence.alone[own] < -loss[rank] / 2]
        sure = (
            few
            and bool(every[rank])
            and len(below) >= max(SETTINGS.fewest_partners, len(own) / 3)
        )
        share = float(np.exp(-loss[rank]))
        yield rank, Culprit(part, (), share, below, 0.0, sure)


def losses_of_nodes(
    evidence: Evidence, rate: Array, ends: Sequence[Numbers]
) -> tuple[Array, Array, Array]:
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
    shown = [
        np.where(of_pair < evidence.of_kind[side], np.nan, rate + of_pair)
        for side in ends
    ]
    level = levels_of_nodes(
        np.concatenate(shown), np.concatenate(ends), evidence.ranks
    )[0]
    off, error = np.full(evidence.ranks, np.nan), np.ones(evidence.ranks)
    for kind in evidence.kinds:
        ranks = np.array(kind.ranks)
        off[ranks] = level[ranks] - (
            np.nanmedian(level[ranks]) if (~np.isnan(level[ranks])).any() else np.nan
        )
        error[ranks] = np.sqrt(1 + OF_MEDIAN**2 / len(ranks))
    order = np.argsort(-off, kind="stable")[: np.count_nonzero(~np.isnan(off))]
    most = (
        max(SETTINGS.most_slow_at_once, evidence.nodes // 16)
        * evidence.ranks
        // evidence.nodes
    )
    bar = np.full(evidence.ranks, np.inf)
    for count in range(
        max(len(order) - most, SETTINGS.fewest_alike + len(evidence.kinds) - 1),
        len(order),
    ):
        spread = max(
            float(off[order[:count]].std(ddof=len(evidence.kinds))),
            SETTINGS.least_spread / 2,
        )
        # The error of a further node of the same population, by the t distribution.
        errors = float(
            stdtrit(
                count - len(evidence.kinds),
                1 - SETTINGS.chance_of_slow_at_once / len(order),
            )
        )
        bar = np.maximum(
            -float(np.log1p(-SETTINGS.least_fault)), errors * spread * error
        )
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
            smallest,
            float(bar.max()),
            np.inf if np.isnan(level[np.concatenate(ends)]).any() else 0.0,
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
    return replace(
        parts[0],
        part=whole,
        slow=slow,
        share=share,
        sure=all(each.sure for each in parts),
    )


def _judged(
    mapped: MappedEvidence, chosen: Sequence[Choice], certain: Numbers
) -> tuple[Culprit, ...]:
    """Return the chosen parts as culprits; a node is sure only if no healthy node is as slow by chance.

    A node is compared with those that remain without it and all slower ones, and if it is sure, so are these:
    two slow nodes would mask each other, and without all that look slow the others are always more alike; see
    :func:`losses_of_nodes`.

    :param certain: positions of pairs that are slow alone for certain: the spread of nodes does not explain
        them.
    """
    search = Search(mapped, ())
    shown = [_Shown(search, choice, chosen) for choice in chosen]
    found = [(each, culprit) for each in shown if (culprit := each.culprit())]
    others = [each for _, each in found if each.part.kind not in OF_NODES]
    nodes = [each for each in found if each[1].part.kind in OF_NODES]
    out = [certain, *(each.part.pairs for each in others if each.sure)]
    return (*_of_nodes(mapped, nodes, out), *others)


def _of_nodes(
    mapped: MappedEvidence,
    nodes: Sequence[tuple[_Shown, Culprit]],
    out: Sequence[Numbers],
) -> list[Culprit]:
    """Return the slow nodes, the slowest first; sure are those up to the last one that is slower than by
    chance.

    :param out: the pairs of other parts that are slow.
    """
    sure, nodes = 0, sorted(nodes, key=lambda each: each[1].share)
    for number, (shown, culprit) in enumerate(nodes, 1):
        out = [*out, culprit.part.pairs]
        again = culprit.sure and shown.culprit(by_chance(mapped, np.concatenate(out)))
        sure = number if again and again.sure else sure
    return [
        replace(
            each, sure=each.sure and number < sure and not _is_of_kind(mapped, each)
        )
        for number, (_, each) in enumerate(nodes)
    ]


def _is_of_kind(mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether a slow node is as fast as nodes of a slower kind than its own: it may be one of
    these."""
    evidence = mapped.evidence
    own = float(evidence.of_kind[culprit.part.key[0]])
    kinds = np.log([kind.share for kind in evidence.kinds])
    apart = np.abs(
        own + np.log(culprit.share) - kinds[kinds < own - SETTINGS.least_spread]
    )
    return bool((apart < 2 * SETTINGS.least_spread).any())


def slow_since_scan(mapped: MappedEvidence, slow: Numbers) -> Culprit | None:
    """Return the node that was fast in the scan, and is slow in nearly all its measurements alone; None
    without one.

    Traffic of others that began meanwhile looks the same, so that it is not sure.

    :param slow: positions of pairs that are slow alone and not explained.
    """
    evidence = mapped.evidence
    sides = {"sender": evidence.sender, "receiver": evidence.receiver}
    counts = np.bincount(
        np.concatenate([side[slow] for side in sides.values()]), minlength=1
    )
    rank = int(counts.argmax())
    if (counts == counts[rank]).sum() > 1 or not len(slow):
        return None  # the two ends of pairs are as likely
    sides = {kind: side for kind, side in sides.items() if (side[slow] == rank).any()}
    part = of_ranks(
        "node" if len(sides) > 1 else next(iter(sides)), (rank,), list(sides.values())
    )
    own, alone = np.intersect1d(slow, part.pairs), ~np.isnan(evidence.alone[part.pairs])
    level = float(np.median(evidence.alone[own]))
    fewest = max(SETTINGS.fewest_pairs, (1 - SETTINGS.most_slow_before) * alone.sum())
    was_fast = evidence.scan > level / 2
    if len(own) < fewest or not was_fast[part.pairs].any():
        return None
    return Culprit(part, (), float(np.exp(level)), own, evidence.rounds[0], sure=False)


class _Shown:
    """What was measured of the pairs of a chosen part.

    :param shown: the level of the part that each pair shows alone; :param own: the level that it should have;
        :param by_others: whether another part makes it slower, so that it is no evidence.
    :param slow: positions of the pairs that are slow alone.
    """

    def __init__(
        self, search: Search, choice: Choice, chosen: Sequence[Choice]
    ) -> None:
        mapped, evidence, part = search.mapped, search.evidence, choice.part
        self.mapped, self.evidence, self.search, self.choice = (
            mapped,
            evidence,
            search,
            choice,
        )
        self.part, self.pairs, self.middle = part, part.pairs, choice.level / 2
        self.alone = evidence.alone[self.pairs]
        self.shown, self.own = search.own(part), search.levels(part, choice.level)
        others = [each for each in chosen if each is not choice]
        self.without = search.predicted(others)[:, self.pairs]
        self.by_others = self.without[0] < self.own
        is_slow = self.shown < self.middle
        if (evidence.repeats > 0).all():
            # With a partner of a slower kind a node may lose the difference before the pair is slow.
            is_slow = (self.own < -search.floor) & (self.alone < self.own / 2)
        self.is_slow = is_slow & ~self.by_others
        self.slow = self.pairs[self.is_slow]

    def culprit(self, slowest: float = 0.0) -> Culprit | None:
        """Return the part as a culprit, None if its pairs do not confirm it.

        :param slowest: see :func:`least_loss`.
        """
        choice, slow, is_pair = self.choice, self.slow, self.part.kind == "pair"
        fewest = 1 if is_pair or self._is_slow_in_scan() else SETTINGS.fewest_pairs
        if len(slow) < fewest:
            return None
        level = float(np.median(self.shown[self.is_slow]))
        doubt = self._is_doubtful_pair if is_pair else self._is_doubtful_node
        sure = not (
            self._is_small(level, slowest) or self._is_partial() or doubt(level)
        )
        return Culprit(
            self.part, choice.others, float(np.exp(level)), slow, choice.since, sure
        )

    def _is_small(self, level: float, slowest: float) -> bool:
        """Return whether the loss is within chance and the spread of healthy parts."""
        evidence, slow, kind = self.evidence, self.slow, self.part.kind
        if kind not in OF_NODES:
            # Of a cable or a switch that carries pairs of a slow kind only, what these lose beyond their
            # kind.
            level = max(level, float(np.quantile(evidence.alone[slow], 0.25)))
        count = len(slow) / (1 + evidence.both_ways)
        errors = float(
            np.median(evidence.error(slow))
            / np.sqrt(count)
            * (OF_MEDIAN if len(slow) > 2 else 1)
        )
        ends = min(
            len(np.unique(side[slow])) for side in (evidence.sender, evidence.receiver)
        )
        kind = kind if len(slow) > 1 else "pair"
        return -level <= least_loss(self.mapped, errors, kind, ends, slowest=slowest)

    def _is_slow_in_scan(self) -> bool:
        """Return whether enough pairs were as slow in the scan as the part makes them, by what they
        shared."""
        search, choice, scan = self.search, self.choice, self.search.scan[self.pairs]
        by_it = search.through(self.without, self.part, choice.level, choice.since)[1]
        should = (by_it < self.without[1] - search.floor) & ~np.isnan(scan)
        is_low = should & (scan < (by_it + self.without[1]) / 2)
        count = int(should.sum())
        is_enough = count >= SETTINGS.fewest_pairs_of_cable
        return is_enough and int(is_low.sum()) >= SETTINGS.least_slow * count

    def _is_partial(self) -> bool:
        """Return whether too few of the pairs that should be slow are."""
        expected = (
            (self.own < -self.search.floor) & ~np.isnan(self.alone) & ~self.by_others
        )
        return len(self.slow) < SETTINGS.least_slow * int(expected.sum())

    def _is_doubtful_node(self, level: float) -> bool:
        """Return whether a node has few slow pairs, was faster, or only its path may be slow."""
        evidence, since = self.evidence, self.choice.since
        if self.part.kind not in OF_NODES:
            return False
        bound = self.search.bound[self.pairs]
        # So few pairs they may have in common by chance.
        below = int(((self.shown < self.middle) | (bound < self.middle)).sum())
        # Pairs that were faster, while others ran, than what it gives.
        faster = bool(
            np.nanmedian(bound - self.search.levels(self.part, level) / 2) > 0
        )
        # What became slow to so many partners is no cable: tables send what a node sends by as many as there
        # are.
        partners = (
            evidence.receiver if self.part.kind == "sender" else evidence.sender
        )[self.slow]
        became_slow = (
            since > 0
            and self.part.kind != "receiver"
            and len(np.unique(partners)) >= SETTINGS.fewest_partners
        )
        return (
            below < min(SETTINGS.fewest_partners, evidence.nodes - 2)
            or (not since and faster)
            or not (became_slow or _has_neighbours(self.mapped, self.part, since))
            or self._is_near_fast(level)
        )

    def _is_near_fast(self, level: float) -> bool:
        """Return whether a node is as fast as others with most of the next ranks, and with hardly another.

        These stand for those at its switch where that is unknown: its path to all others is slow.
        """
        evidence = self.evidence
        if self.mapped.leaf[self.part.key[0]] >= 0:
            return False
        bound = evidence.series.bound_since(self.pairs, self.choice.since)
        own = self.search.levels(self.part, level)
        slowest = own + SETTINGS.contradiction_errors * self.search.of_bound
        is_fast = np.fmax(bound, self.alone) > np.maximum(own / 2, slowest)
        # With a partner of a slower kind a pair need not be slow.
        is_fast &= own < -self.search.floor
        near = evidence.near[self.pairs]
        of_near, of_far = is_fast[near], is_fast[~near]
        return bool(
            of_near.sum() >= max(SETTINGS.fewest_pairs, len(of_near) / 2 + 1)
            and of_far.sum() <= SETTINGS.most_contradictions * len(of_far)
        )

    def _is_doubtful_pair(self, level: float) -> bool:
        """Return whether a pair was fast in the scan, or is low by chance.

        Traffic of other jobs may last as long as the confirmation, which is short where few pairs are
        suspect: a slow pair was slow in the scan, too, or, if it is missing there, so was its other
        direction. And any of the healthy pairs may be as low in all of its measurements alone.
        """
        mapped, evidence, (sender, receiver) = self.mapped, self.evidence, self.part.key
        # A rate of both directions has no other one.
        back = (
            (evidence.sender == receiver)
            & (evidence.receiver == sender)
            & (not evidence.both_ways)
        )
        scanned = evidence.scan[self.slow[0]]
        is_alone = ~np.isnan(evidence.alone)
        # Where sharing alone explains a low rate of the scan, that rate says nothing of the pair itself.
        own_scan = np.where(mapped.expected > self.middle, mapped.rest, np.nan)
        best = np.where(is_alone, evidence.alone, np.fmax(own_scan, evidence.bound))
        was_low = back & (evidence.scan < self.middle) & (best < self.middle)
        if scanned >= self.middle or (np.isnan(scanned) and not was_low.any()):
            return True
        low = np.flatnonzero(back & is_alone & (evidence.alone < self.middle))
        highest = float(evidence.alone[np.union1d(self.slow, low)].max())
        chance = low_each_time(evidence, highest, with_reverse=len(low) > 0)
        return chance >= SETTINGS.chance_of_slow_at_once


def _has_neighbours(mapped: MappedEvidence, part: Part, since: float = 0.0) -> bool:
    """Return whether a node was measured with nodes at its switch.

    Where its switch is unknown the next ranks stand for these: if only pairs with them are fast, the node is
    healthy. Without such a pair a node cannot be distinguished from its path to the others.
    """
    evidence, pairs = mapped.evidence, part.pairs
    if mapped.known.has_routes:
        return True  # with known routes its path is among the parts that are compared
    if since:
        pairs = pairs[
            (evidence.when[pairs] >= since) | ~np.isnan(evidence.alone[pairs])
        ]
    if mapped.leaf[part.key[0]] >= 0:
        return bool(mapped.within[pairs].any() or not mapped.within.any())
    near = evidence.near
    # Few have such pairs: the pattern has none, and the finding has a note of it.
    return (
        len(np.unique(evidence.sender[near])) < evidence.ranks / 2
        or int(near[pairs].sum()) >= 2
    )
