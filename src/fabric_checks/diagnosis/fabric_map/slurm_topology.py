# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology, of the plugins tree, block and ring: ``scontrol show topology``, ``topology.conf`` and
``topology.yaml``.

They give the switch, block or ring of each node, and not the cables. A torus has no switches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.diagnosis.fabric_map.model import FabricMap, of_switches
from fabric_checks.parsers.plain import cleaned

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
    return (
        re.search(r"(?mi)^\s*(?:SwitchName|BlockName|RingName)=|^- +topology:", text)
        is not None
    )


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
        found = _members(raw, kinds, number)
        if found is None:
            continue
        name, nodes = found
        twice = [name] if name in members else [node for node in nodes if node in seen]
        if twice:
            raise OutputError(f"{quoted(twice[0])} is listed twice", number)
        if len(seen) + len(nodes) > MOST_NODES:
            raise OutputError(f"more than {MOST_NODES} nodes", number)
        members[name] = nodes
        seen |= set(nodes)
    if not members:
        raise OutputError(
            "no switch, block or ring in it has nodes; give the whole topology"
        )
    return of_switches("Slurm's topology", members)


def _lines_of_yaml(text: str) -> str:
    """Return the lines that ``topology.conf`` would have for the default topology of a ``topology.yaml``."""
    try:
        topologies = yaml.safe_load(text)
        (default,) = [
            each
            for each in topologies
            if each.get("cluster_default") or len(topologies) == 1
        ]
        switches = (default.get("tree") or {}).get("switches") or []
        units = [
            ("Switch", each["switch"], each.get("nodes"), each.get("children"))
            for each in switches
        ]
        for kind, plural in (("block", "blocks"), ("ring", "rings")):
            own = (default.get(kind) or {}).get(plural) or []
            units += [
                (kind.capitalize(), each[kind], each.get("nodes"), None) for each in own
            ]
        if not all(
            isinstance(text, str) for unit in units for text in unit if text is not None
        ):
            raise TypeError("a name or a list of nodes is no text")
    except (
        yaml.YAMLError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        cause = " ".join(str(error).split())[:120]
        raise OutputError(
            f"not a topology.yaml with one default topology: {cause}; give it unchanged"
        ) from None
    return "".join(
        f"{kind}Name={name} Nodes={nodes or ''} Switches={children or ''}\n"
        for kind, name, nodes, children in units
    )


def _members(
    raw: str, kinds: Sequence[str], number: int
) -> tuple[str, list[str]] | None:
    """Return the switch or block of a line and its nodes; None for a line that gives no node its switch.

    Such are lines of other kinds, as aggregates of blocks, settings, what is yet to come; one that is whole
    and has no nodes; and a block where there are switches: both may be in a file, with the same nodes.
    """
    line = raw.split("#", 1)[0].strip()
    words = {key.lower(): value for key, value in _WORD.findall(line)}
    names = [words[kind] for kind in kinds if kind in words]
    is_whole = all(names) and not _WORD.sub("", line).strip()
    if not names or (is_whole and words.get("nodes") in _NONE):
        return None
    if not is_whole:
        raise OutputError(
            f"not a line of Slurm's topology: {quoted(raw)}; give it as Slurm prints it",
            number,
        )
    # A switch of a higher level lists all nodes below it as well as its switches.
    if words.get("switches") not in _NONE or words.get("level", "0") != "0":
        return None
    return names[0], hostlist(words.get("nodes", ""), number)
