# SPDX-License-Identifier: BSD-3-Clause
"""Verify that the ranks of a job ran where they were asked to run, and describe their binding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric_checks.core.errors import PlacementError
from fabric_checks.core.grouping import by_key
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import count_text, names_text, plural_text
from fabric_checks.parsers.placement import RankPlace, cpu_numbers


def verify(
    ranks: Sequence[RankPlace], layout: Layout, oversubscribed: bool = False
) -> None:
    """Raise :class:`PlacementError` unless the ranks are spread as in ``layout``, each on a core of its own.

    Without binding every rank may use all cores of its node; each only has to be *able* to have a core to
    itself, which two ranks bound to one core, or to two hardware threads of one core, are not.

    :param ranks: the placement of each rank.
    :param layout: the number of nodes and of processes on each.
    :param oversubscribed: whether the nodes are known to have fewer cores than ranks; then cores may be
        shared.
    """
    _require_layout(ranks, layout)
    for node, own in () if oversubscribed else _by_node(ranks).items():
        if crowd := _crowd(_allowed(own)):
            raise PlacementError(
                f"on {node} {len(crowd)} ranks share fewer than {len(crowd)} cores; "
                f"check the launcher's binding: {describe([own[i] for i in crowd])}"
            )


def _require_layout(ranks: Sequence[RankPlace], layout: Layout) -> None:
    """Raise :class:`PlacementError` unless nodes and ranks are as many as asked for."""
    of, by_node = "the launcher's options", _by_node(ranks)
    many, nodes = count_text(len(ranks), "rank"), count_text(len(by_node), "node")
    program = "whether the launcher is that of this MPI"
    counts = [
        (f"{many} ran", len(ranks), layout.tasks, program),
        (f"the ranks are on {nodes}", len(by_node), layout.nodes, of),
    ]
    for node, own in by_node.items():
        counts.append(
            (f"{node} has {count_text(len(own), 'rank')}", len(own), layout.ppn, of)
        )
    for found, count, wanted, remedy in counts:
        if count != wanted:
            raise PlacementError(
                f"{found} in place of {wanted}; see {remedy}: {describe(ranks)}"
            )


def _allowed(own: Sequence[RankPlace]) -> list[frozenset[str]]:
    """Return the cores that each rank of a node may use, or its CPUs where a rank's cores are unknown.

    Where the kernel shows neither, nothing can be verified and none are returned; results then have "-".
    """
    if all(rank.cores for rank in own):
        return [rank.cores for rank in own]
    if any(rank.cpus == "-" for rank in own):
        return []
    return [frozenset(map(str, cpu_numbers(rank.cpus))) for rank in own]


def binding(ranks: Sequence[RankPlace]) -> str:
    """Return the binding of the ranks of a job in few words.

    - ``none``: each may use all CPUs of its node.
    - ``core``: each may use one physical core, or a hardware thread of one.
    - ``unknown``: the system does not show it.
    - Else the CPUs of each rank of a node, in the order of ranks, as Linux CPU lists: ``0-3|4-7``. Where
      nodes differ, each binding once, separated by blanks, at most four of them. A container that hides
      CPUs looks like a binding to the others.

    :param ranks: the placement of each rank.
    """
    if not ranks or any(rank.cpus == "-" for rank in ranks):
        return "unknown"
    if all(map(_is_free, ranks)):
        return "none"
    if all(len(rank.cores) == 1 for rank in ranks):
        return "core"
    ways = dict.fromkeys(
        "|".join(rank.cpus for rank in own) for own in _by_node(ranks).values()
    )
    return names_text(list(ways), 4, " ")


def _is_free(rank: RankPlace) -> bool:
    """Tell whether a rank may use all CPUs of its node."""
    online = rank.online
    return online != "-" and cpu_numbers(online) <= cpu_numbers(rank.cpus)


def bindings(ranks: Sequence[RankPlace]) -> dict[str, str]:
    """Return the number of CPUs that the ranks of each node are bound to, in words, without nodes where it is
    unknown.

    The CPUs may differ between healthy nodes; their number does not.
    """
    found = {}
    for node, own in _by_node(ranks).items():
        if all(rank.cpus != "-" for rank in own):
            counts = sorted({len(cpu_numbers(rank.cpus)) for rank in own})
            found[node] = (
                f"{'|'.join(map(str, counts))} {plural_text(counts[-1], 'CPU')} a rank"
            )
    return found


def describe(ranks: Sequence[RankPlace]) -> str:
    """Return the host and the CPUs of the ranks in words, at most 16 of them."""
    return names_text(
        [f"rank {rank.rank} on {rank.node} (cpus {rank.cpus})" for rank in ranks], 16
    )


def _by_node(ranks: Sequence[RankPlace]) -> Mapping[str, list[RankPlace]]:
    return by_key(ranks, lambda rank: rank.node)


def _crowd(allowed: Sequence[frozenset[str]]) -> list[int]:
    """Return ranks that together have fewer cores than ranks; none if every rank can have a core of its own.

    A matching of ranks to cores by augmenting paths. Where no path is left, the cores that were tried all
    belong to ranks that cannot move: these and the rank itself are the crowd (Hall's theorem).
    """
    owner: dict[str, int] = {}

    def assigned(rank: int, tried: set[str]) -> bool:
        for core in allowed[rank] - tried:
            tried.add(core)
            if core not in owner or assigned(owner[core], tried):
                owner[core] = rank
                return True
        return False

    for rank in range(len(allowed)):
        tried: set[str] = set()
        if not assigned(rank, tried):
            return sorted({rank, *(owner[core] for core in tried)})
    return []
