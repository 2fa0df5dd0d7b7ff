# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics whose cabling is known because it is made up here, and the file of them that ibsim reads.

A node is called by its description, an end is a node and a port. ibsim makes GUIDs of its own, so only
descriptions are the same in what is printed. Ports of switches are drawn: none is right by its order.
"""

import itertools
import random
from collections import defaultdict

PORTS = 36
GBITS = {"4xHDR": 200, "2xHDR": 100, "4xEDR": 100, "4xFDR": 56}


def is_adapter(node):
    """Return whether a node is an adapter."""
    return " mlx5_" in node


class Cabling:
    """The far end and the kind of the cable of each end, by node and port."""

    def __init__(self):
        self.ends = defaultdict(dict)
        self.random = random.Random(1)

    def cable(self, one, other, kind="4xHDR", count=1):
        """Connect two nodes by ``count`` cables."""
        for _ in range(count):
            (a, b), (c, d) = (
                (one, self._free_port(one)),
                (other, self._free_port(other)),
            )
            self.ends[a][b], self.ends[c][d] = (c, d, kind), (a, b, kind)

    def _free_port(self, node):
        ports = range(1, 3 if is_adapter(node) else PORTS + 1)
        free = [port for port in ports if port not in self.ends[node]]
        return free[0] if is_adapter(node) else self.random.choice(free)

    def cut(self, node, port=1):
        """Remove a cable; return its far end and its kind."""
        far, far_port, kind = self.ends[node].pop(port)
        del self.ends[far][far_port]
        return far, far_port, kind

    def move(self, node, port, to):
        """Put the far end of a cable into another switch."""
        _, _, kind = self.cut(node, port)
        far_port = self._free_port(to)
        self.ends[node][port], self.ends[to][far_port] = (
            (to, far_port, kind),
            (node, port, kind),
        )

    def slow(self, one, other, kind):
        """Let the cable between two switches be of another kind."""
        port, (_, far_port, _) = next(
            end for end in self.ends[one].items() if end[1][0] == other
        )
        self.ends[one][port], self.ends[other][far_port] = (
            (other, far_port, kind),
            (one, port, kind),
        )

    def text(self):
        """Return the fabric in the form that ibsim reads."""
        lines = []
        for node, ports in self.ends.items():
            lines.append(
                f'Ca 2 "{node}"' if is_adapter(node) else f'Switch {PORTS} "{node}"'
            )
            for port, (far, far_port, kind) in ports.items():
                lines.append(f'[{port}] "{far}"[{far_port}] # "" lid 0 {kind}')
            lines.append("")
        return "\n".join(lines)


def switch(name):
    """Return the description of a managed switch."""
    return f"MF0;{name}:MQM8700/U1"


def tree(
    leaves,
    spines,
    cores=0,
    pods=1,
    hosts=3,
    adapters=1,
    trunk=1,
    kinds=("4xHDR", "4xHDR"),
    name=switch,
):
    """Return a fat tree of two levels, or of three: pods of it below cores.

    :param kinds: of the links of hosts, and of those between switches.
    """
    made = Cabling()
    for pod, leaf in itertools.product(range(pods), range(leaves)):
        below = name(f"L{pod}{leaf}")
        for host, adapter in itertools.product(range(hosts), range(adapters)):
            made.cable(f"cn{pod}{leaf}{host} mlx5_{adapter}", below, kinds[0])
        for spine in range(spines):
            made.cable(below, name(f"S{pod}{spine}"), kinds[1], trunk)
    for pod, spine, core in itertools.product(range(pods), range(spines), range(cores)):
        made.cable(name(f"S{pod}{spine}"), name(f"C{core}"), kinds[1], trunk)
    return made


def joined(links, hosts=2, count=1):
    """Return a fabric of switches that are joined by some links, with hosts at each."""
    made = Cabling()
    for number in sorted(set(itertools.chain(*links))):
        for host in range(hosts):
            made.cable(f"cn{number}-{host} mlx5_0", switch(f"sw{number}"))
    for one, other in links:
        made.cable(switch(f"sw{one}"), switch(f"sw{other}"), count=count)
    return made


def torus(width, height):
    """Return the links of a torus of two dimensions."""
    steps = itertools.product(range(width), range(height), ((1, 0), (0, 1)))
    return [
        (x * height + y, (x + dx) % width * height + (y + dy) % height)
        for x, y, (dx, dy) in steps
    ]


def two_planes():
    """Return two trees that are apart, with an adapter of each host on each."""
    made = tree(3, 2)
    for node, ports in tree(3, 2, name=lambda name: switch(f"B{name}")).ends.items():
        made.ends[node.replace("mlx5_0", "mlx5_1")] = {
            port: (far.replace("mlx5_0", "mlx5_1"), *rest)
            for port, (far, *rest) in ports.items()
        }
    return made
