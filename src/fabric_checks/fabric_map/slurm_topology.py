# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology, of the plugins tree, block and ring: ``scontrol show topology``, ``topology.conf`` and
``topology.yaml``.

They give the switch, block or ring of each node, and not the cables. A torus has no switches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec.yaml
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.fabric_map.model import FabricMap, of_switches
from fabric_checks.parsers.plain import cleaned
from fabric_checks.parsers.table import require

#: The most nodes: a short list could stand for any number.
MOST_NODES = 200_000

_WORD = re.compile(r"([A-Za-z]+)=(\S*)")
#: What Slurm prints, and nothing else that ClusterShell understands: operators, groups, steps; nor longer
#: numbers than ranges have, and names.
_LIST = re.compile(r"(?!.*\[[^\]]*[0-9]{10}|.*[0-9]{64})[A-Za-z0-9_.:,\[\]-]+")
_NONE = (None, "", "(null)")
_RANGE = re.compile(r"(?<=[\[,])([0-9]+)-([0-9]+)(?=[\],])")


def hostlist(text: str, line: int | None = None) -> list[str]:
    """Return the names of a list in Slurm's notation, in the order of their numbers.

    >>> hostlist("n[08-10],r[1-2]n[0,3]")
    ['n08', 'n09', 'n10', 'r1n0', 'r1n3', 'r2n0', 'r2n3']

    :raises OutputError: if it is malformed, or stands for more than :data:`MOST_NODES`.
    """
    is_list = _LIST.fullmatch(text) and all(
        int(last) - int(first) < MOST_NODES for first, last in _RANGE.findall(text)
    )
    try:
        nodes = NodeSet(text, resolver=RESOLVER_NOGROUP) if is_list else NodeSet()
    except NodeSetException:
        nodes = NodeSet()
    if not 0 < len(nodes) <= MOST_NODES:
        raise OutputError(
            f"not a list of 1 to {MOST_NODES} nodes: {quoted(text)}; give it as Slurm prints it",
            line,
        )
    return list(nodes)


def is_topology(text: str) -> bool:
    """Return whether a text looks like ``scontrol show topology`` or ``topology.conf``."""
    form = r"(?mi)^\s*(?:SwitchName|BlockName|RingName)=|^- +topology:"
    return re.search(form, text) is not None


def parse(text: str) -> FabricMap:
    """Return the map that a topology of Slurm gives: the switch, block or ring of each node.

    Of several in a ``topology.yaml`` it is the cluster's default.

    :raises OutputError: if a line is malformed, or a node is at two switches.
    """
    if re.search(r"(?m)^- +topology:", text):
        text = _lines_of_yaml(text)
    members: dict[str, list[str]] = {}
    # Where no switch has nodes, blocks give them theirs.
    has_switches = re.search(r"(?mi)^\s*SwitchName=\S+ (.* )?Nodes=[^\s(]", text)
    kinds = ("switchname",) if has_switches else ("switchname", "blockname", "ringname")
    seen: set[str] = set()
    for number, raw in enumerate(cleaned(text).splitlines(), 1):
        for name, nodes in _members(raw, kinds, number):
            twice = [name] if name in members else sorted(seen & set(nodes))
            require(not twice, f"{quoted(''.join(twice[:1]))} is listed twice", number)
            seen |= set(nodes)
            require(len(seen) <= MOST_NODES, f"more than {MOST_NODES} nodes", number)
            members[name] = nodes
    require(
        members, "no switch, block or ring in it has nodes; give the whole topology"
    )
    return of_switches("Slurm's topology", members)


class _Unit(msgspec.Struct):
    """A switch, a block or a ring of a ``topology.yaml``."""

    switch: str = ""
    block: str = ""
    ring: str = ""
    nodes: str | None = None
    children: str | None = None

    def line(self) -> str:
        """Return its line of ``topology.conf``."""
        kind = "Switch" if self.switch else "Block" if self.block else "Ring"
        name = self.switch or self.block or self.ring
        return f"{kind}Name={name} Nodes={self.nodes or ''} Switches={self.children or ''}\n"


class _Units(msgspec.Struct):
    """Those of one kind."""

    switches: list[_Unit] | None = None
    blocks: list[_Unit] | None = None
    rings: list[_Unit] | None = None

    def all(self) -> list[_Unit]:
        """Return them, whatever their kind."""
        return self.switches or self.blocks or self.rings or []


class _Topology(msgspec.Struct):
    """One topology of a ``topology.yaml``."""

    cluster_default: bool = False
    tree: _Units | None = None
    block: _Units | None = None
    ring: _Units | None = None


def _lines_of_yaml(text: str) -> str:
    """Return the lines that ``topology.conf`` would have for the default topology of a ``topology.yaml``."""
    try:
        topologies = msgspec.yaml.decode(text, type=list[_Topology])
        is_only = len(topologies) == 1
        (default,) = [each for each in topologies if each.cluster_default or is_only]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        cause = " ".join(str(error).split())[:120]
        raise OutputError(
            f"not a topology.yaml with one default topology: {cause}; give it unchanged"
        ) from None
    units = filter(None, (default.tree, default.block, default.ring))
    return "".join(each.line() for own in units for each in own.all())


def _members(
    raw: str, kinds: Sequence[str], number: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield the switch or block of a line and its nodes; nothing for a line that gives no node its switch.

    Such are lines of other kinds, as aggregates of blocks, settings, what is yet to come; one that is whole
    and has no nodes; and a block where there are switches: both may be in a file, with the same nodes.
    """
    line = raw.split("#", 1)[0].strip()
    words = {key.lower(): value for key, value in _WORD.findall(line)}
    name = next((words[kind] for kind in kinds if kind in words), None)
    nodes = words.get("nodes")
    is_whole = bool(name) and not _WORD.sub("", line).strip()
    if name is None or (is_whole and nodes in _NONE):
        return
    require(
        is_whole,
        f"not a line of Slurm's topology: {quoted(raw)}; give it as Slurm prints it",
        number,
    )
    # A switch of a higher level lists all nodes below it as well as its switches.
    is_leaf = (words.get("level", "0") == "0", words.get("switches") in _NONE)
    if all(is_leaf):
        yield name, hostlist(nodes or "", number)
