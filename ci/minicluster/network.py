# SPDX-License-Identifier: BSD-3-Clause
"""The bridge, the links of the hosts to it, their rate limits, and the hosts file."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from .errors import ClusterError
from .processes import PATIENCE, run_program
from .spec import HEAD, NETWORK, NO_LIMIT, Spec, address, bits_per_second, parse_link

BRIDGE = "br0"


def hosts_file(spec: Spec) -> str:
    lines = ["127.0.0.1 localhost", *(f"{address(host)} {host}" for host in (HEAD, *spec.hosts))]
    return "".join(f"{line}\n" for line in lines)


def bridge_side(host: str) -> str:
    """Return the name of the end of a host's link that is on the bridge; the other is eth0."""
    return f"to-{host}"


def bridge_commands() -> list[str]:
    return [
        "link set dev lo up",
        f"link add name {BRIDGE} type bridge",
        f"address add {address(HEAD)}/{NETWORK.prefixlen} dev {BRIDGE}",
        f"link set dev {BRIDGE} up",
    ]


def link_commands(host: str, pid: int) -> list[str]:
    """Return what makes the link of a host whose namespace has that process."""
    return [
        f"link add name {bridge_side(host)} type veth peer name eth0 netns {pid}",
        f"link set dev {bridge_side(host)} master {BRIDGE} up",
    ]


def host_commands(host: str) -> list[str]:
    return [
        "link set dev lo up",
        f"address add {address(host)}/{NETWORK.prefixlen} dev eth0",
        "link set dev eth0 up",
    ]


#: Packets that may wait for their delay: those of 10 Gbit/s and 100 ms.
_WAITING = 100_000


def limit_commands(device: str, link: str) -> list[str]:
    """Return the commands that shape what leaves a device like a link, or that remove older limits."""
    asked = parse_link(link)
    commands, place = [], "root"
    if asked.is_rough:
        what = [f"delay {asked.delay}"] * bool(asked.delay) + [f"loss {asked.loss}"] * bool(asked.loss)
        commands.append(f"qdisc replace dev {device} root handle 1: netem limit {_WAITING} {' '.join(what)}")
        place = "parent 1: handle 10:"
    if asked.rate != NO_LIMIT:
        # A bucket of a millisecond, but no less than the largest packet that the kernel hands down in one piece.
        burst = max(64 * 1024, bits_per_second(asked.rate) // 8 // 1000)
        commands.append(f"qdisc replace dev {device} {place} tbf rate {asked.rate} burst {burst} latency 50ms")
    return commands or [f"qdisc replace dev {device} root noqueue"]


def run_batch(program: str, commands: list[str]) -> None:
    """Run commands of ip or tc in one process."""
    try:
        run_program([program, "-batch", "-"], PATIENCE, "\n".join(commands) + "\n")
    except ClusterError as error:
        raise ClusterError(f"the network cannot be set up: {error}; the commands were: {'; '.join(commands)}") from None


def limit(device: str, link: str) -> None:
    run_batch("tc", limit_commands(device, link))


def require_netem() -> None:
    """Raise :class:`ClusterError` unless this kernel can delay and lose packets."""
    try:
        run_program(["tc", "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1us"], PATIENCE)
    except ClusterError as error:
        raise ClusterError(
            f"this kernel can neither delay nor lose packets: it has no sch_netem ({error}); load the module, or take "
            "another kernel; rates work without it"
        ) from None
    run_program(["tc", "qdisc", "delete", "dev", "lo", "root"], PATIENCE)


def wait_until_gone(device: str, seconds: float) -> None:
    """Wait until the kernel has removed the link of a host that was killed, which it does a little later."""
    deadline = time.monotonic() + seconds
    while device in (name for _, name in socket.if_nameindex()):
        if time.monotonic() > deadline:
            raise ClusterError(f"the link {device} of a killed host is still there; is a process left in the host?")
        time.sleep(0.02)


def without_ipv6() -> None:
    """Switch IPv6 off for the links to come: duplicate address detection costs seconds and nobody needs it."""
    switch = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    if switch.exists():
        switch.write_text("1")
