# SPDX-License-Identifier: BSD-3-Clause
"""Route statically: choose the cable through which each switch sends to each host.

Every switch sends on a shortest path. Where there are several, the ``kind`` of routing chooses:

- ``d-mod-k``: by the number of the destination, level by level, which keeps shifts free of congestion on a
  whole fat tree (Zahavi, Johnson, Kerbyson, Lang 2010);
- ``destination-table``: at random by switch and destination, from a ``seed``, as the tables of a subnet
  manager look to a job whose nodes are scattered over the cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_twins.errors import TwinError
from fabric_twins.model.topology import Routing, Wiring

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
    """The routes between all hosts.

    :param arcs: both directions of all cables: 2c and 2c + 1 are those of cable c, from ``a`` to ``b`` and
        back.
    :param next: by switch and host the number of the arc that leads there, or :data:`HERE`.
    """

    arcs: tuple[Arc, ...]
    next: tuple[tuple[int, ...], ...]

    def way(self, wiring: Wiring, source: int, destination: int) -> tuple[int, ...]:
        """Return the arcs from one host to another."""
        arcs = []
        at = wiring.at[source]
        while at != wiring.at[destination]:
            arcs.append(self.next[at][destination])
            at = self.arcs[arcs[-1]].end
        return tuple(arcs)


def routes(wiring: Wiring, routing: Routing) -> Routes:
    """Return the routes between all hosts.

    :raises TwinError: if a host cannot be reached.
    """
    arcs = tuple(
        Arc(number, *ends)
        for number, cable in enumerate(wiring.cables)
        for ends in ((cable.a, cable.b), (cable.b, cable.a))
    )
    return Routes(arcs, tuple(map(tuple, _table(wiring, routing, arcs).tolist())))


def _table(wiring: Wiring, routing: Routing, arcs: Sequence[Arc]) -> Numbers:
    """Return by switch and host the arc that begins the chosen shortest way; :data:`HERE` where there is none
    to take.

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
        # One more than there are, for switches that are cut off, whose entry is not used.
        candidates = np.append(order[shortest], HERE)
        table[:, hosts] = np.where(
            count[:, None] > 0, candidates[first[:, None] + choice], HERE
        )
    return table


def _distances(to: int, starts: Numbers, ends: Numbers, switches: int) -> Numbers:
    """Return by how many arcs each switch is away from one of them; more than there can be where it is cut
    off.

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


def _choices(
    wiring: Wiring, routing: Routing, hosts: Numbers, count: Numbers
) -> Numbers:
    """Return which of its shortest ways each switch takes to each of some hosts; ``count``: of how many."""
    if routing.kind != "destination-table":
        numbers: Numbers = (
            hosts[None, :]
            // np.array(wiring.strides)[:, None]
            % np.maximum(count, 1)[:, None]
        )
        return numbers
    chosen = np.zeros((len(count), len(hosts)), dtype=np.int64)
    for switch in np.flatnonzero(count > 1):
        for column, host in enumerate(hosts):
            text = f"{routing.seed} {wiring.switches[switch]} {wiring.hosts[host]}".encode()
            number = int.from_bytes(
                hashlib.blake2b(text, digest_size=8).digest(), "big"
            )
            chosen[switch, column] = number % int(count[switch])
    return chosen


def _require_reachable(
    wiring: Wiring, routing: Routing, to: int, count: Numbers, used: Sequence[int]
) -> None:
    for switch in used:
        if switch != to and count[switch] == 0:
            host = wiring.hosts[wiring.at.index(to)]
            raise TwinError(
                f"{routing.location}: host {host} cannot be reached from {wiring.switches[switch]}; remove"
                " the faults that cut it off, or give the topology more cables"
            )
