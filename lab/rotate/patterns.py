# SPDX-License-Identifier: BSD-3-Clause
"""Sender and receiver of each pair of a round of ``rotate``, as the program's help defines them."""

import numpy as np
from numpy.typing import NDArray

from fabric_checks.parsers import rotate_patterns

Ranks = NDArray[np.int32]


def round_robin_rounds(ranks: int, shifts: int, turn: int = 0) -> list[int]:
    """Return the numbers of the rounds that ``round-robin --shifts --turn`` measures; 0 and more than there
    are stand for all.

    No two ranks meet twice before all have met once.
    """
    first = rotate_patterns.turns(ranks)
    if not 0 < shifts < 2 * first:
        return list(range(2 * first))
    if shifts <= first:
        is_back = turn // rotate_patterns.widest_gap(shifts, first) % 2 == 1
        chosen = from_end_to_end(shifts, first, turn)
        return [first + number for number in chosen] if is_back else chosen
    rest = from_end_to_end(shifts - first, first, turn)
    return [*range(first), *(first + number for number in rest)]


def from_end_to_end(wanted: int, count: int, turn: int = 0) -> list[int]:
    """Return that many of the numbers from 0 to ``count - 1``, evenly spread: the rounds of ``--shifts``.

    :param turn: they are moved by it; after as many turns as their widest distance all numbers were there.
    """
    moved = turn % rotate_patterns.widest_gap(wanted, count)
    spread = (index * (count - 1) // max(wanted - 1, 1) for index in range(wanted))
    return [(number + moved) % count for number in spread]


def pairs(pattern: str, ranks: int, rounds: Ranks) -> tuple[Ranks, Ranks]:
    """Return sender and receiver of all pairs of some rounds: rounds x pairs, those of a round by sender.

    :param pattern: any but ``bisection``, whose pairs are random. :param rounds: the numbers of the rounds.
    """
    number = np.asarray(rounds, dtype=np.int32)[:, None]
    if pattern == "round-robin":
        return _matches(ranks, number)
    count = rotate_patterns.pairs_of_round(pattern, ranks)
    sender = np.broadcast_to(np.arange(count, dtype=np.int32), (len(number), count))
    receiver = (
        count + (sender + number) % count
        if pattern == "rotate"
        else (sender + number + 1) % count
    )
    return sender, receiver


def _matches(ranks: int, number: Ranks) -> tuple[Ranks, Ranks]:
    """Return the pairs of the tournament by the circle method; its rule is in ``rotate --help``."""
    seats = rotate_patterns.turns(ranks)
    back, turn = number >= seats, number % seats
    middle = np.where(turn % 2 == 0, turn, turn + seats) // 2
    away = np.arange(1, seats // 2 + 1, dtype=np.int32)
    upper, lower = (middle + away) % seats, (middle - away) % seats
    upper_sends = (away % 2 == 1) != back
    if ranks >= 16:
        upper_sends ^= (np.minimum(upper, lower) % 2 == 1) & ((upper ^ lower) % 2 == 1)
    if ranks % 2 == 0:
        # An even number of ranks has one without a seat. It meets the middle seat, as the upper of the two.
        upper = np.hstack((upper, np.full_like(middle, seats)))
        lower = np.hstack((lower, middle))
        upper_sends = np.hstack((upper_sends, (middle % 2 == 1) != back))
    everybody = np.arange(ranks, dtype=np.int32)
    seated = np.delete(everybody, ranks // 2) if ranks % 2 == 0 else everybody
    rank_of_seat = np.append(seated, everybody[ranks // 2])
    sender: Ranks = rank_of_seat[np.where(upper_sends, upper, lower)]
    receiver: Ranks = rank_of_seat[np.where(upper_sends, lower, upper)]
    order = np.argsort(sender, axis=1)
    return np.take_along_axis(sender, order, axis=1), np.take_along_axis(
        receiver, order, axis=1
    )
