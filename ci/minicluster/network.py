# SPDX-License-Identifier: BSD-3-Clause
"""The bridge, the links of the hosts to it, their rate limits, and the hosts file."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import ClusterError
from .processes import PATIENCE, run_program
from .spec import HEAD, NETWORK, NO_LIMIT, Spec, address, bits_per_second, parse_link


def hosts_file(spec: Spec) -> str:
    lines = [
        "127.0.0.1 localhost",
        *(f"{address(host)} {host}" for host in (HEAD, *spec.hosts)),
    ]
    return "".join(f"{line}\n" for line in lines)


def bridge_side(host: str, rail: int = 0) -> str:
    """Return the name of the end of a host's link that is on the bridge; the other is eth0, of the next rail
    eth1."""
    return f"to-{host}-{rail}" if rail else f"to-{host}"


def host_side(rail: int) -> str:
    """Return the name that a host has for its end of a rail."""
    return f"eth{rail}"


def _bridge(rail: int) -> str:
    return f"br{rail}"


def bridge_commands(rails: int = 1) -> list[str]:
    bridges = [_bridge(rail) for rail in range(rails)]
    return [
        "link set dev lo up",
        *(f"link add name {bridge} type bridge" for bridge in bridges),
        f"address add {address(HEAD)}/{NETWORK.prefixlen} dev {bridges[0]}",
        *(f"link set dev {bridge} up" for bridge in bridges),
    ]


def link_commands(host: str, pid: int, rails: int = 1) -> list[str]:
    """Return what makes the links of a host whose namespace has that process."""
    commands = []
    for rail in range(rails):
        side = bridge_side(host, rail)
        commands.append(
            f"link add name {side} type veth peer name {host_side(rail)} netns {pid}"
        )
        commands.append(f"link set dev {side} master {_bridge(rail)} up")
    return commands


def host_commands(host: str, rails: int = 1) -> list[str]:
    commands = ["link set dev lo up"]
    for rail in range(rails):
        side = host_side(rail)
        commands.append(
            f"address add {address(host, rail)}/{NETWORK.prefixlen} dev {side}"
        )
        commands.append(f"link set dev {side} up")
    return commands


#: Packets that may wait for their delay: those of 10 Gbit/s and 100 ms.
_WAITING = 100_000


def limit_commands(device: str, link: str) -> list[str]:
    """Return the commands that shape what leaves a device like a link, or that remove older limits."""
    asked = parse_link(link)
    commands, parent = [], "root"
    if asked.is_rough:
        what = [f"delay {asked.delay}"] * bool(asked.delay) + [
            f"loss {asked.loss}"
        ] * bool(asked.loss)
        commands.append(
            f"qdisc replace dev {device} root handle 1: netem limit {_WAITING} {' '.join(what)}"
        )
        parent = "parent 1: handle 10:"
    if asked.rate != NO_LIMIT:
        # A bucket of a millisecond, but no less than the largest packet that the kernel hands down in one
        # piece.
        burst = max(64 * 1024, bits_per_second(asked.rate) // 8 // 1000)
        commands.append(
            f"qdisc replace dev {device} {parent} tbf rate {asked.rate} burst {burst} latency 50ms"
        )
    return commands or [f"qdisc replace dev {device} root noqueue"]


def run_batch(program: str, commands: list[str]) -> None:
    """Run commands of ip or tc in one process."""
    try:
        run_program([program, "-batch", "-"], PATIENCE, "\n".join(commands) + "\n")
    except ClusterError as error:
        raise ClusterError(
            f"the network cannot be set up: {error}; the commands were: {'; '.join(commands)}"
        ) from None


def limit(devices: Sequence[str], link: str) -> None:
    """Shape what leaves some devices, each like a link of its own."""
    run_batch(
        "tc",
        [command for device in devices for command in limit_commands(device, link)],
    )


def require_netem() -> None:
    """Raise :class:`ClusterError` unless this kernel can delay and lose packets."""
    try:
        run_program(
            ["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1us"],
            PATIENCE,
        )
    except ClusterError as error:
        raise ClusterError(
            f"this kernel can neither delay nor lose packets: it has no sch_netem ({error}); load the module,"
            " or use another kernel; rates work without it"
        ) from None
    run_program(["tc", "qdisc", "delete", "dev", "lo", "root"], PATIENCE)


def wait_until_gone(device: str, seconds: float) -> None:
    """Wait until the kernel has removed the link of a host that was killed, which it does a little later."""
    deadline = time.monotonic() + seconds
    while device in (name for _, name in socket.if_nameindex()):
        if time.monotonic() > deadline:
            raise ClusterError(
                f"the link {device} of a killed host is still there; is a process left in the host?"
            )
        time.sleep(0.02)


def without_ipv6() -> None:
    """Switch IPv6 off for the links to come: duplicate address detection costs seconds and nobody needs
    it."""
    switch = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    if switch.exists():
        switch.write_text("1")
