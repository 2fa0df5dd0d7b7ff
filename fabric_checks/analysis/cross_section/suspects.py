# SPDX-License-Identifier: BSD-3-Clause
"""Which pairs deserve to be measured again, and in which rounds: the rule of ``rotate --confirm``.

The program applies this rule itself, while it has the nodes (``checks/fabric/src/rotate_suspects.h`` and
``rotate_confirm.h``); here it is once more, for scans that were not confirmed, for simulations, and as the counterpart
that the program is tested against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.parsers.rotate import Transfers

#: A sender offers at most so many of its pairs.
OFFERS = 16
#: A suspect node is measured with so many nearest by rank, and so many others.
NEAR, FAR = 4, 8
#: In the list for the phase ``alone`` there are at first at most so many pairs of a sender and of a receiver.
QUOTAS = (4, 8)
#: How many controls are spread over all pairs, and how many there are at most.
CONTROLS_OF_ALL, MOST_CONTROLS = 8, 32
#: The repeats that :func:`budget` counts with, those of ``--confirm-repeats`` as it stands.
REPEATS = 4

#: Sender and receiver.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Suspects:
    """What looks slow in a scan.

    :param overall_MBps: the median over rounds of the rounds' medians.
    :param senders: the median of each suspect sender's pairs, as a share of the overall median.
    :param receivers: the same for receivers.
    :param pairs: positions in the scan, lowest first.
    :param share: the value of each of these pairs over what the shares of its sender and receiver predict.
    """

    overall_MBps: float
    senders: dict[int, float]
    receivers: dict[int, float]
    pairs: NDArray[np.int64]
    share: NDArray[np.float64]


def find(scan: Transfers, ranks: int, suspect_share: float, hosts: Sequence[str] = ()) -> Suspects:
    """Return the suspects of a scan.

    A node is suspect if the median of its pairs is below ``1 - suspect_share`` of the overall median; a pair, if it is
    so much below what is left after its sender's and its receiver's share.

    :param ranks: the number of ranks of the run.
    :param hosts: the host of each rank: a pair within one is no suspect, unless all are on one. Without them each rank
        has its own.
    """
    overall = float(np.nanmedian(_medians(scan.round, scan.MBps, int(scan.round.max()) + 1)))
    # A rank that never sends is no suspect sender; comparing with NaN says so.
    sender = _medians(scan.sender, scan.MBps, ranks) / overall
    receiver = _medians(scan.receiver, scan.MBps, ranks) / overall
    level = 1 - suspect_share
    effect = [np.where(share < level, share, 1.0) for share in (sender, receiver)]
    expected = overall * np.minimum(effect[0][scan.sender], effect[1][scan.receiver])
    share = scan.MBps / expected
    low = np.flatnonzero((share < level) & ~_within(scan.sender, scan.receiver, hosts))
    low = low[np.lexsort((share[low], scan.sender[low]))]
    offered = low[_places(scan.sender[low]) < OFFERS]
    offered = offered[np.argsort(share[offered], kind="stable")]
    return Suspects(
        overall,
        {int(rank): float(sender[rank]) for rank in np.flatnonzero(sender < level)},
        {int(rank): float(receiver[rank]) for rank in np.flatnonzero(receiver < level)},
        offered,
        share[offered],
    )


def _medians(key: NDArray[np.int32], values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the median of the values of each key from 0 to ``size - 1``; NaN for one that does not occur."""
    table = pl.DataFrame({"key": key, "value": values}).group_by("key").agg(pl.col("value").median())
    out = np.full(size, np.nan)
    out[table["key"].to_numpy()] = table["value"].to_numpy()
    return out


def _places(ordered: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many of the same value are before each, in an array that is sorted."""
    places: NDArray[np.int64] = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return places


def _within(sender: NDArray[np.int32], receiver: NDArray[np.int32], hosts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which pairs are within a host: they say nothing of a network, unless there are only such pairs."""
    if len(set(hosts)) < 2:
        return np.zeros(len(sender), dtype=np.bool_)
    _, number = np.unique(np.asarray(hosts), return_inverse=True)
    same: NDArray[np.bool_] = number[sender] == number[receiver]
    return same


def partners(rank: int, ranks: int) -> list[int]:
    """Return whom a suspect node is measured with: its nearest by rank, and some of all others.

    The nearest are behind the same switch as a rule, and tell a node from a cable or a switch above it. The others are
    at distances that differ: with static routing every 16th may be behind the same cable.
    """
    window = min(NEAR + 1, ranks)
    first = max(0, min(rank - NEAR // 2, ranks - window))
    near = [each for each in range(first, first + window) if each != rank]
    rest = ranks - window
    far = min(FAR, rest)
    places = [i * rest // far + i * (i + 1) // 2 % (rest // far) for i in range(far)]
    return near + [place if place < first else place + window for place in places]


def listed(found: Suspects, scan: Transfers, ranks: int, hosts: Sequence[str] = ()) -> list[Pair]:
    """Return the pairs to measure again, both directions of each, in the order in which they are given rounds."""
    order: dict[Pair, int] = {}

    def offer(place: int, sender: int, receiver: int) -> None:
        for pair in ((sender, receiver), (receiver, sender)):
            order[pair] = min(place, order.get(pair, place))

    # The lowest of each sender first, then its second lowest, ...
    by_sender = found.pairs[np.argsort(scan.sender[found.pairs], kind="stable")]
    for place, position in zip(_places(scan.sender[by_sender]), by_sender, strict=True):
        offer(int(place), int(scan.sender[position]), int(scan.receiver[position]))
    several = len(set(hosts)) > 1
    for nodes, sends in ((found.senders, True), (found.receivers, False)):
        for rank in nodes:
            others = [p for p in partners(rank, ranks) if not (several and hosts[p] == hosts[rank])]
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
    controls: int
    total: int


def budget(ranks: int, limit: int = 0) -> Budget:
    """Return how much is measured again: with four repeats at most N/2 + 64 log2 N rounds, whatever is slow.

    :param limit: pairs alone, if another number was asked for.
    """
    bits = ranks.bit_length() - 1
    total = (ranks // 2 + 64 * bits) // REPEATS
    alone = 8 * bits + ranks // 16
    rest = total - alone
    controls = min(8, rest // 3)
    return Budget(rest - controls, limit or alone, controls, total)


def pack(pairs: Sequence[Pair], most: int, *, both_ways: bool = False) -> list[list[Pair]]:
    """Return the rounds of the phase ``together``: each pair in the first round in which both its nodes are free.

    :param most: at most so many rounds; what does not fit is not measured again.
    :param both_ways: whether a node may send and receive in the same round, as in the pattern ``shift``.
    """
    left = list(pairs)
    rounds: list[list[Pair]] = []
    while left and len(rounds) < most:
        chosen, later = [], []
        senders: set[int] = set()
        receivers: set[int] = set()
        for sender, receiver in left:
            busy = (senders, receivers) if both_ways else (senders | receivers,) * 2
            if sender in busy[0] or receiver in busy[1]:
                later.append((sender, receiver))
            else:
                chosen.append((sender, receiver))
                senders.add(sender)
                receivers.add(receiver)
        rounds.append(chosen)
        left = later
    return rounds


def fair(slow: Sequence[Pair], limit: int) -> list[Pair]:
    """Return the pairs to measure alone out of those that were slow twice, given slowest first.

    At first only a few of a sender or receiver: one very slow node would fill the list and hide another.
    """
    chosen: list[Pair] = []
    left = list(slow)
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for quota in (*QUOTAS, len(slow)):
        later = []
        for sender, receiver in left:
            if len(chosen) < limit and sent[sender] < quota and received[receiver] < quota:
                chosen.append((sender, receiver))
                sent[sender] += 1
                received[receiver] += 1
            else:
                later.append((sender, receiver))
        left = later
    return chosen


def controls(
    found: Suspects,
    scan: Transfers,
    slow: Collection[Pair],
    alone: Sequence[Pair],
    most: int,
    *,
    hosts: Sequence[str] = (),
) -> list[Pair]:
    """Return the pairs that those alone are held to.

    Some are spread over all pairs, but those that were slow twice, or whose node is slow in that direction: without
    what looked slow once, healthy pairs would seem more alike than they are. Further, for each node of several pairs
    alone, one that it sends and one that it receives.

    :param slow: the pairs that were slow twice; :param alone: those measured alone; :param most: at most so many.
    """
    most = min(most, MOST_CONTROLS)
    avoided = set(slow)
    free = ~np.isin(scan.sender, list(found.senders)) & ~np.isin(scan.receiver, list(found.receivers))
    free &= ~_within(scan.sender, scan.receiver, hosts)
    eligible = [
        pair
        for pair in zip(scan.sender[free].tolist(), scan.receiver[free].tolist(), strict=True)
        if pair not in avoided
    ]
    wanted = min(CONTROLS_OF_ALL, most, len(eligible))
    chosen = [eligible[(2 * index + 1) * len(eligible) // (2 * wanted)] for index in range(wanted)]
    times = Counter(rank for pair in alone for rank in pair)
    sends = {rank for rank, count in times.items() if count >= 2}
    receives = set(sends)
    for sender, receiver in eligible:
        if len(chosen) < most and (sender in sends or receiver in receives) and (sender, receiver) not in chosen:
            sends.discard(sender)
            receives.discard(receiver)
            chosen.append((sender, receiver))
    return chosen
