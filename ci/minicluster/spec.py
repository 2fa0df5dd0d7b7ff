# SPDX-License-Identifier: BSD-3-Clause
"""What a cluster is to be: its nodes, their names and addresses, and the rates of their links."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import asdict, dataclass, field

from .errors import ClusterError

HEAD = "head"
# Every cluster has network namespaces of its own, so all use the same addresses.
NETWORK = ipaddress.ip_network("10.213.0.0/16")
MOST_NODES = 500  # a bridge has at most 1024 ports
NO_LIMIT = "none"

_RATE = re.compile(r"(\d+(?:\.\d+)?)(k|m|g|t)?bit")
_FACTORS = {None: 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


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
    shapes: dict[str, str] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        return node_names(self.nodes)

    def rate_of(self, host: str) -> str:
        return self.shapes.get(host, self.rate)

    def as_dict(self) -> dict:
        return asdict(self)


def from_dict(values: dict) -> Spec:
    return Spec(**(values | {"account": Account(**values["account"])}))


def node_names(count: int) -> list[str]:
    return [f"n{i}" for i in range(1, count + 1)]


def address(host: str) -> str:
    """Return the address of the head (the first) or of a node."""
    number = 0 if host == HEAD else int(host.removeprefix("n"))
    return str(NETWORK[1 + number])


def bits_per_second(rate: str) -> int:
    """Parse a rate as tc writes it: 1gbit, 2.5gbit, 100mbit."""
    match = _RATE.fullmatch(rate)
    bits = round(float(match[1]) * _FACTORS[match[2]]) if match else 0
    if bits <= 0:
        raise ClusterError(f"{rate!r} is no rate; write it as 1gbit, 2.5gbit or 100mbit, or none for no limit")
    return bits


def parse_rate(text: str) -> str:
    if text != NO_LIMIT:
        bits_per_second(text)
    return text


def parse_shapes(texts: list[str], hosts: list[str]) -> dict[str, str]:
    """Parse NODE=RATE, several times."""
    shapes = {}
    for text in texts:
        host, equals, rate = text.partition("=")
        if not equals:
            raise ClusterError(f"{text!r} is not NODE=RATE; write it as {hosts[0]}=100mbit, or {hosts[0]}=none")
        if host not in hosts:
            raise ClusterError(f"no node is called {host!r}; the nodes are {hosts[0]} to {hosts[-1]}")
        if host in shapes:
            raise ClusterError(f"{host} has two rates, {shapes[host]} and {rate}; give one")
        shapes[host] = parse_rate(rate)
    return shapes
