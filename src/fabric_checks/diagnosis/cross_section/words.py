# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a fabric in words: their names, how they are slow and what to look at next; what a run did not measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.matrix import name_of
from fabric_checks.diagnosis.cross_section.parts import Ground, Part
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence, of many the first five."""
    return names_text(names, 5)


@dataclass(frozen=True)
class Words:
    """A part in words.

    :param name: its name, such as ``cable leaf-3 to spine-12``.
    :param side: the direction in which it is slow, or empty.
    :param verb: the verb of the sentence about it; :param look: what to look at or measure next.
    :param ranks: of its host, or of the hosts of a pair; empty for cables and switches.
    """

    name: str
    side: str
    verb: str
    look: str
    ranks: tuple[int, ...] = ()


def of_part(ground: Ground, hosts: tuple[str, ...], part: Part) -> Words:
    """Return a part in words.

    :param hosts: the host name of each rank.
    """
    if part.kind in ("sender", "receiver", "node"):
        return _node(ground, hosts, part)
    if part.kind == "pair":
        return _pair(hosts, part)
    if ground.known is None:
        raise ValueError(f"a part of the kind {part.kind} without a map")
    if part.kind in ("arc", "cable"):
        return _cable(ground.known, part)
    return _above(ground, hosts, part) if part.kind == "above" else _switch(ground, ground.known, hosts, part)


def _pair(hosts: tuple[str, ...], part: Part) -> Words:
    name = " to ".join(name_of(hosts, rank) for rank in part.key)
    look = "measure it again, in both directions; with the forwarding tables its cables are known"
    return Words(name, "one way", "runs", look, part.key)


def _cable(known: FabricMap, part: Part) -> Words:
    number, both = part.key[0], part.kind == "cable"
    name = known.cables[number if both else number // 2]
    side = "both ways" if both else f"towards {known.switches[int(known.ends[number])]}"
    look = "look at the cable and at the error counters, width and speed of its two ports"
    return Words(f"cable {name}", side, "runs", look)


def _switch(ground: Ground, known: FabricMap, hosts: tuple[str, ...], part: Part) -> Words:
    """Return a switch, all its cables to others, or one of them that is known by its pairs only."""
    key = part.key
    leaf = known.switches[key[0]]
    if part.kind == "switch":
        return Words(f"switch {leaf}", "", "forwards everything", f"look at {leaf} and at its counters")
    if part.kind in ("leaf out", "leaf in", "leaf"):
        side = {"leaf out": "out of it", "leaf in": "into it", "leaf": "both ways"}[part.kind]
        look = f"look at {leaf}, at all its uplinks together, and at how many there are"
        return Words(f"all uplinks of {leaf}", side, "run", look)
    look = f"look at the error counters of the uplinks of {leaf}; with the forwarding tables the cable is named"
    if part.kind == "leaf pair":
        return Words(f"the way from {leaf} to {known.switches[key[1]]}", "one way", "runs", look)
    return Words(f"an uplink of {leaf}", *_bundles(hosts, part), look)


def _node(ground: Ground, hosts: tuple[str, ...], part: Part) -> Words:
    rank = part.key[0]
    name = name_of(hosts, rank)
    leaf = int(ground.leaf[rank])
    there = f" to {ground.known.switches[leaf]}" if ground.known is not None and leaf >= 0 else " to its switch"
    verb, side = {
        "sender": ("sends", "sending"),
        "receiver": ("receives", "receiving"),
        "node": ("sends and receives", "both"),
    }[part.kind]
    look = f"look at its adapter, its slot and its cable{there}, which bandwidth cannot tell apart"
    return Words(f"node {name}", side, verb, look, (rank,))


def _bundles(hosts: tuple[str, ...], part: Part) -> tuple[str, str]:
    """Return the direction of a cable that is known by its pairs only, and its verb."""
    if part.kind == "uplink":
        return "out of it", f"runs{_towards(hosts, part.key[1:])}"
    if part.kind == "downlink" and part.key[1] != NONE:
        return "into it", f"runs{_towards(hosts, part.key[1:])}"
    return ("into it", "runs") if part.kind == "downlink" else ("both ways", "runs")


def _above(ground: Ground, hosts: tuple[str, ...], part: Part) -> Words:
    known = ground.known
    leaves = np.unique(ground.from_leaf[part.pairs])
    names = listed([known.switches[int(leaf)] for leaf in leaves if leaf >= 0]) if known is not None else ""
    every = len(leaves) == len(np.unique(ground.leaf[ground.leaf >= 0]))
    from_ = "all switches of hosts" if every else names
    targets = part.key if part.key[0] != NONE else tuple(np.unique(ground.evidence.receiver[part.pairs]).tolist())
    look = "look at the counters of the switches above; with the forwarding tables the switch is named"
    return Words(f"a switch or cable above {from_}", "", f"runs{_towards(hosts, targets)}", look)


def _towards(hosts: tuple[str, ...], ranks: Sequence[int]) -> str:
    """Return the hosts that a cable leads to, with their regularity if there is one."""
    own = np.array(sorted(set(ranks)))
    names = [name_of(hosts, int(rank)) for rank in own]
    step = int(np.gcd.reduce(np.diff(own))) if len(own) > 2 else 0
    every = f", every {step}th node," if step > 1 and len(own) * step * 2 >= np.ptp(own) else ""
    return f" towards {listed(names)}{every}"


def missed(ground: Ground, hosts: tuple[str, ...]) -> list[str]:
    """Return what was not measured, a line each; nothing if everything was.

    :param hosts: the host name of each rank.
    """
    evidence, known = ground.evidence, ground.known
    lines = []
    for side, word in ((evidence.sender, "sent"), (evidence.receiver, "received")):
        never = np.flatnonzero(np.bincount(side, minlength=evidence.ranks) == 0)
        if len(never):
            lines.append(f"never {word}: {listed([name_of(hosts, int(rank)) for rank in never])}")
    if known is None:
        return lines
    if ground.missing:
        lines.append(f"not in the topology ({known.source}): {listed([repr(name) for name in ground.missing])}")
    leaves = np.unique(ground.leaf[ground.leaf >= 0])
    if len(leaves) > 1:
        crossed = {(int(a), int(b)) for a, b in zip(ground.from_leaf, ground.to_leaf, strict=True)}
        never_crossed = [(a, b) for a in leaves.tolist() for b in leaves.tolist() if a != b and (a, b) not in crossed]
        if never_crossed:
            ways = [f"{known.switches[a]} to {known.switches[b]}" for a, b in never_crossed]
            lines.append(f"paths between switches that no pair took: {listed(ways)}")
    lost = int((ground.arcs[:, 0] < NONE).sum()) if known.has_routes else 0
    if lost:
        lines.append(f"the topology does not say which path {lost} of {len(ground.arcs)} pairs take")
    return lines
