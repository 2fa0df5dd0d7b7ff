# SPDX-License-Identifier: BSD-3-Clause
"""The map of an InfiniBand fabric from the output of infiniband-diags: switches, hosts, cables and forwarding tables.

``ibnetdiscover`` prints a paragraph for each switch and adapter, and ``ibroute``, which ``dump_lfts.sh`` runs for each
switch, the table of a switch: the port for each local identifier (LID). OpenSM's own dumps have the form of ``ibroute``
with ``#`` in place of the colon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.diagnosis.fabric_map.names import plain
from fabric_checks.parsers.plain import cleaned

#: The largest LID of one host; larger ones are multicast.
MOST_LID = 0xBFFF
#: The most ports of a switch.
MOST_PORTS = 254
#: The most entries of forwarding tables: a subnet has 48 thousand LIDs, and switches for them.
MOST_ENTRIES = 400_000_000

_NODE = re.compile(r'(Switch|Ca|Rt)\s+[0-9]{1,3}\s+"([SHR]-[0-9a-f]{1,16})"\s*#\s*"(.*)"(.*)')
_PORT = re.compile(
    r'\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s+"([SHR]-[0-9a-f]{1,16})"'
    r"\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s*(?:#(.*))?"
)
_IGNORED = re.compile(r"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*|#.*|Chassis .*")
_LID = re.compile(r"\blid ([0-9]{1,5})\b")

_TABLE = re.compile(r"Unicast lids \[0x[0-9a-f]+-0x[0-9a-f]+\] of switch .*?guid 0x([0-9a-f]{1,16}) \(.*\):?")
_ROUTE = re.compile(r"0x([0-9a-f]{1,4})\s+([0-9]{1,3})\s+([:#])\s*(.*)")
_TABLE_IGNORED = re.compile(r"\s*Lid\s+Out\s+Destination.*|\s*Port\s+Info\s*")
_COUNT = re.compile(r"([0-9]{1,6}) (?:valid )?lids dumped\s*")


@dataclass(frozen=True)
class Device:
    """A switch or an adapter.

    :param key: its identifier in the output, such as its GUID; :param name: its node description.
    :param is_switch: whether it is a switch; :param lid: its LID, of an adapter that of its first port; 0 if unknown.
    """

    key: str
    name: str
    is_switch: bool
    lid: int


@dataclass(frozen=True)
class Link:
    """A cable: the devices at its ends by their keys, and the ports there."""

    a: str
    a_port: int
    b: str
    b_port: int


@dataclass(frozen=True)
class Fabric:
    """Devices by key, and the cables between them, each once."""

    devices: Mapping[str, Device]
    links: tuple[Link, ...]


def is_ibnetdiscover(text: str) -> bool:
    """Return whether a text looks like the output of ``ibnetdiscover``."""
    return re.search(r'(?m)^(?:Switch|Ca)\s+[0-9]+\s+"[SH]-', text) is not None


def is_forwarding(text: str) -> bool:
    """Return whether a text looks like forwarding tables."""
    return re.search(r"(?m)^Unicast lids \[", text) is not None


def parse_ibnetdiscover(text: str) -> Fabric:
    """Read the output of ``ibnetdiscover``.

    :raises OutputError: if a line is malformed, or a cable has no second end: then the output is incomplete.
    """
    devices: dict[str, Device] = {}
    ends: dict[tuple[str, int], tuple[str, int, int]] = {}
    own = None
    for place, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip() or _IGNORED.fullmatch(line):
            continue
        if node := _NODE.fullmatch(line):
            own = node[2]
            if own in devices:
                raise OutputError(f"{own} is described twice", place)
            lid = _LID.search(node[4])
            devices[own] = Device(own, node[3], node[1] == "Switch", int(lid[1]) if lid else 0)
        elif (port := _PORT.fullmatch(line)) and own is not None:
            _keep_end(ends, (own, int(port[1])), (port[2], int(port[3]), place))
            lid = _LID.search(port[4] or "")
            if not devices[own].is_switch and devices[own].lid == 0 and lid:
                devices[own] = Device(own, devices[own].name, False, int(lid[1]))
        else:
            raise OutputError(f"not a line of ibnetdiscover output: {quoted(line)}; give the output unchanged", place)
    return Fabric(devices, _links(devices, ends))


def _keep_end(
    ends: dict[tuple[str, int], tuple[str, int, int]], own: tuple[str, int], other: tuple[str, int, int]
) -> None:
    if max(own[1], other[1]) > MOST_PORTS:
        raise OutputError(f"port {max(own[1], other[1])} is beyond what a switch has", other[2])
    if own in ends:
        raise OutputError(f"port {own[1]} of {own[0]} is described twice", other[2])
    ends[own] = other


def _links(devices: Mapping[str, Device], ends: Mapping[tuple[str, int], tuple[str, int, int]]) -> tuple[Link, ...]:
    """Return the cables, each of which has to be described at both its ends."""
    if not any(device.is_switch for device in devices.values()):
        raise OutputError("there is no switch in it; give the whole output")
    found = []
    for (own, port), (other, other_port, place) in ends.items():
        back = ends.get((other, other_port))
        if back is None or back[:2] != (own, port):
            raise OutputError(
                f"the cable from {own} port {port} to {other} port {other_port} is not described at its other end; "
                "the output is incomplete, or covers only part of the fabric",
                place,
            )
        if (own, port) < (other, other_port):
            found.append(Link(own, port, other, other_port))
    return tuple(found)


def parse_forwarding(text: str) -> dict[str, dict[int, int]]:
    """Read forwarding tables as ``ibroute``, ``dump_lfts.sh`` and OpenSM print them.

    :returns: by GUID of the switch (16 hexadecimal digits) the port by LID.
    :raises OutputError: if a line is malformed, or a table does not have as many lines as its end says.
    """
    tables: dict[str, dict[int, int]] = {}
    own: dict[int, int] | None = None
    torn = 0
    for place, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip() or _TABLE_IGNORED.fullmatch(line):
            continue
        if head := _TABLE.fullmatch(line):
            _require_end(torn)
            guid = head[1].zfill(16)
            if guid in tables:
                raise OutputError(f"the table of switch 0x{guid} is there twice", place)
            own = tables[guid] = {}
        elif (route := _ROUTE.fullmatch(line)) and own is not None:
            lid, port = int(route[1], 16), int(route[2])
            if lid in own:
                raise OutputError(f"LID {lid} is there twice", place)
            if lid > MOST_LID or port > MOST_PORTS + 1:
                raise OutputError(f"not a route to one host through a port of a switch: {quoted(line)}", place)
            own[lid] = port
            torn = place if route[3] == ":" else 0
        elif (count := _COUNT.fullmatch(line)) and own is not None:
            if int(count[1]) != len(own):
                raise OutputError(
                    f"the table has {len(own)} lines but says that it has {count[1]}; it is incomplete", place
                )
            torn = 0
        else:
            raise OutputError(f"not a line of a forwarding table: {quoted(line)}; give the output unchanged", place)
    _require_end(torn)
    if not tables:
        raise OutputError("there is no forwarding table in it")
    return tables


def _require_end(torn: int) -> None:
    """Raise :class:`OutputError` for a table of ``ibroute`` without its last line."""
    if torn:
        raise OutputError("the table ends here without saying how many LIDs it has; it is incomplete", torn)


def of_fabric(fabric: Fabric, tables: Mapping[str, Mapping[int, int]] | None = None) -> FabricMap:
    """Return the map of a fabric.

    A host with several adapters is at the switch of its first one, which the doubts say.

    :param tables: the port by LID of each switch, by its GUID; without them the routes are unknown.
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
    """Return a name for each switch: its description, with its identifier where that is ambiguous."""
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
