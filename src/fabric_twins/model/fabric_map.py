# SPDX-License-Identifier: BSD-3-Clause
"""Map a wired fabric for the analysis of its pairs."""

from __future__ import annotations

import numpy as np

from fabric_checks.core.routing import STATIC
from fabric_checks.fabric_map.model import FabricMap
from fabric_twins.model.routing import Routes
from fabric_twins.model.topology import Wiring


def of_routes(
    wiring: Wiring, ways: Routes, host_MBps: float | None = None
) -> FabricMap:
    """Return the map of a wired fabric with its routes.

    :param host_MBps: the rate of a host's link; without it cables are taken to be as fast.
    """
    names = wiring.switches
    rates = (
        np.repeat([cable.rate_MBps for cable in wiring.cables], 2) / host_MBps
        if host_MBps
        else None
    )
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
        routing=STATIC,
    )
