# SPDX-License-Identifier: BSD-3-Clause
"""The map of an InfiniBand fabric, from what its tools print."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.fabric_map.infiniband_diags import Device, Fabric
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.diagnosis.fabric_map.names import plain

#: More entries than these no subnet has: 48 thousand LIDs, and switches for them.
MOST_ENTRIES = 400_000_000


def of_fabric(fabric: Fabric, tables: Mapping[str, Mapping[int, int]] | None = None) -> FabricMap:
    """Return the map of a fabric.

    A host with several adapters is at the switch of its first one, which is among the doubts.

    :param tables: the port by LID of each switch, by its GUID; without them the ways are not known.
    :raises OutputError: if the tables are not of this fabric.
    """
    switches = [device for device in fabric.devices.values() if device.is_switch]
    number = {device.key: place for place, device in enumerate(switches)}
    names = _names(switches)
    hosts, at, lids, more = _hosts(fabric, number)
    starts: list[int] = []
    ends: list[int] = []
    cables: list[str] = []
    arc_at: dict[tuple[int, int], int] = {}
    for link in fabric.links:
        if link.a in number and link.b in number:
            a, b = number[link.a], number[link.b]
            arc_at[a, link.a_port], arc_at[b, link.b_port] = len(starts), len(starts) + 1
            starts += [a, b]
            ends += [b, a]
            cables.append(f"{names[a]} port {link.a_port} to {names[b]} port {link.b_port}")
    doubts = [f"{len(more)} hosts have several adapters; only the first is used: {more[0]}"] if more else []
    forward, without = None, 0
    if tables is not None:
        forward, without = _forward(switches, tables, lids, arc_at)
    if without:
        doubts.append(f"{without} of {len(switches)} switches have no forwarding table")
    return FabricMap(
        "the tools of InfiniBand",
        tuple(hosts),
        names,
        np.array(at, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.array(ends, dtype=np.int64),
        tuple(cables),
        forward,
        doubts=tuple(doubts),
    )


def _names(switches: list[Device]) -> tuple[str, ...]:
    """Return a name for each switch: its description, as far as it tells switches apart."""
    short = [device.name.split(";", 1)[-1].split(":", 1)[0].strip() or device.key for device in switches]
    return tuple(
        name if short.count(name) == 1 else f"{name} ({device.key})"
        for name, device in zip(short, switches, strict=True)
    )


def _hosts(fabric: Fabric, number: Mapping[str, int]) -> tuple[list[str], list[int], list[int], list[str]]:
    """Return the hosts, the switch and the LID of each, and those that have several adapters."""
    switch_of: dict[str, int] = {}
    for link in fabric.links:
        for own, other in ((link.a, link.b), (link.b, link.a)):
            if own not in number and other in number:
                switch_of.setdefault(own, number[other])
    hosts: dict[str, tuple[int, int]] = {}
    more = []
    for device in fabric.devices.values():
        if device.is_switch or device.key not in switch_of:
            continue
        name = plain(device.name) or device.key
        if name in hosts:
            more.append(name)
        hosts.setdefault(name, (switch_of[device.key], device.lid))
    return list(hosts), [at for at, _ in hosts.values()], [lid for _, lid in hosts.values()], more


def _forward(
    switches: list[Device],
    tables: Mapping[str, Mapping[int, int]],
    lids: list[int],
    arc_at: Mapping[tuple[int, int], int],
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int32]], int]:
    """Return by switch and host the arc that leads there, and how many switches have no table."""
    if len(switches) * len(lids) > MOST_ENTRIES:
        raise OutputError(f"{len(switches)} switches and {len(lids)} hosts are more than can be analysed")
    forward = np.full((len(switches), len(lids)), NONE, dtype=np.int32)
    known = 0
    for place, device in enumerate(switches):
        table = tables.get(device.key.removeprefix("S-").zfill(16))
        if table is None:
            continue
        known += 1
        for host, lid in enumerate(lids):
            forward[place, host] = arc_at.get((place, table.get(lid, NONE)), NONE)
    if not known:
        raise OutputError(
            "the forwarding tables belong to none of these switches; give the topology and the tables of the same "
            "fabric"
        )
    return forward, len(switches) - known
