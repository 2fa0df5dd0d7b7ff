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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.routing import ADAPTIVE, STATIC
from fabric_checks.parsers.plain import cleaned
from fabric_checks.parsers.table import require

#: The largest LID of one host; larger ones are multicast.
MOST_LID = 0xBFFF
#: Stands in a table for a LID that cannot be reached, as in InfiniBand's own.
NO_PORT = 255
#: What occurs in forwarding tables, and in a log of OpenSM that has set some.
FORWARDING = re.compile(r"(?m)^(?:Unicast lids \[|dump_ucast_routes: Switch 0x)")
ENGINE = re.compile(r"osm_ucast_mgr_process: (\S.*?) tables configured on all switches")

#: A table begins; a route, with the mark of ibroute (a colon, nothing with ``-n``), of ``opensm-lfts.dump``,
#: or the hops of ``opensm.fdbs``; the number of routes; titles of columns, and the last line of
#: ``dump_lfts``, which is on standard output. Without "valid" the number is that of LIDs that were asked for;
#: OpenSM leaves those out that have no route.
_LINE = re.compile(
    r"(?:Unicast lids \[(?:0x)?[0-9a-f]+-(?:0x)?[0-9a-f]+\] of switch .*?guid|dump_ucast_routes: Switch)"
    r" 0x(?P<switch>[0-9a-f]{1,16})(?: \(.*\):?)?\s*"
    r"|0x(?P<lid>[0-9a-fA-F]{1,4})"
    r"(?:\s+(?P<port>[0-9]{1,3})\s*(?P<mark>$|[:#].*)"
    r"| : (?:(?P<fdbs>[0-9]{3})  : [0-9]{2}   : .*|UNREACHABLE.*))"
    r"|(?P<count>[0-9]{1,6}) (?P<valid>valid )?lids dumped\s*"
    r"|\s*Lid\s+Out\s+Destination.*|\s*Port\s+Info\s*|LID    : Port : Hops : Optimal\s*"
    r"|\*\*\* WARNING \*\*\*: .*replaced by dump_fts\s*"
)
_PORT_GUID = re.compile(r"\bportguid 0x([0-9a-f]{1,16})")
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
    before = own = dict[int, int]()
    torn = None  # the last line of a table of ibroute that did not end yet
    for number, line in lines(text, _LINE, "a forwarding table"):
        if line["switch"]:
            _require_end(torn)
            guid = line["switch"].zfill(16)
            require(guid not in found.ports, f"switch 0x{guid} has two tables", number)
            own = found.ports[guid] = {}
        elif line["lid"]:
            torn = number if _add_route(line, own, found.guids, number) else None
        elif line["count"]:
            require(
                not line["valid"] or int(line["count"]) == len(own),
                f"the table has {len(own)} lines but says that it has {line['count']}; it is incomplete",
                number,
            )
            torn = None
    _require_end(torn)
    require(
        found.ports and not before, "no forwarding table, or routes above the first"
    )
    for guid, own in found.ports.items():
        _require_answered(guid, own)
    return found


def lines(
    text: str, form: re.Pattern[str], what: str
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the number and the match of each line that is not empty.

    :raises OutputError: for one that has not the form.
    """
    for number, line in enumerate(cleaned(text).splitlines(), 1):
        found = form.fullmatch(line)
        if found:
            yield number, found
        elif line.strip():
            cause = f"not a line of {what}: {quoted(line)}; give the output unchanged"
            raise OutputError(cause, number)


def _add_route(
    route: re.Match[str], own: dict[int, int], guids: dict[int, str], number: int
) -> bool:
    """Note the port for a LID, and the GUID of the port that has this LID where the line names it.

    :returns: whether the number of LIDs has to follow, as ``ibroute`` prints it.
    """
    lid, port = int(route["lid"], 16), int(route["port"] or route["fdbs"] or NO_PORT)
    require(lid not in own, f"LID {lid} has two routes", number)
    require(
        lid <= MOST_LID and port <= NO_PORT,
        f"not a route to one host through a port of a switch: {quoted(route[0])}",
        number,
    )
    own[lid] = port
    if guid := _PORT_GUID.search(route[0]):
        guids[lid] = guid[1].zfill(16)
    return (route["mark"] or ":")[0] == ":" and route["port"] is not None


def _require_answered(guid: str, own: Mapping[int, int]) -> None:
    """Raise :class:`OutputError` if every LID leaves by port 0, which leads to the switch itself alone.

    ``dump_fts`` of infiniband-diags 44 prints such a table of a switch that does not answer, exit status 0.
    """
    require(
        len(own) <= 1 or any(own.values()),
        f"switch 0x{guid} did not answer: its table leads every LID to the switch itself; "
        "run the command again, and read its standard error",
    )


def _require_end(torn: int | None) -> None:
    """Raise :class:`OutputError` if a table of ``ibroute`` lacks its last line; :param torn: the line before
    it."""
    require(
        torn is None,
        "the table ends here without saying how many LIDs it has; it is incomplete",
        torn,
    )
