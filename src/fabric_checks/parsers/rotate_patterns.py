# SPDX-License-Identifier: BSD-3-Clause
"""The patterns of ``rotate``: sender and receiver of each pair of a round, as the program defines them."""

from __future__ import annotations

from typing import TYPE_CHECKING

# NumPy is needed for pairs only: a check asks for the number of rounds where it is not installed.
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ranks = NDArray[np.int32]

#: The rows of a scan, a pair each: more are too large an output.
MOST_ROWS = 2**22

PATTERNS = ("rotate", "shift", "bisection", "round-robin")


def pairs_of_round(pattern: str, ranks: int) -> int:
    """Return the number of concurrent pairs."""
    return ranks if pattern == "shift" else ranks // 2


def turns(ranks: int) -> int:
    """Return the number of rounds of ``round-robin`` after which every two ranks have met, in one
    direction."""
    return ranks - 1 + ranks % 2


#: Of ``round-robin``: with fewer rounds a rank may have only sent, or be seen once.
FEWEST_ROUNDS = 6


def wanted_rounds(pattern: str, ranks: int, rails: int = 1) -> int:
    """Return how many rounds a run measures if there is time: of ``round-robin`` those of a night, of others
    all, as far as the output holds them."""
    if pattern == "round-robin":
        return nightly_rounds(ranks, rails)
    return min(all_rounds(pattern, ranks), most_rounds(pattern, ranks, rails))


def nightly_rounds(ranks: int, rails: int = 1) -> int:
    """Return the number of rounds of ``round-robin`` in a night: that of the pattern ``rotate``, N/2, rounded
    up.

    Every rank then sends and receives at least twice, and all groups of four or more consecutive ranks reach
    each other in both directions. Few ranks need up to six rounds for the former, and for one to be seen that
    becomes slow. Many measure fewer, :func:`most_rounds`, which does so for groups of more.
    """
    wanted = max((ranks + 1) // 2, min(2 * turns(ranks), FEWEST_ROUNDS))
    return min(wanted, most_rounds("round-robin", ranks, rails))


def most_rounds(pattern: str, ranks: int, rails: int = 1) -> int:
    """Return how many rounds of a pattern have at most :data:`MOST_ROWS` pairs; :param rails: those of a
    round."""
    return max(1, MOST_ROWS // (pairs_of_round(pattern, ranks) * rails))


def all_rounds(pattern: str, ranks: int) -> int:
    """Return the number of rounds of a whole pattern; of ``bisection`` as many as ``rotate`` has."""
    if pattern == "round-robin":
        return 2 * turns(ranks)
    return ranks - 1 if pattern == "shift" else ranks // 2


def round_robin_rounds(ranks: int, shifts: int, turn: int = 0) -> list[int]:
    """Return the numbers of the rounds that ``round-robin --shifts --turn`` measures; 0 and more than there
    are stand for all.

    No two ranks meet twice before all have met once.
    """
    first = turns(ranks)
    if not 0 < shifts < 2 * first:
        return list(range(2 * first))
    if shifts <= first:
        is_back = turn // _widest_gap(shifts, first) % 2 == 1
        chosen = from_end_to_end(shifts, first, turn)
        return [first + number for number in chosen] if is_back else chosen
    rest = from_end_to_end(shifts - first, first, turn)
    return [*range(first), *(first + number for number in rest)]


def runs_until_all(ranks: int, shifts: int) -> int:
    """Return how many turns of ``round-robin --shifts`` measure all ordered pairs."""
    first = turns(ranks)
    if shifts >= 2 * first:
        return 1
    if shifts <= first:
        return 2 * _widest_gap(shifts, first)
    return _widest_gap(shifts - first, first)


def from_end_to_end(wanted: int, count: int, turn: int = 0) -> list[int]:
    """Return that many of the numbers from 0 to ``count - 1``, evenly spread: the rounds of ``--shifts``.

    :param turn: they are moved by it; after as many turns as their widest distance all numbers were there.
    """
    moved = turn % _widest_gap(wanted, count)
    spread = (index * (count - 1) // max(wanted - 1, 1) for index in range(wanted))
    return [(number + moved) % count for number in spread]


def _widest_gap(wanted: int, count: int) -> int:
    return -(-(count - 1) // (wanted - 1)) if wanted > 1 else count


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
    receiver = (
        count + (sender + number) % count
        if pattern == "rotate"
        else (sender + number + 1) % count
    )
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
    return np.take_along_axis(sender, order, axis=1), np.take_along_axis(
        receiver, order, axis=1
    )
