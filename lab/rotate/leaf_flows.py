# SPDX-License-Identifier: BSD-3-Clause
"""The flows of the phase ``leaf`` of ``rotate``, as the program defines them."""

from collections.abc import Sequence

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
    for turn in range(
        min(max(len(groups) // LEAF_NODES, LEAF_TURNS[0]), LEAF_TURNS[1])
    ):
        halves: tuple[list[int], ...] = ([], [], [])
        circle = (
            [*range(0, count, 2), *range(1, count, 2)]
            if turn % 3 == 2
            else range(count)
        )
        for _, group, rank in sorted(seat for seat in seats if seat[1] >= 0):
            halves[(circle.index(group) - turn) % count // (count // 2)].append(rank)
        active = min(map(len, halves[:2]))
        width = min(active, LEAF_WIDTH)
        for place in range(active):
            for step in range(width):
                one = halves[0][place]
                other = halves[1][(place + step + turn * width) % active]
                flows += [(2 * turn, one, other), (2 * turn + 1, other, one)]
    return sorted(flows, key=lambda flow: flow[:2])
