# SPDX-License-Identifier: BSD-3-Clause
"""GPUs and adapters by PCIe and NUMA nodes: which are near each other, and hosts unlike the others.

The path of a device in ``/sys`` names the bridges above it. An adapter is the nearer to a GPU the more of
them they share; where they share none, it is near if it is at the same NUMA node. ``lstopo`` shows the same
tree, and the classes of ``nvidia-smi topo -m`` (PIX, PXB, PHB, NODE, SYS) follow from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from operator import eq

from fabric_checks.core.finding import Finding
from fabric_checks.core.text import count_text, names_text, plural_text
from fabric_checks.ports.counter_growth import NodeChange, Nodes
from fabric_checks.ports.outliers import (
    MOST_SHOWN,
    finding,
    grouped,
    unlike_gpus,
    usual,
)
from fabric_checks.ports.snapshots import Gpu, Port
from fabric_checks.ports.transport import is_of

#: The GPUs by host and number.
Gpus = Mapping[str, Mapping[int, Gpu]]
#: The paths of devices on PCIe by name and host.
Paths = dict[str, dict[str, tuple[str, ...]]]
#: The names of the adapters that are nearest to a GPU, by host and number of the GPU.
Nearest = Mapping[str, Mapping[int, tuple[str, ...]]]


def numbered(nodes: Nodes) -> Gpus:
    """Return the GPUs of each node by number, which is that of their addresses in order.

    Where some are missing, the others keep the numbers that they have on most nodes. A node is left out if it
    has fewer than most and it is unknown which.
    """
    most = usual({node.node: tuple(node.host.gpus) for node in nodes}) or ()
    count = usual({node.node: len(node.host.gpus) for node in nodes}) or 0
    found = {}
    for node in nodes:
        own = node.host.gpus
        order = most if own.keys() <= set(most) else tuple(own)
        if own and len(order) >= count:
            found[node.node] = {
                order.index(address): gpu for address, gpu in own.items()
            }
    return found


def adapters(node: NodeChange, fabric: Sequence[str]) -> dict[str, Port]:
    """Return the ports on PCIe that patterns name, or those of RDMA devices where there are no patterns."""
    ports = {
        name: change.port for name, change in node.ports.items() if change.port.path
    }
    return {
        name: port
        for name, port in ports.items()
        if (is_of(port, fabric) if fabric else port.kind != "interface")
    }


def nearest(gpus: Gpus, nodes: Nodes, fabric: Sequence[str]) -> Nearest:
    """Return the adapters nearest to each GPU: several if they are equally near, none if it is unknown."""
    ports = {node.node: adapters(node, fabric) for node in nodes}
    return {
        host: {number: _nearest(gpu, ports[host]) for number, gpu in of.items()}
        for host, of in gpus.items()
    }


def _nearest(gpu: Gpu, ports: Mapping[str, Port]) -> tuple[str, ...]:
    near = {
        name: sum(takewhile(bool, map(eq, gpu.path, port.path)))
        for name, port in ports.items()
    }
    if not any(near.values()):
        near = {
            name: gpu.numa is not None and port.numa == gpu.numa
            for name, port in ports.items()
        }
    most = max(near.values(), default=0)
    return tuple(sorted(name for name, count in near.items() if count == most > 0))


def rails_of_gpus(near: Mapping[int, Sequence[str]]) -> dict[str, str]:
    """Return the GPUs of a node that each adapter is nearest to, in words, by name of the adapter."""
    of_name = grouped((name, str(at)) for at, names in near.items() for name in names)
    return {
        name: f"{plural_text(len(numbers), 'GPU')} {names_text(numbers, MOST_SHOWN)}"
        for name, numbers in of_name.items()
    }


def findings(nodes: Nodes, fabric: Sequence[str]) -> list[Finding]:
    """Return what stands out: devices that are missing or have fewer lanes, and GPUs that are at other
    adapters.

    :param nodes: of the job. :param fabric: patterns of the ports that the system's file names.
    """
    nodes = [node for node in nodes if node.whole]
    gpus = numbered(nodes)
    paths: Paths = defaultdict(dict)
    for node in nodes:
        for number, gpu in gpus.get(node.node, {}).items():
            paths[f"GPU {number}"][node.node] = gpu.path
        for name, port in adapters(node, fabric).items():
            paths[name][node.node] = port.path
    near = {
        host: {number: names_text(names, MOST_SHOWN) for number, names in of.items()}
        for host, of in nearest(gpus, nodes, fabric).items()
    }
    return [
        *_missing(nodes, paths, gpus),
        *_fewer_lanes(nodes, paths),
        *unlike_gpus(near, "is nearest to {}", "nearest adapters"),
    ]


def _missing(nodes: Nodes, paths: Paths, gpus: Gpus) -> Iterator[Finding]:
    """Yield a finding for each node that has lost devices during the case, and for each that has fewer than
    most."""
    count = usual({node.node: len(node.host.gpus) for node in nodes}) or 0
    on_most = {
        name: of
        for name, of in paths.items()
        if usual({node.node: node.node in of for node in nodes})
    }
    for node in nodes:
        host, how = node.node, "was there before the case and is missing after it"
        names = list(node.lost)
        if not names:
            how = "is missing, on most nodes it is there"
            own = len(node.host.gpus)
            which_is_unknown = own and host not in gpus
            names = [
                f"{name} ({next(iter(of.values()))[-1]})"
                for name, of in on_most.items()
                if host not in of and not (which_is_unknown and name.startswith("GPU "))
            ]
            if which_is_unknown:
                names.append(f"{count_text(count - own, 'GPU')} of {count}")
        if names:
            text = f"node {host}: {names_text(names, MOST_SHOWN)} {how}; look whether lspci lists it, and at"
            about = " ".join(name.partition(" (")[0] for name in names)
            yield finding(
                "host", [host], f"{text} the kernel's log", f"missing {about}"
            )


def _narrowest(
    path: Sequence[str], lanes: Mapping[str, int]
) -> tuple[int, int, str] | None:
    """Return the link with the fewest lanes on a path: their number, and its lower end."""
    links = [(lanes[at], -depth, at) for depth, at in enumerate(path) if at in lanes]
    return min(links, default=None)


def _fewer_lanes(nodes: Nodes, paths: Paths) -> Iterator[Finding]:
    """Yield a finding for each link of PCIe with fewer lanes than on most nodes, with the devices behind it.

    Its speed is no matter: an idle GPU lowers it. An adapter's own link is compared with the states of its
    port.
    """
    lanes = {node.node: node.host.lanes for node in nodes}
    behind: dict[tuple[str, str, int, int], list[str]] = defaultdict(list)
    for part, path_of in paths.items():
        links = {host: _narrowest(path, lanes[host]) for host, path in path_of.items()}
        known = {host: link for host, link in links.items() if link}
        most = usual({host: count for host, (count, *_) in known.items()}) or 0
        for host, (count, _, at) in known.items():
            if count < most and (part.startswith("GPU ") or at != path_of[host][-1]):
                behind[host, at, count, most].append(part)
    for (host, at, count, most), parts in behind.items():
        text = (
            f"node {host}: the PCIe link of {names_text(parts, MOST_SHOWN)} has {count_text(count, 'lane')}"
            f" at {at}, on most nodes {most}; look at its slot, riser or cable"
        )
        yield finding("host", [host], text, f"lanes at {at}")
