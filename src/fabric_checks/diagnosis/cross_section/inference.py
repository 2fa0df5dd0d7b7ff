# SPDX-License-Identifier: BSD-3-Clause
"""Infer the fewest parts of a fabric that explain which pairs are slow and which are not.

Every set of parts, each at a share of its rate, predicts the rate of each pair alone: the least share of the parts on
its path. A set is the better the closer that is to the measurements alone, the fewer pairs exceed it, and the fewer
parts it has. The search is greedy, and then exchanges and drops parts as long as that is better. Parts that explain the
same as well are named with the one that was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fabric_checks.diagnosis.cross_section import noise as spreads
from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import LEAST_SPREAD, OF_MEDIAN, OF_NODE, Array, levels_of_nodes
from fabric_checks.diagnosis.cross_section.parts import FEWEST_PAIRS, MappedEvidence, Part, candidates, of_ranks
from fabric_checks.diagnosis.cross_section.slowest import by_chance, low_each_time

#: Smaller losses are not reported, however certain.
LEAST_FAULT = 0.06
#: The standard errors by which a loss has to exceed chance; that of a single pair, which is one of many, ...
CONFIRMED_ERRORS = 4.0
CONFIRMED_ERRORS_OF_PAIR = 5.5
#: ... and the multiple of the spread of healthy parts, one of which is always the slowest.
SPREAD_ERRORS = 5.0
#: The kinds of parts that are nodes.
OF_NODES = ("sender", "receiver", "node")
#: The largest weight of one pair, in squared standard errors; a pair of the scan was measured once, while others ran.
MOST_WEIGHT, MOST_SCAN_WEIGHT = 25.0, 16.0
#: A pair that exceeds its prediction counts against it from so many standard errors on; ...
BY_CHANCE = 2.5
#: ... beyond so many it contradicts it, and a part that more than this share of its pairs contradict is not at fault.
CONTRADICTION, MOST_CONTRADICTIONS = 4.0, 0.03
#: Of the pairs of a part that were measured alone and would be slow, the least share that is. Where controls are slow,
#: too, the spread of healthy pairs is large, and none contradicts it.
LEAST_SLOW = 0.75
#: The number of low pairs of a scan, and of parts that are low on average, that are examined; and of pairs alone.
MOST_LOW, MOST_WORST, MOST_SLOW = 128, 6, 2048
#: Ranks no further apart than this are assumed to share a switch where switches are unknown.
NEIGHBOURS = 2
#: The fewest slow pairs alone of a part that became slow during the run.
FEWEST_LATE = 3
#: Of the pairs that are slow alone at most this share was as slow before a part became slow.
MOST_SLOW_BEFORE = 0.25
#: A node that became slow during the run may not have been measured with its neighbours since; so many partners do.
FEWEST_PARTNERS = 3
#: Explanations that are worse by less than this are as good: a ratio of likelihoods of twenty.
AS_GOOD = 6.0
#: The most parts of an explanation.
MOST_PARTS = 12
#: While others ran: the chance that any healthy node is blamed, the fewest nodes that are compared, and the most that
#: are blamed, if these are no more than a sixteenth.
CHANCE, FEWEST_ALIKE, MOST_NODES = 0.0003, 4, 2


@dataclass(frozen=True)
class Culprit:
    """A slow part.

    :param part: the part; :param others: parts that explain the same as well.
    :param share: the rate of its pairs alone, as a share of that of healthy ones.
    :param slow: positions of its pairs that were slow alone; :param slow_in_scan: of those that were below their
        expectation in the scan.
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


def least_loss(mapped: MappedEvidence, errors: float, kind: str, nodes: int = 1, *, slowest: float = 0.0) -> float:
    """Return the loss, as a logarithm, from which on a part is slow for certain.

    :param errors: the standard error of its rate; :param kind: of the part.
    :param nodes: the number of senders, or of receivers, that show it: their own spread averages out.
    :param slowest: for a node, the loss of the slowest healthy node by chance:
        :func:`fabric_checks.diagnosis.cross_section.slowest.by_chance`.
    """
    noise = mapped.evidence.noise
    if kind not in OF_NODES:
        slowest = SPREAD_ERRORS * max(noise.most * (1.0 if kind == "pair" else OF_NODE), noise.nodes / np.sqrt(nodes))
    sure = CONFIRMED_ERRORS_OF_PAIR if kind == "pair" else CONFIRMED_ERRORS
    beyond = np.hypot(sure * np.hypot(errors, noise.reference), slowest)
    return max(-float(np.log1p(-LEAST_FAULT)), float(beyond))


def explain(mapped: MappedEvidence) -> tuple[tuple[Culprit, ...], Numbers]:
    """Return the slow parts, those that explain most first, and the positions of pairs that may be slow by chance."""
    evidence = mapped.evidence
    if evidence.at_once:
        nodes, free = while_others_ran(mapped), _unshared(mapped)
        others = [each for each in explain(free)[0] if each.part.kind not in OF_NODES] if mapped.corrected else []
        return (*nodes, *others), np.empty(0, dtype=np.int64)
    measured = np.flatnonzero(~np.isnan(evidence.alone))
    errors = evidence.error(measured)
    beyond = np.maximum(3 * np.hypot(errors, evidence.noise.reference), 0.025)
    slow = measured[evidence.alone[measured] < -beyond]
    slow = slow[np.argsort(evidence.alone[slow], kind="stable")][:MOST_SLOW]
    looks_slow = np.union1d(slow, _low_in_scan(mapped))
    if not len(looks_slow):
        return (), looks_slow
    parts = candidates(mapped, looks_slow)
    chosen = _Search(mapped, parts).best()
    if chosen:
        # Controls may pass through a slow part: the spread of healthy pairs is estimated without them.
        blamed = np.concatenate([each.part.pairs for each in chosen])
        left = [values for pair, values in evidence.controls if pair not in blamed]
        mapped = replace(mapped, evidence=replace(evidence, noise=spreads.with_spread(left, evidence.noise)))
        # Slow cables show once the pairs of slow nodes are left out.
        of_nodes = [each.part.pairs for each in chosen if each.part.kind in OF_NODES]
        if of_nodes:
            rest = np.setdiff1d(looks_slow, np.concatenate(of_nodes))
            there = {(part.kind, part.key) for part in parts}
            parts += [part for part in candidates(mapped, rest) if (part.kind, part.key) not in there]
        chosen = _Search(mapped, parts).best()
    limit = np.array([least_loss(mapped, float(error), "pair") for error in errors])
    certain = measured[evidence.alone[measured] < -limit]
    culprits = _judged(mapped, chosen, certain)
    some = measured[evidence.alone[measured] < np.log1p(-LEAST_FAULT)]
    explained = np.concatenate([some[:0], *(each.part.pairs for each in culprits if each.sure)])
    return culprits, np.setdiff1d(some, explained)


def _unshared(mapped: MappedEvidence) -> MappedEvidence:
    """Return the evidence of pairs that shared nothing in their round, by static routes: these are as good as alone."""
    evidence = mapped.evidence
    free = (mapped.expected > -LEAST_SPREAD) & (mapped.sharing == 0).all(axis=1)
    rates = (evidence.alone, evidence.middle, evidence.scan, mapped.rest)
    alone, middle, scan, rest = (np.where(free, rate, np.nan) for rate in rates)
    repeats = np.where(free, evidence.repeats, 0)
    evidence = replace(evidence, alone=alone, middle=middle, scan=scan, repeats=repeats, at_once=False)
    return replace(mapped, evidence=evidence, rest=rest)


def while_others_ran(mapped: MappedEvidence) -> tuple[Culprit, ...]:
    """Return the nodes that are slow with all partners, where all pairs were measured while others ran.

    Sharing makes pairs slower, never faster, so a node is as fast as its best pairs. It is slow if these are below
    those of the other nodes of its kind by more than they differ, every time. If many are, it is what they share.
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
        faster, count = (np.bincount(ranks, weights, evidence.ranks) for weights in (above.astype(float), None))
        shares = faster > np.floor(MOST_CONTRADICTIONS * count)
        slow = np.flatnonzero((loss > bar) & ~shares)
        every = np.ones(evidence.ranks, dtype=bool)
        for one in range(1, int(turn.max()) + 1):
            pair, rate = series.pair[turn == one], series.rate[turn == one]
            of_turn = np.full(len(best), np.nan)
            of_turn[pair] = rate
            every &= losses_of_nodes(evidence, of_turn, ends)[0] >= bar / 2
        few = len(np.unique(evidence.host[slow])) <= max(MOST_NODES, evidence.nodes // 16)
        for rank in slow.tolist():
            part = of_ranks(kind, (rank,), ends)
            # With partners of a slower kind a node is as slow as these.
            own = part.pairs[evidence.of_pair[part.pairs] >= evidence.of_kind[rank]]
            below = own[evidence.alone[own] < -loss[rank] / 2]
            sure = few and bool(every[rank]) and len(below) >= max(FEWEST_PARTNERS, len(own) / 3)
            culprit = Culprit(part, (), float(np.exp(-loss[rank])), below, below[:0], 0.0, sure)
            found.setdefault(rank, []).append(culprit)
    both = [evidence.sender, evidence.receiver]
    whole = [_joined(each, of_ranks("node", (rank,), both)) for rank, each in found.items()]
    for host in np.unique(evidence.host) if evidence.nodes < evidence.ranks else ():
        own_ranks = np.flatnonzero(evidence.host == host)
        devices = [each for each in whole if each.part.key[0] in own_ranks]
        if len(devices) == len(own_ranks) > 1:
            host_part = of_ranks("host", tuple(own_ranks.tolist()), both)
            whole = [each for each in whole if each.part.key[0] not in own_ranks] + [_joined(devices, host_part)]
    return tuple(sorted(whole, key=lambda each: each.share))


def losses_of_nodes(evidence: Evidence, rate: Array, ends: Sequence[Numbers]) -> tuple[Array, Array, Array]:
    """Return by rank the loss of its best pairs against those of its kind, what exceeds chance, and their rate.

    All are logarithms. The slowest nodes are compared with those that remain without them, the fastest of them first:
    if it is an outlier, so are the slower ones (Rosner, Percentage points for a generalized ESD many-outlier procedure,
    Technometrics 25, 1983). Kinds that were not separated widen the spread of those that remain. Pairs with a node of a
    slower kind do not show how fast a node is.

    :param rate: of all pairs, relative to that of their kinds; NaN where not measured.
    :param ends: their senders, receivers, or both.
    """
    of_pair = evidence.of_pair
    shown = [np.where(of_pair < evidence.of_kind[side], np.nan, rate + of_pair) for side in ends]
    level = levels_of_nodes(np.concatenate(shown), np.concatenate(ends), evidence.ranks)[0]
    off, error = np.full(evidence.ranks, np.nan), np.ones(evidence.ranks)
    for kind in evidence.kinds:
        ranks = np.array(kind.ranks)
        off[ranks] = level[ranks] - (np.nanmedian(level[ranks]) if (~np.isnan(level[ranks])).any() else np.nan)
        error[ranks] = np.sqrt(1 + OF_MEDIAN**2 / len(ranks))
    order = np.argsort(-off, kind="stable")[: np.count_nonzero(~np.isnan(off))]
    most = max(MOST_NODES, evidence.nodes // 16) * evidence.ranks // evidence.nodes
    bar = np.full(evidence.ranks, np.inf)
    for count in range(max(len(order) - most, FEWEST_ALIKE + len(evidence.kinds) - 1), len(order)):
        spread = max(float(off[order[:count]].std(ddof=len(evidence.kinds))), LEAST_SPREAD / 2)
        # The error of a further node of the same population, by the t distribution.
        errors = float(stdtrit(count - len(evidence.kinds), 1 - CHANCE / len(order)))
        bar = np.maximum(-float(np.log1p(-LEAST_FAULT)), errors * spread * error)
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
        smallest = max(smallest, float(bar.max()), np.inf if np.isnan(level[np.concatenate(ends)]).any() else 0.0)
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


def _judged(mapped: MappedEvidence, chosen: Sequence[_Choice], certain: Numbers) -> tuple[Culprit, ...]:
    """Return the chosen parts as culprits; a node is sure only if no healthy node is as slow by chance.

    A node is compared with those that remain without it and all slower ones, and if it is sure, so are these: two slow
    nodes would mask each other, and without all that look slow the others are always more alike; see
    :func:`losses_of_nodes`.

    :param certain: positions of pairs that are slow alone for certain: the spread of nodes does not explain them.
    """
    found = [(each, culprit) for each in chosen if (culprit := _culprit(mapped, each, chosen)) is not None]
    out = [certain, *(each.part.pairs for _, each in found if each.sure and each.part.kind not in OF_NODES)]
    nodes = sorted((each for each in found if each[1].part.kind in OF_NODES), key=lambda each: each[1].share)
    sure = 0
    for number, (choice, culprit) in enumerate(nodes):
        out.append(culprit.part.pairs)
        if culprit.sure:
            again = _culprit(mapped, choice, chosen, by_chance(mapped, np.concatenate(out)))
            sure = number + 1 if again is not None and again.sure else sure
    unsure = {
        id(culprit) for number, (_, culprit) in enumerate(nodes) if number >= sure or _is_of_kind(mapped, culprit)
    }
    return tuple(replace(each, sure=False) if id(each) in unsure else each for _, each in found)


def _is_of_kind(mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether a slow node is as fast as nodes of a slower kind than its own: it may be one of these."""
    evidence = mapped.evidence
    own = float(evidence.of_kind[culprit.part.key[0]])
    kinds = np.log([kind.share for kind in evidence.kinds])
    apart = np.abs(own + np.log(culprit.share) - kinds[kinds < own - LEAST_SPREAD])
    return bool((apart < 2 * LEAST_SPREAD).any())


def slow_since_scan(mapped: MappedEvidence, slow: Numbers) -> Culprit | None:
    """Return the node that was fast in the scan, and is slow in nearly all its measurements alone; None without one.

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
    if len(own) < max(FEWEST_PAIRS, (1 - MOST_SLOW_BEFORE) * alone.sum()):
        return None
    level = float(np.median(evidence.alone[own]))
    if not (evidence.scan[part.pairs] > level / 2).any():
        return None
    return Culprit(part, (), float(np.exp(level)), own, own[:0], evidence.rounds[0], sure=False)


def _low_in_scan(mapped: MappedEvidence) -> Numbers:
    """Return pairs that were below their expectation in the scan: single ones, and those of parts that are low."""
    rest = mapped.rest
    if not mapped.corrected:
        return np.empty(0, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(rest))
    low = known[rest[known] < -max(SPREAD_ERRORS * mapped.of_rest, -float(np.log1p(-LEAST_FAULT)))]
    found = [low[np.argsort(rest[low], kind="stable")][:MOST_LOW]]
    bounded = np.clip(rest / mapped.of_rest, -4, 4)
    for part_of_pair in (mapped.evidence.sender, mapped.evidence.receiver, *mapped.arcs.T):
        pair = known[part_of_pair[known] >= 0]
        part = part_of_pair[pair]
        if not len(part):
            continue
        count, total = np.bincount(part), np.bincount(part, bounded[pair])
        score = np.where(count >= FEWEST_PAIRS, total / np.sqrt(np.maximum(count, 1)), 0.0)
        worst = np.argsort(score, kind="stable")[:MOST_WORST]
        for number in worst[score[worst] < -SPREAD_ERRORS]:
            own = pair[part == number]
            found.append(own[np.argsort(rest[own], kind="stable")][:8])
    return np.unique(np.concatenate(found))


@dataclass(frozen=True)
class _Choice:
    """A part with its share as a logarithm, its gain, the time since when, and the parts that gain as much."""

    part: Part
    level: float
    gain: float = 0.0
    others: tuple[Part, ...] = ()
    since: float = 0.0


#: The predicted rates of pairs, as logarithms of shares: alone, in the scan, and the highest while others ran of the
#: measurements that the prediction holds for, a row each.
_Predicted = Array


def _known(distances: Array) -> Array:
    """Return distances with 0 for pairs that were not measured; ``numpy.nan_to_num`` takes three times as long."""
    distances[np.isnan(distances)] = 0
    return distances


class _Search:
    """The search for the best set of parts."""

    def __init__(self, mapped: MappedEvidence, parts: Sequence[Part]) -> None:
        evidence = mapped.evidence
        noise = evidence.noise
        self.parts = parts
        self.evidence = evidence
        self.alone = evidence.alone
        self.bound = evidence.bound
        self.scan = mapped.rest + mapped.expected
        self.healthy = np.array([np.zeros(len(evidence.alone)), mapped.expected, evidence.bound])
        of_alone = np.hypot(evidence.error(np.arange(len(evidence.alone))), noise.reference)
        self.of_alone = np.sqrt(of_alone**2 + noise.between**2 + LEAST_SPREAD**2)
        self.of_bound = float(np.hypot(noise.scan, LEAST_SPREAD))
        self.of_scan = float(np.hypot(mapped.of_rest, LEAST_SPREAD))
        self.floor = -float(np.log1p(-LEAST_FAULT)) / 2

    def cost(self, pairs: Numbers, level: _Predicted) -> Array:
        """Return the distance of pairs from their prediction, in squared standard errors."""
        of_alone, in_scan, bound = level
        alone = _known((self.alone[pairs] - of_alone) / self.of_alone[pairs])
        above = np.maximum(bound - of_alone, 0) / self.of_bound
        # A pair exceeds its level by chance, too; where many pass through a part, this is no evidence against it.
        above = np.maximum(_known(above) ** 2 - BY_CHANCE**2, 0)
        beyond = np.where(of_alone < 0, np.minimum(above, MOST_WEIGHT), 0.0)
        off = _known((self.scan[pairs] - in_scan) / self.of_scan) ** 2
        scan = np.minimum(off, MOST_SCAN_WEIGHT)
        return np.asarray(np.minimum(alone**2, MOST_WEIGHT) + np.maximum(beyond, scan))

    def predicted(self, chosen: Sequence[_Choice]) -> _Predicted:
        """Return the prediction of a set of parts."""
        found = self.healthy.copy()
        for each in chosen:
            pairs = each.part.pairs
            found[:, pairs] = self.through(found[:, pairs], each.part, each.level, each.since)
        return found

    def slack(self, part: Part) -> Array:
        """Return what a part may lose before each of its pairs is slow, which are as slow as their kinds of nodes."""
        if part.kind == "pair" or len(self.evidence.kinds) == 1:
            return np.zeros(len(part.pairs))
        is_of_host = part.kind in (*OF_NODES, "host", "adapter")
        own = self.evidence.of_kind[part.key[0]] if is_of_host else 0.0
        return np.asarray(own - self.evidence.of_pair[part.pairs])

    def levels(self, part: Part, level: float) -> Array:
        """Return the level of each pair of a part that is at a level."""
        loss = np.minimum(level + self.slack(part), 0.0)
        return loss if part.ways is None else -np.log1p(part.ways * np.expm1(-loss))

    def own(self, part: Part) -> Array:
        """Return the level of a part that the rate of each of its pairs alone shows: the inverse of :meth:`levels`."""
        rate = self.alone[part.pairs]
        if part.ways is not None:
            rate = -np.log1p(np.maximum(np.expm1(-rate) / part.ways, -0.9))
        return np.asarray(rate - self.slack(part))

    def through(self, before: _Predicted, part: Part, own: float, since: float = 0.0) -> _Predicted:
        """Return the prediction for the pairs of a part that is slow since some time.

        The loss of the part is divided among its pairs, or taken from one that had more than the others.
        """
        level, (alone, in_scan, bound) = self.levels(part, own), before
        left = np.log(np.maximum(np.exp(in_scan) - (1 - np.exp(level)), 1e-6))
        late = np.minimum(in_scan, np.maximum(level - part.sharing, left))
        if since:
            late = np.where(self.evidence.when[part.pairs] >= since, late, in_scan)
            bound = np.where(level < alone, self.evidence.series.bound_since(part.pairs, since), bound)
        return np.array([np.minimum(alone, level), late, bound])

    def began(self, part: Part, loss: float, slow: NDArray[np.bool_]) -> float:
        """Return since when a part is slow; 0 if always, or if that explains too little.

        It is the time that explains most of what was measured while others ran: before it no pair is slow, and after it
        none is fast (a change point by likelihood: Hinkley, Biometrika 57, 1970). That a pair was low before it counts
        only at the level of the part, and of those that are slow alone: others may have shared a cable. It is within a
        measurement if the slowest test of that is at the level: then the best one is from before.

        :param slow: which of its pairs are slow alone.
        """
        series = self.evidence.series
        at, own = series.of(part.pairs)
        there = ~series.alone[own] & ~np.isnan(series.rate[own])
        at, own = at[there], own[there]
        order = np.argsort(series.when[own], kind="stable")
        at, own = at[order], own[order]
        rate, when, was_slow = series.rate[own], series.when[own], slow[at]
        level = self.levels(part, loss)[at]
        above = np.maximum(np.where(level < 0, rate - level, 0) / self.of_bound - BY_CHANCE, 0)
        after = np.minimum(above**2, MOST_WEIGHT)
        low = was_slow & (np.abs(rate - level) < CONTRADICTION * self.of_bound)
        before = np.where(low, np.minimum((rate / self.of_bound) ** 2, MOST_SCAN_WEIGHT), 0.0)
        # Of a change before each measurement, or after the last.
        cost = np.append(0.0, np.cumsum(before)) + np.append(np.cumsum(after[::-1])[::-1], 0.0)
        times, first = np.unique(when, return_index=True)
        begins = np.append(first, len(rate))
        best = int(np.argmin(cost[begins]))
        # Where pairs were slow before, too, it is only some of them that are slow, not the part.
        if not best or low[: begins[best]].sum() > max(1, MOST_SLOW_BEFORE * slow.sum()):
            return 0.0
        if best < len(times) and times[best] < self.evidence.rounds[0]:
            return float(times[best])
        # What begins after the scan may be traffic of others, unless the last measurement before shows it.
        last = begins[best] - 1
        lowest = rate[last] + series.dip[own[last]]
        is_within = was_slow[last] and abs(lowest - level[last]) < CONTRADICTION * self.of_bound
        return float(when[last]) + 0.5 if is_within else 0.0

    def fitted(self, part: Part, level: _Predicted) -> _Choice | None:
        """Return a part with its best share and its gain, given the prediction of the parts already chosen."""
        pairs = part.pairs
        before = level[:, pairs]
        low = self.alone[pairs] < before[0] - self.floor
        below = self.scan[pairs] < before[1] - max(self.floor, 2 * self.of_scan)
        if np.count_nonzero(low | below) < (1 if part.kind == "pair" else FEWEST_PAIRS):
            return None
        # In the scan a pair has the share of the part over the number of pairs in it.
        shown = self.own(part)
        shares = np.concatenate((shown[low], (self.scan[pairs] + part.sharing - self.slack(part))[below & ~low]))
        cost = self.cost(pairs, before).sum()
        # The quartiles of the shares, and for each the median of those near it.
        quartiles = np.unique(np.quantile(shares, (0.25, 0.5, 0.75), method="nearest"))
        near = ((share, np.median(shares[np.abs(shares - share) < 0.1])) for share in quartiles)
        best = None
        for own in dict.fromkeys(float(share) for both in near for share in both):
            gain = cost - self.cost(pairs, self.through(before, part, own)).sum() - part.price
            if best is None or gain > best.gain:
                best = _Choice(part, own, float(gain))
        if best is None or not self.contradicted(best):
            return best
        if part.kind == "pair" or np.count_nonzero(low) < FEWEST_LATE:
            return None
        own = float(np.median(shown[low]))
        since = self.began(part, own, shown < own / 2)
        # One more parameter, of as many values as there are rounds.
        price = part.price + 2 * float(np.log(self.evidence.rounds[1]))
        gain = cost - self.cost(pairs, self.through(before, part, own, since)).sum() - price
        late = _Choice(part, own, float(gain), since=since)
        return late if since and not self.contradicted(late) else None

    def contradicted(self, choice: _Choice) -> bool:
        """Return whether a part cannot be slow: more of its pairs than by chance reached more than it could give."""
        pairs = choice.part.pairs
        bound = self.evidence.series.bound_since(pairs, choice.since) if choice.since else self.bound[pairs]
        level = self.levels(choice.part, choice.level)
        fast = bound > level + CONTRADICTION * self.of_bound
        # Pairs are measured alone at the end, when what became slow during the run is slow to all of them.
        fast |= self.alone[pairs] > (level / 2 if choice.since else level + CONTRADICTION * self.of_alone[pairs])
        return bool((fast & (level < 0)).sum() > int(MOST_CONTRADICTIONS * len(pairs)))

    def next(self, chosen: Sequence[_Choice]) -> _Choice | None:
        """Return the part that gains most on top of the chosen ones, with those that gain as much."""
        level = self.predicted(chosen)
        fits = [fit for part in self.parts if (fit := self.fitted(part, level)) is not None and fit.gain > 0]
        if not fits:
            return None
        best, *others = sorted(fits, key=lambda fit: -fit.gain)
        near = [fit.part for fit in others if fit.gain > best.gain - AS_GOOD]
        near = [part for part in near if (part.kind, part.key) != (best.part.kind, best.part.key)]
        return replace(best, others=tuple(part for part in near if np.isin(part.pairs, best.part.pairs).any()))

    def best(self) -> list[_Choice]:
        """Return the best set: greedy first, then every part exchanged for a better one or dropped."""
        chosen: list[_Choice] = []
        while len(chosen) < MOST_PARTS and (choice := self.next(chosen)) is not None:
            chosen.append(choice)
        for _ in range(3 if len(chosen) > 1 else 0):
            before = [id(each.part) for each in chosen]
            for number in reversed(range(len(chosen))):
                again = self.next(chosen[:number] + chosen[number + 1 :])
                chosen[number : number + 1] = [again] if again else []
            if [id(each.part) for each in chosen] == before:
                break
        return chosen


def _culprit(
    mapped: MappedEvidence, choice: _Choice, chosen: Sequence[_Choice], slowest: float = 0.0
) -> Culprit | None:
    """Return a chosen part as a culprit; None if its pairs do not confirm it.

    :param chosen: all parts: a pair that another one makes slower is no evidence; :param slowest: see
        :func:`least_loss`.
    """
    evidence, part = mapped.evidence, choice.part
    pairs, middle = part.pairs, choice.level / 2
    search = _Search(mapped, ())
    shown, own = search.own(part), search.levels(part, choice.level)
    by_others = search.predicted([each for each in chosen if each is not choice])[0, pairs] < own
    slow = pairs[(shown < middle) & ~by_others]
    if (evidence.repeats > 0).all():
        # All pairs are here: with a partner of a slower kind a node may lose the difference before the pair is slow.
        slow = pairs[(own < -search.floor) & (evidence.alone[pairs] < own / 2) & ~by_others]
    scan = search.scan[pairs] + part.sharing - search.slack(part)
    is_low = (mapped.rest[pairs] < -max(2 * search.of_scan, -middle)) & (scan < middle)
    is_low &= (evidence.when[pairs] >= choice.since) & ~by_others
    low = pairs[is_low]
    needed = 1 if part.kind == "pair" else FEWEST_PAIRS
    if len(slow) + len(low) < needed:
        return None
    if len(slow) >= needed:
        level = float(np.median(shown[np.isin(pairs, slow)]))
        # Of a cable or a switch that carries pairs of a slow kind only, what these lose beyond their kind.
        beyond = level if part.kind in OF_NODES else max(level, float(np.quantile(evidence.alone[slow], 0.25)))
        count = len(slow) / (2 if evidence.both_ways else 1)
        errors = float(np.median(evidence.error(slow))) / np.sqrt(count) * (OF_MEDIAN if len(slow) > 2 else 1.0)
        ends = min(len(np.unique(side[slow])) for side in (evidence.sender, evidence.receiver))
        sure = -beyond > least_loss(mapped, errors, part.kind if len(slow) > 1 else "pair", ends, slowest=slowest)
        expected = (own < -search.floor) & ~np.isnan(evidence.alone[pairs]) & ~by_others
        sure &= len(slow) >= LEAST_SLOW * int(expected.sum())
        if part.kind in OF_NODES:
            # Of the pairs that differ most, some have an end in common by chance: what a node gives none exceeds.
            below = (shown < middle) | (search.bound[pairs] < middle)
            sure &= int(below.sum()) >= min(FEWEST_PARTNERS, evidence.nodes - 2)
            sure &= choice.since > 0 or float(np.nanmedian(search.bound[pairs] - search.levels(part, level) / 2)) <= 0
        partners = np.unique((evidence.receiver if part.kind == "sender" else evidence.sender)[slow])
        # That became slow to so many partners is no cable: tables send what a node sends by as many as there are.
        became = choice.since > 0 and part.kind != "receiver" and len(partners) >= FEWEST_PARTNERS
        sure &= became or _has_neighbours(mapped, part, choice.since)
        if part.kind == "pair":
            back = (evidence.sender == part.key[1]) & (evidence.receiver == part.key[0]) & (not evidence.both_ways)
            # Traffic of other jobs may last as long as the confirmation, which is short where few pairs are suspect: it
            # was slow in the scan, too, or, if it is missing there, so was its other direction.
            scanned, is_alone = evidence.scan[slow[0]], ~np.isnan(evidence.alone)
            low_in_scan = evidence.scan < middle
            # Where sharing alone explains a low rate of the scan, that rate says nothing of the pair itself.
            own_scan = np.where(mapped.expected > middle, mapped.rest, np.nan)
            low_in_scan &= np.where(is_alone, evidence.alone, np.fmax(own_scan, evidence.bound)) < middle
            sure &= bool(low_in_scan[back].any() if np.isnan(scanned) else scanned < middle)
            back &= is_alone & (evidence.alone < middle)
            best = float(evidence.alone[np.union1d(slow, np.flatnonzero(back))].max())
            sure &= low_each_time(evidence, best, with_reverse=bool(back.any())) < CHANCE
    else:
        # Traffic of other jobs may last as long as a scan. It is usually over when pairs are measured alone.
        level, sure = float(np.median(evidence.alone[slow] if len(slow) else scan[is_low])), False
    return Culprit(part, choice.others, float(np.exp(level)), slow, low, choice.since, bool(sure))


def _has_neighbours(mapped: MappedEvidence, part: Part, since: float = 0.0) -> bool:
    """Return whether a node was measured with nodes at its switch.

    Where its switch is unknown the next ranks stand for these: if only pairs with them are fast, the node is healthy.
    Without such a pair a node cannot be distinguished from its path to the others.
    """
    evidence = mapped.evidence
    if part.kind not in OF_NODES or mapped.known.has_routes:
        return True  # with known routes its path is among the parts that are compared
    pairs = part.pairs
    if since:
        pairs = pairs[(evidence.when[pairs] >= since) | ~np.isnan(evidence.alone[pairs])]
    if mapped.leaf[part.key[0]] >= 0:
        return bool(mapped.within[pairs].any() or not mapped.within.any())
    near = np.abs(evidence.sender - evidence.receiver) <= NEIGHBOURS * evidence.rails
    if len(np.unique(evidence.sender[near])) < evidence.ranks / 2:
        return True  # the pattern has no such pairs; the finding has a note of it
    return int(near[pairs].sum()) >= 2
