# SPDX-License-Identifier: BSD-3-Clause
"""The patterns of ``rotate``: how many pairs they have at once, and how many rounds."""

from __future__ import annotations

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


def runs_until_all(ranks: int, shifts: int) -> int:
    """Return how many turns of ``round-robin --shifts`` measure all ordered pairs."""
    first = turns(ranks)
    if shifts >= 2 * first:
        return 1
    if shifts <= first:
        return 2 * widest_gap(shifts, first)
    return widest_gap(shifts - first, first)


def widest_gap(wanted: int, count: int) -> int:
    """Return the widest distance of so many numbers that are evenly spread from 0 to ``count - 1``."""
    return -(-(count - 1) // (wanted - 1)) if wanted > 1 else count
