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
    count = usual(_by_host(nodes)) or 0
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


def _by_host(nodes: Nodes) -> dict[str, int]:
    """Return how many GPUs each node has."""
    return {node.node: len(node.host.gpus) for node in nodes}


def _missing(nodes: Nodes, paths: Paths, gpus: Gpus) -> Iterator[Finding]:
    """Yield a finding for each node that has lost devices during the case, and for each that has fewer than
    most."""
    own = _by_host(nodes)
    count = usual(own) or 0
    on_most = {
        name: of
        for name, of in paths.items()
        if usual({host: host in of for host in own})
    }
    for node in nodes:
        host = node.node
        if node.lost:
            yield _gone(
                host, node.lost, "was there before the case and is missing after it"
            )
            continue
        # Of a node with GPUs that are not numbered it is unknown which of them are missing.
        is_unknown = own[host] > 0 and host not in gpus
        names = _absent(host, on_most, but_gpus=is_unknown)
        if is_unknown:
            names.append(f"{count_text(count - own[host], 'GPU')} of {count}")
        if names:
            verb = "is" if len(names) == 1 else "are"
            yield _gone(host, names, f"{verb} missing here but present on most nodes")


def _gone(host: str, names: Sequence[str], how: str) -> Finding:
    text = f"node {host}: {names_text(names, MOST_SHOWN)} {how}; look at lspci and"
    about = " ".join(name.partition(" (")[0] for name in names)
    return finding("host", [host], f"{text} the kernel's log", f"missing {about}")


def _absent(host: str, on_most: Paths, *, but_gpus: bool) -> list[str]:
    """Return the devices on most nodes that a host does not have, with an address that they have there."""
    return [
        f"{name} ({next(iter(of.values()))[-1]})"
        for name, of in on_most.items()
        if host not in of and not (but_gpus and name.startswith("GPU "))
    ]


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
    behind = grouped(
        (link, part)
        for part, path_of in paths.items()
        for link in _narrow(path_of, lanes, of_gpu=part.startswith("GPU "))
    )
    for (host, at, count, most), parts in behind.items():
        text = (
            f"node {host}: the PCIe link of {names_text(parts, MOST_SHOWN)} has {count_text(count, 'lane')}"
            f" at {at}, on most nodes {most}; look at its slot, riser or cable"
        )
        yield finding("host", [host], text, f"lanes at {at}")


def _narrow(
    path_of: Mapping[str, Sequence[str]],
    lanes: Mapping[str, Mapping[str, int]],
    *,
    of_gpu: bool,
) -> Iterator[tuple[str, str, int, int]]:
    """Yield the narrowest links above a device: host, lower end, lanes, and the lanes on most nodes."""
    links = {host: _narrowest(path, lanes[host]) for host, path in path_of.items()}
    most = usual({host: link[0] for host, link in links.items() if link}) or 0
    for host, link in links.items():
        if link and link[0] < most and (of_gpu or link[2] != path_of[host][-1]):
            yield host, link[2], link[0], most
