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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

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
_TITLES = ("\nUnicast lids [", "\ndump_ucast_routes: Switch 0x")
#: What the tools themselves report where a part of the fabric did not answer.
WARNING = re.compile(r"(?m)^(?:ib\w+: \[\d+\] |\S+\.c:\d+; |ib\w+: .*failed).*")
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
_DIGITS = re.compile(rb"(?m)^0x[0-9a-f]{4} ([0-9]{3})\b")
_PORT_GUID = re.compile(r"\bportguid 0x([0-9a-f]{1,16})")
_AR_MANAGER = re.compile(r"(?m)^.{0,80}\bAR Manager - Configuration cycle")


@dataclass
class Tables:
    """Forwarding tables.

    :param ports: by GUID of the switch (16 hexadecimal digits) the port by LID, :data:`NO_PORT` without one.
    :param guids: the GUID of the port that has a LID, as far as the tables name it.
    :param warnings: how many of the tools' own were skipped.
    """

    ports: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    guids: dict[int, str] = field(default_factory=dict)
    warnings: int = 0


def routing_of_log(text: str) -> str:
    """Return the routing that the last sweep in the log of OpenSM has set up: static or adaptive."""
    last = list(ENGINE.finditer(text))[-1]
    return ADAPTIVE if last[1].startswith("ar_") or _AR_MANAGER.search(text) else STATIC


def parse(pieces: Iterable[str]) -> Tables:
    """Read forwarding tables as ``ibroute``, ``dump_fts``, ``dump_lfts.sh`` and OpenSM print them.

    The tables of one fabric differ in their ports, seldom in the rest of their lines: one whose other
    characters are those of a table above is read as arrays, the others line by line.

    :param pieces: of the output, each ended by the end of a line.
    :raises OutputError: if a line is malformed, or a table does not have as many lines as its end states.
    """
    found = Tables()
    last: _Table | None = None
    for number, text in _tables(pieces):
        head, _, body = text.partition("\n")
        ports = last.ports_of(body) if last else None
        if ports is None or not (title := _LINE.fullmatch(head)):
            last = _Table(text, number, found)
            title, ports = last.title, last.ports
        if title is None:
            continue
        guid = title["switch"].zfill(16)
        require(guid not in found.ports, f"switch 0x{guid} has two tables", number)
        _require_answered(guid, ports)
        found.ports[guid] = ports
    require(found.ports, "no forwarding table")
    require(
        any((ports != NO_PORT).any() for ports in found.ports.values()),
        "all forwarding tables are empty: no subnet manager has routed this fabric; start one, and take both"
        " again",
    )
    return found


def _tables(pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line and the text of each table, after what is above the first one."""
    number, rest = 1, ""
    for piece in chain(pieces, [""]):
        text = rest + piece
        begins = sorted(at for title in _TITLES for at in _places(text, title))
        cuts = [0, *begins, len(text)] if not piece else [0, *begins]
        for begin, end in pairwise(cuts):
            yield number, text[begin:end]
            number += text.count("\n", begin, end)
        rest = text[cuts[-1] :]


def _places(text: str, title: str) -> Iterator[int]:
    """Yield where lines begin that have a title."""
    at = text.find(title)
    while at >= 0:
        yield at + 1
        at = text.find(title, at + 1)


class _Table:
    """A table that is read line by line.

    :param title: its first line, None of what is above all tables; :param ports: by LID.
    """

    def __init__(self, text: str, first: int, found: Tables) -> None:
        """Read it, and note the GUIDs that it names; :param first: the number of its first line."""
        self.title: re.Match[str] | None = None
        text, warnings = WARNING.subn("", text)  # each leaves an empty line
        found.warnings += warnings
        own = self._read(lines(text, _LINE, "a forwarding table", first), found)
        require(self.title or not own, "routes above the first forwarding table", first)
        self.ports = np.full(MOST_LID + 1, NO_PORT, dtype=np.uint8)
        self.ports[list(own)] = list(own.values())
        body = text.partition("\n")[2].encode()
        digits = [found.span(1) for found in _DIGITS.finditer(body)]
        self._at = np.array([at for at, _ in digits], dtype=np.int64)[:, None] + range(
            3
        )
        self._lids = list(own)
        self._rest = self._without_ports(body)[0]

    def _read(
        self, rows: Iterable[tuple[int, re.Match[str]]], found: Tables
    ) -> dict[int, int]:
        """Return the ports by LID, and note the title and the GUIDs."""
        own = dict[int, int]()
        torn = None  # the last line, if one has to follow that says how many there are
        for number, line in rows:
            if line["switch"]:
                self.title = line
            elif line["lid"]:
                torn = number if _add_route(line, own, found.guids, number) else None
            elif line["count"]:
                _require_count(line, len(own), number)
                torn = None
        cause = (
            "the table ends here without saying how many LIDs it has; it is incomplete"
        )
        require(torn is None, cause, torn)
        return own

    def ports_of(self, body: str) -> NDArray[np.uint8] | None:
        """Return the ports by LID of a table without its title; None if more than its ports is another."""
        if not 0 < len(self._lids) == len(self._at):
            return None
        if len(content := body.encode()) != len(self._rest):
            return None
        rest, digits = self._without_ports(content)
        values = digits.astype(np.int64) @ (100, 10, 1) - 111 * ord("0")
        is_number = np.isin(digits, range(ord("0"), ord("9") + 1)).all()
        if (
            not is_number
            or values.max() > NO_PORT
            or not np.array_equal(rest, self._rest)
        ):
            return None
        ports = np.full(MOST_LID + 1, NO_PORT, dtype=np.uint8)
        ports[self._lids] = values
        return ports

    def _without_ports(
        self, body: bytes
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the characters of a table with zeros for the digits of ports, and these digits."""
        rest = np.frombuffer(body, dtype=np.uint8).copy()
        digits = rest[self._at]
        rest[self._at] = 0
        return rest, digits


def lines(
    text: str, form: re.Pattern[str], what: str, first: int = 1
) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the number and the match of each line that is not empty; :param first: the number of the first.

    :raises OutputError: for one that has not the form.
    """
    for number, line in enumerate(cleaned(text).splitlines(), first):
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
    if lid > MOST_LID or port > NO_PORT:
        cause = "not a route to one host through a port of a switch"
        raise OutputError(f"{cause}: {quoted(route[0])}", number)
    own[lid] = port
    if guid := _PORT_GUID.search(route[0]):
        guids[lid] = guid[1].zfill(16)
    return (route["mark"] or ":")[0] == ":" and route["port"] is not None


def _require_count(line: re.Match[str], count: int, number: int) -> None:
    """Raise :class:`OutputError` if a table has not as many lines as its end states."""
    require(
        not line["valid"] or int(line["count"]) == count,
        f"the table has {count} lines but says that it has {line['count']}; it is incomplete",
        number,
    )


def _require_answered(guid: str, ports: NDArray[np.uint8]) -> None:
    """Raise :class:`OutputError` if every LID leaves by port 0, which leads to the switch itself alone.

    ``dump_fts`` of infiniband-diags 44 prints such a table of a switch that does not answer, exit status 0.
    """
    known = ports[ports != NO_PORT]
    require(
        len(known) <= 1 or known.any(),
        f"switch 0x{guid} did not answer: its table leads every LID to the switch itself; "
        "run the command again, and read its standard error",
    )
