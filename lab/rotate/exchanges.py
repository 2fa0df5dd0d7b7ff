# SPDX-License-Identifier: BSD-3-Clause
"""The exchanges of ``rotate --both-ways``, as the program defines them, and which nodes it measures again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lab.rotate.suspects import REPEATS, Pair, Suspects

#: At most so many nodes are measured again, each with so many others.
MOST, PARTNERS = 4, 2
#: Measures exchanges at once: phase, number of the round, the ranks of each; returns the MB/s of each, of the
#: slower direction of the best test.
Exchange = Callable[[str, int, Sequence[Pair]], Sequence[float]]


def rounds(nodes: int, rails: int = 1, share: int = 1) -> list[list[Pair]]:
    """Return the exchanges of each round of the phase ``both``: with the next node on one hand, then on the
    other."""
    found = []
    for number in range(2 * share):
        first, turn = divmod(number, share)
        starts = [first + 2 * place for place in range(nodes // 2)]
        found.append(
            [
                (start % nodes * rails + rail, (start + 1) % nodes * rails + rail)
                for start in starts
                for rail in range(turn, rails, share)
            ]
        )
    return found


def partners(
    rank: int, ranks: int, rails: int, slow: Sequence[int], hosts: Sequence[str] = ()
) -> Pair | None:
    """Return the nearest ranks on the same rail of other nodes that are not slow; None if there are too
    few."""
    near = sorted(range(rank % rails, ranks, rails), key=lambda each: abs(each - rank))
    several = len(set(hosts)) > 1
    found = [
        each
        for each in near
        if each != rank
        and each not in slow
        and not (several and hosts[each] == hosts[rank])
    ][:PARTNERS]
    is_enough = len(found) == PARTNERS and not (
        several and hosts[found[0]] == hosts[found[1]]
    )
    return (found[0], found[1]) if is_enough else None


def own_share(found: Suspects, rank: int) -> float:
    """Return what a suspect node has one way as a share of others, on its slower side; 1 of another."""
    return min(found.senders.get(rank, 1.0), found.receivers.get(rank, 1.0))


def doubtful(
    best: Mapping[int, float], found: Suspects, share: float, ranks: int, rails: int = 1
) -> dict[int, Pair]:
    """Return the nodes that are measured again, first those that are not slow one way, and the partners of
    each.

    :param best: of each rank the best of its exchanges.
    """
    usual = float(np.median([best.get(rank, 0.0) for rank in range(ranks)]))
    slow = sorted(
        (rank for rank, rate in best.items() if rate < (1 - share) * usual),
        key=lambda rank: (best[rank] / own_share(found, rank), rank),
    )
    chosen = dict[int, Pair]()
    for rank in slow[:MOST]:
        if not (others := partners(rank, ranks, rails, slow)):
            break
        chosen[rank] = others
    return chosen


def measure(
    found: Suspects,
    share: float,
    shape: tuple[int, int, int],
    exchange: Exchange,
    one_way: Callable[[int, Pair], object],
    pause: Callable[[], None],
) -> None:
    """Measure the phases ``both`` and ``both-alone``.

    :param shape: the numbers of ranks, of those of a node, and of those of an adapter.
    :param one_way: measures a pair one way, alone, in a round of the phase ``both-alone``. :param pause:
        called before the last repeat.
    """
    ranks, rails, of_adapter = shape
    best = _beside(rounds(ranks // rails, rails, of_adapter), exchange)
    left, number = doubtful(best, found, share, ranks, rails), 0
    reached = {rank: (0.0, 0.0) for rank in left}
    for repeat in range(REPEATS):
        if left and repeat == REPEATS - 1:
            pause()
        for rank, others in left.items():
            pairs = [others, *((rank, each) for each in others)]
            control, *own = (
                exchange("both-alone", number + place, [pair])[0]
                for place, pair in enumerate(pairs)
            )
            number += len(pairs)
            one_way(number, (rank, others[0]))
            one_way(number + 1, (others[0], rank))
            number += 2
            before = reached[rank]
            reached[rank] = max(control, before[0]), max(*own, before[1])
        left = _slow_again(left, reached, share)


def _beside(
    of_rounds: Sequence[Sequence[Pair]], exchange: Exchange
) -> dict[int, float]:
    """Measure the rounds of the phase ``both``; return the best exchange of each rank."""
    best: dict[int, float] = {}
    for number, pairs in enumerate(of_rounds):
        rates = exchange("both", number, pairs)
        for pair, rate in zip(pairs, rates, strict=True):
            best |= {rank: max(rate, best.get(rank, 0.0)) for rank in pair}
    return best


def _slow_again(
    left: Mapping[int, Pair], reached: Mapping[int, tuple[float, float]], share: float
) -> dict[int, Pair]:
    """Return the nodes that were slow each time; :param reached: the best of their partners, and theirs."""
    return {
        rank: others
        for rank, others in left.items()
        if reached[rank][1] < (1 - share) * reached[rank][0]
    }
