# SPDX-License-Identifier: BSD-3-Clause
"""Map a twin's own fabric for the analysis of measurements."""

from __future__ import annotations

import numpy as np

from fabric_checks.diagnosis.fabric_map.model import FabricMap
from fabric_twins.model.description import Twin
from fabric_twins.model.routing import Routes, routes
from fabric_twins.model.topology import Star, Wiring, with_faults


def of_twin(twin: Twin) -> FabricMap | None:
    """Return the map of a twin: cut and swapped cables are on it, as switches would report them, and slow ones are not.

    :returns: None for a star, whose one switch never limits anything.
    :raises TwinError: if the routing does not fit the wiring.
    """
    if isinstance(twin.topology, Star):
        return None
    seen = [fault for fault in twin.faults if fault.what == "swap" or (fault.what != "host" and fault.fraction == 0)]
    wiring = with_faults(twin.topology.wiring(), seen)
    return of_routes(wiring, routes(wiring, twin.routing), twin.inter_node.rate_MBps)


def of_routes(wiring: Wiring, ways: Routes, host_MBps: float | None = None) -> FabricMap:
    """Return the map of a wired fabric with its routes.

    :param host_MBps: the rate of a host's link; without it cables are taken to be as fast.
    """
    names = wiring.switches
    rates = np.repeat([cable.rate_MBps for cable in wiring.cables], 2) / host_MBps if host_MBps else None
    return FabricMap(
        "the description",
        wiring.hosts,
        names,
        np.array(wiring.at, dtype=np.int64),
        np.array([arc.start for arc in ways.arcs], dtype=np.int64),
        np.array([arc.end for arc in ways.arcs], dtype=np.int64),
        tuple(f"{names[cable.a]} to {names[cable.b]}" for cable in wiring.cables),
        np.array(ways.next, dtype=np.int32).reshape(len(names), len(wiring.hosts)),
        rates=rates,
    )
