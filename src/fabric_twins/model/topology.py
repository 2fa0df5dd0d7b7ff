# SPDX-License-Identifier: BSD-3-Clause
"""Topologies: the switch of each host, and the cables between switches.

The section ``topology`` of a description has a ``kind`` and a ``routing`` (:mod:`fabric_twins.model.routing`).

- ``star``: one switch that never limits anything.
- ``fat_tree``: of ``levels`` levels of switches with ``ports`` ports each; ``oversubscription`` (1 if it is not there)
  is the number of hosts at a leaf over the number of its cables upwards. Switches of a level between have half of
  their ports upwards, those of the top level none. ``link_MBps`` is the rate of a cable between switches.
- ``dragonfly``: ``groups`` groups of ``routers`` routers with ``hosts`` hosts and ``global_ports`` ports to
  other groups each; within a group all routers are connected with each other.

``faults`` is a list of the cluster's faults:

- ``{cable: [leaf-0, spine-3], fraction: 0.25}``: a cable between switches at a fraction of its rate; 0 is a broken one;
- ``{switch: spine-3, fraction: 0}``: all cables of a switch;
- ``{host: n017, fraction: 0.5}``: a slow host: its link, its bus and its processor;
- ``{swap: [n001, n017]}``: each of two hosts in the other's port, but routed by its number as before;
- ``{swap: [[leaf-0, spine-1], [leaf-2, spine-3]]}``: two cables whose second ends are in each other's port.

Hosts are n0, n1, ... with as many digits as the last one needs; the switches of a fat tree leaf-0, ..., spine-0, ...
and between them level-2-0, ...; those of a dragonfly router-GROUP-NUMBER; that of a star is named switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, prod
from typing import Any

from fabric_twins.errors import TwinError
from fabric_twins.model.reading import Section

#: The most hosts, the most switches and cables together, and the most levels of a tree: far more than is simulated.
MOST_NODES = 100_000
MOST_PARTS = 2_000_000
MOST_LEVELS = 8


@dataclass(frozen=True)
class Cable:
    """A cable between two switches: numbers of the switches, and the rate in each direction."""

    a: int
    b: int
    rate_MBps: float


@dataclass(frozen=True)
class Wiring:
    """The switch of each host, and the cables between switches.

    :param switches: their names.
    :param strides: for d-mod-k, by how much the number of a host is divided at each switch.
    :param cables: in the order in which routing chooses among them.
    :param hosts: the names of the hosts.
    :param at: the number of the switch of each host.
    :param host_fraction: the share of its speed that each host has.
    """

    switches: tuple[str, ...]
    strides: tuple[int, ...]
    cables: tuple[Cable, ...]
    hosts: tuple[str, ...]
    at: tuple[int, ...]
    host_fraction: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Star:
    """One switch that never limits anything."""

    nodes: int

    @property
    def parts(self) -> int:
        """The number of switches and of cables between switches."""
        return 1

    def wiring(self) -> Wiring:
        """Return the hosts at the one switch."""
        return Wiring(("switch",), (1,), (), host_names(self.nodes), (0,) * self.nodes)


@dataclass(frozen=True)
class FatTree:
    """A tree of switches with ``ports`` ports each, ``down`` of a leaf's to hosts and ``up`` upwards."""

    nodes: int
    ports: int
    levels: int
    down: int
    up: int
    link_MBps: float

    @property
    def children(self) -> tuple[int, ...]:
        """The numbers of ports downwards, by level from the leaves; the top is only as wide as the hosts need."""
        if self.levels == 1:
            return (self.ports,)
        below = (self.down, *[self.ports // 2] * (self.levels - 2))
        return (*below, min(self.ports, ceil(self.nodes / prod(below))))

    @property
    def parents(self) -> tuple[int, ...]:
        """The numbers of ports upwards that a child has at each level: 1 for a host, ``up`` for a leaf, ..."""
        return (1, self.up, *[self.ports // 2] * (self.levels - 2))[: self.levels]

    @property
    def parts(self) -> int:
        """The number of switches and of cables between switches, or a number above the limit if it is exceeded."""
        children, parents, found = self.children, self.parents, 0
        for level in range(1, self.levels + 1):
            switches = prod(children[level:]) * prod(parents[:level])
            found += switches * (1 + (parents[level] if level < self.levels else 0))
            if found > MOST_PARTS:
                break
        return found

    def wiring(self) -> Wiring:
        """Return the tree: an extended generalised fat tree (Oehring, Ibel, Das, Kumar 1995).

        A switch of level l has a label of which subtree it is in, and which of the equal switches there it is. A
        cable leads from it to each of the next level whose label differs in the digit of that level only.
        """
        children, parents = self.children, self.parents
        number: dict[tuple[int, int, int], int] = {}
        names: list[str] = []
        strides: list[int] = []
        cables: list[Cable] = []
        for level in range(1, self.levels + 1):
            trees, equals = prod(children[level:]), prod(parents[:level])
            for tree, equal in product(range(trees), range(equals)):
                number[level, tree, equal] = len(names)
                names.append(f"{self._kind(level)}-{tree * equals + equal}")
                strides.append(equals)
        for (level, tree, equal), switch in number.items():
            if level < self.levels:
                equals = prod(parents[:level])
                for port in range(parents[level]):
                    above = number[level + 1, tree // children[level], port * equals + equal]
                    cables.append(Cable(switch, above, self.link_MBps))
        at = tuple(number[1, host // children[0], 0] for host in range(self.nodes))
        return Wiring(tuple(names), tuple(strides), tuple(cables), host_names(self.nodes), at)

    def _kind(self, level: int) -> str:
        if level == 1:
            return "leaf"
        return "spine" if level == self.levels else f"level-{level}"


@dataclass(frozen=True)
class Dragonfly:
    """Groups of routers; all routers of a group are connected, and each group with each (Kim, Dally, Scott 2008)."""

    nodes: int
    groups: int
    routers: int
    hosts: int
    global_ports: int
    link_MBps: float
    global_link_MBps: float

    @property
    def parts(self) -> int:
        """The largest possible number of switches and of cables between switches."""
        within = self.groups * self.routers * self.routers
        return within + self.groups * self.routers * self.global_ports

    def wiring(self) -> Wiring:
        """Return the dragonfly; the cables between two groups are spread over the routers of both."""
        names = [f"router-{group}-{router}" for group, router in product(range(self.groups), range(self.routers))]
        cables = [
            Cable(group * self.routers + a, group * self.routers + b, self.link_MBps)
            for group in range(self.groups)
            for a, b in combinations(range(self.routers), 2)
        ]
        others = self.groups - 1
        for channel in range(self.routers * self.global_ports // others if others else 0):
            for a, b in combinations(range(self.groups), 2):
                ends = self._gateway(a, b, channel), self._gateway(b, a, channel)
                cables.append(Cable(*ends, self.global_link_MBps))
        at = tuple(host // self.hosts for host in range(self.nodes))
        return Wiring(tuple(names), (1,) * len(names), tuple(cables), host_names(self.nodes), at)

    def _gateway(self, group: int, other: int, channel: int) -> int:
        """Return the router of a group that has its cable of this number to another group."""
        port = channel * (self.groups - 1) + (other - group - 1) % self.groups
        return group * self.routers + port // self.global_ports


@dataclass(frozen=True)
class Routing:
    """The routing of the switches.

    :param kind: ``d-mod-k`` or ``destination-table``.
    :param seed: of the destination table.
    :param location: file and key, for messages.
    """

    kind: str
    seed: int
    location: str


@dataclass(frozen=True)
class Fault:
    """A fault: ``what`` is cable, switch, host or swap; ``ends`` are the names of the parts concerned."""

    what: str
    ends: tuple[tuple[str, ...], ...]
    fraction: float
    location: str


def host_names(nodes: int) -> tuple[str, ...]:
    """Return the names of the hosts: n00, n01, ...

    >>> host_names(2)
    ('n0', 'n1')
    """
    width = len(str(nodes - 1))
    return tuple(f"n{host:0{width}}" for host in range(nodes))


def read_topology(section: Section, nodes: int) -> tuple[Star | FatTree | Dragonfly, Routing]:
    """Read the section ``topology``.

    :raises TwinError: if it is malformed, or has room for fewer nodes than there are.
    """
    kind = section.choice("kind", ("star", "fat_tree", "dragonfly"))
    topology: Star | FatTree | Dragonfly
    if kind == "star":
        topology = Star(nodes)
        routing = Routing("d-mod-k", 0, section.location("kind"))
    else:
        topology = _fat_tree(section, nodes) if kind == "fat_tree" else _dragonfly(section, nodes)
        routing = _routing(section.section("routing"))
    section.finish()
    if topology.parts > MOST_PARTS:
        raise section.error(
            "", f"asks for more than {MOST_PARTS} switches and cables; write fewer levels, ports, groups or routers"
        )
    return topology, routing


def _fat_tree(section: Section, nodes: int) -> FatTree:
    ports = section.count("ports", 2)
    if ports % 2:
        raise section.error("ports", f"{ports} is odd; write the even number of ports that a switch has")
    levels = section.count("levels")
    if levels > MOST_LEVELS:
        raise section.error("levels", f"{levels} levels are more than the {MOST_LEVELS} that a fat tree can have")
    oversubscription = section.number("oversubscription", default=1.0)
    share = Fraction(oversubscription).limit_denominator(ports)
    up = Fraction(ports) / (1 + share)
    if up.denominator != 1 or not 1 <= up < ports:
        raise section.error(
            "oversubscription",
            f"{oversubscription:g} does not divide {ports} ports; write one that does, such as 1 or {ports - 1}",
        )
    tree = FatTree(nodes, ports, levels, ports - int(up), int(up), section.number("link_MBps"))
    capacity = prod(tree.children[:-1]) * ports
    if nodes > capacity:
        raise section.error(
            "levels",
            f"{levels} levels of {ports} ports have room for {capacity} of the {nodes} nodes; write more levels or "
            "ports",
        )
    return tree


def _dragonfly(section: Section, nodes: int) -> Dragonfly:
    groups, routers, hosts = (section.count(key) for key in ("groups", "routers", "hosts"))
    ports = section.count("global_ports")
    rate = section.number("link_MBps")
    global_rate = section.number("global_link_MBps", default=rate)
    if routers * ports < groups - 1:
        raise section.error(
            "global_ports", f"{routers} routers with {ports} do not reach the {groups - 1} other groups; write more"
        )
    if nodes > groups * routers * hosts:
        raise section.error(
            "hosts",
            f"there is room for {groups * routers * hosts} of the {nodes} nodes; write more groups, routers or hosts",
        )
    return Dragonfly(nodes, groups, routers, hosts, ports, rate, global_rate)


def _routing(section: Section) -> Routing:
    kind = section.choice("kind", ("d-mod-k", "destination-table"))
    seed = int(section.plain_number("seed")) if kind == "destination-table" else 0
    section.finish()
    return Routing(kind, seed, section.location())


def read_faults(top: Section) -> tuple[Fault, ...]:
    """Read the list ``faults``, which may be missing."""
    faults = []
    for item in top.items("faults", default=()):
        what = next((each for each in ("cable", "switch", "host", "swap") if item.optional(each)), None)
        if what is None:
            raise item.error("", "does not say what is wrong; write cable, switch, host or swap")
        if what == "swap":
            value = item.take("swap", "two hosts, or two cables")
            ends = tuple(tuple(each) if isinstance(each, list) else (each,) for each in _pair(item, value))
            if len({len(end) for end in ends}) != 1 or len(ends[0]) > 2:
                raise item.error("swap", "does not swap two of a kind; write two hosts, or two cables")
        elif what == "cable":
            ends = (tuple(map(str, _pair(item, item.take("cable", "two switches")))),)
        else:
            ends = ((item.text(what),),)
        fraction = 1.0 if what == "swap" else item.plain_number("fraction")
        if fraction > 1 or (what == "host" and fraction == 0):
            raise item.error("fraction", f"{fraction:g} is not a fraction of a rate; write one from 0 to 1")
        item.finish()
        faults.append(Fault(what, ends, fraction, item.location(what)))
    return tuple(faults)


def _pair(item: Section, value: Any) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise item.error("", f"two names are expected here, as in [leaf-0, spine-1], not {value!r}")
    return value


def with_faults(wiring: Wiring, faults: Sequence[Fault]) -> Wiring:
    """Return the wiring with its faults.

    :raises TwinError: if a fault names what is not there.
    """
    for fault in faults:
        wiring = _APPLY[fault.what](wiring, fault)
    return wiring


def _cable(wiring: Wiring, ends: tuple[str, ...], location: str) -> int:
    a, b = (number_of(wiring.switches, end, location) for end in ends)
    for number, cable in enumerate(wiring.cables):
        if {cable.a, cable.b} == {a, b}:
            return number
    raise TwinError(
        f"{location}: there is no cable between {ends[0]} and {ends[1]}; write the two ends of an existing one"
    )


def number_of(names: Sequence[str], name: str, location: str) -> int:
    """Return the number of a host or switch.

    :raises TwinError: if there is none of that name.
    """
    if name not in names:
        raise TwinError(f"{location}: there is no {name}; write one of {names[0]} to {names[-1]}")
    return names.index(name)


def _slow_cables(wiring: Wiring, fault: Fault) -> Wiring:
    """Scale the rate of one cable, or of all cables of a switch; those of no rate are cut."""
    if fault.what == "cable":
        slow = {_cable(wiring, fault.ends[0], fault.location)}
    else:
        switch = number_of(wiring.switches, fault.ends[0][0], fault.location)
        slow = {number for number, cable in enumerate(wiring.cables) if switch in (cable.a, cable.b)}
    cables = [
        replace(cable, rate_MBps=fault.fraction * cable.rate_MBps) if number in slow else cable
        for number, cable in enumerate(wiring.cables)
    ]
    return replace(wiring, cables=tuple(cable for cable in cables if cable.rate_MBps > 0))


def _slow_host(wiring: Wiring, fault: Fault) -> Wiring:
    host = number_of(wiring.hosts, fault.ends[0][0], fault.location)
    fraction = wiring.host_fraction.get(host, 1.0) * fault.fraction
    return replace(wiring, host_fraction={**wiring.host_fraction, host: fraction})


def _swapped(wiring: Wiring, fault: Fault) -> Wiring:
    if len(fault.ends[0]) == 1:
        a, b = (number_of(wiring.hosts, end[0], fault.location) for end in fault.ends)
        at = list(wiring.at)
        at[a], at[b] = at[b], at[a]
        return replace(wiring, at=tuple(at))
    first, second = (_cable(wiring, end, fault.location) for end in fault.ends)
    (a, b), (c, d) = ([number_of(wiring.switches, name, fault.location) for name in end] for end in fault.ends)
    cables = list(wiring.cables)
    cables[first], cables[second] = replace(cables[first], a=a, b=d), replace(cables[second], a=c, b=b)
    return replace(wiring, cables=tuple(cables))


_APPLY = {"cable": _slow_cables, "switch": _slow_cables, "host": _slow_host, "swap": _swapped}
