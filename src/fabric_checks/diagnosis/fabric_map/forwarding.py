# SPDX-License-Identifier: BSD-3-Clause
"""The routing of an InfiniBand fabric: forwarding tables, and the engine that made them.

``ibroute``, which ``dump_lfts.sh`` runs for each switch, and ``dump_fts`` print the table of a switch: the
port for each local identifier (LID). OpenSM's own ``opensm-lfts.dump`` has the form of ``ibroute`` with ``#``
instead of the colon and decimal limits, and its ``opensm.fdbs`` the hops to each LID as well.

None tells whether switches adapt routes to the load, but the log of OpenSM does: after each sweep it names
the routing engine (``osm_ucast_mgr.c``: "%s tables configured on all switches"). Those of NVIDIA's OpenSM
with adaptive routing begin with ``ar_`` (NVIDIA, InfiniBand Cluster Bring-up Procedure, "Adaptive Routing"),
and where an older one has it, its "AR Manager" reports each cycle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.routing import ADAPTIVE, STATIC
from fabric_checks.parsers.plain import cleaned

#: The largest LID of one host; larger ones are multicast.
MOST_LID = 0xBFFF
#: Stands in a table for a LID that cannot be reached, as in InfiniBand's own.
NO_PORT = 255
#: What occurs in forwarding tables, and in a log of OpenSM that has set some.
FORWARDING = re.compile(r"(?m)^(?:Unicast lids \[|dump_ucast_routes: Switch 0x)")
ENGINE = re.compile(r"osm_ucast_mgr_process: (\S.*?) tables configured on all switches")

_TABLE = re.compile(
    r"(?:Unicast lids \[(?:0x)?[0-9a-f]+-(?:0x)?[0-9a-f]+\] of switch .*?guid|dump_ucast_routes: Switch)"
    r" 0x([0-9a-f]{1,16})(?: \(.*\):?)?\s*"
)
#: With the mark of ibroute (a colon, nothing with ``-n``), of ``opensm-lfts.dump``, or the hops of
#: ``opensm.fdbs``.
_ROUTE = re.compile(
    r"0x(?P<lid>[0-9a-fA-F]{1,4})"
    r"(?:\s+(?P<port>[0-9]{1,3})\s*(?P<mark>$|[:#].*)"
    r"| : (?:(?P<fdbs>[0-9]{3})  : [0-9]{2}   : .*|UNREACHABLE.*))"
)
_PORT_GUID = re.compile(r"\bportguid 0x([0-9a-f]{1,16})")
#: Titles of columns, and the last line of ``dump_lfts``, which is on standard output.
_TABLE_IGNORED = re.compile(
    r"\s*Lid\s+Out\s+Destination.*|\s*Port\s+Info\s*|LID    : Port : Hops : Optimal\s*"
    r"|\*\*\* WARNING \*\*\*: .*replaced by dump_fts\s*"
)
#: Without "valid" it is the number of LIDs that were asked for; OpenSM leaves those out that have no route.
_COUNT = re.compile(r"([0-9]{1,6}) (valid )?lids dumped\s*")
_AR_MANAGER = re.compile(r"(?m)^.{0,80}\bAR Manager - Configuration cycle")


@dataclass
class Tables:
    """Forwarding tables.

    :param ports: by GUID of the switch (16 hexadecimal digits) the port by LID.
    :param guids: the GUID of the port that has a LID, as far as the tables name it.
    """

    ports: dict[str, dict[int, int]] = field(default_factory=dict)
    guids: dict[int, str] = field(default_factory=dict)


def routing_of_log(text: str) -> str:
    """Return the routing that the last sweep in the log of OpenSM has set up: static or adaptive."""
    last = list(ENGINE.finditer(text))[-1]
    return ADAPTIVE if last[1].startswith("ar_") or _AR_MANAGER.search(text) else STATIC


def parse(text: str) -> Tables:
    """Read forwarding tables as ``ibroute``, ``dump_fts``, ``dump_lfts.sh`` and OpenSM print them.

    :raises OutputError: if a line is malformed, or a table does not have as many lines as its end states.
    """
    found = Tables()
    own: dict[int, int] | None = None
    torn = 0  # the last line of a table of ibroute that did not end yet
    for number, line in enumerate(cleaned(text).splitlines(), 1):
        if not line.strip() or _TABLE_IGNORED.fullmatch(line):
            continue
        if head := _TABLE.fullmatch(line):
            _require_end(torn)
            guid = head[1].zfill(16)
            if guid in found.ports:
                raise OutputError(f"switch 0x{guid} has two tables", number)
            own = found.ports[guid] = {}
        elif (route := _ROUTE.fullmatch(line)) and own is not None:
            lid = int(route["lid"], 16)
            if lid in own:
                raise OutputError(f"LID {lid} has two routes", number)
            own[lid] = _port(route, lid, number)
            torn = number if route["port"] and not route["mark"].startswith("#") else 0
            if guid_of_lid := _PORT_GUID.search(line):
                found.guids[lid] = guid_of_lid[1].zfill(16)
        elif (count := _COUNT.fullmatch(line)) and own is not None:
            if count[2] and int(count[1]) != len(own):
                raise OutputError(
                    f"the table has {len(own)} lines but says that it has {count[1]}; it is incomplete",
                    number,
                )
            torn = 0
        else:
            raise OutputError(
                f"not a line of a forwarding table: {quoted(line)}; give the output unchanged",
                number,
            )
    _require_end(torn)
    if not found.ports:
        raise OutputError("there is no forwarding table in it")
    for guid, own in found.ports.items():
        _require_answered(guid, own)
    return found


def _port(route: re.Match[str], lid: int, number: int) -> int:
    """Return the port of a route."""
    port = int(route["port"] or route["fdbs"] or NO_PORT)
    if lid > MOST_LID or port > NO_PORT:
        raise OutputError(
            f"not a route to one host through a port of a switch: {quoted(route[0])}",
            number,
        )
    return port


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
        raise OutputError(
            "the table ends here without saying how many LIDs it has; it is incomplete",
            torn,
        )
