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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_twins.errors import TwinError
from fabric_twins.model.topology import Routing, Wiring, number_of

Numbers = NDArray[np.int64]

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
    table = _table(wiring, routing, arcs)
    for at, to, through in routing.table:
        switch, host = number_of(wiring.switches, at, routing.place), number_of(wiring.hosts, to, routing.place)
        table[switch][host] = _arc(wiring, routing, arcs, switch, through)
    _require_no_circle(wiring, routing, arcs, table)
    pairs = {_ends(wiring, routing, pair): _pair(wiring, routing, arcs, pair) for pair in routing.pairs}
    return Routes(arcs, tuple(map(tuple, table.tolist())), pairs)


def _table(wiring: Wiring, routing: Routing, arcs: Sequence[Arc]) -> Numbers:
    """Return by switch and host the arc that begins the chosen shortest way; :data:`HERE` where there is none to take.

    :raises TwinError: if a host cannot be reached.
    """
    # By the switch that they leave; each has its own in the order of the cables.
    arcs_by_start = sorted(range(len(arcs)), key=lambda number: arcs[number].start)
    order = np.array(arcs_by_start, dtype=np.int64)
    starts = np.array([arcs[number].start for number in arcs_by_start], dtype=np.int64)
    ends = np.array([arcs[number].end for number in arcs_by_start], dtype=np.int64)
    at, switches = np.array(wiring.at), len(wiring.switches)
    used = sorted(set(wiring.at))
    table = np.full((switches, len(wiring.hosts)), HERE, dtype=np.int64)
    for to in used:
        distance = _distances(to, starts, ends, switches)
        shortest = distance[ends] == distance[starts] - 1
        count = np.bincount(starts[shortest], minlength=switches)
        _require_reachable(wiring, routing, to, count, used)
        first = np.cumsum(count) - count
        hosts = np.flatnonzero(at == to)
        choice = _choices(wiring, routing, hosts, count)
        # One more than there are: where a switch is cut off nobody asks.
        candidates = np.append(order[shortest], HERE)
        table[:, hosts] = np.where(count[:, None] > 0, candidates[first[:, None] + choice], HERE)
    return table


def _distances(to: int, starts: Numbers, ends: Numbers, switches: int) -> Numbers:
    """Return by how many arcs each switch is away from one of them; more than there can be where it is cut off.

    Every cable has both directions, so that distances are the same to and fro.
    """
    distance = np.full(switches, 2 * switches + 2, dtype=np.int64)
    distance[to] = step = 0
    while True:
        reached = ends[distance[starts] == step]
        reached = reached[distance[reached] > switches]
        if not len(reached):
            return distance
        step += 1
        distance[reached] = step


def _choices(wiring: Wiring, routing: Routing, hosts: Numbers, count: Numbers) -> Numbers:
    """Return which of its shortest ways each switch takes to each of some hosts; ``count``: of how many."""
    if routing.kind != "destination-table":
        numbers: Numbers = hosts[None, :] // np.array(wiring.strides)[:, None] % np.maximum(count, 1)[:, None]
        return numbers
    chosen = np.zeros((len(count), len(hosts)), dtype=np.int64)
    for switch in np.flatnonzero(count > 1):
        for column, host in enumerate(hosts):
            text = f"{routing.seed} {wiring.switches[switch]} {wiring.hosts[host]}".encode()
            number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
            chosen[switch, column] = number % int(count[switch])
    return chosen


def _require_reachable(wiring: Wiring, routing: Routing, to: int, count: Numbers, used: Sequence[int]) -> None:
    for switch in used:
        if switch != to and count[switch] == 0:
            host = wiring.hosts[wiring.at.index(to)]
            raise TwinError(
                f"{routing.place}: host {host} cannot be reached from {wiring.switches[switch]}; remove the faults "
                "that cut it off, or give the topology more cables"
            )


def _require_no_circle(wiring: Wiring, routing: Routing, arcs: Sequence[Arc], table: Numbers) -> None:
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
                        f"{routing.place}.table: what is sent to {wiring.hosts[host]} goes in a circle: {names}; "
                        "change `next` of one of them"
                    )
                passed.append(at)


def _arc(wiring: Wiring, routing: Routing, arcs: Sequence[Arc], start: int, through: str) -> int:
    end = number_of(wiring.switches, through, routing.place)
    for number, arc in enumerate(arcs):
        if (arc.start, arc.end) == (start, end):
            return number
    raise TwinError(
        f"{routing.place}: there is no cable from {wiring.switches[start]} to {through}; name one that exists"
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
            f"{place}: the path from {pair[0]} to {pair[1]} does not begin and end at their switches; write `via` from "
            f"{wiring.switches[wiring.at[source]]} to {wiring.switches[wiring.at[destination]]}"
        )
    if len(set(via)) != len(via):
        raise TwinError(f"{place}: the path from {pair[0]} to {pair[1]} goes in a circle; pass each switch only once")
    steps = zip(via, routing.pairs[pair][1:], strict=False)
    return tuple(_arc(wiring, routing, arcs, start, through) for start, through in steps)
