# SPDX-License-Identifier: BSD-3-Clause
"""What the tools of infiniband-diags print of a fabric: its switches, hosts and cables, and how switches forward.

``ibnetdiscover`` prints a paragraph for each switch and adapter, ``iblinkinfo`` a line for each port, and ``ibroute``,
of which ``dump_lfts.sh`` is one after the other, the table of a switch: where it sends what is for each local
identifier (LID). OpenSM's own dumps have the form of ``ibroute`` with ``#`` in place of the colon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers.plain import cleaned

#: A LID of one host; from here on they are for many.
MOST_LID = 0xBFFF
#: A switch has no more ports.
MOST_PORTS = 254

_NODE = re.compile(r'(Switch|Ca|Rt)\s+[0-9]{1,3}\s+"([SHR]-[0-9a-f]{1,16})"\s*#\s*"(.*)"(.*)')
_PORT = re.compile(
    r'\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s+"([SHR]-[0-9a-f]{1,16})"'
    r"\[([0-9]{1,3})\](?:\([0-9a-f]+\))?(?:\[ext [^\]]*\])?\s*(?:#(.*))?"
)
_IGNORED = re.compile(r"(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*|#.*|Chassis .*")
_LID = re.compile(r"\blid ([0-9]{1,5})\b")

_LINK_HEAD = re.compile(r"(Switch|CA|RT): (?:0x([0-9a-f]{1,16}) )?(.*):")
_LINK = re.compile(
    r"\s*(?:0x[0-9a-f]{1,16}\s+)?(?:\".*?\"\s+)?([0-9]{1,5})\s+([0-9]{1,3})\[[^\]]*\]\s*==\((.*?)\)==>"
    r"\s*(?:0x[0-9a-f]{1,16}\s+)?([0-9]{0,5})\s*([0-9]{0,3})\[[^\]]*\]\s*\"(.*)\"\s*\(.*\)\s*"
)

_TABLE = re.compile(r"Unicast lids \[0x[0-9a-f]+-0x[0-9a-f]+\] of switch .*?guid 0x([0-9a-f]{1,16}) \(.*\):?")
_ROUTE = re.compile(r"0x([0-9a-f]{1,4})\s+([0-9]{1,3})\s+([:#])\s*(.*)")
_TABLE_IGNORED = re.compile(r"\s*Lid\s+Out\s+Destination.*|\s*Port\s+Info\s*")
_COUNT = re.compile(r"([0-9]{1,6}) (?:valid )?lids dumped\s*")


@dataclass(frozen=True)
class Device:
    """A switch or an adapter.

    :param key: what its tool knows it by, such as its GUID; :param name: its node description.
    :param is_switch: whether it is one; :param lid: its LID, of an adapter that of its first port; 0 if not told.
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
    """Tell whether a text looks like what ``ibnetdiscover`` prints."""
    return re.search(r'(?m)^(?:Switch|Ca)\s+[0-9]+\s+"[SH]-', text) is not None


def is_iblinkinfo(text: str) -> bool:
    """Tell whether a text looks like what ``iblinkinfo`` prints."""
    return "==>" in text and re.search(r"(?m)^(?:Switch|CA): ", text) is not None


def is_forwarding(text: str) -> bool:
    """Tell whether a text looks like forwarding tables."""
    return re.search(r"(?m)^Unicast lids \[", text) is not None


def parse_ibnetdiscover(text: str) -> Fabric:
    """Read what ``ibnetdiscover`` prints.

    :raises OutputError: if a line is not one of its own, or a cable has no second end: then the output is incomplete.
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


def parse_iblinkinfo(text: str) -> Fabric:
    """Read what ``iblinkinfo`` prints, without ``--line``; devices are known by their LIDs.

    :raises OutputError: as :func:`parse_ibnetdiscover`.
    """
    devices: dict[str, Device] = {}
    ends: dict[tuple[str, int], tuple[str, int, int]] = {}
    head: tuple[bool, str] | None = None
    for place, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip():
            continue
        if found := _LINK_HEAD.fullmatch(line):
            head = found[1] == "Switch", found[3]
            continue
        row = _LINK.fullmatch(line)
        if row is None or head is None:
            raise OutputError(
                f"not a line of iblinkinfo output: {quoted(line)}; give the output unchanged, without --line", place
            )
        own = f"lid {row[1]}"
        if own in devices and devices[own].name != head[1]:
            raise OutputError(f"{own} belongs to both {quoted(devices[own].name)} and {quoted(head[1])}", place)
        devices[own] = Device(own, head[1], head[0], int(row[1]))
        if row[4]:
            if not row[5]:
                raise OutputError(f"a cable ends at no port: {quoted(line)}", place)
            _keep_end(ends, (own, int(row[2])), (f"lid {row[4]}", int(row[5]), place))
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
    :raises OutputError: if a line is not one of theirs, or a table has not as many lines as its end says.
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
