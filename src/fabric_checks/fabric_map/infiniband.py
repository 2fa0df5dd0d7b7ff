# SPDX-License-Identifier: BSD-3-Clause
"""The map of an InfiniBand fabric, of its cabling and its forwarding tables."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import quoted
from fabric_checks.core.routing import STATIC
from fabric_checks.core.text import count_text
from fabric_checks.fabric_map.cabling import Device, End, Fabric, Link
from fabric_checks.fabric_map.forwarding import MOST_LID, NO_PORT, Tables
from fabric_checks.fabric_map.model import NONE, UNKNOWN, FabricMap, arcs_of
from fabric_checks.fabric_map.names import adapter, plain
from fabric_checks.parsers.table import require

#: The most entries of forwarding tables: a subnet has 48 thousand LIDs, and switches for them.
MOST_ENTRIES = 400_000_000
#: A link is an exception where so much of its fellows is alike, and faster.
MOST_OF_FELLOWS = 0.75
#: Part of a switch (SHARP), and descriptions that the factory or an image gave an adapter: no hosts.
_AGGREGATION = re.compile(r"(?i)Aggregation Node")
_NAMELESS = re.compile(
    r"(?i)\s*(?:(?:localhost|ubuntu|debian|HCA-\d+|mlx\d_\d+|MT\d{4,}|ConnectX\S*|Mellanox|NVIDIA)(?:\s.*)?"
    r"|.*Mellanox Technologies.*)?",
)


def of_fabric(fabric: Fabric, tables: Tables | None = None) -> FabricMap:
    """Return the map of a fabric.

    A host with several ports is on it once for each, as ``HOST ADAPTER``, or ``HOST ADAPTER:PORT`` if more
    than one port of an adapter has a link; :func:`fabric_checks.fabric_map.names.on_adapters`
    chooses among them. Adapters that name no host, of which the map warns, and the aggregation nodes of
    switches are left out.

    :param tables: without them the routes are unknown; so are those of LIDs that belong to another port by
        the tables, and the map warns of them.
    :raises OutputError: if the tables are not of this fabric, or no adapter names its host.
    """
    names = _names([each for each in fabric.devices.values() if each.is_switch])
    number = {key: position for position, key in enumerate(names)}
    between = _between(fabric, number)
    leaving = [(number[end.key], end.port) for link in between for end in link.ends]
    starts, ports = np.array(leaving, dtype=np.int64).reshape(-1, 2).T
    hosts, warnings = _hosts(fabric, number)
    slow = _slow_links(fabric, names)
    usual = _usual(slow, number)
    rates, host_rates = _rates(
        [usual.get(link.ends[0], link.Gbps) for link in between],
        [usual.get(port.end, port.Gbps) for port in hosts.values()],
    )
    known = FabricMap(
        "the tools of InfiniBand",
        tuple(hosts),
        tuple(names.values()),
        np.array([port.switch for port in hosts.values()], dtype=np.int64),
        starts,
        starts.reshape(-1, 2)[:, ::-1].ravel(),
        tuple(_link_name(link, fabric, names) for link in between),
        ports=np.array([port.switch_port for port in hosts.values()]),
        rates=rates,
        host_rates=host_rates,
        warnings=tuple(warnings),
        slow_links={
            (name := _link_name(link, fabric, names)): (
                f"the link from {name} runs at {link.kind}, {count} of its fellows at {kind}"
            )
            for link, kind, count in slow
        },
    )
    return (
        known if tables is None else _routed(known, hosts, tables, list(number), ports)
    )


def _routed(
    known: FabricMap,
    hosts: Mapping[str, _HostPort],
    tables: Tables,
    keys: Sequence[str],
    ports: NDArray[np.int64],
) -> FabricMap:
    """Return a map with the routes of forwarding tables.

    :param keys: of the switches; :param ports: the port that each arc leaves by.
    """
    own = [tables.ports.get(key.removeprefix("S-").zfill(16)) for key in keys]
    missing = sum(table is None for table in own)
    require(
        missing < len(own),
        "the forwarding tables belong to none of these switches; give the topology and the tables of the same"
        " fabric",
    )
    placed, warnings = _placed(hosts, tables)
    if missing:
        of = count_text(len(own), "switch", "switches")
        warnings = [f"{missing} of {of} without forwarding table", *warnings]
    arc_at = np.full((len(own), NO_PORT + 1), NONE, dtype=np.int32)
    arc_at[known.starts, ports] = np.arange(len(ports))
    following, strays = _next_arcs(own, placed, arc_at)
    warnings = [*known.warnings, *warnings]
    known = replace(known, next=following, warnings=tuple(warnings))
    return _without_lost_routes(known, following, strays)


def _between(fabric: Fabric, switches: Container[str]) -> list[Link]:
    return [link for link in fabric.links if _is_between(link, switches)]


def _is_between(link: Link, switches: Container[str]) -> bool:
    """Return whether a cable is between two switches, of which the keys are given."""
    return all(end.key in switches for end in link.ends)


def _link_name(link: Link, fabric: Fabric, switches: Mapping[str, str]) -> str:
    """Return the name of a cable by those of its ends; :param switches: the names of switches by key."""
    one, other = (
        f"{switches.get(end.key) or _name(fabric.devices[end.key])} port {end.port}"
        for end in link.ends
    )
    return f"{one} to {other}"


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
    placed = [
        replace(port, lid=0) if name in other else port for name, port in hosts.items()
    ]
    if not other:
        return placed, []
    lid = hosts[other[0]].lid
    text = (
        f"LID {lid} is {other[0]} by the topology, and port 0x{tables.guids[lid]} by the forwarding tables;"
        f" so are {len(other)} of {len(hosts)}: LIDs were assigned anew between the two"
    )
    require(len(other) < len(hosts), f"{text}; take both again")
    return placed, [text]


def _without_lost_routes(
    known: FabricMap, following: NDArray[np.int32], strays: NDArray[np.int64]
) -> FabricMap:
    """Return a map that warns of routes which its tables lack, and has none if one does not arrive.

    Then the tables are of other cables or of other LIDs, and a route that does arrive may be another one.

    :param following: the routes of the map.
    :param strays: switches and hosts to which the table leads by a port of no cable or of another host.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415  (slow to import)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  (slow to import)

    leaves, one_of_each = np.unique(known.at, return_index=True)
    cables = (np.ones(len(known.starts)), (known.starts, known.ends))
    size = len(known.switches)
    _, part = connected_components(coo_array(cables, shape=(size, size)))
    source, target = np.nonzero(part[leaves][:, None] == part[known.at])
    arcs = arcs_of(replace(known, routing=STATIC), one_of_each[source], target)
    lost = np.flatnonzero(arcs[:, 0] == UNKNOWN)
    if not (len(strays) or len(lost)):
        return known
    # A route is a loop if every switch has one to that host, whose own has no cable to it.
    is_whole = (following == NONE).sum(axis=0) == 1
    lacking = np.stack((leaves[source[lost]], target[lost]), axis=1)
    wrong = np.concatenate((strays, lacking[is_whole[target[lost]]]))
    at, to = (wrong if len(wrong) else lacking)[0]
    switch, host = known.switches[int(at)], known.hosts[int(to)]
    if len(wrong):
        text = (
            f"the table of {switch} does not lead to {host} by these cables: a cable moved or LIDs changed"
            " between the two, or replies were lost; no route is used: take both again"
        )
        return replace(known, next=None, warnings=(*known.warnings, text))
    text = (
        f"{len(lost)} of {len(source)} routes from a switch to a host are unknown, such as from {switch} to"
        f" {host}: the tables lack them; were replies lost? dump_fts and ibroute also leave out the highest"
        " LID if it is a multiple of 64, which OpenSM's own opensm-lfts.dump has"
    )
    return replace(known, warnings=(*known.warnings, text))


def _usual(
    slow: Sequence[tuple[Link, str, int]], switches: Container[str]
) -> dict[End, float]:
    """Return the rate of the fellows of slow links, by their ends at switches: what is held to its own rate
    is a link of a kind, and not one that is an exception."""
    return {
        end: Link(link.ends, kind).Gbps
        for link, kind, _ in slow
        for end in link.ends
        if end.key in switches
    }


def _rates(
    of_cables: Sequence[float], of_hosts: Sequence[float]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the rates of arcs and of hosts' links as multiples of that of most hosts' links; None if all are
    alike or not known."""
    found = np.repeat(of_cables, 2)
    values, counts = np.unique(of_hosts, return_counts=True)
    typical = values[np.argmax(counts)]
    every = np.concatenate((found, of_hosts))
    if not every.all() or (every == typical).all():
        return None, None
    return np.asarray(found / typical), np.array(of_hosts) / typical


def _slow_links(
    fabric: Fabric, switches: Container[str]
) -> list[tuple[Link, str, int]]:
    """Return the links that run slower than most of their fellows, with what these run at and their number.

    Fellows are the other cables of a switch to switches, or its other links to hosts. Each switch of a cable
    has to have a faster one: a leaf or a spine of another generation has none.

    :param switches: their keys.
    """
    fellows = defaultdict[tuple[str, bool], Counter[str]](Counter)
    for link in fabric.links:
        for end in link.ends:
            fellows[end.key, _is_between(link, switches)][link.kind] += 1
    rates = {link.kind: link.Gbps for link in fabric.links}
    found = []
    for link in fabric.links:
        is_between = _is_between(link, switches)
        groups = [
            fellows[end.key, is_between] for end in link.ends if end.key in switches
        ]
        if faster := _kind_of_faster(link.kind, groups, rates):
            found.append((link, *faster))
    return found


def _kind_of_faster(
    own: str, groups: Sequence[Counter[str]], rates: Mapping[str, float]
) -> tuple[str, int] | None:
    """Return what most of the faster fellows run at, and how many; None if a link is no exception.

    :param own: its kind; :param groups: of the kinds of its fellows at each of its switches; :param rates: by
        kind.
    """
    shares = [
        sum(count for kind, count in group.items() if rates[kind] > rates[own])
        / group.total()
        for group in groups
    ]
    if not rates[own] or min(shares, default=0) == 0 or max(shares) < MOST_OF_FELLOWS:
        return None
    group = groups[int(np.argmax(shares))]
    return max(
        ((kind, count) for kind, count in group.items() if rates[kind] > rates[own]),
        key=lambda each: each[1],
    )


@dataclass(frozen=True)
class _HostPort:
    """A port of a host: the number and the port of the switch that it is at, and these as the end of the
    cable, its LID (0 if unknown) and GUID, and its rate."""

    switch: int
    switch_port: int
    end: End
    lid: int
    guid: str
    Gbps: float


def _hosts(
    fabric: Fabric, number: Mapping[str, int]
) -> tuple[dict[str, _HostPort], list[str]]:
    """Return the ports of hosts by name, and warnings of adapters that are left out; :param number: of each
    switch."""
    ports = _ports(fabric, number)
    adapters = [
        device
        for key, device in fabric.devices.items()
        if key in ports and not _AGGREGATION.search(device.name)
    ]
    nameless = [device.name for device in adapters if _NAMELESS.fullmatch(device.name)]
    warnings = []
    if nameless:
        count = count_text(len(nameless), "adapter")
        found = f"{count} without the name of a host, as in {quoted(nameless[0])}"
        require(
            len(nameless) < len(adapters),
            f"{found}: no adapter names its host; have the nodes set node_desc (rdma-ndd)",
        )
        warnings.append(f"{found}: left out")
    by_host = defaultdict[str, list[Device]](list)
    for device in adapters:
        if device.name not in nameless:
            by_host[plain(device.name)].append(device)
    hosts: dict[str, _HostPort] = {}
    for host, own in by_host.items():
        hosts |= _named_ports(host, own, ports)
    return hosts, warnings


def _ports(
    fabric: Fabric, number: Mapping[str, int]
) -> dict[str, dict[int, _HostPort]]:
    """Return the ports of adapters that are at a switch, by the adapter's key and the port's number."""
    ports = defaultdict[str, dict[int, _HostPort]](dict)
    for link in fabric.links:
        for (key, port), far in (link.ends, link.ends[::-1]):
            if key not in number and far.key in number:
                device = fabric.devices[key]
                lid, guid = device.lids.get(port, 0), device.guids.get(port, "")
                at = number[far.key]
                ports[key][port] = _HostPort(at, far.port, far, lid, guid, link.Gbps)
    return ports


def _named_ports(
    host: str,
    adapters: Sequence[Device],
    ports: Mapping[str, Mapping[int, _HostPort]],
) -> dict[str, _HostPort]:
    """Return the ports of a host by their names on the map; :param ports: of each adapter by its key."""
    is_alone = sum(len(ports[device.key]) for device in adapters) == 1
    found: dict[str, _HostPort] = {}
    for device in sorted(adapters, key=lambda each: (each.name, each.key)):
        own = adapter(device.name) or ("" if is_alone else device.key)
        name = f"{host} {own}".strip()
        name = f"{host} {device.key}" if name in found else name
        several = len(ports[device.key]) > 1
        for port, at in sorted(ports[device.key].items()):
            found[f"{name}:{port}" if several else name] = at
    return found


def _name(device: Device) -> str:
    """Return the name in a description such as ``MF0;ibdir:CS8500/L04/U1``, or the key without one."""
    return device.name.split(";", 1)[-1].split(":", 1)[0].strip() or device.key


def _names(switches: Sequence[Device]) -> dict[str, str]:
    """Return a name for each switch by its key, with the board of a chassis (``L04/U1``) and then its key
    where that is ambiguous."""
    names = {device.key: _name(device) for device in switches}
    boards = [
        device.name.split(";", 1)[-1].strip().partition("/")[2] for device in switches
    ]
    for longer in (boards, [f"({key})" for key in names]):
        count = Counter(names.values())
        for (key, name), more in zip(list(names.items()), longer, strict=True):
            if more and count[name] > 1:
                names[key] = f"{name} {more}"
    return names


def _next_arcs(
    tables: Sequence[NDArray[np.uint8] | None],
    hosts: Sequence[_HostPort],
    arc_at: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return by switch and host the arc towards that host, and the switches and hosts whose entry leads to no
    cable and not to that host.

    :param tables: of the switches, None for one without; :param arc_at: by switch and port the arc that
        leaves there.
    """
    require(
        len(tables) * len(hosts) <= MOST_ENTRIES,
        f"{len(tables)} switches and {len(hosts)} hosts are more than can be analysed",
    )
    fields = [(host.switch, host.switch_port, host.lid) for host in hosts]
    at, own_port, lid = np.array(fields).T
    lid[lid > MOST_LID] = 0
    port = np.full((len(tables), len(hosts)), NO_PORT, dtype=np.uint8)
    for switch, table in enumerate(tables):
        if table is not None:
            port[switch] = table[lid]
    port[:, lid == 0] = NO_PORT
    found = np.take_along_axis(arc_at, port.astype(np.int64), axis=1)
    is_here = at == np.arange(len(tables))[:, None]
    found[is_here] = NONE
    is_lost = (found == NONE) & (port != NO_PORT)
    return found, np.argwhere(is_lost & ~(is_here & (port == own_port)))
