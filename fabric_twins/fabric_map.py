# SPDX-License-Identifier: BSD-3-Clause
"""What a twin knows of its own fabric, as the analysis of measurements wants it."""

from __future__ import annotations

import numpy as np

from fabric_checks.analysis.fabric_map.model import FabricMap
from fabric_twins.routing import Routes, routes
from fabric_twins.topology import Routing, Wiring


def of_wiring(wiring: Wiring, routing: Routing) -> FabricMap:
    """Return the map of a wired fabric with its ways.

    :raises TwinError: if the routing does not fit the wiring.
    """
    return of_routes(wiring, routes(wiring, routing))


def of_routes(wiring: Wiring, ways: Routes) -> FabricMap:
    """Return the map of a wired fabric whose ways are there already."""
    names = wiring.switches
    return FabricMap(
        "the description",
        wiring.hosts,
        names,
        np.array(wiring.at, dtype=np.int64),
        np.array([arc.start for arc in ways.arcs], dtype=np.int64),
        np.array([arc.end for arc in ways.arcs], dtype=np.int64),
        tuple(f"{names[cable.a]} to {names[cable.b]}" for cable in wiring.cables),
        np.array(ways.next, dtype=np.int32).reshape(len(names), len(wiring.hosts)),
        dict(ways.pairs),
    )
