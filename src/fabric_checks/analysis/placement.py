# SPDX-License-Identifier: BSD-3-Clause
"""Verify that the ranks of a job ran where they were asked to run, and describe their binding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fabric_checks.core.errors import PlacementError
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import names_text
from fabric_checks.parsers.placement import RankPlace, cpu_numbers


def verify(ranks: Sequence[RankPlace], layout: Layout, oversubscribed: bool = False) -> None:
    """Raise :class:`PlacementError` unless the ranks are spread as ``layout`` says, each on a core of its own.

    Without binding every rank may use all cores of its node; each only has to be *able* to have a core to itself, which
    two ranks bound to one core, or to two hardware threads of one core, are not.

    :param ranks: the placement of each rank.
    :param layout: the number of nodes and of processes on each.
    :param oversubscribed: whether the nodes are known to have fewer cores than ranks; then cores may be shared.
    """
    if len(ranks) != layout.tasks:
        raise PlacementError(f"{layout.tasks} ranks were asked for, {len(ranks)} ran: {describe(ranks)}")
    by_node = _by_node(ranks)
    if len(by_node) != layout.nodes:
        raise PlacementError(f"{layout.nodes} nodes were asked for, {len(by_node)} were used: {describe(ranks)}")
    for node, places in by_node.items():
        if len(places) != layout.ppn:
            raise PlacementError(
                f"{layout.ppn} ranks a node were asked for, {node} has {len(places)}: {describe(ranks)}"
            )
        # Where the kernel shows neither cores nor CPUs nothing can be verified; results then have "-".
        known = all(place.cores for place in places) or all(place.cpus != "-" for place in places)
        crowd = _crowd([_own_cores(place, places) for place in places]) if known and not oversubscribed else []
        if crowd:
            raise PlacementError(
                f"on {node} {len(crowd)} ranks share fewer than {len(crowd)} cores; "
                f"check the launcher's binding: {describe([places[i] for i in crowd])}"
            )


def binding(ranks: Sequence[RankPlace], limit: int = 4) -> str:
    """Return the binding of the ranks of a job in few words.

    - ``none``: each may use all CPUs of its node.
    - ``core``: each may use one physical core, or a hardware thread of one.
    - ``unknown``: the system does not show it.
    - Else the CPUs of each rank of a node, in the order of ranks, as Linux CPU lists: ``0-3|4-7``. Where nodes differ,
      each binding once, separated by blanks, at most ``limit`` of them. A container that hides CPUs looks like a
      binding to the others.

    :param ranks: the placement of each rank.
    """
    if not ranks or any(place.cpus == "-" for place in ranks):
        return "unknown"
    if all(place.online != "-" and cpu_numbers(place.online) <= cpu_numbers(place.cpus) for place in ranks):
        return "none"
    return "core" if all(len(place.cores) == 1 for place in ranks) else _lists(ranks, limit)


def bindings(ranks: Sequence[RankPlace]) -> dict[str, str]:
    """Return the number of CPUs that the ranks of each node are bound to, in words, without nodes where it is unknown.

    The CPUs may differ between healthy nodes; their number does not.
    """
    found = {}
    for node, places in _by_node(ranks).items():
        if all(place.cpus != "-" for place in places):
            counts = sorted({len(cpu_numbers(place.cpus)) for place in places})
            found[node] = f"{'|'.join(map(str, counts))} CPU{'s' if counts != [1] else ''} a rank"
    return found


def _lists(ranks: Sequence[RankPlace], limit: int) -> str:
    ways = dict.fromkeys("|".join(place.cpus for place in places) for places in _by_node(ranks).values())
    return names_text(list(ways), limit, " ")


def _by_node(ranks: Sequence[RankPlace]) -> Mapping[str, list[RankPlace]]:
    by_node: dict[str, list[RankPlace]] = defaultdict(list)
    for place in ranks:
        by_node[place.node].append(place)
    return by_node


def _own_cores(place: RankPlace, places: Sequence[RankPlace]) -> frozenset[str]:
    """Return the cores that a rank may run on, or its CPUs where the cores of a rank are unknown."""
    return place.cores if all(other.cores for other in places) else frozenset(map(str, cpu_numbers(place.cpus)))


def describe(ranks: Sequence[RankPlace], limit: int = 16) -> str:
    """Return the map of ranks in words, at most ``limit`` of them."""
    return names_text([f"rank {place.rank} on {place.node} (cpus {place.cpus})" for place in ranks], limit)


def _crowd(allowed: Sequence[frozenset[str]]) -> list[int]:
    """Return ranks that together have fewer cores than ranks; none if every rank can have a core of its own.

    A matching of ranks to cores by augmenting paths. Where no path is left, the cores that were tried all belong to
    ranks that cannot move: these and the rank itself are the crowd (Hall's theorem).
    """
    owner: dict[str, int] = {}

    def place(rank: int, tried: set[str]) -> bool:
        for core in allowed[rank] - tried:
            tried.add(core)
            if core not in owner or place(owner[core], tried):
                owner[core] = rank
                return True
        return False

    for rank in range(len(allowed)):
        tried: set[str] = set()
        if not place(rank, tried):
            return sorted({rank, *(owner[core] for core in tried)})
    return []
