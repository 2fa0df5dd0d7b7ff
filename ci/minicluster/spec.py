# SPDX-License-Identifier: BSD-3-Clause
"""The specification of a cluster: nodes, their names and addresses, and the rates of their links."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import asdict, dataclass, field

from .errors import ClusterError

HEAD = "head"
# Every cluster has network namespaces of its own, so all use the same addresses.
NETWORK = ipaddress.ip_network("10.213.0.0/16")
MOST_NODES = 500  # a bridge has at most 1024 ports
MOST_RAILS = 4
NO_LIMIT = "none"
#: The directions of a host's link, as the host sees them.
SIDES = ("send", "receive")

_RATE = re.compile(r"(\d+(?:\.\d+)?)(k|m|g|t)?bit")
_FACTORS = {None: 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_DELAY = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)")
_LOSS = re.compile(r"(\d+(?:\.\d+)?)%")


@dataclass(frozen=True)
class Link:
    """One direction of a host's link.

    :param rate: as tc writes it, or :data:`NO_LIMIT`. :param delay: of every packet, as tc writes it; empty:
        none.
    :param loss: the share of packets that are lost, such as ``1%``; empty: none.
    """

    rate: str = NO_LIMIT
    delay: str = ""
    loss: str = ""

    @property
    def is_rough(self) -> bool:
        """Whether packets are delayed or lost, which takes more of the kernel than a rate."""
        return bool(self.delay or self.loss)

    def __str__(self) -> str:
        parts = (("delay", self.delay), ("loss", self.loss))
        return ",".join(
            [self.rate, *(f"{name}={value}" for name, value in parts if value)]
        )


@dataclass(frozen=True)
class Account:
    """Who the daemons and the jobs belong to, and whether that is in a user namespace."""

    name: str
    uid: int
    gid: int
    rootless: bool


@dataclass(frozen=True)
class Spec:
    """One cluster as it was asked for."""

    name: str
    nodes: int
    cores: int
    accounting: bool
    account: Account
    rate: str = NO_LIMIT
    shapes: dict[str, str] = field(
        default_factory=dict
    )  # by host and direction, as in n2.send
    switches: int = 0  # in Slurm's topology; there is but one bridge
    scheduler: str = "slurm"
    prefix: str = (
        ""  # where the scheduler is installed, if its programs are not on PATH
    )
    rails: int = (
        1  # links of each host, each to a bridge of its own; the head is on the first
    )

    @property
    def hosts(self) -> list[str]:
        return node_names(self.nodes)

    @property
    def hosts_of_switches(self) -> dict[str, list[str]]:
        """The hosts of each switch: as many of each, in their order."""
        each = -(-self.nodes // max(self.switches, 1))
        return {
            f"leaf{k + 1}": self.hosts[k * each : (k + 1) * each]
            for k in range(self.switches)
        }

    def link_of(self, host: str, side: str) -> str:
        return self.shapes.get(f"{host}.{side}", self.rate)

    def links_of(self, host: str) -> dict[str, str]:
        return {side: self.link_of(host, side) for side in SIDES}

    @property
    def is_rough(self) -> bool:
        """Whether packets of any link are delayed or lost."""
        return any(parse_link(text).is_rough for text in self.shapes.values())

    def as_dict(self) -> dict:
        return asdict(self)


def from_dict(values: dict) -> Spec:
    """Return a spec from what :meth:`Spec.as_dict` gave.

    All clones share the index, so that fields of another release are ignored.
    """
    known = {key: values[key] for key in Spec.__dataclass_fields__ if key in values}
    return Spec(**(known | {"account": Account(**values["account"])}))


def node_names(count: int) -> list[str]:
    return [f"n{i}" for i in range(1, count + 1)]


def address(host: str, rail: int = 0) -> str:
    """Return the address of the head (the first) or of a node; each rail is a network of its own, behind the
    first."""
    number = 0 if host == HEAD else int(host.removeprefix("n"))
    return str(NETWORK[1 + number] + rail * NETWORK.num_addresses)


def bits_per_second(rate: str) -> int:
    """Parse a rate as tc writes it: 1gbit, 2.5gbit, 100mbit."""
    match = _RATE.fullmatch(rate)
    bits = round(float(match[1]) * _FACTORS[match[2]]) if match else 0
    if bits <= 0:
        raise ClusterError(
            f"{rate!r} is not a rate; write it as 1gbit, 2.5gbit or 100mbit, or none for no limit"
        )
    return bits


def parse_rate(text: str) -> str:
    if text != NO_LIMIT:
        bits_per_second(text)
    return text


def parse_link(text: str) -> Link:
    """Parse RATE[,delay=TIME][,loss=PERCENT]."""
    rate, *rest = text.split(",")
    found: dict[str, str] = {}
    for part in rest:
        name, _, value = part.partition("=")
        pattern = {"delay": _DELAY, "loss": _LOSS}.get(name)
        match = pattern.fullmatch(value) if pattern else None
        if match is None or (name == "loss" and float(match[1]) > 100):
            raise ClusterError(
                f"{part!r} is neither a delay nor a loss; write delay=100us or loss=1%"
            )
        if name in found:
            raise ClusterError(f"{text!r} gives {name} twice; give it once")
        found[name] = value
    return Link(parse_rate(rate), **found)


def parse_shapes(texts: list[str], hosts: list[str]) -> dict[str, str]:
    """Parse NODE[.send|.receive]=LINK, several times; return the links by node and direction."""
    shapes: dict[str, str] = {}
    for text in texts:
        where, equals, link = text.partition("=")
        host, dot, side = where.partition(".")
        if not equals:
            raise ClusterError(
                f"{text!r} is not NODE=RATE; write it as {hosts[0]}=100mbit, or {hosts[0]}=none"
            )
        if host not in hosts:
            raise ClusterError(
                f"no node is called {host!r}; the nodes are {hosts[0]} to {hosts[-1]}"
            )
        if dot and side not in SIDES:
            raise ClusterError(
                f"{where!r} is not a direction of a link; write {host}.send or {host}.receive"
            )
        for each in (side,) if dot else SIDES:
            key = f"{host}.{each}"
            if key in shapes:
                raise ClusterError(
                    f"{host} has two rates, {shapes[key]} and {link}; give one"
                )
            shapes[key] = str(parse_link(link))
    return shapes
