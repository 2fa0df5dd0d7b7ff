# SPDX-License-Identifier: BSD-3-Clause
"""The patterns of ``rotate``: sender and receiver of each pair of a round, as the program defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

# NumPy is needed for pairs only: a check asks for the number of rounds where it is not installed.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ranks = NDArray[np.int32]

PATTERNS = ("rotate", "shift", "bisection", "round-robin")


def pairs_of_round(pattern: str, ranks: int) -> int:
    """Return the number of concurrent pairs."""
    return ranks if pattern == "shift" else ranks // 2


def turns(ranks: int) -> int:
    """Return the number of rounds of ``round-robin`` after which every two ranks have met, in one
    direction."""
    return ranks - 1 + ranks % 2


def nightly_rounds(ranks: int) -> int:
    """Return the number of rounds of ``round-robin`` in a night: that of the pattern ``rotate``, N/2, rounded
    up.

    Every rank then sends and receives at least twice, and all groups of four or more consecutive ranks reach
    each other in both directions. Few ranks need up to six rounds for the former, and for one to be seen that
    becomes slow.
    """
    return max((ranks + 1) // 2, min(2 * turns(ranks), 6))


def round_robin_rounds(ranks: int, shifts: int) -> list[int]:
    """Return the numbers of the rounds that ``round-robin --shifts`` measures; 0 and more than there are
    stand for all.

    No two ranks meet twice before all have met once.
    """
    first = turns(ranks)
    if not 0 < shifts < 2 * first:
        return list(range(2 * first))
    if shifts <= first:
        return from_end_to_end(shifts, first)
    return [*range(first), *(first + number for number in from_end_to_end(shifts - first, first))]


def from_end_to_end(wanted: int, count: int) -> list[int]:
    """Return that many of the numbers from 0 to ``count - 1``, evenly spread: the rounds of ``--shifts``."""
    return [index * (count - 1) // max(wanted - 1, 1) for index in range(wanted)]


#: In the phase ``leaf`` the nodes of a turn, the fewest and the most turns, and the most partners of a rank
#: at once.
LEAF_NODES, LEAF_TURNS, LEAF_WIDTH = 8, (3, 8), 8


def leaf_flows(groups: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return round, sender and receiver of each flow of the phase ``leaf``, those of a round by sender.

    Of the groups, which stand in a circle, one half sends to the next half, and in the next round these to
    them; then it is the turn of the groups that begin one further, N/8 times, three times at least and eight
    times at most. In every third turn the even groups stand before the odd ones: so four are divided in all
    three ways, and more of the flows that a hash may send by one cable run at once. Of an odd number of
    groups one is left out. The ranks of a half are the first of each group, then the second of each, and so
    on; those that have no counterpart in the other half are left out. Each has as many partners as there are,
    at most eight.

    :param groups: the group of each rank, numbered by their lowest ranks, -1 for none.
    """
    count = max(groups, default=-1) + 1
    if count < 2:
        return []
    places: dict[int, int] = {}
    seats = []
    for rank, group in enumerate(groups):
        places[group] = places.get(group, -1) + 1
        seats.append((places[group], group, rank))
    flows = []
    for turn in range(min(max(len(groups) // LEAF_NODES, LEAF_TURNS[0]), LEAF_TURNS[1])):
        halves: tuple[list[int], ...] = ([], [], [])
        circle = [*range(0, count, 2), *range(1, count, 2)] if turn % 3 == 2 else range(count)
        for _, group, rank in sorted(seat for seat in seats if seat[1] >= 0):
            halves[(circle.index(group) - turn) % count // (count // 2)].append(rank)
        active = min(map(len, halves[:2]))
        width = min(active, LEAF_WIDTH)
        for place in range(active):
            for step in range(width):
                one, other = halves[0][place], halves[1][(place + step + turn * width) % active]
                flows += [(2 * turn, one, other), (2 * turn + 1, other, one)]
    return sorted(flows, key=lambda flow: flow[:2])


def pairs(pattern: str, ranks: int, rounds: Ranks) -> tuple[Ranks, Ranks]:
    """Return sender and receiver of all pairs of some rounds: rounds x pairs, those of a round by sender.

    :param pattern: any but ``bisection``, whose pairs are random. :param rounds: the numbers of the rounds.
    """
    import numpy as np  # noqa: PLC0415  (may be missing where only the number of rounds is asked for)

    number = np.asarray(rounds, dtype=np.int32)[:, None]
    if pattern == "round-robin":
        return _matches(ranks, number)
    count = pairs_of_round(pattern, ranks)
    sender = np.broadcast_to(np.arange(count, dtype=np.int32), (len(number), count))
    receiver = count + (sender + number) % count if pattern == "rotate" else (sender + number + 1) % count
    return sender, receiver


def _matches(ranks: int, number: Ranks) -> tuple[Ranks, Ranks]:
    """Return the pairs of the tournament by the circle method; its rule is in ``rotate --help``."""
    import numpy as np  # noqa: PLC0415  (may be missing where only the number of rounds is asked for)

    seats = turns(ranks)
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
    return np.take_along_axis(sender, order, axis=1), np.take_along_axis(receiver, order, axis=1)
