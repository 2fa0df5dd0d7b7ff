# SPDX-License-Identifier: BSD-3-Clause
"""The map of an InfiniBand fabric from the output of infiniband-diags: switches, hosts, cables and forwarding
tables.

``ibnetdiscover`` prints a paragraph for each switch and adapter, and ``ibroute``, which ``dump_lfts.sh`` runs
for each switch, the table of a switch: the port for each local identifier (LID). OpenSM's own dumps have the
form of ``ibroute`` with ``#`` instead of the colon, and decimal limits.

At the end of a port's line ``ibnetdiscover`` prints width and speed of its link, as in ``4xHDR``. Rates of a
lane without coding: InfiniBand Architecture Specification 1.7, volume 2; FDR10 is Mellanox's.

Neither tells whether switches adapt routes to the load, but the log of OpenSM does: after each sweep it names
the routing engine (``osm_ucast_mgr.c``: "%s tables configured on all switches"). Those of NVIDIA's OpenSM
with adaptive routing begin with ``ar_`` (NVIDIA, InfiniBand Cluster Bring-up Procedure, "Adaptive Routing"),
and where an older one has it, its "AR Manager" reports each cycle.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.routing import ADAPTIVE, STATIC
from fabric_checks.core.text import count_text
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.diagnosis.fabric_map.names import adapter, plain
from fabric_checks.parsers.plain import cleaned

#: The largest LID of one host; larger ones are multicast.
MOST_LID = 0xBFFF
#: The most ports of a switch.
MOST_PORTS = 254
#: The most entries of forwarding tables: a subnet has 48 thousand LIDs, and switches for them.
MOST_ENTRIES = 400_000_000

#: What occurs in the output of ``ibnetdiscover``, in forwarding tables, and in a log of OpenSM that has set
#: some.
IBNETDISCOVER, FORWARDING = (
    re.compile(r'(?m)^(?:Switch|Ca)\s+[0-9]+\s+"[SH]-'),
    re.compile(r"(?m)^Unicast lids \["),
)
ENGINE = re.compile(r"osm_ucast_mgr_process: (\S.*?) tables configured on all switches")
_NODE = re.compile(r'(Switch|Ca|Rt)\s+[0-9]{1,3}\s+"([SHR]-[0-9a-f]{1,16})"\s*#\s*"(.*)"(.*)')
_PORT = re.compile(
    r'\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s+"([SHR]-[0-9a-f]{1,16})"'
    r"\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s*(?:#(.*))?"
)
_IGNORED = re.compile(r"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*|#.*|Chassis .*")
#: What the tools themselves report where a part of the fabric did not answer.
WARNING = re.compile(r"^(?:ib\w+: \[\d+\] |\S+\.c:\d+; |ib\w+: .*failed).*", re.MULTILINE)
#: Part of a switch (SHARP), and descriptions that the factory or an image gave an adapter: no hosts.
_AGGREGATION = re.compile(r"Aggregation Node", re.IGNORECASE)
_NAMELESS = re.compile(
    r"\s*(?:(?:localhost|ubuntu|debian|HCA-\d+|mlx\d_\d+|MT\d{4,}|ConnectX\S*|Mellanox|NVIDIA)(?:\s.*)?"
    r"|.*Mellanox Technologies.*)?",
    re.IGNORECASE,
)
_LID = re.compile(r"\blid ([0-9]{1,5})\b")
_WIDTH_AND_SPEED = re.compile(r" (1|2|4|8|12)x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\s*$")
_LANE_GBPS = {
    **{"SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 13.64},
    **{"EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0},
}

_TABLE = re.compile(
    r"Unicast lids \[(?:0x)?[0-9a-f]+-(?:0x)?[0-9a-f]+\] of switch .*?guid 0x([0-9a-f]{1,16}) \(.*\):?"
)
_ROUTE = re.compile(r"0x([0-9a-f]{1,4})\s+([0-9]{1,3})\s+([:#])\s*(.*)")
#: Titles of columns, and the last line of ``dump_lfts``, which is on standard output.
_TABLE_IGNORED = re.compile(
    r"\s*Lid\s+Out\s+Destination.*|\s*Port\s+Info\s*|\*\*\* WARNING \*\*\*: .*replaced by dump_fts\s*"
)
_COUNT = re.compile(r"([0-9]{1,6}) (?:valid )?lids dumped\s*")
_AR_MANAGER = re.compile(r"(?m)^.{0,80}\bAR Manager - Configuration cycle")


@dataclass(frozen=True)
class Device:
    """A switch or an adapter.

    :param key: its identifier in the output, such as its GUID; :param name: its node description.
    :param is_switch: whether it is a switch; :param lids: the LIDs of the ports of an adapter.
    """

    key: str
    name: str
    is_switch: bool
    lids: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Link:
    """A cable: the key of a device and its port at either end.

    :param kind: width and speed, as in ``4xHDR``; empty if they are not known.
    """

    one: str
    one_port: int
    other: str
    other_port: int
    kind: str = ""

    @property
    def Gbps(self) -> float:
        """The rate in one direction; 0 if it is not known."""
        width, _, speed = self.kind.partition("x")
        return int(width) * _LANE_GBPS[speed] if self.kind else 0.0


@dataclass(frozen=True)
class Fabric:
    """Devices by key, and the cables between them, each once."""

    devices: Mapping[str, Device]
    links: tuple[Link, ...]


def routing_of_log(text: str) -> str:
    """Return the routing that the last sweep in the log of OpenSM has set up: static or adaptive."""
    last = list(ENGINE.finditer(text))[-1]
    return ADAPTIVE if last[1].startswith("ar_") or _AR_MANAGER.search(text) else STATIC


def parse_ibnetdiscover(text: str) -> Fabric:
    """Read the output of ``ibnetdiscover``.

    :raises OutputError: if a line is malformed, or a cable has no second end: then the output is incomplete.
    """
    devices: dict[str, Device] = {}
    #: By key and port the key and port at the other end, the kind of the link, and the line.
    ends: dict[tuple[str, int], tuple[str, int, str, int]] = {}
    own = None
    for number, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip() or _IGNORED.fullmatch(line):
            continue
        if node := _NODE.fullmatch(line):
            own = node[2]
            if own in devices:
                raise OutputError(f"{own} is described twice", number)
            devices[own] = Device(own, node[3], node[1] == "Switch")
        elif (match := _PORT.fullmatch(line)) and own is not None:
            port, other_port = int(match[1]), int(match[3])
            if max(port, other_port) > MOST_PORTS:
                raise OutputError(f"port {max(port, other_port)} is beyond what a switch has", number)
            if (own, port) in ends:
                raise OutputError(f"port {port} of {own} is described twice", number)
            comment = match[4] or ""
            kind = _WIDTH_AND_SPEED.search(comment)
            ends[own, port] = (match[2], other_port, kind[0].strip() if kind else "", number)
            if lid := _LID.search(comment):
                devices[own].lids[port] = int(lid[1])
        else:
            raise OutputError(
                f"not a line of ibnetdiscover output: {quoted(line)}; give the output unchanged", number
            )
    if not any(device.is_switch for device in devices.values()):
        raise OutputError(_why_no_switch(len(devices), has_cables=bool(ends)))
    return Fabric(devices, _links(ends))


def _why_no_switch(adapters: int, *, has_cables: bool) -> str:
    """Return why an output of ibnetdiscover has no switch, and what to do."""
    if not adapters:
        return "there is no switch in it; give the whole output"
    seen = f"it has {count_text(adapters, 'adapter')} and no switch: "
    if has_cables:
        return f"{seen}adapters that are connected directly have no topology"
    return f"{seen}the link of this host is down; run ibnetdiscover where `ibstat` shows an active port"


def _links(ends: Mapping[tuple[str, int], tuple[str, int, str, int]]) -> tuple[Link, ...]:
    """Return the cables, each of which has to be described at both its ends."""
    links = []
    for (own, port), (other, other_port, kind, number) in ends.items():
        if ends.get((other, other_port), ())[:2] != (own, port):
            raise OutputError(
                f"the cable from {own} port {port} to {other} port {other_port} is not described at its other"
                " end; the output is incomplete, or covers only part of the fabric",
                number,
            )
        if (own, port) < (other, other_port):
            links.append(Link(own, port, other, other_port, kind))
    return tuple(links)


def parse_forwarding(text: str) -> dict[str, dict[int, int]]:
    """Read forwarding tables as ``ibroute``, ``dump_lfts.sh`` and OpenSM print them.

    :returns: by GUID of the switch (16 hexadecimal digits) the port by LID.
    :raises OutputError: if a line is malformed, or a table does not have as many lines as its end states.
    """
    tables: dict[str, dict[int, int]] = {}
    own: dict[int, int] | None = None
    torn = 0  # the last line of a table of ibroute that did not end yet
    for number, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip() or _TABLE_IGNORED.fullmatch(line):
            continue
        if head := _TABLE.fullmatch(line):
            _require_end(torn)
            guid = head[1].zfill(16)
            if guid in tables:
                raise OutputError(f"switch 0x{guid} has two tables", number)
            own = tables[guid] = {}
        elif (route := _ROUTE.fullmatch(line)) and own is not None:
            lid, port = int(route[1], 16), int(route[2])
            if lid in own:
                raise OutputError(f"LID {lid} has two routes", number)
            if lid > MOST_LID or port > MOST_PORTS + 1:
                raise OutputError(
                    f"not a route to one host through a port of a switch: {quoted(line)}", number
                )
            own[lid] = port
            torn = number if route[3] == ":" else 0
        elif (count := _COUNT.fullmatch(line)) and own is not None:
            if int(count[1]) != len(own):
                raise OutputError(
                    f"the table has {len(own)} lines but says that it has {count[1]}; it is incomplete",
                    number,
                )
            torn = 0
        else:
            raise OutputError(
                f"not a line of a forwarding table: {quoted(line)}; give the output unchanged", number
            )
    _require_end(torn)
    if not tables:
        raise OutputError("there is no forwarding table in it")
    for guid, own in tables.items():
        _require_answered(guid, own)
    return tables


def _require_answered(guid: str, own: Mapping[int, int]) -> None:
    """Raise :class:`OutputError` if every LID leaves by port 0, which leads to the switch itself alone.

    ``dump_fts`` of infiniband-diags 44 prints such a table of a switch that does not answer, exit status 0.
    """
    if len(own) > 1 and not any(own.values()):
        raise OutputError(
            f"switch 0x{guid} did not answer: its table leads every LID to the switch itself; "
            "run the command again, and read its standard error"
        )


def _require_end(torn: int) -> None:
    """Raise :class:`OutputError` if a table of ``ibroute`` lacks its last line; :param torn: the line before
    it."""
    if torn:
        raise OutputError("the table ends here without saying how many LIDs it has; it is incomplete", torn)


def of_fabric(fabric: Fabric, tables: Mapping[str, Mapping[int, int]] | None = None) -> FabricMap:
    """Return the map of a fabric.

    A host with several ports is on it once for each, as ``HOST ADAPTER``, or ``HOST ADAPTER:PORT`` if more
    than one port of an adapter has a link; :func:`fabric_checks.diagnosis.fabric_map.names.on_adapters`
    chooses among them. Adapters that name no host, of which the map warns, and the aggregation nodes of
    switches are left out.

    :param tables: the port by LID of each switch, by its GUID; without them the routes are unknown.
    :raises OutputError: if the tables are not of this fabric, or no adapter names its host.
    """
    switches = [device for device in fabric.devices.values() if device.is_switch]
    number = {device.key: position for position, device in enumerate(switches)}
    names = _names(switches)
    between = [link for link in fabric.links if link.one in number and link.other in number]
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
    following = None
    if tables is not None:
        following, missing = _next_arcs(switches, tables, [port.lid for port in hosts.values()], arc_at)
        if missing:
            warnings.append(
                f"{missing} of {count_text(len(switches), 'switch', 'switches')} without forwarding table"
            )
    return FabricMap(
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
    )


def _rates(between: Sequence[Link], of_hosts: Sequence[float]) -> NDArray[np.float64] | None:
    """Return the rate of each arc as a multiple of that of most hosts' links; None if all are alike or not
    known."""
    found = np.repeat([link.Gbps for link in between], 2)
    values, counts = np.unique(of_hosts, return_counts=True)
    typical = values[np.argmax(counts)]
    if not typical or not found.all() or (found == typical).all():
        return None
    return np.asarray(found / typical)


@dataclass(frozen=True)
class _HostPort:
    """A port of a host: the number of the switch that it is at, its LID (0 if unknown), and its rate."""

    switch: int
    lid: int
    Gbps: float


def _hosts(fabric: Fabric, number: Mapping[str, int]) -> tuple[dict[str, _HostPort], list[str]]:
    """Return the ports of hosts by name, and warnings of adapters that are left out; :param number: of each
    switch."""
    ports: dict[str, dict[int, _HostPort]] = defaultdict(dict)
    for link in fabric.links:
        ends = (link.one, link.one_port, link.other), (link.other, link.other_port, link.one)
        for key, port, switch in ends:
            if key not in number and switch in number:
                lid = fabric.devices[key].lids.get(port, 0)
                ports[key][port] = _HostPort(number[switch], lid, link.Gbps)
    adapters = [device for key, device in fabric.devices.items() if key in ports]
    adapters = [device for device in adapters if not _AGGREGATION.search(device.name)]
    nameless = [device.name for device in adapters if _NAMELESS.fullmatch(device.name)]
    warnings = []
    if nameless:
        found = (
            f"{count_text(len(nameless), 'adapter')} without the name of a host, as in {quoted(nameless[0])}"
        )
        if len(nameless) == len(adapters):
            raise OutputError(f"{found}: no adapter names its host; have the nodes set node_desc (rdma-ndd)")
        warnings.append(f"{found}: left out")
    by_host: dict[str, list[Device]] = defaultdict(list)
    for device in adapters:
        if device.name not in nameless:
            by_host[plain(device.name)].append(device)
    hosts: dict[str, _HostPort] = {}
    for host, own in by_host.items():
        if len(own) == len(ports[own[0].key]) == 1:
            (hosts[host],) = ports[own[0].key].values()
            continue
        for device in sorted(own, key=lambda device: (device.name, device.key)):
            name = f"{host} {adapter(device.name) or device.key}"
            name = f"{host} {device.key}" if name in hosts else name
            several = len(ports[device.key]) > 1
            hosts |= {
                f"{name}:{port}" if several else name: at for port, at in sorted(ports[device.key].items())
            }
    return hosts, warnings


def _names(switches: list[Device]) -> tuple[str, ...]:
    """Return a name for each switch: its description, with its identifier where that is ambiguous."""
    short = [device.name.split(";", 1)[-1].split(":", 1)[0].strip() or device.key for device in switches]
    return tuple(
        name if short.count(name) == 1 else f"{name} ({device.key})"
        for name, device in zip(short, switches, strict=True)
    )


def _next_arcs(
    switches: list[Device],
    tables: Mapping[str, Mapping[int, int]],
    lids: list[int],
    arc_at: Mapping[tuple[int, int], int],
) -> tuple[NDArray[np.int32], int]:
    """Return by switch and host the arc towards that host, and how many switches have no table.

    :param lids: of the hosts; :param arc_at: by switch and port the arc that leaves there.
    """
    if len(switches) * len(lids) > MOST_ENTRIES:
        raise OutputError(f"{len(switches)} switches and {len(lids)} hosts are more than can be analysed")
    found = np.full((len(switches), len(lids)), NONE, dtype=np.int32)
    own = [tables.get(device.key.removeprefix("S-").zfill(16)) for device in switches]
    if not any(own):
        raise OutputError(
            "the forwarding tables belong to none of these switches; give the topology and the tables of the"
            " same fabric"
        )
    for switch, table in enumerate(own):
        if table is not None:
            found[switch] = [arc_at.get((switch, table.get(lid, NONE)), NONE) for lid in lids]
    return found, own.count(None)
