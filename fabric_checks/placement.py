# SPDX-License-Identifier: BSD-3-Clause
"""Whether the ranks of a job ran where they were asked to run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fabric_checks.errors import PlacementError
from fabric_checks.layouts import Layout
from fabric_checks.parsers.placement import RankPlace


def verify(ranks: Sequence[RankPlace], layout: Layout) -> None:
    """Raise :class:`PlacementError` unless the ranks are spread as ``layout`` says, each on a core of its own.

    Without binding every rank may use all cores of its node; what is required is that each *can* have a core to
    itself. Two ranks bound to one core, or to two hardware threads of one core, cannot.

    :param ranks: one place for each rank.
    :param layout: the number of nodes and of processes on each.
    """
    if len(ranks) != layout.tasks:
        raise PlacementError(f"{layout.tasks} ranks were asked for, {len(ranks)} ran: {describe(ranks)}")
    by_node: dict[str, list[RankPlace]] = defaultdict(list)
    for place in ranks:
        by_node[place.node].append(place)
    if len(by_node) != layout.nodes:
        raise PlacementError(f"{layout.nodes} nodes were asked for, {len(by_node)} were used: {describe(ranks)}")
    for node, places in by_node.items():
        if len(places) != layout.ppn:
            raise PlacementError(
                f"{layout.ppn} ranks a node were asked for, {node} has {len(places)}: {describe(ranks)}"
            )
        # Where the kernel tells neither cores nor CPUs nothing can be held against it; results then carry "-".
        told = all(place.cores for place in places) or all(place.cpus != "-" for place in places)
        if told and not _can_have_distinct_cores([_own_cores(place, places) for place in places]):
            raise PlacementError(
                f"on {node} {len(places)} ranks share fewer than {len(places)} cores; "
                f"check the launcher's binding: {describe(places)}"
            )


def _own_cores(place: RankPlace, places: Sequence[RankPlace]) -> frozenset[str]:
    """Return what a rank may run on: cores, or CPUs where the machine does not tell the cores of every rank."""
    if all(other.cores for other in places):
        return place.cores
    cpus: set[str] = set()
    for part in place.cpus.split(","):
        first, _, last = part.partition("-")
        cpus.update(str(cpu) for cpu in range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def describe(ranks: Sequence[RankPlace], limit: int = 16) -> str:
    """Return the map of ranks in words, at most ``limit`` of them."""
    shown = ", ".join(f"rank {place.rank} on {place.node} (cpus {place.cpus})" for place in ranks[:limit])
    return shown if len(ranks) <= limit else f"{shown} and {len(ranks) - limit} more"


def _can_have_distinct_cores(allowed: Sequence[frozenset[str]]) -> bool:
    """Tell whether every rank can be given a core of its own: a matching of ranks to cores (augmenting paths)."""
    owner: dict[str, int] = {}

    def place(rank: int, tried: set[str]) -> bool:
        for core in allowed[rank] - tried:
            tried.add(core)
            if core not in owner or place(owner[core], tried):
                owner[core] = rank
                return True
        return False

    return all(place(rank, set()) for rank in range(len(allowed)))
