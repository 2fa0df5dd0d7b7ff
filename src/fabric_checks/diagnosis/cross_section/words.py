# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a fabric in words: their names, how they are slow and what to look at next; what a run did not
measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from fabric_checks.analysis.pair_matrix import name_of
from fabric_checks.core.routing import ADAPTIVE, HASHED, UNKNOWN_ROUTING
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.parts import OF_DEVICES, MappedEvidence, Part, part_of
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap

#: Why no cable can be named, by routing.
_NOT_STATIC = {
    ADAPTIVE: "with adaptive routing the packets of a pair take many cables",
    HASHED: "a hash chooses the cable of each connection",
    UNKNOWN_ROUTING: (
        "it is not known whether routing is static (extras['routing'] or --routing, or OpenSM's log)"
    ),
}
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


def of_part(mapped: MappedEvidence, hosts: tuple[str, ...], part: Part) -> Words:
    """Return a part in words."""
    if part.kind in ("sender", "receiver", "node"):
        return _node(mapped, hosts, part)
    if part.kind in OF_DEVICES:
        return _devices(mapped, hosts, part)
    if part.kind == "pair":
        return _pair(mapped, hosts, part)
    if part.kind in ("arc", "cable"):
        return _cable(mapped.known, part)
    return _above(mapped, hosts, part) if part.kind == "above" else _switch(mapped.known, hosts, part)


def _pair(mapped: MappedEvidence, hosts: tuple[str, ...], part: Part) -> Words:
    known, both = mapped.known, mapped.evidence.both_ways
    name = (" and " if both else " to ").join(name_of(hosts, rank) for rank in part.key)
    look = "measure it again, in both directions"
    look += (
        "; with the forwarding tables its cables are known"
        if known.is_static and not known.has_routes
        else ""
    )
    return Words(name, "" if both else "one way", "run" if both else "runs", look, part.key)


def _cable(known: FabricMap, part: Part) -> Words:
    number, both = part.key[0], part.kind == "cable"
    name = known.cables[number if both else number // 2]
    side = "both ways" if both else f"towards {known.switches[int(known.ends[number])]}"
    look = "look at the cable and at the error counters, width and speed of its two ports"
    return Words(f"cable {name}", side, "runs", look)


def _switch(known: FabricMap, hosts: tuple[str, ...], part: Part) -> Words:
    """Return the words for a switch, all its uplinks, or one of them that is known by its pairs only."""
    key = part.key
    leaf = known.switches[key[0]]
    if part.kind == "switch":
        return Words(f"switch {leaf}", "", "forwards everything", f"look at {leaf} and at its counters")
    if part.kind in ("leaf out", "leaf in", "leaf"):
        side = {"leaf out": "out of it", "leaf in": "into it", "leaf": "both ways"}[part.kind]
        # In a dragonfly or a torus its neighbours have hosts, too, and none is above it.
        neighbours = known.ends[known.starts == key[0]]
        cables = "cables to other switches" if np.isin(neighbours, known.at).any() else "uplinks"
        look = f"look at {leaf}, at all its {cables} together, and at how many there are"
        return Words(f"all {cables} of {leaf}", side, "run", look)
    look = (
        f"look at the error counters of the uplinks of {leaf}; with the forwarding tables the cable is named"
    )
    if part.kind == "leaf pair":
        return Words(f"the way from {leaf} to {known.switches[key[1]]}", "one way", "runs", look)
    side = {"uplink": "out of it", "downlink": "into it", "link": "both ways"}[part.kind]
    named = part.kind == "uplink" or (part.kind == "downlink" and key[1] != NONE)
    return Words(f"an uplink of {leaf}", side, f"runs{_towards(hosts, key[1:])}" if named else "runs", look)


def of_rank(mapped: MappedEvidence, hosts: tuple[str, ...], rank: int) -> str:
    """Return the name of the node, or of the GPU or adapter, that a rank stands for."""
    return hosts[rank] if hosts[rank] != mapped.nodes[rank] else f"node {name_of(hosts, rank)}"


def of_changed(mapped: MappedEvidence, hosts: tuple[str, ...], number: int) -> Words:
    """Return the words for a rank, or for a cable, whose numbers follow those of ranks."""
    cable = number - mapped.evidence.ranks
    if cable >= 0:
        return _cable(mapped.known, part_of("cable", (cable,), np.zeros(0, dtype=bool)))
    look = "look at the error counters and the link-down counter of its port, and at what else ran on it"
    return Words(of_rank(mapped, hosts, number), "", "", look, (number,))


def _node(mapped: MappedEvidence, hosts: tuple[str, ...], part: Part) -> Words:
    rank = part.key[0]
    name = of_rank(mapped, hosts, rank)
    leaf = int(mapped.leaf[rank])
    switch = mapped.known.switches[leaf] if leaf >= 0 else "its switch"
    verb, side = {
        "sender": ("sends", "sending"),
        "receiver": ("receives", "receiving"),
        "node": ("sends and receives", "both"),
    }[part.kind]
    look = f"look at its adapter, its slot and its cable to {switch}, which bandwidth cannot tell apart"
    return Words(name, side, verb, look, (rank,))


def _devices(mapped: MappedEvidence, hosts: tuple[str, ...], part: Part) -> Words:
    """Return the words for what several GPUs or adapters have in common."""
    first = part.key[0]
    are_gpus = all(", GPU " in hosts[rank] for rank in part.key)
    if part.kind == "rail":
        number = first % mapped.evidence.rails
        name = f"rail {number} ({'GPU' if are_gpus else 'process'} {number} of all nodes)"
        look = "look at the switches of this rail, and at how far these GPUs are from their adapters"
        return Words(name, "both", "sends and receives", look)
    name = f"node {mapped.nodes[first]}"
    look = "look at what its GPUs and adapters share: processor, memory, PCIe, settings"
    if part.kind == "adapter":
        gpus = names_text([hosts[rank].rpartition(" ")[2] for rank in part.key], MOST_NAMES)
        look = "look at this adapter, its slot and its cable"
        return Words(f"{name}, the adapter of GPUs {gpus}", "both", "sends and receives", look, part.key)
    return Words(f"{name} (all its GPUs)" if are_gpus else name, "both", "sends and receives", look, part.key)


def _above(mapped: MappedEvidence, hosts: tuple[str, ...], part: Part) -> Words:
    leaves = np.unique(mapped.from_leaf[part.pairs])
    every = len(leaves) == len(np.unique(mapped.leaf[mapped.leaf >= 0]))
    names = [mapped.known.switches[int(leaf)] for leaf in leaves]
    below = "all switches of hosts" if every else names_text(names, MOST_NAMES)
    if part.key[0] == NONE:
        look = (
            "look at the counters of all their uplinks; with the forwarding tables the switch or cables are"
            " named"
        )
        return Words(f"a switch above {below}, or several of their uplinks,", "", "run", look)
    look = "look at the counters of the switches above; with the forwarding tables the switch is named"
    return Words(f"a switch or cable above {below}", "", f"runs{_towards(hosts, part.key)}", look)


def _towards(hosts: tuple[str, ...], ranks: Sequence[int]) -> str:
    """Return the hosts that a cable leads to, with their regularity if there is one."""
    own = np.array(sorted(set(ranks)))
    names = [name_of(hosts, int(rank)) for rank in own]
    step = int(np.gcd.reduce(np.diff(own))) if len(own) > 2 else 0
    every = f", every {step}th node," if step > 1 and len(own) * step * 2 >= np.ptp(own) else ""
    return f" towards {names_text(names, MOST_NAMES)}{every}"


def missed(mapped: MappedEvidence, hosts: tuple[str, ...], *, confirmed: bool) -> list[str]:
    """Return what was not measured, a line each; :param confirmed: whether suspects were measured again."""
    evidence, known = mapped.evidence, mapped.known
    lines = (
        [] if confirmed else ["what looks slow, alone: without `rotate --confirm` no node or path is blamed"]
    )
    for side, word in ((evidence.sender, "sent"), (evidence.receiver, "received")):
        never = np.flatnonzero(np.bincount(side, minlength=evidence.ranks) == 0)
        if len(never):
            lines.append(
                f"never {word}: {names_text([name_of(hosts, int(rank)) for rank in never], MOST_NAMES)}"
            )
    if known.hosts and mapped.missing:
        missing = names_text([repr(name) for name in mapped.missing], MOST_NAMES)
        lines.append(f"not in the topology ({known.source}): {missing}")
    if evidence.rails > 1:
        lines.append("pairs between rails: each GPU was paired with those of its own number")
    if never_crossed := _never_crossed(mapped):
        lines.append(f"paths between switches that no pair took: {names_text(never_crossed, MOST_NAMES)}")
    if known.hosts and not known.is_static:
        why = _NOT_STATIC[known.routing]
        lines.append(f"cables and switches without hosts, of which none can be named here: {why}")
    lost = int((mapped.arcs[:, 0] < NONE).sum()) if known.has_routes else 0
    if lost:
        lines.append(f"the topology does not say which path {lost} of {len(mapped.arcs)} pairs take")
    return lines


def _never_crossed(mapped: MappedEvidence) -> list[str]:
    """Return the ways from one switch of hosts to another that no pair took."""
    names, leaves = mapped.known.switches, np.unique(mapped.leaf[mapped.leaf >= 0]).tolist()
    crossed = set(zip(mapped.from_leaf.tolist(), mapped.to_leaf.tolist(), strict=True))
    return [f"{names[a]} to {names[b]}" for a, b in permutations(leaves, 2) if (a, b) not in crossed]
