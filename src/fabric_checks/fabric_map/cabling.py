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
from typing import NamedTuple

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import count_text
from fabric_checks.fabric_map.forwarding import lines
from fabric_checks.parsers.table import require

#: The most ports of a switch.
MOST_PORTS = 254
#: What occurs in the output of ``ibnetdiscover``, and in the list of OpenSM.
IBNETDISCOVER = re.compile(r'(?m)^(?:Switch|Ca)\s+[0-9]+\s+"[SH]-')
SUBNET_LIST = re.compile(r"(?m)^\{ (?:CA|SW|RT)\S* Ports:")

_LINE = re.compile(
    r'(?P<node>Switch|Ca|Rt)\s+[0-9]{1,3}\s+"(?P<key>[SHR]-[0-9a-f]{1,16})"\s*#\s*"(?P<name>.*)".*'
    r"|\[(?P<port>[0-9]{1,3})\](?:\((?P<guid>[0-9a-f]{1,16})\))?(?:\[ext [^\]]*\])?"
    r'\s+"(?P<far>[SHR]-[0-9a-f]{1,16})"\[(?P<far_port>[0-9]{1,3})\]'
    r"(?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s*(?:#(?P<comment>.*))?"
    r"|(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*|#.*|(?:Non-)?Chassis .*"
)
_LID = re.compile(r"\blid ([0-9]{1,5})\b")
_WIDTH_AND_SPEED = re.compile(
    r" (1|2|4|8|12)x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\s*$"
)
_LANE_GBPS = {
    "SDR": 2.0, "DDR": 4.0, "QDR": 8.0, "FDR10": 10.0, "FDR": 13.64,
    "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
_END = (
    r"\{ (CA|SW|RT)\S* Ports:[0-9A-F]{2} SystemGUID:[0-9a-f]{16} NodeGUID:([0-9a-f]{16})"
    r" PortGUID:([0-9a-f]{16}) VenID:[0-9A-F]+ DevID:[0-9A-F]+ Rev:[0-9A-F]+ \{(.*?)\}"
    r" LID:([0-9A-F]{4}) PN:([0-9A-F]{2}) \}"
)
_CABLE_END = re.compile(rf"{_END} {_END} PHY=([0-9]+)x LOG=(\w+) SPD=(\S+)\s*")
#: Speeds by the rate of a lane with coding, as OpenSM prints it.
_SPEEDS = {
    "2.5": "SDR", "5": "DDR", "10": "QDR", "FDR10": "FDR10", "14": "FDR",
    "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR",
}  # fmt: skip


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


class End(NamedTuple):
    """An end of a cable: the key of a device, and its port."""

    key: str
    port: int


@dataclass(frozen=True)
class Link:
    """A cable.

    :param ends: both, in order; :param kind: width and speed, as in ``4xHDR``; empty if they are not known.
    """

    ends: tuple[End, End]
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


#: By end of a cable the other end, the kind of the link, and the line.
_Ends = dict[End, tuple[End, str, int]]


def parse_ibnetdiscover(text: str) -> Fabric:
    """Read the output of ``ibnetdiscover``.

    :raises OutputError: if a line is malformed, or a cable has no second end: then the output is incomplete.
    """
    devices: dict[str, Device] = {}
    ends: _Ends = {}
    own = Device("", "", is_switch=False)
    for number, found in lines(text, _LINE, "ibnetdiscover output"):
        if found["node"]:
            own = Device(found["key"], found["name"], found["node"] == "Switch")
            require(own.key not in devices, f"{own.key} is described twice", number)
            devices[own.key] = own
        elif found["port"]:
            _add_port(ends, own, found, number)
    if not any(device.is_switch for device in devices.values()):
        raise OutputError(_why_no_switch(len(devices), has_cables=bool(ends)))
    return Fabric(devices, _links(ends))


def _add_port(ends: _Ends, own: Device, found: re.Match[str], line: int) -> None:
    """Note what a line says of a port: the other end, its own GUID and LID, and the kind of the link."""
    end = End(own.key, int(found["port"]))
    far, comment = End(found["far"], int(found["far_port"])), found["comment"] or ""
    highest = max(end.port, far.port)
    require(highest <= MOST_PORTS, f"port {highest} is beyond what a switch has", line)
    kind = _WIDTH_AND_SPEED.search(comment)
    _add(ends, end, far, kind[0].strip() if kind else "", line)
    if lid := _LID.search(comment):
        own.lids[end.port] = int(lid[1])
    if found["guid"]:
        own.guids[end.port] = found["guid"].zfill(16)


def _add(ends: _Ends, own: End, far: End, kind: str, line: int) -> None:
    require(own not in ends, f"port {own.port} of {own.key} is described twice", line)
    ends[own] = (far, kind, line)


def _why_no_switch(adapters: int, *, has_cables: bool) -> str:
    """Return why an output of ibnetdiscover has no switch, and what to do."""
    if not adapters:
        return "there is no switch in it; give the whole output"
    seen = f"it has {count_text(adapters, 'adapter')} and no switch: "
    if has_cables:
        return f"{seen}adapters that are connected directly have no topology"
    return f"{seen}the link of this host is down; run ibnetdiscover where `ibstat` shows an active port"


def _links(ends: _Ends) -> tuple[Link, ...]:
    """Return the cables, each of which has to be described at both its ends."""
    links = []
    for own, (far, kind, line) in ends.items():
        require(
            far in ends and ends[far][0] == own,
            f"the cable from {own.key} port {own.port} to {far.key} port {far.port} is not described at its"
            " other end; the output is incomplete, or covers only part of the fabric",
            line,
        )
        if own < far:
            links.append(Link((own, far), kind))
    return tuple(links)


def parse_subnet_list(text: str) -> Fabric:
    """Read ``opensm-subnet.lst``, of which links that are not active are left out.

    :raises OutputError: if a line is malformed, or a cable has no second end.
    """
    devices: dict[str, Device] = {}
    ends: _Ends = {}
    for number, match in lines(text, _CABLE_END, "opensm-subnet.lst"):
        words = match.groups()
        own, far = _end(words[:6], devices), _end(words[6:12], devices)
        width, state, speed = words[12:]
        kind = f"{width}x{_SPEEDS[speed]}" if speed in _SPEEDS else ""
        if state == "ACT":
            _add(ends, own, far, kind, number)
    return Fabric(devices, _links(ends))


def _end(words: tuple[str, ...], devices: dict[str, Device]) -> End:
    """Return an end of a cable, and note its device."""
    kind, node_guid, port_guid, name, lid, number = words
    end = End(f"{'S' if kind == 'SW' else 'H'}-{node_guid}", int(number, 16))
    device = devices.setdefault(end.key, Device(end.key, name, kind == "SW"))
    device.lids[end.port], device.guids[end.port] = int(lid, 16), port_guid
    return end
