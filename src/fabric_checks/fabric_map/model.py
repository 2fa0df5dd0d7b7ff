# SPDX-License-Identifier: BSD-3-Clause
"""The map of a fabric as far as it is known: switches of hosts, cables and, with forwarding tables, routes.

Everything is in numbers, because a run on a thousand nodes has a million pairs: a host, a switch or a
directed cable (an *arc*) is its position in the arrays of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.routing import STATIC, UNKNOWN_ROUTING

Numbers = NDArray[np.int64]

#: Stands for a missing number, and for the first arc of an unknown route.
NONE, UNKNOWN = -1, -2
#: A route over more switches than this is a loop.
LONGEST_ROUTE = 32


@dataclass(frozen=True)
class FabricMap:
    """A fabric as far as it is known.

    :param source: the source of the map, in words.
    :param hosts: their names; :param switches: the names of switches, or of blocks.
    :param at: the switch of each host, :data:`NONE` where it is not known.
    :param starts: the switch that each arc leaves; :param ends: the one that it leads to. Arcs 2c and 2c + 1
        are the two directions of cable c.
    :param cables: the name of each cable, for messages, such as ``leaf-3 port 7 to spine-12 port 4``.
    :param next: by switch and host the arc towards that host, :data:`NONE` where the host is at the switch or
        the route is unknown; None without forwarding tables.
    :param ports: the port of its switch that each host is at; none where that is not known.
    :param rates: the rate of each arc as a multiple of that of most hosts' links; None if all are alike.
    :param host_rates: the same of each host's link; None if these are all alike.
    :param warnings: the parts of the sources that could not be used, a line each.
    :param slow_links: the links that run slower than their fellows, by name, with a sentence for each.
    :param routing: one of :data:`fabric_checks.core.routing.ROUTINGS`. Forwarding tables do not tell that
        routing is static: with adaptive routing they have one port of many.
    """

    source: str
    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    at: Numbers
    starts: Numbers
    ends: Numbers
    cables: tuple[str, ...] = ()
    next: NDArray[np.int32] | None = None
    ports: Numbers | None = None
    rates: NDArray[np.float64] | None = None
    host_rates: NDArray[np.float64] | None = None
    warnings: tuple[str, ...] = ()
    slow_links: Mapping[str, str] = field(default_factory=dict)
    routing: str = UNKNOWN_ROUTING

    @property
    def is_static(self) -> bool:
        """Whether each pair of hosts is known to have one route."""
        return self.routing == STATIC

    @property
    def has_routes(self) -> bool:
        """Whether the routes between hosts are known: their tables, and that nothing else chooses."""
        return self.next is not None and self.is_static


def of_switches(
    source: str, members: Mapping[str, Sequence[str]], routing: str = UNKNOWN_ROUTING
) -> FabricMap:
    """Return a map without cables; :param members: the hosts of each switch that has any."""
    hosts = tuple(host for names in members.values() for host in names)
    at = np.repeat(np.arange(len(members)), [len(names) for names in members.values()])
    nothing = np.empty(0, dtype=np.int64)
    return FabricMap(
        source,
        hosts,
        tuple(members),
        at.astype(np.int64),
        nothing,
        nothing,
        routing=routing,
    )


def arcs_of(
    known: FabricMap, senders: Numbers, receivers: Numbers
) -> NDArray[np.int32]:
    """Return the arcs between pairs of hosts: pairs x longest route, the rest :data:`NONE`.

    An unknown route, because of an unknown host, a missing entry of a table or a loop, has :data:`UNKNOWN` as
    its first arc and no others.
    """
    count = len(senders)
    if known.next is None or not known.is_static:
        return np.full((count, 1), UNKNOWN, dtype=np.int32)
    placed = (senders >= 0) & (receivers >= 0)
    source, target = np.where(placed, senders, 0), np.where(placed, receivers, 0)
    here, there = known.at[source], known.at[target]
    placed &= (here >= 0) & (there >= 0)
    lost = ~placed
    steps: list[NDArray[np.int32]] = []
    here, there = np.where(placed, here, 0), np.where(placed, there, 0)
    for _ in range(LONGEST_ROUTE):
        going = ~lost & (here != there)
        if not going.any():
            break
        step = np.where(going, known.next[here, target], NONE).astype(np.int32)
        lost |= going & (step < 0)
        steps.append(step)
        here = (
            np.where(step >= 0, known.ends[np.maximum(step, 0)], here)
            if len(known.ends)
            else here
        )
    lost |= here != there
    found = (
        np.stack(steps, axis=1) if steps else np.full((count, 1), NONE, dtype=np.int32)
    )
    found[lost] = NONE
    found[lost, 0] = UNKNOWN
    return found


def of_cables(
    known: FabricMap, arcs: NDArray[np.int32], senders: Numbers, receivers: Numbers
) -> NDArray[np.float64]:
    """Return the share of the rate of most hosts' links that the slowest link of each pair's route carries.

    It is 1 where all are as fast, or the route or the rates are not known.
    """
    if known.rates is None:
        return np.ones(len(arcs))
    share = np.append(known.rates, (np.inf, np.inf))[arcs].min(axis=1)
    if known.host_rates is not None:
        of_hosts = np.append(known.host_rates, 1.0)  # the last one, at -1, is unknown
        share = np.minimum(share, np.minimum(of_hosts[senders], of_hosts[receivers]))
    return np.asarray(np.minimum(share, 1.0))


#: The map of a fabric of which nothing is known.
UNMAPPED = of_switches("nothing", {})
