# SPDX-License-Identifier: BSD-3-Clause
"""A map from whatever texts there are of a fabric, told apart by what they look like."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.fabric_map import infiniband, slurm_topology
from fabric_checks.diagnosis.fabric_map.infiniband_diags import (
    Fabric,
    is_forwarding,
    is_iblinkinfo,
    is_ibnetdiscover,
    parse_forwarding,
    parse_iblinkinfo,
    parse_ibnetdiscover,
)
from fabric_checks.diagnosis.fabric_map.model import FabricMap, of_switches


def of_texts(texts: Sequence[tuple[str, str]]) -> FabricMap:
    """Return the map that some texts give together.

    :param texts: the name and the content of each: what ``ibnetdiscover`` or ``iblinkinfo`` prints, forwarding tables
        beside it, or Slurm's topology.
    :raises OutputError: if one is not one of these, is incomplete, or does not belong to the others; it is named.
    """
    fabric: Fabric | None = None
    tables: dict[str, dict[int, int]] = {}
    members: dict[str, list[str]] | None = None
    for name, text in texts:
        try:
            if is_forwarding(text):
                tables |= parse_forwarding(text)
            elif is_ibnetdiscover(text):
                fabric = parse_ibnetdiscover(text)
            elif is_iblinkinfo(text):
                fabric = fabric or parse_iblinkinfo(text)
            elif slurm_topology.is_topology(text):
                members = slurm_topology.parse(text)
            else:
                raise OutputError(
                    "not a known form of topology; give the output of ibnetdiscover, iblinkinfo, dump_lfts or scontrol "
                    "show topology"
                )
        except OutputError as error:
            raise OutputError(f"{name}: {error}") from None
    if fabric is not None:
        return infiniband.of_fabric(fabric, tables or None)
    if tables:
        raise OutputError(
            f"{texts[0][0]}: forwarding tables do not show cables; give the output of ibnetdiscover as well"
        )
    if members is None:
        raise OutputError("there is no topology")
    return of_slurm(members)


def of_slurm(members: dict[str, list[str]]) -> FabricMap:
    """Return the map of Slurm's topology."""
    return of_switches("Slurm's topology", members)
