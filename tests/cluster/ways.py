# SPDX-License-Identifier: BSD-3-Clause
"""Several ways between the switches of a cluster, as commands for its head: a leaf for some hosts, and
spines.

All switches are in the head's network namespace. A leaf is a routing table of its own for what comes from its
hosts and from its ways up; a spine is one for what comes from the leaves. The kernel chooses the way of each
connection by a hash of its addresses and ports, as Ethernet switches do.
"""

from ci.minicluster.network import bridge_side
from ci.minicluster.spec import address

SWITCHES = ("ip_forward=1", "fib_multipath_hash_policy=1")
#: A switch answers for the hosts behind it, and takes no offence at the head's own address.
OF_PORTS = ("proxy_arp=1", "accept_local=1", "rp_filter=0")


def commands(leaves, ways, rate, lost=()):
    """Return shell commands that put the hosts behind leaves with so many ways up, each of a rate; may be run
    again.

    :param leaves: lists of hosts; :param rate: of a way in each direction, as tc writes it.
    :param lost: ways that are down, as pairs of the numbers of leaf and spine.
    """
    lines = [f"sysctl -qw net.ipv4.{setting}" for setting in SWITCHES]
    lines += [
        f"sysctl -qw net.ipv4.conf.{which}.{setting}"
        for which in ("all", "default")
        for setting in OF_PORTS
    ]
    numbers = range(ways)
    for leaf, hosts in enumerate(leaves):
        for spine in numbers:
            up, down = f"up{leaf}-{spine}", f"down{leaf}-{spine}"
            lines.append(
                f"ip link show {up} > /dev/null 2>&1 || ip link add {up} type veth peer name {down}"
            )
            for port, table in ((up, 100 + leaf), (down, 200 + spine)):
                lines += [f"ip link set {port} up", *_port(port, table)]
                lines.append(
                    f"tc qdisc replace dev {port} root tbf rate {rate} burst 64k latency 50ms"
                )
        for host in hosts:
            lines += [
                f"ip link set {bridge_side(host)} nomaster",
                *_port(bridge_side(host), 100 + leaf),
            ]
            lines.append(f"ip route replace {address(host)} dev {bridge_side(host)}")
            lines.append(
                f"ip route replace {address(host)} dev {bridge_side(host)} table {100 + leaf}"
            )
    for here in range(len(leaves)):
        for there, hosts in enumerate(leaves):
            both = [
                spine
                for spine in numbers
                if not {(here, spine), (there, spine)} & set(lost)
            ]
            hops = " ".join(f"nexthop dev up{here}-{spine}" for spine in both)
            for host in hosts:
                if here != there:
                    lines.append(
                        f"ip route replace {address(host)} table {100 + here} {hops}"
                    )
                lines += [
                    f"ip route replace {address(host)} dev down{there}-{k} table {200 + k}"
                    for k in numbers
                ]
    return "\n".join(["set -e", *lines, "ip route flush cache"])


def _port(name, table):
    yield f"ip rule del iif {name} lookup {table} 2> /dev/null || :"
    yield f"ip rule add iif {name} lookup {table}"
    for setting in OF_PORTS:
        yield f"sysctl -qw net.ipv4.conf.{name}.{setting}"
