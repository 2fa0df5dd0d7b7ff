# SPDX-License-Identifier: BSD-3-Clause
"""The cabling of an InfiniBand fabric: switches, adapters, and the cables between their ports.

``ibnetdiscover`` prints a paragraph for each switch and adapter; at the end of a port's line it has width and
speed of the link, as in ``4xHDR``. OpenSM's own ``opensm-subnet.lst`` has a line for each end of a cable,
with the rate of a lane in Gbit/s. Rates of a lane without coding: InfiniBand Architecture Specification 1.7,
volume 2; FDR10 is Mellanox's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import count_text
from fabric_checks.parsers.plain import cleaned

#: The most ports of a switch.
MOST_PORTS = 254
#: What occurs in the output of ``ibnetdiscover``, and in the list of OpenSM.
IBNETDISCOVER = re.compile(r'(?m)^(?:Switch|Ca)\s+[0-9]+\s+"[SH]-')
SUBNET_LIST = re.compile(r"(?m)^\{ (?:CA|SW|RT)\S* Ports:")

_NODE = re.compile(
    r'(Switch|Ca|Rt)\s+[0-9]{1,3}\s+"([SHR]-[0-9a-f]{1,16})"\s*#\s*"(.*)"(.*)'
)
_PORT = re.compile(
    r'\[([0-9]{1,3})\](?:\(([0-9a-f]{1,16})\))?(?:\[ext [^\]]*\])?\s+"([SHR]-[0-9a-f]{1,16})"'
    r"\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s*(?:#(.*))?"
)
_IGNORED = re.compile(
    r"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*|#.*|(?:Non-)?Chassis .*"
)
_LID = re.compile(r"\blid ([0-9]{1,5})\b")
_WIDTH_AND_SPEED = re.compile(
    r" (1|2|4|8|12)x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\s*$"
)
_LANE_GBPS = {
    **{"SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 13.64},
    **{"EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0},
}
_END = (
    r"\{ (CA|SW|RT)\S* Ports:[0-9A-F]{2} SystemGUID:[0-9a-f]{16} NodeGUID:([0-9a-f]{16})"
    r" PortGUID:([0-9a-f]{16}) VenID:[0-9A-F]+ DevID:[0-9A-F]+ Rev:[0-9A-F]+ \{(.*?)\}"
    r" LID:([0-9A-F]{4}) PN:([0-9A-F]{2}) \}"
)
_CABLE_END = re.compile(rf"{_END} {_END} PHY=([0-9]+)x LOG=(\w+) SPD=(\S+)\s*")
#: Speeds by the rate of a lane with coding, as OpenSM prints it.
_SPEEDS = {
    **{"2.5": "SDR", "5": "DDR", "10": "QDR", "FDR10": "FDR10", "14": "FDR"},
    **{"25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR"},
}


@dataclass(frozen=True)
class Device:
    """A switch or an adapter.

    :param key: its identifier in the output, such as its GUID; :param name: its node description.
    :param is_switch: whether it is a switch; :param lids: the LIDs of an adapter by port; :param guids: the
        GUIDs of its ports, of 16 hexadecimal digits.
    """

    key: str
    name: str
    is_switch: bool
    lids: dict[int, int] = field(default_factory=dict)
    guids: dict[int, str] = field(default_factory=dict)


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
            port, other_port = int(match[1]), int(match[4])
            if max(port, other_port) > MOST_PORTS:
                raise OutputError(
                    f"port {max(port, other_port)} is beyond what a switch has", number
                )
            if (own, port) in ends:
                raise OutputError(f"port {port} of {own} is described twice", number)
            comment = match[5] or ""
            kind = _WIDTH_AND_SPEED.search(comment)
            ends[own, port] = (
                match[3],
                other_port,
                kind[0].strip() if kind else "",
                number,
            )
            if lid := _LID.search(comment):
                devices[own].lids[port] = int(lid[1])
            if match[2]:
                devices[own].guids[port] = match[2].zfill(16)
        else:
            raise OutputError(
                f"not a line of ibnetdiscover output: {quoted(line)}; give the output unchanged",
                number,
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


def _links(
    ends: Mapping[tuple[str, int], tuple[str, int, str, int]],
) -> tuple[Link, ...]:
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


def parse_subnet_list(text: str) -> Fabric:
    """Read ``opensm-subnet.lst``, of which links that are not active are left out.

    :raises OutputError: if a line is malformed, or a cable has no second end.
    """
    devices: dict[str, Device] = {}
    ends: dict[tuple[str, int], tuple[str, int, str, int]] = {}
    for number, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip():
            continue
        match = _CABLE_END.fullmatch(line)
        if match is None:
            raise OutputError(
                f"not a line of opensm-subnet.lst: {quoted(line)}; give it unchanged",
                number,
            )
        own, other = (_end(match.groups()[at : at + 6], devices) for at in (0, 6))
        width, state, speed = match.groups()[12:]
        if own in ends:
            raise OutputError(f"port {own[1]} of {own[0]} is described twice", number)
        if state == "ACT":
            ends[own] = (
                *other,
                f"{width}x{_SPEEDS[speed]}" if speed in _SPEEDS else "",
                number,
            )
    return Fabric(devices, _links(ends))


def _end(words: tuple[str, ...], devices: dict[str, Device]) -> tuple[str, int]:
    """Return key and port of an end of a cable, and note its device."""
    kind, node_guid, port_guid, name, lid, number = words
    key, port = f"{'S' if kind == 'SW' else 'H'}-{node_guid}", int(number, 16)
    device = devices.setdefault(key, Device(key, name, is_switch=kind == "SW"))
    device.lids[port], device.guids[port] = int(lid, 16), port_guid
    return key, port
