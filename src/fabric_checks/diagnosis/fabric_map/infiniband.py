# SPDX-License-Identifier: BSD-3-Clause
"""The map of an InfiniBand fabric, of its cabling and its forwarding tables."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.routing import STATIC
from fabric_checks.core.text import count_text
from fabric_checks.diagnosis.fabric_map.cabling import Device, Fabric, Link
from fabric_checks.diagnosis.fabric_map.forwarding import NO_PORT, Tables
from fabric_checks.diagnosis.fabric_map.model import NONE, UNKNOWN, FabricMap, arcs_of
from fabric_checks.diagnosis.fabric_map.names import adapter, plain

#: The most entries of forwarding tables: a subnet has 48 thousand LIDs, and switches for them.
MOST_ENTRIES = 400_000_000
#: A link is an exception where so much of its fellows is alike, and faster.
MOST_OF_FELLOWS = 0.75
#: What the tools themselves report where a part of the fabric did not answer.
WARNING = re.compile(r"(?m)^(?:ib\w+: \[\d+\] |\S+\.c:\d+; |ib\w+: .*failed).*")
#: Part of a switch (SHARP), and descriptions that the factory or an image gave an adapter: no hosts.
_AGGREGATION = re.compile(r"(?i)Aggregation Node")
_NAMELESS = re.compile(
    r"(?i)\s*(?:(?:localhost|ubuntu|debian|HCA-\d+|mlx\d_\d+|MT\d{4,}|ConnectX\S*|Mellanox|NVIDIA)(?:\s.*)?"
    r"|.*Mellanox Technologies.*)?",
)


def of_fabric(fabric: Fabric, tables: Tables | None = None) -> FabricMap:
    """Return the map of a fabric.

    A host with several ports is on it once for each, as ``HOST ADAPTER``, or ``HOST ADAPTER:PORT`` if more
    than one port of an adapter has a link; :func:`fabric_checks.diagnosis.fabric_map.names.on_adapters`
    chooses among them. Adapters that name no host, of which the map warns, and the aggregation nodes of
    switches are left out.

    :param tables: without them the routes are unknown; so are those of LIDs that belong to another port by
        the tables, and the map warns of them.
    :raises OutputError: if the tables are not of this fabric, or no adapter names its host.
    """
    switches = [device for device in fabric.devices.values() if device.is_switch]
    number = {device.key: position for position, device in enumerate(switches)}
    names = _names(switches)
    between = [
        link for link in fabric.links if link.one in number and link.other in number
    ]
    starts_ends = np.array(
        [(number[link.one], number[link.other]) for link in between], dtype=np.int64
    ).reshape(-1, 2)
    arc_at = {}
    for cable, link in enumerate(between):
        arc_at[number[link.one], link.one_port] = 2 * cable
        arc_at[number[link.other], link.other_port] = 2 * cable + 1
    hosts, warnings = _hosts(fabric, number)
    cables = []
    for link in between:
        one, other = names[number[link.one]], names[number[link.other]]
        cables.append(f"{one} port {link.one_port} to {other} port {link.other_port}")
    following, strays = None, list[tuple[int, int]]()
    if tables is not None:
        _require_same_fabric(switches, tables)
        placed, changed = _placed(hosts, tables)
        following, strays, missing = _next_arcs(switches, tables.ports, placed, arc_at)
        if missing:
            warnings.append(
                f"{missing} of {count_text(len(switches), 'switch', 'switches')} without forwarding table"
            )
        warnings += changed
    known = FabricMap(
        "the tools of InfiniBand",
        tuple(hosts),
        names,
        np.array([port.switch for port in hosts.values()], dtype=np.int64),
        starts_ends.ravel(),
        starts_ends[:, ::-1].ravel(),
        tuple(cables),
        following,
        rates=_rates(between, [port.Gbps for port in hosts.values()]),
        warnings=tuple(warnings),
        slow_links=_slow_links(fabric, dict(zip(number, names, strict=True))),
    )
    return _without_lost_routes(known, strays)


def _guid(switch: Device) -> str:
    return switch.key.removeprefix("S-").zfill(16)


def _require_same_fabric(switches: Sequence[Device], tables: Tables) -> None:
    """Raise :class:`OutputError` if the tables are of other switches."""
    if tables.ports.keys().isdisjoint(map(_guid, switches)):
        raise OutputError(
            "the forwarding tables belong to none of these switches; give the topology and the tables of the"
            " same fabric"
        )


def _placed(
    hosts: Mapping[str, _HostPort], tables: Tables
) -> tuple[list[_HostPort], list[str]]:
    """Return the ports of hosts, without the LID that is another port's by the tables, and a warning of
    these."""
    other = [
        name
        for name, port in hosts.items()
        if port.guid and tables.guids.get(port.lid, port.guid) != port.guid
    ]
    if not other:
        return list(hosts.values()), []
    lid = hosts[other[0]].lid
    text = (
        f"LID {lid} is {other[0]} by the topology, and port 0x{tables.guids[lid]} by the forwarding tables;"
        f" so are {len(other)} of {len(hosts)}: LIDs were assigned anew between the two"
    )
    if len(other) == len(hosts):
        raise OutputError(f"{text}; take both again")
    return [
        replace(port, lid=0) if name in other else port for name, port in hosts.items()
    ], [text]


def _without_lost_routes(known: FabricMap, strays: list[tuple[int, int]]) -> FabricMap:
    """Return a map that warns of routes which its tables lack, and has none if one does not arrive.

    Then the tables are of other cables or of other LIDs, and a route that does arrive may be another one.

    :param strays: switches and hosts to which the table leads by a port of no cable or of another host.
    """
    if known.next is None:
        return known
    leaves, one_of_each = np.unique(known.at, return_index=True)
    _, part = connected_components(
        coo_array(
            (np.ones(len(known.starts)), (known.starts, known.ends)),
            shape=(len(known.switches),) * 2,
        )
    )
    source, target = np.nonzero(part[leaves][:, None] == part[known.at])
    arcs = arcs_of(replace(known, routing=STATIC), one_of_each[source], target)
    lost = np.flatnonzero(arcs[:, 0] == UNKNOWN)
    # A route is a loop if every switch has one to that host, whose own has no cable to it.
    is_whole = (known.next == NONE).sum(axis=0) == 1
    loops = lost[is_whole[target[lost]]]
    strays = strays or [
        (int(leaves[source[each]]), int(target[each])) for each in loops
    ]
    if strays:
        switch, host = known.switches[strays[0][0]], known.hosts[strays[0][1]]
        text = (
            f"the table of {switch} does not lead to {host} by these cables: a cable moved or LIDs changed"
            " between the two, or replies were lost; no route is used: take both again"
        )
        return replace(known, next=None, warnings=(*known.warnings, text))
    if not len(lost):
        return known
    switch, host = known.switches[leaves[source[lost[0]]]], known.hosts[target[lost[0]]]
    text = (
        f"{len(lost)} of {len(source)} routes from a switch to a host are unknown, such as from {switch} to"
        f" {host}: the tables lack them; were replies lost?"
    )
    return replace(known, warnings=(*known.warnings, text))


def _rates(
    between: Sequence[Link], of_hosts: Sequence[float]
) -> NDArray[np.float64] | None:
    """Return the rate of each arc as a multiple of that of most hosts' links; None if all are alike or not
    known."""
    found = np.repeat([link.Gbps for link in between], 2)
    values, counts = np.unique(of_hosts, return_counts=True)
    typical = values[np.argmax(counts)]
    if not typical or not found.all() or (found == typical).all():
        return None
    return np.asarray(found / typical)


def _slow_links(fabric: Fabric, switches: Mapping[str, str]) -> dict[str, str]:
    """Return the links that run slower than most of their fellows, by name, with a sentence for each.

    Fellows are the other cables of a switch to switches, or its other links to hosts. Each switch of a cable
    has to have a faster one: a leaf or a spine of another generation has none.

    :param switches: their names by key.
    """
    fellows: dict[tuple[str, bool], list[Link]] = defaultdict(list)
    for link in fabric.links:
        for end in (link.one, link.other):
            fellows[end, link.one in switches and link.other in switches].append(link)
    found = {}
    for link in fabric.links:
        ends = [end for end in (link.one, link.other) if end in switches]
        groups = [fellows[end, len(ends) == 2] for end in ends]
        faster = [
            [each.kind for each in group if each.Gbps > link.Gbps] for group in groups
        ]
        shares = [
            len(some) / len(group) for some, group in zip(faster, groups, strict=True)
        ]
        if link.Gbps and min(shares, default=0) > 0 and max(shares) >= MOST_OF_FELLOWS:
            kind, count = Counter(faster[int(np.argmax(shares))]).most_common(1)[0]
            name = f"{_end(fabric, link.one, link.one_port)} to {_end(fabric, link.other, link.other_port)}"
            found[name] = (
                f"the link from {name} runs at {link.kind}, {count} of its fellows at {kind}"
            )
    return found


def _end(fabric: Fabric, key: str, port: int) -> str:
    device = fabric.devices[key]
    return f"{_names([device])[0]} port {port}"


@dataclass(frozen=True)
class _HostPort:
    """A port of a host: the number and the port of the switch that it is at, its LID (0 if unknown) and GUID,
    and its rate."""

    switch: int
    switch_port: int
    lid: int
    guid: str
    Gbps: float


def _hosts(
    fabric: Fabric, number: Mapping[str, int]
) -> tuple[dict[str, _HostPort], list[str]]:
    """Return the ports of hosts by name, and warnings of adapters that are left out; :param number: of each
    switch."""
    ports = _ports(fabric, number)
    adapters = [device for key, device in fabric.devices.items() if key in ports]
    adapters = [device for device in adapters if not _AGGREGATION.search(device.name)]
    nameless = [device.name for device in adapters if _NAMELESS.fullmatch(device.name)]
    warnings = []
    if nameless:
        found = (
            f"{count_text(len(nameless), 'adapter')} without the name of a host, as in "
            f"{quoted(nameless[0])}"
        )
        if len(nameless) == len(adapters):
            raise OutputError(
                f"{found}: no adapter names its host; have the nodes set node_desc (rdma-ndd)"
            )
        warnings.append(f"{found}: left out")
    by_host: dict[str, list[Device]] = defaultdict(list)
    for device in adapters:
        if device.name not in nameless:
            by_host[plain(device.name)].append(device)
    hosts: dict[str, _HostPort] = {}
    for host, own in by_host.items():
        hosts |= _named_ports(
            host, {(device.name, device.key): ports[device.key] for device in own}
        )
    return hosts, warnings


def _ports(
    fabric: Fabric, number: Mapping[str, int]
) -> dict[str, dict[int, _HostPort]]:
    """Return the ports of adapters that are at a switch, by the adapter's key and the port's number."""
    ports: dict[str, dict[int, _HostPort]] = defaultdict(dict)
    for link in fabric.links:
        one, other = (link.one, link.one_port), (link.other, link.other_port)
        for (key, port), (switch, switch_port) in ((one, other), (other, one)):
            if key not in number and switch in number:
                device = fabric.devices[key]
                lid, guid = device.lids.get(port, 0), device.guids.get(port, "")
                ports[key][port] = _HostPort(
                    number[switch], switch_port, lid, guid, link.Gbps
                )
    return ports


def _named_ports(
    host: str, adapters: Mapping[tuple[str, str], Mapping[int, _HostPort]]
) -> dict[str, _HostPort]:
    """Return the ports of a host by their names on the map.

    :param adapters: the ports of each adapter, by its name and key.
    """
    own = [port for ports in adapters.values() for port in ports.values()]
    if len(own) == 1:
        ((description, _),) = adapters
        return {f"{host} {adapter(description)}".strip(): own[0]}
    found: dict[str, _HostPort] = {}
    for (description, key), ports in sorted(adapters.items(), key=lambda each: each[0]):
        name = f"{host} {adapter(description) or key}"
        name = f"{host} {key}" if name in found else name
        found |= {
            f"{name}:{port}" if len(ports) > 1 else name: at
            for port, at in sorted(ports.items())
        }
    return found


def _names(switches: Sequence[Device]) -> tuple[str, ...]:
    """Return a name for each switch: its description, with the board of a chassis (``L04/U1``) and then its
    identifier where that is ambiguous.

    A description is as ``MF0;ibdir:CS8500/L04/U1``.
    """
    texts = [device.name.split(";", 1)[-1].strip() for device in switches]
    names = [
        text.split(":", 1)[0].strip() or device.key
        for text, device in zip(texts, switches, strict=True)
    ]
    for longer in (
        [text.partition("/")[2] for text in texts],
        [f"({device.key})" for device in switches],
    ):
        names = [
            f"{name} {more}" if more and names.count(name) > 1 else name
            for name, more in zip(names, longer, strict=True)
        ]
    return tuple(names)


def _next_arcs(
    switches: list[Device],
    tables: Mapping[str, Mapping[int, int]],
    hosts: Sequence[_HostPort],
    arc_at: Mapping[tuple[int, int], int],
) -> tuple[NDArray[np.int32], list[tuple[int, int]], int]:
    """Return by switch and host the arc towards that host, the switches and hosts whose entry leads to no
    cable and not to that host, and how many switches have no table.

    :param arc_at: by switch and port the arc that leaves there.
    """
    if len(switches) * len(hosts) > MOST_ENTRIES:
        raise OutputError(
            f"{len(switches)} switches and {len(hosts)} hosts are more than can be analysed"
        )
    found = np.full((len(switches), len(hosts)), NONE, dtype=np.int32)
    strays = []
    own = [tables.get(_guid(device)) for device in switches]
    for switch, table in enumerate(own):
        for number, host in enumerate(hosts if table is not None else ()):
            port = table.get(host.lid, NO_PORT) if table and host.lid else NO_PORT
            if host.switch != switch:
                found[switch, number] = arc_at.get((switch, port), NONE)
            is_stray = found[switch, number] == NONE and (
                host.switch,
                host.switch_port,
            ) != (switch, port)
            if is_stray and port != NO_PORT:
                strays.append((switch, number))
    return found, strays, own.count(None)
