# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a fabric in words: their names, how they are slow and what to look at next; what a run did not
measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.routing import ADAPTIVE, HASHED, UNKNOWN_ROUTING
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.parts import (
    OF_DEVICES,
    OF_NODES,
    MappedEvidence,
    Part,
)
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.fabric_map.model import NONE, FabricMap

#: Why no cable can be named, by routing.
_NOT_STATIC = {
    ADAPTIVE: "with adaptive routing the packets of a pair take many cables",
    HASHED: "a hash chooses the cable of each connection",
    UNKNOWN_ROUTING: (
        "it is not known whether routing is static (extras['routing'] or --routing, or OpenSM's log)"
    ),
}
#: The directions of parts.
_SIDES = {
    **{"sender": "sending", "receiver": "receiving", "node": "both"},
    **{"leaf out": "out of it", "leaf in": "into it", "leaf": "both ways"},
    **{"uplink": "out of it", "downlink": "into it", "link": "both ways"},
}
_WITH_TABLES = "with the forwarding tables it is named"
#: The most names in a list of a sentence.
MOST_NAMES = 5


@dataclass(frozen=True)
class Words:
    """The words of a sentence about a part: its name, the direction in which it is slow, the verb, and the
    advice.

    :param name: such as ``cable leaf-3 to spine-12``; :param side: empty for both directions.
    :param look: what to look at or measure next.
    :param ranks: of its host, or of the hosts of a pair; empty for cables and switches.
    """

    name: str
    side: str
    verb: str
    look: str
    ranks: tuple[int, ...] = ()

    @property
    def verb_and_side(self) -> str:
        """The verb, for a cable or a switch with the direction, which the verb of a node has."""
        is_there = self.side not in ("", "both") and not self.ranks
        return f"{self.verb} {self.side}" if is_there else self.verb


def of_part(mapped: MappedEvidence, part: Part) -> Words:
    """Return a part in words, with what the map says of its link or of its host's, if that runs slower than
    its fellows."""
    words = _OF_KINDS.get(part.kind, _switch)(mapped, part)
    known = mapped.known
    places = mapped.position[list(words.ranks)]
    names = [known.hosts[place] for place in places if place >= 0]
    names.append(words.name.removeprefix("cable "))
    slow = [
        text
        for link, text in known.slow_links.items()
        if any(f" {name} " in f" {link} " for name in names)
    ]
    return replace(words, look="; ".join([*slow, words.look]))


def _pair(mapped: MappedEvidence, part: Part) -> Words:
    one, other = (mapped.name(rank) for rank in part.key)
    look = "measure it again, in both directions"
    if mapped.evidence.both_ways:
        return Words(f"{one} and {other}", "", "run", look, part.key)
    return Words(f"{one} to {other}", "one way", "runs", look, part.key)


def of_arc(known: FabricMap, arc: int) -> Words:
    """Return one direction of a cable in words."""
    side = f"towards {known.switches[int(known.ends[arc])]}"
    return replace(of_cable(known, arc // 2), side=side)


def of_cable(known: FabricMap, cable: int) -> Words:
    """Return a cable, in both directions, in words."""
    look = (
        "look at the cable and at the error counters, width and speed of its two ports"
    )
    return Words(f"cable {known.cables[cable]}", "both ways", "runs", look)


def _switch(mapped: MappedEvidence, part: Part) -> Words:
    """Return the words for a switch, all its uplinks, or one of them that is known by its pairs only."""
    kind, (first, *rest), side = part.kind, part.key, _SIDES.get(part.kind, "one way")
    known = mapped.known
    leaf = known.switches[first]
    if kind == "switch":
        return Words(
            f"switch {leaf}",
            "",
            "forwards everything",
            f"look at {leaf} and at its counters",
        )
    if kind in ("leaf", "leaf out", "leaf in"):
        look = f"look at {leaf}, at all its uplinks together, and at how many there are"
        return Words(f"all uplinks of {leaf}", side, "run", look)
    look = f"look at the error counters of the uplinks of {leaf}; {_WITH_TABLES}"
    if kind == "leaf pair":
        return Words(
            f"the way from {leaf} to {known.switches[rest[0]]}", side, "runs", look
        )
    verb = "runs" if kind == "link" else f"runs{_towards(mapped, rest)}"
    return Words(f"an uplink of {leaf}", side, verb, look)


def of_rank(mapped: MappedEvidence, rank: int) -> str:
    """Return the name of the node, or of the GPU or adapter, that a rank stands for."""
    return (
        mapped.hosts[rank]
        if mapped.hosts[rank] != mapped.nodes[rank]
        else f"node {mapped.name(rank)}"
    )


def of_changed(mapped: MappedEvidence, number: int) -> Words:
    """Return the words for a rank, or for a cable, whose numbers follow those of ranks."""
    if number >= mapped.evidence.ranks:
        return of_cable(mapped.known, number - mapped.evidence.ranks)
    look = "look at the error counters and the link-down counter of its port, and at what else ran on it"
    return Words(of_rank(mapped, number), "", "", look, (number,))


def _node(mapped: MappedEvidence, part: Part) -> Words:
    rank = part.key[0]
    leaf = int(mapped.leaf[rank])
    switch = mapped.known.switches[leaf] if leaf >= 0 else "its switch"
    if port := int(mapped.port[rank]):
        switch += f" port {port}"
    verb = {"sender": "sends", "receiver": "receives", "node": "sends and receives"}[
        part.kind
    ]
    look = f"look at its adapter, its slot and its cable to {switch}, which bandwidth cannot tell apart"
    return Words(of_rank(mapped, rank), _SIDES[part.kind], verb, look, (rank,))


def _devices(mapped: MappedEvidence, part: Part) -> Words:
    """Return the words for what several GPUs or adapters have in common."""
    key, ranks = part.key, part.key
    are_gpus = all(", GPU " in mapped.hosts[rank] for rank in key)
    name = f"node {mapped.nodes[key[0]]}"
    if part.kind == "rail":
        number, ranks = key[0] % mapped.evidence.rails, ()
        name = (
            f"rail {number} ({'GPU' if are_gpus else 'process'} {number} of all nodes)"
        )
        look = "look at the switches of this rail, and at how far these GPUs are from their adapters"
    elif part.kind == "adapter":
        gpus = names_text(
            [mapped.hosts[rank].rpartition(" ")[2] for rank in key], MOST_NAMES
        )
        name, look = (
            f"{name}, the adapter of GPUs {gpus}",
            "look at this adapter, its slot and its cable",
        )
    else:
        name += " (all its GPUs)" if are_gpus else ""
        look = "look at what its GPUs and adapters share: processor, memory, PCIe, settings"
    return Words(name, "both", "sends and receives", look, ranks)


def _above(mapped: MappedEvidence, part: Part) -> Words:
    leaves = np.unique(mapped.from_leaf[part.pairs])
    every = len(leaves) == len(np.unique(mapped.leaf[mapped.leaf >= 0]))
    names = [mapped.known.switches[int(leaf)] for leaf in leaves]
    below = "all switches of hosts" if every else names_text(names, MOST_NAMES)
    look = f"look at the counters of the switches above, and of all uplinks; {_WITH_TABLES}"
    if part.kind == "group":
        return Words(
            f"a switch above {below}, or several of their uplinks,", "", "run", look
        )
    return Words(
        f"a switch or cable above {below}",
        "",
        f"runs{_towards(mapped, part.key)}",
        look,
    )


def _towards(mapped: MappedEvidence, ranks: Sequence[int]) -> str:
    """Return the hosts that a cable leads to."""
    return f" towards {names_text([mapped.name(rank) for rank in sorted(set(ranks))], MOST_NAMES)}"


_OF_KINDS: dict[str, Callable[[MappedEvidence, Part], Words]] = {
    **dict.fromkeys(OF_NODES, _node),
    **dict.fromkeys(OF_DEVICES, _devices),
    **dict.fromkeys(("above", "group"), _above),
    "pair": _pair,
    "arc": lambda mapped, part: of_arc(mapped.known, part.key[0]),
    "cable": lambda mapped, part: of_cable(mapped.known, part.key[0]),
}


def any_of(name: str, others: Sequence[str]) -> str:
    """Return the name of a part, with those that explain the same as well: none of them is preferred."""
    if len(others) > 1:
        return f"{name} or one of {len(others)} others"
    return " or ".join([name, *others])


def would_explain(others: Sequence[str]) -> str:
    """Return which parts explain the same as well; empty where :func:`any_of` has them all."""
    if len(others) < 2:
        return ""
    return f"{names_text(others, MOST_NAMES)} would explain it too"


def common_end(mapped: MappedEvidence, ends: Numbers) -> tuple[str, list[int]]:
    """Return the end that all of some pairs have in common, in words: a node, else a switch, else a rail;
    empty without one. Of a node its rank, too.

    :param ends: the sender and the receiver of each pair.
    """
    leaves = mapped.leaf[ends]
    across = bool((leaves[:, 0] != leaves[:, 1]).all() and leaves.min() >= 0)
    for rank in ends[0].tolist():
        if way := _way_at(ends == rank):
            far = f", {'from' if way == 'into' else 'to'} other switches"
            return f"{way} {of_rank(mapped, rank)}{far if across else ''}", [rank]
    ways = {leaf: _way_at(leaves == leaf) for leaf in leaves[0].tolist() if across}
    for leaf, way in ways.items():
        if way:
            return f"{way} {mapped.known.switches[leaf]}", []
    return _of_rail(mapped, ends), []


def _of_rail(mapped: MappedEvidence, ends: Numbers) -> str:
    numbers = np.unique(ends % mapped.evidence.rails)
    is_one = mapped.evidence.rails > 1 and len(numbers) == 1
    return f"on rail {numbers[0]}" if is_one else ""


def _way_at(is_there: NDArray[np.bool_]) -> str:
    """Return how all pairs pass an end, given which of both ends of each it is; empty unless all do."""
    if not is_there.any(axis=1).all():
        return ""
    out, into = (bool(side.any()) for side in is_there.T)
    return "from and to" if out and into else "out of" if out else "into"


def to_name_it(mapped: MappedEvidence) -> str:
    """Return what is missing to name the cable or switch that slow pairs may have in common."""
    known = mapped.known
    if known.hosts and (unknown := int((mapped.position < 0).sum())):
        return (
            f"{unknown} of {len(mapped.position)} ranks have no known place in the topology: say which"
            " adapter MPI used (--adapter, extras['fabric']), or give a topology that has all hosts"
        )
    if known.has_routes:
        return "by the map no cable or switch is common to these only: follow the route of one of them"
    if known.routing in (ADAPTIVE, HASHED):
        return f"no cable can be named, as {_NOT_STATIC[known.routing]}"
    if known.next is not None:
        return "if routing is static, say so (extras['routing'] or --routing static): the cable is named"
    return (
        "with the topology and the forwarding tables of today (--topology), and routing known to be static"
        " (--routing static), the cable or switch is named"
    )


def missed(mapped: MappedEvidence, *, confirmed: bool) -> list[str]:
    """Return what was not measured, a line each; :param confirmed: whether suspects were measured again."""
    evidence, known = mapped.evidence, mapped.known
    ranks = np.arange(evidence.ranks)
    sent, received = (
        [mapped.name(rank) for rank in np.setdiff1d(ranks, side).tolist()]
        for side in (evidence.sender, evidence.receiver)
    )
    alone = (
        "what looks slow, alone: without `rotate --confirm` no node or path is blamed"
    )
    rails = "pairs between rails: each GPU was paired with those of its own number"
    lines = (
        "" if confirmed else alone,
        _listed("never sent", sent),
        _listed("never received", received),
        _listed(
            f"not in the topology ({known.source})",
            [*map(repr, mapped.missing if known.hosts else ())],
        ),
        rails if evidence.rails > 1 else "",
        _listed("paths between switches that no pair took", _never_crossed(mapped)),
        *_not_known(mapped),
    )
    return [line for line in lines if line]


def _not_known(mapped: MappedEvidence) -> Iterator[str]:
    """Yield what is not known of routes."""
    known, arcs = mapped.known, mapped.arcs
    if known.hosts and known.routing in _NOT_STATIC:
        what = "cables and switches without hosts, of which none can be named here"
        yield f"{what}: {_NOT_STATIC[known.routing]}"
    count = mapped.scanned_on_cables if known.has_routes else np.empty(0)
    few = np.flatnonzero((count > 0) & (count < SETTINGS.fewest_pairs_of_cable))
    yield _listed(
        "cables that hardly any scanned pair crosses",
        [known.cables[each] for each in few],
    )
    if known.has_routes and (lost := int((arcs[:, 0] < NONE).sum())):
        yield f"the topology does not say which path {lost} of {len(arcs)} pairs take"


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{what}: {names_text(names, MOST_NAMES)}" if names else ""


def _never_crossed(mapped: MappedEvidence) -> list[str]:
    """Return the ways from one switch of hosts to another that no pair took."""
    names, leaves = (
        mapped.known.switches,
        np.unique(mapped.leaf[mapped.leaf >= 0]).tolist(),
    )
    crossed = set(zip(mapped.from_leaf.tolist(), mapped.to_leaf.tolist(), strict=True))
    return [
        f"{names[a]} to {names[b]}"
        for a, b in permutations(leaves, 2)
        if (a, b) not in crossed
    ]
