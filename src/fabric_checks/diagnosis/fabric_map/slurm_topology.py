# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's topology, of the plugins tree and block: ``scontrol show topology``, ``topology.conf`` and ``topology.yaml``.

All of them give the switch or block of each node, and none of them the cables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers.plain import cleaned

#: The most nodes: a short list could stand for any number.
MOST_NODES = 200_000

_WORD = re.compile(r"([A-Za-z]+)=(\S*)")
_NAME = re.compile(r"[A-Za-z0-9_.:-]*")
_RANGES = re.compile(r"\[([0-9,-]*)\]")


def hostlist(text: str, line: int | None = None) -> list[str]:
    """Return the names of a list in Slurm's notation.

    >>> hostlist("n[08-10],login1,r[1-2]n[0,3]")
    ['n08', 'n09', 'n10', 'login1', 'r1n0', 'r1n3', 'r2n0', 'r2n3']

    :raises OutputError: if it is malformed, or stands for more than :data:`MOST_NODES`.
    """
    names: list[str] = []
    for item in re.split(r",(?![^\[]*\])", text):
        parts = _RANGES.split(item)
        if not item or not all(_NAME.fullmatch(plain) for plain in parts[::2]):
            raise OutputError(f"not a list of nodes: {quoted(text)}", line)
        ranges = [list(_numbers(inside, text, line)) for inside in parts[1::2]]
        for chosen in product(*ranges):
            names.append("".join(a + b for a, b in zip(parts[::2], (*chosen, ""), strict=True)))
            if len(names) > MOST_NODES:
                raise OutputError(f"more than {MOST_NODES} nodes: {quoted(text)}", line)
    return names


def _numbers(inside: str, text: str, line: int | None) -> Iterator[str]:
    for part in inside.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or last < first or last - first >= MOST_NODES:
            raise OutputError(f"not a list of nodes: {quoted(text)}", line)
        yield from (f"{number:0{len(match[1])}d}" for number in range(first, last + 1))


def _kinds(text: str) -> tuple[str, ...]:
    """Return the keys of lines that give nodes their switch: switches, or blocks where no switch has nodes."""
    has_switches = re.search(r"(?mi)^\s*SwitchName=\S+ (.* )?Nodes=[^\s(]", text)
    return ("switchname",) if has_switches else ("switchname", "blockname")


def is_topology(text: str) -> bool:
    """Return whether a text looks like ``scontrol show topology`` or ``topology.conf``."""
    return re.search(r"(?mi)^\s*(?:SwitchName|BlockName)=", text) is not None


def parse(text: str) -> dict[str, list[str]]:
    """Read ``scontrol show topology`` or ``topology.conf``.

    :returns: the nodes of each switch, or block, that has nodes of its own.
    :raises OutputError: if a line is malformed, or a node is at two switches.
    """
    members: dict[str, list[str]] = {}
    kinds = _kinds(text)
    seen: set[str] = set()
    for place, raw in enumerate(cleaned(text).splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        words = {key.lower(): value for key, value in _WORD.findall(line)}
        # Lines of other kinds give no node its switch or block: aggregates of blocks, settings, what is yet to come.
        # Nor does one that is whole and has no nodes, nor a block where there are switches: both may be in a file, with
        # the same nodes.
        names = [words[kind] for kind in kinds if kind in words]
        is_whole = all(names) and not _WORD.sub("", line).strip()
        if not names or (is_whole and words.get("nodes") in (None, "", "(null)")):
            continue
        name = words.get("switchname") or words.get("blockname")
        if not name or _WORD.sub("", line).strip():
            raise OutputError(f"not a line of Slurm's topology: {quoted(raw)}; give it as Slurm prints it", place)
        # A switch of a higher level lists all nodes below it as well as its switches.
        above = words.get("switches") not in (None, "", "(null)") or words.get("level", "0") != "0"
        if above:
            continue
        _keep(members, seen, name, hostlist(words.get("nodes", ""), place), place)
    return _whole(members)


def of_yaml(data: Any) -> dict[str, list[str]]:
    """Read the content of ``topology.yaml``; of several topologies the default one, or the first.

    :param data: the content of the file.
    :raises OutputError: if it is no topology of the kinds tree or block.
    """
    topologies = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    usable = [each for each in topologies if isinstance(each.get("tree") or each.get("block"), dict)]
    if not usable:
        raise OutputError("it has no topology of type tree or block; write a list of topologies")
    chosen = next((each for each in usable if each.get("cluster_default") is True), usable[0])
    kind, one = ("tree", "switch") if chosen.get("tree") else ("block", "block")
    listed = chosen[kind].get({"tree": "switches", "block": "blocks"}[kind])
    members: dict[str, list[str]] = {}
    seen: set[str] = set()
    for entry in listed if isinstance(listed, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get(one), str):
            raise OutputError(f"an entry of {kind} has no {one}: {quoted(str(entry))}")
        if isinstance(entry.get("nodes"), str):
            _keep(members, seen, entry[one], hostlist(entry["nodes"]), None)
    return _whole(members)


def _keep(members: dict[str, list[str]], seen: set[str], name: str, nodes: list[str], place: int | None) -> None:
    twice = next((node for node in nodes if node in seen), None)
    if name in members or twice is not None:
        raise OutputError(f"{quoted(name if twice is None else twice)} is there twice", place)
    if len(seen) + len(nodes) > MOST_NODES:
        raise OutputError(f"more than {MOST_NODES} nodes", place)
    members[name] = nodes
    seen |= set(nodes)


def _whole(members: dict[str, list[str]]) -> dict[str, list[str]]:
    if not members:
        raise OutputError("no switch or block in it has nodes; give the whole topology")
    return members
