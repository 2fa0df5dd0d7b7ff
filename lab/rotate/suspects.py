# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs deserve to be measured again, and in which rounds: the rule of ``rotate --confirm``.

The program applies this rule itself, while it has the nodes (``checks/fabric/src/cross_section/suspects.c``
and ``confirm.c``); here it is once more, for the models of the laboratory and for the tests, and as the
counterpart that the program is tested against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.parsers.rotate import Transfers

#: A sender offers at most so many of its pairs.
OFFERS = 32
#: So many of them in both directions: by how much a cable or a pair is slow the other way.
BOTH_WAYS = 4
#: A suspect node is measured with so many nearest by rank, and so many others.
NEAR, FAR = 4, 8
#: In the list for the phase ``alone`` there are at first at most so many pairs of a sender and of a receiver,
#: with at most so many suspect nodes each, first those of nodes that are as slow as hardly another: so many
#: are a kind. Of the places so many parts belong to suspect nodes before the other pairs.
QUOTAS = ((1, 1), (2, 1), (2, 2), (4, 2), (6, 2))
OF_SINGLE, KIND = QUOTAS[:3], 3
#: The second pair of a node is its fastest one.
FASTEST_FIRST = (2, 1)
OF_NODES = (3, 4)
#: How many controls are spread over all pairs, how many where a pair is slow alone, and how many there are at
#: most.
CONTROLS_OF_ALL, CONTROLS_IF_SLOW, MOST_CONTROLS = 8, 24, 32
#: An end of a slow pair is in at least so many alone; so many controls at most are added for that.
OF_END, CONTROLS_OF_ENDS = 3, 8
#: So often at least suspects are measured beside others, as long as they are slow.
PASSES = 4
#: The repeats that :func:`budget` counts with, those of ``--confirm-repeats`` as it stands.
REPEATS = 4

#: Sender and receiver.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Suspects:
    """What looks slow in a scan.

    :param overall_MBps: the median over rounds of the rounds' medians.
    :param senders: what each suspect sender has at its best, as a share of others.
    :param receivers: the same for receivers.
    :param pairs: positions in the scan, lowest first.
    :param share: the value of each of these pairs over what the shares of its sender and receiver predict.
    :param plateaus_MBps: what senders and receivers have at their best: :func:`_usual` of the
        85 % quantiles of the nodes' pairs; NaN if no network is between any.
    :param single: the suspect senders and receivers that are no kind of slower nodes.
    """

    overall_MBps: float
    senders: dict[int, float]
    receivers: dict[int, float]
    pairs: NDArray[np.int64]
    share: NDArray[np.float64]
    plateaus_MBps: tuple[float, float] = (np.nan, np.nan)
    single: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())

    def is_single(self, pair: Pair) -> bool:
        """Return whether an end of a pair is as slow as hardly another node."""
        return any(rank in side for rank, side in zip(pair, self.single, strict=True))


def find(
    scan: Transfers, ranks: int, suspect_share: float, hosts: Sequence[str] = ()
) -> Suspects:
    """Return the suspects of a scan.

    A node is suspect if 85 % of its pairs are below ``1 - suspect_share`` of what is so of other nodes: where
    links are shared, a median says who shares. A pair is suspect if it is so much below the median of all, or
    what nodes have at their best less as much if that is more, after its sender's and its receiver's share.

    :param ranks: the number of ranks of the run.
    :param hosts: the host of each rank: a pair within one is no suspect, unless all are on one. Without them
        each rank has its own.
    """
    overall = float(
        np.nanmedian(_medians(scan.round, scan.MBps, int(scan.round.max()) + 1))
    )
    level = 1 - suspect_share
    within = _within(scan.sender, scan.receiver, hosts)
    tops = [
        _tops(side[~within], scan.MBps[~within], ranks)
        for side in (scan.sender, scan.receiver)
    ]
    plateaus = [_usual(top, suspect_share) for top in tops]
    # A rank that never sends is no suspect sender; comparing with NaN says so.
    shares = [top / plateau for top, plateau in zip(tops, plateaus, strict=True)]
    slow = [share < level for share in shares]
    effect = [
        np.where(is_, share, 1.0) for is_, share in zip(slow, shares, strict=True)
    ]
    # Where most pairs share, their median is half of a link, and a pair at 0.8 would not be seen.
    usual = max(
        [overall, *(level * plateau for plateau in plateaus if not np.isnan(plateau))]
    )
    share = scan.MBps / (
        usual * np.minimum(effect[0][scan.sender], effect[1][scan.receiver])
    )
    low = np.flatnonzero((share < level) & ~within)
    low = low[np.lexsort((share[low], scan.sender[low]))]
    offered = low[_places(scan.sender[low]) < OFFERS]
    offered = offered[np.argsort(share[offered], kind="stable")]
    return Suspects(
        overall,
        {int(rank): float(shares[0][rank]) for rank in np.flatnonzero(slow[0])},
        {int(rank): float(shares[1][rank]) for rank in np.flatnonzero(slow[1])},
        offered,
        share[offered],
        (plateaus[0], plateaus[1]),
        (
            _single(shares[0], slow[0], suspect_share),
            _single(shares[1], slow[1], suspect_share),
        ),
    )


def level_MBps(found: Suspects, pair: Pair, suspect_share: float) -> float:
    """Return below which bandwidth a pair is slow in the phase ``together``.

    A pair of a suspect node is held to what nodes have at their best: on links that are shared the median of
    all pairs is half of that, and no node at 0.8 would be slow. Another pair is held to a little less.
    """
    sender, receiver = pair
    reference = found.overall_MBps
    for is_suspect, plateau in zip(
        (sender in found.senders, receiver in found.receivers),
        found.plateaus_MBps,
        strict=True,
    ):
        least = plateau if is_suspect else (1 - suspect_share) * plateau
        reference = max(reference, least)
    return (1 - suspect_share) * reference


def sift(
    found: Suspects,
    pairs: Sequence[Pair],
    share: float,
    plan: Budget,
    measure: Callable[[list[list[Pair]], int], Mapping[Pair, float]],
    *,
    repeats: int = REPEATS,
    both_ways: bool = False,
) -> dict[Pair, float]:
    """Return the most that each pair reached that is slow whoever runs beside it, the slowest first:
    ``together``.

    All are measured, then once more those that were slow every time, and so on: with fewer pairs in other
    rounds a pair shares with others, and it shares less. While more are left than can be measured alone, as
    few are in a round as there are rounds for. That is done four times, and on until few enough are left, or
    the rounds are used up. A pass takes no more than half of the rounds that are left. Of more repeats than
    four the rounds of a pass have their share: by chance every pair is fast once.

    :param pairs: the suspects in the order in which they are given rounds; :param plan: how many rounds there
        are.
    :param measure: is given the rounds of a pass, and how often all of it is measured; returns the mean of
        what each pair reached in MB/s.
    """
    times = -(-repeats // PASSES)
    left, best = plan.together * repeats // times, dict.fromkeys(pairs, 0.0)
    passes, slow = 0, list(pairs)
    while slow and left and (passes < PASSES or len(slow) > plan.alone):
        most = (left + 1) // 2
        beside = -(-len(slow) // most) if passes and len(slow) > plan.alone else 0
        rounds = pack(slow, most, beside=beside, both_ways=both_ways)
        rates = measure(rounds, times)
        left -= len(rounds)
        measured = [pair for pair in slow if pair in rates] if not passes else slow
        for pair, rate in rates.items():
            best[pair] = max(best[pair], rate)
        slow = [
            pair for pair in measured if best[pair] < level_MBps(found, pair, share)
        ]
        passes += 1
    return {
        pair: best[pair] for pair in sorted(slow, key=lambda pair: (best[pair], pair))
    }


def _tops(
    key: NDArray[np.int32], values: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the 85 % quantile of the values of each key; NaN for one that has none."""
    order = np.lexsort((values, key))
    counts = np.bincount(key, minlength=size)
    first = np.cumsum(counts) - counts
    found = np.full(size, np.nan)
    enough = np.flatnonzero(counts)
    # Without floating point, so that the program finds the same: the smallest that 85 % do not exceed.
    places = (85 * counts[enough] + 99) // 100 - 1
    found[enough] = values[order[first[enough] + places]]
    return found


def _usual(tops: NDArray[np.float64], suspect_share: float) -> float:
    """Return the median or, if that is more, almost the smallest value that 75 % do not exceed; NaN without
    any.

    Where half of the nodes are of a slower kind, one of the others that is slow would look usual by the
    median alone.
    """
    known = np.sort(tops[~np.isnan(tops)])
    if not len(known):
        return np.nan
    high = known[(75 * len(known) + 99) // 100 - 1]
    return max(float(np.median(known)), float((1 - suspect_share / 2) * high))


def _single(
    shares: NDArray[np.float64], slow: NDArray[np.bool_], suspect_share: float
) -> frozenset[int]:
    """Return the slow ranks that fewer than two others are as slow as."""
    return frozenset(
        int(rank)
        for rank in np.flatnonzero(slow)
        if np.count_nonzero(np.abs(shares - shares[rank]) < suspect_share / 2) < KIND
    )


def _medians(
    key: NDArray[np.int32], values: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the median of the values of each key from 0 to ``size - 1``; NaN for one that does not occur."""
    table = (
        pl.DataFrame({"key": key, "value": values})
        .group_by("key")
        .agg(pl.col("value").median())
    )
    out = np.full(size, np.nan)
    out[table["key"].to_numpy()] = table["value"].to_numpy()
    return out


def _places(ordered: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many of the same value are before each, in an array that is sorted."""
    places: NDArray[np.int64] = np.arange(len(ordered)) - np.searchsorted(
        ordered, ordered
    )
    return places


def _within(
    sender: NDArray[np.int32], receiver: NDArray[np.int32], hosts: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which pairs are within a host: they say nothing of a network, unless there are only such
    pairs."""
    if len(set(hosts)) < 2:
        return np.zeros(len(sender), dtype=np.bool_)
    _, number = np.unique(np.asarray(hosts), return_inverse=True)
    same: NDArray[np.bool_] = number[sender] == number[receiver]
    return same


def partners(rank: int, ranks: int, rails: int = 1) -> list[int]:
    """Return whom a suspect node is measured with: its nearest by rank, and some of all others.

    Of ranks on rails these are the ranks of other nodes on the same rail.

    The nearest are behind the same switch as a rule, and tell a node from a cable or a switch above it. The
    others are at distances that differ: with static routing every 16th may be behind the same cable.
    """
    if rails > 1:
        node, rail = divmod(rank, rails)
        return [each * rails + rail for each in partners(node, ranks // rails)]
    window = min(NEAR + 1, ranks)
    first = max(0, min(rank - NEAR // 2, ranks - window))
    near = [each for each in range(first, first + window) if each != rank]
    rest = ranks - window
    far = min(FAR, rest)
    places = [i * rest // far + i * (i + 1) // 2 % (rest // far) for i in range(far)]
    return near + [place if place < first else place + window for place in places]


def listed(
    found: Suspects,
    scan: Transfers,
    ranks: int,
    hosts: Sequence[str] = (),
    *,
    rails: int = 1,
) -> list[Pair]:
    """Return the pairs to measure again, some in both directions, in the order in which they are given
    rounds."""
    order: dict[Pair, int] = {}
    partners_most = NEAR + FAR

    def offer(place: int, sender: int, receiver: int) -> None:
        both = place < partners_most + BOTH_WAYS
        for pair in (
            ((sender, receiver), (receiver, sender)) if both else ((sender, receiver),)
        ):
            order[pair] = min(place, order.get(pair, place))

    # Suspect nodes come first. Then the lowest pair of each sender, its second lowest, ...
    by_sender = found.pairs[np.argsort(scan.sender[found.pairs], kind="stable")]
    for place, position in zip(_places(scan.sender[by_sender]), by_sender, strict=True):
        offer(
            partners_most + int(place),
            int(scan.sender[position]),
            int(scan.receiver[position]),
        )
    several = len(set(hosts)) > 1
    for nodes, sends in ((found.senders, True), (found.receivers, False)):
        for rank in nodes:
            others = [
                p
                for p in partners(rank, ranks, rails)
                if not (several and hosts[p] == hosts[rank])
            ]
            for place, partner in enumerate(others):
                offer(place, *((rank, partner) if sends else (partner, rank)))
    return sorted(order, key=lambda pair: (order[pair], pair))


@dataclass(frozen=True)
class Budget:
    """How much is measured again, in measurements of a round or pair that are each repeated.

    :param together: rounds of the phase ``together``.
    :param alone: pairs of the phase ``alone``.
    :param controls: controls that there is room for beside both; more if they need less.
    :param total: of the three together.
    """

    together: int
    alone: int
    of_others: int
    controls: int
    total: int


def budget(ranks: int, limit: int = 0) -> Budget:
    """Return how much is measured again: with four repeats at most N/2 + 80 log2 N rounds, whatever is slow.

    :param limit: pairs alone, if another number was asked for.
    """
    bits = ranks.bit_length() - 1
    total = (ranks // 2 + 80 * bits) // REPEATS
    alone, of_others = 8 * bits + ranks // 16, 4 * bits
    rest = total - alone - of_others
    controls = min(8, rest // 3)
    return Budget(
        rest - controls, limit or alone, 0 if limit else of_others, controls, total
    )


def pack(
    pairs: Sequence[Pair], most: int, *, beside: int = 0, both_ways: bool = False
) -> list[list[Pair]]:
    """Return the rounds of the phase ``together``: each pair in the first round in which both its nodes are
    free.

    :param most: at most so many rounds; what does not fit is not measured again.
    :param beside: at most so many pairs in a round, which do not follow each other in the list: such are of
        nodes at one switch. 0: as many as fit.
    :param both_ways: whether a node may send and receive in the same round, as in the pattern ``shift``.
    """
    step = most if beside else 1
    left = [pair for first in range(step) for pair in pairs[first::step]]
    rounds: list[list[Pair]] = []
    while left and len(rounds) < most:
        chosen: list[Pair] = []
        later: list[Pair] = []
        senders: set[int] = set()
        receivers: set[int] = set() if both_ways else senders
        for sender, receiver in left:
            if len(chosen) == beside > 0 or sender in senders or receiver in receivers:
                later.append((sender, receiver))
            else:
                chosen.append((sender, receiver))
                senders.add(sender)
                receivers.add(receiver)
        rounds.append(chosen)
        left = later
    return rounds


def choose_alone(
    found: Suspects, slow: Mapping[Pair, float], limit: int, of_others: int = 0
) -> list[Pair]:
    """Return the pairs to measure alone out of those that stayed slow.

    First those of suspect nodes, by :func:`fair`, up to three quarters of the places; then, of the others,
    half that stand furthest above the one before them, and the rest evenly spread: pairs that share a link
    stand together at one half and one third, a fault stands anywhere. Then more of suspect nodes, if there is
    room.

    :param slow: with the most that each reached, the slowest first; :param of_others: so many more of other
        nodes.
    """
    nodes = {
        pair: (pair[0] in found.senders) + (pair[1] in found.receivers) for pair in slow
    }
    nodes = {pair: count for pair, count in nodes.items() if count}
    others = [pair for pair in slow if pair not in nodes]
    first = {pair for pair in nodes if found.is_single(pair)}
    chosen = fair(
        nodes, max(limit * OF_NODES[0] // OF_NODES[1], limit - len(others)), first
    )
    wanted = min(limit + of_others - len(chosen), len(others))
    above = {
        pair: slow[pair] - slow[before]
        for before, pair in zip(others[:1] + others[:-1], others, strict=True)
    }
    apart = sorted(others, key=lambda pair: (-above[pair], pair))[: wanted // 2]
    chosen += apart
    taken = set(apart)
    others = [pair for pair in others if pair not in taken]
    wanted -= len(apart)
    chosen += [
        others[(2 * index + 1) * len(others) // (2 * wanted)] for index in range(wanted)
    ]
    rest = [pair for pair in nodes if pair not in set(chosen)]
    return chosen + rest[: max(limit - len(chosen), 0)]


def fair(
    slow: Mapping[Pair, int], limit: int, first: Collection[Pair] = ()
) -> list[Pair]:
    """Return some of the pairs, given slowest first.

    At first only one of a sender or receiver, then two, and so on: a very slow node, or many of a slower
    kind, would fill the list and hide another. A pair of two suspect nodes does not show which of them is
    slow, and comes later. The second of a node is its fastest one: the slowest ones may be slow for what is
    slow at their other end.

    :param slow: with the number of suspect nodes of each; :param first: pairs of which some come before the
        others.
    """
    chosen: list[Pair] = []
    left = list(slow)
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    passes = [(first, *each) for each in OF_SINGLE] + [(slow, *each) for each in QUOTAS]
    for these, quota, most in passes:
        later = []
        step = -1 if (quota, most) == FASTEST_FIRST else 1
        for sender, receiver in left[::step]:
            is_free = (
                (sender, receiver) in these
                and slow[sender, receiver] <= most
                and sent[sender] < quota
                and received[receiver] < quota
            )
            if len(chosen) < limit and is_free:
                chosen.append((sender, receiver))
                sent[sender] += 1
                received[receiver] += 1
            else:
                later.append((sender, receiver))
        left = later[::step]
    return chosen


def controls(
    found: Suspects,
    scan: Transfers,
    slow: Collection[Pair],
    alone: Sequence[Pair],
    most: int,
    *,
    hosts: Sequence[str] = (),
    rails: int = 1,
    is_slow: bool = False,
) -> list[Pair]:
    """Return the pairs that those alone are held to.

    Some are spread over all pairs, but those that stayed slow, or whose node is slow in that direction:
    without what looked slow once, healthy pairs would seem more alike than they are. Further, for each node
    of several pairs alone, one that it sends and one that it receives; and :func:`_of_ends`.

    :param slow: the pairs that stayed slow; :param alone: those measured alone; :param most: at most so many.
    :param is_slow: whether one of those was slow in the first repeat: then there are more at the end of the
        list.
    """
    most = min(most, MOST_CONTROLS)
    avoided = set(slow)
    free = ~np.isin(scan.sender, list(found.senders)) & ~np.isin(
        scan.receiver, list(found.receivers)
    )
    free &= ~_within(scan.sender, scan.receiver, hosts)
    eligible = [
        pair
        for pair in zip(
            scan.sender[free].tolist(), scan.receiver[free].tolist(), strict=True
        )
        if pair not in avoided
    ]
    chosen = _spread(eligible, min(CONTROLS_OF_ALL, most))
    times = Counter(rank for pair in alone for rank in pair)
    sends = {rank for rank, count in times.items() if count >= 2}
    receives = set(sends)
    for sender, receiver in eligible:
        if (
            len(chosen) < most
            and (sender in sends or receiver in receives)
            and (sender, receiver) not in chosen
        ):
            sends.discard(sender)
            receives.discard(receiver)
            chosen.append((sender, receiver))
    ranks = int(max(scan.sender.max(), scan.receiver.max())) + 1
    chosen += _of_ends(
        found,
        avoided,
        alone,
        chosen,
        min(most, len(chosen) + CONTROLS_OF_ENDS),
        ranks,
        hosts,
        rails,
    )
    more = _spread(eligible, min(CONTROLS_IF_SLOW, most)) if is_slow else []
    return [*chosen, *(pair for pair in more if pair not in chosen)][:most]


def _of_ends(
    found: Suspects,
    slow: Collection[Pair],
    alone: Sequence[Pair],
    chosen: Sequence[Pair],
    most: int,
    ranks: int,
    hosts: Sequence[str],
    rails: int,
) -> list[Pair]:
    """Return more pairs of the ends of those alone, first of ends that have several.

    What became slow late in the scan is no suspect node, and has a pair or two that are slow, which do not
    show which end it is. Each end is measured with the next rank on either hand, and with others near it
    until there are enough.

    :param chosen: the controls so far; :param most: how many there may be with those returned.
    """
    more: list[Pair] = []
    for least in (2, 1):
        for side, rank in ((side, pair[side]) for pair in alone for side in (0, 1)):
            count = sum(pair[side] == rank for pair in (*alone, *chosen, *more))
            if count < least or rank in (found.senders, found.receivers)[side]:
                continue
            for away in range(rails, ranks, rails):
                is_next = away == rails
                for partner in (
                    (rank - away, rank + away) if is_next or count < OF_END else ()
                ):
                    sender, receiver = pair = (
                        (rank, partner) if side == 0 else (partner, rank)
                    )
                    is_free = (
                        0 <= partner < ranks
                        and sender not in found.senders
                        and receiver not in found.receivers
                    )
                    is_free = (
                        is_free
                        and pair not in slow
                        and pair not in chosen
                        and pair not in more
                    )
                    is_free = is_free and (
                        len(set(hosts)) < 2 or hosts[sender] != hosts[receiver]
                    )
                    if is_free and len(chosen) + len(more) < most:
                        more.append(pair)
                        count += 1
    return more


def _spread(eligible: Sequence[Pair], most: int) -> list[Pair]:
    wanted = min(most, len(eligible))
    return [
        eligible[(2 * index + 1) * len(eligible) // (2 * wanted)]
        for index in range(wanted)
    ]


def is_any_slow(
    phases: Mapping[str, Transfers], controls: int, alone: int, share: float
) -> bool:
    """Return whether a pair was slow in the first repeat, as the first controls are: then there are more.

    :param controls: how many there are at first; :param alone: how many pairs are measured alone.
    """
    first, suspected = phases["control"].MBps[:controls], phases["alone"].MBps[:alone]
    return (
        bool(suspected.min() < (1 - share) * np.median(first)) if len(first) else True
    )
