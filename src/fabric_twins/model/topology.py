# SPDX-License-Identifier: BSD-3-Clause
"""Topologies: the switch of each host, and the cables between switches.

The section ``topology`` of a description has a ``kind`` and a ``routing``
(:mod:`fabric_twins.model.routing`).

- ``star``: one switch that never limits anything.
- ``fat_tree``: of ``levels`` levels of switches with ``ports`` ports each; ``oversubscription`` (1 if it is
  not there) is the number of hosts at a leaf over the number of its cables upwards. Switches of a level
  between have half of their ports upwards, those of the top level none. ``link_MBps`` is the rate of a cable
  between switches.
- ``dragonfly``: ``groups`` groups of ``routers`` routers with ``hosts`` hosts and ``global_ports`` ports to
  other groups each; within a group all routers are connected with each other.

``faults`` is a list of the cluster's faults:

- ``{cable: [leaf-0, spine-3], fraction: 0.25}``: a cable between switches at a fraction of its rate; 0 is a
  broken one;
- ``{switch: spine-3, fraction: 0}``: all cables of a switch;
- ``{host: n017, fraction: 0.5}``: a slow host: its link, its bus and its processor;
- ``{swap: [n001, n017]}``: each of two hosts in the other's port, but routed by its number as before;
- ``{swap: [[leaf-0, spine-1], [leaf-2, spine-3]]}``: two cables whose second ends are in each other's port.

Hosts are n0, n1, ... with as many digits as the last one needs; the switches of a fat tree leaf-0, ...,
spine-0, ... and between them level-2-0, ...; those of a dragonfly router-GROUP-NUMBER; that of a star is
named switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from math import ceil, prod
from pathlib import Path
from typing import Annotated, Any, Literal

from fabric_checks.core.schema import Count, Positive, Text, option, rules
from fabric_twins.errors import TwinError
from fabric_twins.model.sourced_yaml import convert

#: The most hosts, the most switches and cables together, and the most levels of a tree: far more than is
#: simulated.
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
        """The numbers of ports downwards, by level from the leaves; the top is only as wide as the hosts
        need."""
        if self.levels == 1:
            return (self.ports,)
        below = (self.down, *[self.ports // 2] * (self.levels - 2))
        return (*below, min(self.ports, ceil(self.nodes / prod(below))))

    @property
    def parents(self) -> tuple[int, ...]:
        """The numbers of ports upwards that a child has at each level: 1 for a host, ``up`` for a leaf,
        ..."""
        return (1, self.up, *[self.ports // 2] * (self.levels - 2))[: self.levels]

    @property
    def parts(self) -> int:
        """The number of switches and of cables between switches, or a number above the limit if it is
        exceeded."""
        children, parents, found = self.children, self.parents, 0
        for level in range(1, self.levels + 1):
            switches = prod(children[level:]) * prod(parents[:level])
            found += switches * (1 + (parents[level] if level < self.levels else 0))
            if found > MOST_PARTS:
                break
        return found

    def wiring(self) -> Wiring:
        """Return the tree: an extended generalised fat tree (Oehring, Ibel, Das, Kumar 1995).

        A switch of level l has a label of which subtree it is in, and which of the equal switches there it
        is. A cable leads from it to each of the next level whose label differs in the digit of that level
        only.
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
                    above = number[
                        level + 1, tree // children[level], port * equals + equal
                    ]
                    cables.append(Cable(switch, above, self.link_MBps))
        at = tuple(number[1, host // children[0], 0] for host in range(self.nodes))
        return Wiring(
            tuple(names), tuple(strides), tuple(cables), host_names(self.nodes), at
        )

    def _kind(self, level: int) -> str:
        if level == 1:
            return "leaf"
        return "spine" if level == self.levels else f"level-{level}"


@dataclass(frozen=True)
class Dragonfly:
    """Groups of routers; all routers of a group are connected, and each group with each (Kim, Dally, Scott
    2008)."""

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
        names = [
            f"router-{group}-{router}"
            for group, router in product(range(self.groups), range(self.routers))
        ]
        cables = [
            Cable(group * self.routers + a, group * self.routers + b, self.link_MBps)
            for group in range(self.groups)
            for a, b in combinations(range(self.routers), 2)
        ]
        others = self.groups - 1
        for channel in range(
            self.routers * self.global_ports // others if others else 0
        ):
            for a, b in combinations(range(self.groups), 2):
                ends = self._gateway(a, b, channel), self._gateway(b, a, channel)
                cables.append(Cable(*ends, self.global_link_MBps))
        at = tuple(host // self.hosts for host in range(self.nodes))
        return Wiring(
            tuple(names), (1,) * len(names), tuple(cables), host_names(self.nodes), at
        )

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


@dataclass(frozen=True, kw_only=True)
class _Routing:
    kind: Literal["d-mod-k", "destination-table"] = option(
        "how switches choose cables", ...
    )
    seed: int | None = option("of the destination table")

    def __post_init__(self) -> None:
        """Refuse a seed that nothing takes, and a table without one."""
        if (self.kind == "destination-table") != (self.seed is not None):
            raise ValueError("seed goes with destination-table, which needs one")


@dataclass(frozen=True, kw_only=True)
class _Star:
    kind: str = option("", ...)

    def topology(self, nodes: int) -> Star:
        return Star(nodes)


@dataclass(frozen=True, kw_only=True)
class _FatTree:
    kind: str = option("", ...)
    ports: Annotated[int, rules(minimum=2, multipleOf=2)] = option(
        "an even number: those of a switch", ...
    )
    levels: Annotated[int, rules(minimum=1, maximum=MOST_LEVELS)] = option(
        "of switches", ...
    )
    oversubscription: Positive = option(
        "the hosts at a leaf over its cables upwards", 1.0
    )
    link_MBps: Positive = option("the rate of a cable between switches", ...)
    routing: _Routing = option("kind, and seed", ...)

    def topology(self, nodes: int) -> FatTree:
        """Return the tree; ValueError if it has no room for the nodes."""
        ports, levels = self.ports, self.levels
        up = Fraction(ports) / (
            1 + Fraction(self.oversubscription).limit_denominator(ports)
        )
        if up.denominator != 1 or not 1 <= up < ports:
            share = f"oversubscription: {self.oversubscription:g}"
            raise ValueError(
                f"{share} does not divide {ports} ports; write one that does, such as 1 or {ports - 1}"
            )
        tree = FatTree(nodes, ports, levels, ports - int(up), int(up), self.link_MBps)
        room = prod(tree.children[:-1]) * ports
        if nodes > room:
            have = f"levels: {levels} levels of {ports} ports have room for {room} of the {nodes} nodes"
            raise ValueError(f"{have}; write more levels or ports")
        return tree


@dataclass(frozen=True, kw_only=True)
class _Dragonfly:
    kind: str = option("", ...)
    groups: Count = option("of routers", ...)
    routers: Count = option("in a group", ...)
    hosts: Count = option("at a router", ...)
    global_ports: Count = option("of a router, to other groups", ...)
    link_MBps: Positive = option("the rate of a cable within a group", ...)
    global_link_MBps: Positive | None = option("that of a cable between groups")
    routing: _Routing = option("kind, and seed", ...)

    def topology(self, nodes: int) -> Dragonfly:
        """Return the dragonfly; ValueError if it is not connected, or has no room for the nodes."""
        groups, routers, ports = self.groups, self.routers, self.global_ports
        if routers * ports < groups - 1:
            few = f"global_ports: {routers} routers with {ports}"
            raise ValueError(
                f"{few} do not reach the {groups - 1} other groups; write more"
            )
        room = groups * routers * self.hosts
        if nodes > room:
            have = f"hosts: there is room for {room} of the {nodes} nodes"
            raise ValueError(f"{have}; write more groups, routers or hosts")
        between_MBps = self.global_link_MBps or self.link_MBps
        return Dragonfly(
            nodes, groups, routers, self.hosts, ports, self.link_MBps, between_MBps
        )


_KINDS: dict[str, type[_Star | _FatTree | _Dragonfly]] = {
    "star": _Star,
    "fat_tree": _FatTree,
    "dragonfly": _Dragonfly,
}


def read_topology(
    data: Mapping[str, Any], nodes: int, file: Path
) -> tuple[Star | FatTree | Dragonfly, Routing]:
    """Read the section ``topology``, without its sources.

    :raises TwinError: if it is malformed, or has room for fewer nodes than there are.
    """
    place, kind = f"{file}: topology", str(data.get("kind"))
    if kind not in _KINDS:
        raise TwinError(f"{place}: kind is {kind!r}; give one of {', '.join(_KINDS)}")
    keys = convert(data, _KINDS[kind], place)
    try:
        topology = keys.topology(nodes)
    except ValueError as error:
        raise TwinError(f"{place}: {error}") from None
    if topology.parts > MOST_PARTS:
        many = f"asks for more than {MOST_PARTS} switches and cables"
        raise TwinError(
            f"{place}: {many}; write fewer levels, ports, groups or routers"
        )
    if isinstance(keys, _Star):
        return topology, Routing("d-mod-k", 0, place)
    return topology, Routing(
        keys.routing.kind, keys.routing.seed or 0, f"{place}: routing"
    )


@dataclass(frozen=True, kw_only=True)
class FaultKeys:
    """A fault as it is written."""

    cable: list[str] | None = option("two switches")
    switch: Text | None = option("a switch")
    host: Text | None = option("a host")
    swap: list[Any] | None = option("two hosts, or two cables")
    fraction: Annotated[float, rules(minimum=0, maximum=1)] | None = option(
        "of the rate"
    )

    def __post_init__(self) -> None:
        """Refuse what makes no fault."""
        self.fault("")

    def fault(self, location: str) -> Fault:
        """Return the fault.

        :param location: file and key, for messages. :raises ValueError: if it makes none.
        """
        given = {
            what: getattr(self, what)
            for what in _APPLY
            if getattr(self, what) is not None
        }
        if len(given) != 1:
            raise ValueError(
                "does not say what is wrong; write one of cable, switch, host and swap"
            )
        ((what, value),) = given.items()
        if isinstance(value, list) and len(value) != 2:
            raise ValueError(
                f"{what}: two names are expected here, as in [leaf-0, spine-1]"
            )
        self._require_fraction(what)
        one = tuple(value) if what == "cable" else (value,)
        ends = _swapped_ends(value) if what == "swap" else (one,)
        share = 1.0 if self.fraction is None else self.fraction
        return Fault(what, ends, share, f"{location}{what}")

    def _require_fraction(self, what: str) -> None:
        is_swap, is_host = what == "swap", what == "host"
        if (self.fraction is None) != is_swap or (is_host and not self.fraction):
            raise ValueError(
                "fraction: write one of the rate, from 0 to 1; above 0 for a host; none for a swap"
            )


def _swapped_ends(value: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """Return two hosts, or the ends of two cables."""
    ends = tuple(
        tuple(map(str, each)) if isinstance(each, list) else (str(each),)
        for each in value
    )
    if len({len(end) for end in ends}) != 1 or len(ends[0]) > 2:
        raise ValueError(
            "swap: does not swap two of a kind; write two hosts, or two cables"
        )
    return ends


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
        f"{location}: there is no cable between {ends[0]} and {ends[1]}; write the two ends of an"
        " existing one"
    )


def number_of(names: Sequence[str], name: str, location: str) -> int:
    """Return the number of a host or switch.

    :raises TwinError: if there is none of that name.
    """
    if name not in names:
        raise TwinError(
            f"{location}: there is no {name}; write one of {names[0]} to {names[-1]}"
        )
    return names.index(name)


def _slow_cables(wiring: Wiring, fault: Fault) -> Wiring:
    """Scale the rate of one cable, or of all cables of a switch; those of no rate are cut."""
    if fault.what == "cable":
        slow = {_cable(wiring, fault.ends[0], fault.location)}
    else:
        switch = number_of(wiring.switches, fault.ends[0][0], fault.location)
        slow = {
            number
            for number, cable in enumerate(wiring.cables)
            if switch in (cable.a, cable.b)
        }
    cables = [
        replace(cable, rate_MBps=fault.fraction * cable.rate_MBps)
        if number in slow
        else cable
        for number, cable in enumerate(wiring.cables)
    ]
    return replace(
        wiring, cables=tuple(cable for cable in cables if cable.rate_MBps > 0)
    )


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
    (a, b), (c, d) = (
        [number_of(wiring.switches, name, fault.location) for name in end]
        for end in fault.ends
    )
    cables = list(wiring.cables)
    cables[first], cables[second] = (
        replace(cables[first], a=a, b=d),
        replace(cables[second], a=c, b=b),
    )
    return replace(wiring, cables=tuple(cables))


_APPLY = {
    "cable": _slow_cables,
    "switch": _slow_cables,
    "host": _slow_host,
    "swap": _swapped,
}
