# SPDX-License-Identifier: BSD-3-Clause
"""Static routing: through which cable each switch sends what is for each host.

Every switch sends on a shortest way. Where there are several, the ``kind`` of routing chooses:

- ``d-mod-k``: by the number of the destination, level by level, which keeps shifts free of congestion on a whole fat
  tree (Zahavi, Johnson, Kerbyson, Lang 2010);
- ``destination-table``: at random by switch and destination, from a ``seed``: what a subnet manager's tables look like
  to a job that has been given nodes from all over the cluster;
- ``explicit``: as d-mod-k, but for what the description lists: ``table``, items such as ``{at: leaf-0, to: n05, next:
  spine-1}``, and ``pairs``, such as ``{from: n00, to: n05, via: [leaf-0, spine-1, leaf-0]}``, which hold for
  one pair only.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_twins.errors import TwinError
from fabric_twins.model.topology import Routing, Wiring, number_of

#: What ``next`` has where a host is at the switch itself.
HERE = -1


@dataclass(frozen=True)
class Arc:
    """A cable in one direction: from a switch to a switch, by their numbers."""

    cable: int
    start: int
    end: int


@dataclass(frozen=True)
class Routes:
    """All ways.

    :param arcs: both directions of all cables: 2c and 2c + 1 are those of cable c, from ``a`` to ``b`` and back.
    :param next: by switch and host the number of the arc that leads there, or :data:`HERE`.
    :param pairs: by sending and receiving host the arcs of ways that differ from those of ``next``.
    """

    arcs: tuple[Arc, ...]
    next: tuple[tuple[int, ...], ...]
    pairs: Mapping[tuple[int, int], tuple[int, ...]]

    def way(self, wiring: Wiring, source: int, destination: int) -> tuple[int, ...]:
        """Return the arcs from one host to another."""
        if (source, destination) in self.pairs:
            return self.pairs[source, destination]
        arcs = []
        at = wiring.at[source]
        while at != wiring.at[destination]:
            arcs.append(self.next[at][destination])
            at = self.arcs[arcs[-1]].end
        return tuple(arcs)


def routes(wiring: Wiring, routing: Routing) -> Routes:
    """Return the ways between all hosts.

    :raises TwinError: if a host cannot be reached, an explicit route does not exist, or a way goes in a circle.
    """
    arcs = tuple(
        Arc(number, *ends)
        for number, cable in enumerate(wiring.cables)
        for ends in ((cable.a, cable.b), (cable.b, cable.a))
    )
    out: list[list[int]] = [[] for _ in wiring.switches]
    for number, arc in enumerate(arcs):
        out[arc.start].append(number)
    used = sorted(set(wiring.at))
    shortest = {switch: _shortest(switch, out, arcs) for switch in used}
    _require_reachable(wiring, routing, shortest, used)
    table = [
        [
            HERE if at == switch else _choice(shortest[at][switch], wiring, routing, switch, host)
            for host, at in enumerate(wiring.at)
        ]
        for switch in range(len(wiring.switches))
    ]
    for at, to, through in routing.table:
        switch, host = number_of(wiring.switches, at, routing.place), number_of(wiring.hosts, to, routing.place)
        table[switch][host] = _arc(wiring, routing, arcs, switch, through)
    _require_no_circle(wiring, routing, arcs, table)
    pairs = {_ends(wiring, routing, pair): _pair(wiring, routing, arcs, pair) for pair in routing.pairs}
    return Routes(arcs, tuple(map(tuple, table)), pairs)


def _shortest(to: int, out: Sequence[Sequence[int]], arcs: Sequence[Arc]) -> list[list[int]]:
    """Return for each switch its arcs that begin a shortest way to one of them, in the order of the cables."""
    distance = {to: 0}
    queue = deque([to])
    while queue:
        at = queue.popleft()
        for number in out[at]:
            neighbour = arcs[number].end
            if neighbour not in distance:
                distance[neighbour] = distance[at] + 1
                queue.append(neighbour)
    # Every cable has both directions, so that distances are the same to and fro.
    return [
        [number for number in numbers if distance.get(arcs[number].end, len(out)) == distance.get(switch, 0) - 1]
        for switch, numbers in enumerate(out)
    ]


def _choice(candidates: Sequence[int], wiring: Wiring, routing: Routing, switch: int, host: int) -> int:
    """Return which of the shortest ways to a host a switch takes; none where the switch is cut off and nobody asks."""
    if len(candidates) < 2:
        return candidates[0] if candidates else HERE
    if routing.kind == "destination-table":
        text = f"{routing.seed} {wiring.switches[switch]} {wiring.hosts[host]}".encode()
        number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    else:
        number = host // wiring.strides[switch]
    return candidates[number % len(candidates)]


def _require_reachable(
    wiring: Wiring, routing: Routing, shortest: Mapping[int, list[list[int]]], used: Sequence[int]
) -> None:
    for to, first in shortest.items():
        for switch in used:
            if switch != to and not first[switch]:
                host = wiring.hosts[wiring.at.index(to)]
                raise TwinError(
                    f"{routing.place}: host {host} cannot be reached from {wiring.switches[switch]}; take back the "
                    "faults that cut it off, or give the topology more cables"
                )


def _require_no_circle(wiring: Wiring, routing: Routing, arcs: Sequence[Arc], table: Sequence[Sequence[int]]) -> None:
    if not routing.table:
        return  # every step is on a shortest way
    for host, to in enumerate(wiring.at):
        for start in sorted(set(wiring.at)):
            at, passed = start, [start]
            while at != to:
                at = arcs[table[at][host]].end
                if at in passed:
                    names = " -> ".join(wiring.switches[switch] for switch in [*passed[passed.index(at) :], at])
                    raise TwinError(
                        f"{routing.place}.table: what is for {wiring.hosts[host]} goes in a circle: {names}; change "
                        "`next` of one of them"
                    )
                passed.append(at)


def _arc(wiring: Wiring, routing: Routing, arcs: Sequence[Arc], start: int, through: str) -> int:
    end = number_of(wiring.switches, through, routing.place)
    for number, arc in enumerate(arcs):
        if (arc.start, arc.end) == (start, end):
            return number
    raise TwinError(
        f"{routing.place}: there is no cable from {wiring.switches[start]} to {through}; write one that there is"
    )


def _ends(wiring: Wiring, routing: Routing, pair: tuple[str, str]) -> tuple[int, int]:
    source, destination = (number_of(wiring.hosts, name, f"{routing.place}.pairs") for name in pair)
    return source, destination


def _pair(wiring: Wiring, routing: Routing, arcs: Sequence[Arc], pair: tuple[str, str]) -> tuple[int, ...]:
    """Return the arcs of an explicit way."""
    place = f"{routing.place}.pairs"
    source, destination = _ends(wiring, routing, pair)
    via = [number_of(wiring.switches, name, place) for name in routing.pairs[pair]]
    if not via or via[0] != wiring.at[source] or via[-1] != wiring.at[destination]:
        raise TwinError(
            f"{place}: the way from {pair[0]} to {pair[1]} does not begin and end at their switches; write `via` from "
            f"{wiring.switches[wiring.at[source]]} to {wiring.switches[wiring.at[destination]]}"
        )
    if len(set(via)) != len(via):
        raise TwinError(f"{place}: the way from {pair[0]} to {pair[1]} goes in a circle; pass each switch once")
    steps = zip(via, routing.pairs[pair][1:], strict=False)
    return tuple(_arc(wiring, routing, arcs, start, through) for start, through in steps)
