# SPDX-License-Identifier: BSD-3-Clause
"""Compute the bandwidth of the pairs of rotate: long messages that begin together and share links max-min
fairly.

The messages of a round are equally long, so a pair keeps its rate until its message has arrived: pairs that
end earlier are faster ones, which take nothing from the link that limits a slower pair. One max-min
allocation for each round is therefore exact. Latencies are left out: they vanish in long messages.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis.max_min import max_min
from fabric_checks.analysis.pair_matrix import MOST_PAIRS, PairMatrix
from fabric_checks.fabric_map.model import NONE, arcs_of
from fabric_twins.errors import TwinError
from fabric_twins.model import fabric_map
from fabric_twins.model.description import Twin
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import Wiring, with_faults


def matrix(twin: Twin, shifts: int = 0) -> PairMatrix:
    """Return the bandwidth of the pairs of rotate.

    :param shifts: the number of rounds, evenly spread; 0: all.
    :raises TwinError: if there are too many nodes, or if the faults or the routing do not fit the topology.
    """
    half = twin.nodes // 2
    if half * half > MOST_PAIRS:
        raise TwinError(
            f"{twin.file}: nodes: {twin.nodes} make more pairs than the {MOST_PAIRS} that can be shown"
        )
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    known = fabric_map.of_routes(wiring, routes(wiring, twin.routing))
    cables_MBps = np.array(
        [cable.rate_MBps for cable in wiring.cables], dtype=np.float64
    )
    # The last resource, which limits nothing, fills up routes that are shorter than the longest.
    capacity = np.append(np.repeat(cables_MBps, 2), np.inf)
    hosts_MBps = _hosts_MBps(twin, wiring)
    count = shifts if 0 < shifts < half else half
    rounds = np.arange(count) * (half - 1) // max(count - 1, 1)
    sender = np.arange(half)
    values = np.full((half, half), np.nan)
    for number in rounds:
        receiver = half + (sender + number) % half
        arcs = arcs_of(known, sender, receiver).astype(np.int64)
        links = np.where(arcs == NONE, len(capacity) - 1, arcs)
        most = np.minimum(hosts_MBps[sender], hosts_MBps[receiver])
        values[sender, receiver - half] = max_min(links, capacity, most)
    return PairMatrix(sender, half + sender, values, wiring.hosts)


def alone_MBps(twin: Twin) -> float:
    """Return the bandwidth of a pair of healthy nodes without any switches in between."""
    bus = twin.host_bus
    return min(
        rate
        for rate in (twin.inter_node.rate_MBps, bus.each_MBps, bus.together_MBps)
        if rate is not None
    )


def _hosts_MBps(twin: Twin, wiring: Wiring) -> NDArray[np.float64]:
    """Return the limit of each host's link and bus; in a round of rotate it is either a sender or a
    receiver."""
    shares = [wiring.host_fraction.get(host, 1.0) for host in range(twin.nodes)]
    return alone_MBps(twin) * np.array(shares, dtype=np.float64)
