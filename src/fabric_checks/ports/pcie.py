# SPDX-License-Identifier: BSD-3-Clause
"""GPUs, adapters and ranks by PCIe and NUMA nodes: which are near each other, and hosts unlike the others.

The path of a device in ``/sys`` names the bridges above it. An adapter is the nearer to a GPU the more of
them they share; where they share none, it is near if it is at the same NUMA node. ``lstopo`` shows the same
tree, and the classes of ``nvidia-smi topo -m`` (PIX, PXB, PHB, NODE, SYS) follow from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from operator import eq, itemgetter
from statistics import median

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import count_text, names_text, plural_text
from fabric_checks.parsers.placement import RankPlace, cpu_numbers
from fabric_checks.ports.counter_growth import NodeChange
from fabric_checks.ports.outliers import MOST_SHOWN, finding, grouped, nodes_text, unlike, unlike_gpus, usual
from fabric_checks.ports.snapshots import Gpu, Host, Port
from fabric_checks.ports.transport import is_idle, is_of

#: A rail is uneven if it carried less than this part of the median of the others, for each GPU: a limit of
#: our own. Where a node sends half in a ring, its neighbours carry 0.75.
UNEVEN_PART = 0.7

#: The GPUs by host and number.
Gpus = Mapping[str, Mapping[int, Gpu]]
#: The paths of devices on PCIe by host and name.
Parts = dict[str, dict[str, tuple[str, ...]]]
#: The names of the adapters that are nearest to a GPU, by host and number of the GPU.
Nearest = Mapping[str, Mapping[int, tuple[str, ...]]]


def numbered(nodes: Sequence[NodeChange]) -> Gpus:
    """Return the GPUs of each node by number, which is that of their addresses in order.

    Where some are missing, the others keep the numbers that they have on most nodes. A node is left out if it
    has more or fewer than most and it is unknown which.
    """
    addresses = {node.node: tuple(node.host.gpus) for node in nodes}
    most, count = usual(addresses) or (), usual({name: len(of) for name, of in addresses.items()})
    found = {}
    for node in nodes:
        own = addresses[node.node]
        order = most if set(own) <= set(most) else own
        if own and count in (None, len(order)):
            found[node.node] = {order.index(address): gpu for address, gpu in node.host.gpus.items()}
    return found


def adapters(node: NodeChange, fabric: Sequence[str]) -> dict[str, Port]:
    """Return the ports on PCIe that patterns name, or those of RDMA devices where there are no patterns."""
    ports = {name: change.port for name, change in node.ports.items() if change.port.path}
    return {
        name: port
        for name, port in ports.items()
        if (is_of(port, fabric) if fabric else port.kind != "interface")
    }


def nearest(gpus: Gpus, nodes: Sequence[NodeChange], fabric: Sequence[str]) -> Nearest:
    """Return the adapters nearest to each GPU: several if they are equally near, none if it is unknown."""
    ports = {node.node: adapters(node, fabric) for node in nodes}
    return {
        host: {number: _nearest(gpu, ports[host]) for number, gpu in of.items()} for host, of in gpus.items()
    }


def _nearest(gpu: Gpu, ports: Mapping[str, Port]) -> tuple[str, ...]:
    common = {name: sum(takewhile(bool, map(eq, gpu.path, port.path))) for name, port in ports.items()}
    if not any(common.values()):
        common = {name: int(port.numa is not None and port.numa == gpu.numa) for name, port in ports.items()}
    most = max(common.values(), default=0)
    return tuple(sorted(name for name, count in common.items() if count == most > 0))


def rails_of_gpus(near: Mapping[int, Sequence[str]]) -> dict[str, str]:
    """Return the GPUs of a node that each adapter is nearest to, in words, by name of the adapter."""
    found = {}
    for name, numbers in grouped((name, str(at)) for at, names in near.items() for name in names).items():
        found[name] = f"{plural_text(len(numbers), 'GPU')} {names_text(numbers, MOST_SHOWN)}"
    return found


def findings(nodes: Sequence[NodeChange], fabric: Sequence[str]) -> list[Finding]:
    """Return what stands out: devices that are missing or have fewer lanes, and GPUs that are at other
    adapters.

    :param nodes: of the job. :param fabric: patterns of the ports that the system's file names.
    """
    whole = [node for node in nodes if node.whole]
    gpus = numbered(whole)
    parts: Parts = {}
    for node in whole:
        parts[node.node] = {f"GPU {number}": gpu.path for number, gpu in gpus.get(node.node, {}).items()}
        parts[node.node] |= {name: port.path for name, port in adapters(node, fabric).items()}
    return [
        *_missing(whole, parts, gpus),
        *_fewer_lanes({node.node: node.host for node in whole}, parts),
        *unlike_gpus(
            {
                host: {number: names_text(names, MOST_SHOWN) for number, names in of.items()}
                for host, of in nearest(gpus, whole, fabric).items()
            },
            "is nearest to {}",
            "nearest adapters",
        ),
    ]


def _missing(nodes: Sequence[NodeChange], parts: Parts, gpus: Gpus) -> Iterator[Finding]:
    """Yield a finding for each node that has lost devices during the case, and for each that has fewer than
    most."""
    known = {name: path[-1] for of in parts.values() for name, path in of.items()}
    on_most = [name for name in known if usual({node: name in of for node, of in parts.items()})]
    count = usual({node.node: len(node.host.gpus) for node in nodes}) or 0
    for node in nodes:
        absent = [f"{name} ({known[name]})" for name in on_most if name not in parts[node.node]]
        if node.host.gpus and node.node not in gpus:  # which of them is unknown
            absent = [name for name in absent if not name.startswith("GPU ")]
            absent += _fewer(count - len(node.host.gpus), count)
        if node.lost:
            yield _lacking(node.node, node.lost, "was there before the case and is missing after it")
        elif absent:
            yield _lacking(node.node, absent, "is missing, on most nodes it is there")


def _fewer(missing: int, count: int) -> list[str]:
    return [f"{count_text(missing, 'GPU')} of {count}"] if missing > 0 else []


def _lacking(host: str, names: Sequence[str], how: str) -> Finding:
    about = " ".join(name.partition(" (")[0] for name in names)
    text = f"node {host}: {names_text(names, MOST_SHOWN)} {how}; look whether lspci lists it, and at the"
    return finding("host", [host], f"{text} kernel's log", f"missing {about}")


def _fewer_lanes(hosts: Mapping[str, Host], parts: Parts) -> Iterator[Finding]:
    """Yield a finding for each link of PCIe with fewer lanes than on most nodes, with the devices behind it.

    Its speed is no matter: an idle GPU lowers it. An adapter's own link is compared with the states of its
    port.
    """
    narrowest = {host: _narrowest(of, hosts[host].lanes) for host, of in parts.items()}
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for host, found in narrowest.items():
        for part, (count, _) in found.items():
            counts[part][host] = count
    most = {part: usual(of) or 0 for part, of in counts.items()}
    for host, found in narrowest.items():
        behind = grouped(
            ((at, count, most[part]), part)
            for part, (count, at) in found.items()
            if count < most[part] and (part.startswith("GPU ") or at != parts[host][part][-1])
        )
        for (at, count, wanted), devices in behind.items():
            text = (
                f"node {host}: the PCIe link of {names_text(devices, MOST_SHOWN)} has"
                f" {count_text(count, 'lane')} at {at}, on most nodes {wanted}; look at its slot, riser or"
                " cable"
            )
            yield finding("host", [host], text, f"lanes at {at}")


def _narrowest(parts: Mapping[str, Sequence[str]], lanes: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return the fewest lanes above each part, and the address of that link: of its two ends the lower
    one."""
    links = {part: [(lanes[at], at) for at in reversed(path) if at in lanes] for part, path in parts.items()}
    return {part: min(of, key=itemgetter(0)) for part, of in links.items() if of}


def uneven_rails(shares: Mapping[str, Mapping[str, float]], near: Nearest) -> list[Finding]:
    """Return a finding for each rail of a GPU that carried much less than those of the other GPUs of its
    node, while on most nodes they carried the same.

    Collectives between all GPUs use their rails alike. Rails that idle are another finding.

    :param shares: of the rails of a node, see :func:`.transport.rails`. :param near: see :func:`nearest`.
    """
    part = {host: _parts(of, near.get(host, {})) for host, of in shares.items()}
    low = {host: tuple(name for name in of if of[name] < UNEVEN_PART) for host, of in part.items() if of}
    if usual(low) != ():
        return []
    found = []
    uneven = ((name, host) for host, names in low.items() for name in names)
    for name, hosts in grouped(each for each in uneven if not is_idle(shares[each[1]], each[0])).items():
        least = min(part[host][name] for host in hosts)
        text = (
            f"{nodes_text(hosts)}: {name}, the rail of {rails_of_gpus(near[hosts[0]])[name]}, carried "
            f"{100 * least:.0f} % of what each rail of the other GPUs did; on most nodes they carried the"
            " same"
        )
        found.append(finding("rail", hosts, text, f"{name} uneven", port=name))
    return found


def _parts(shares: Mapping[str, float], near: Mapping[int, Sequence[str]]) -> dict[str, float]:
    """Return what each rail carried for a GPU, relative to the median of the other rails; nothing without
    others."""
    served: dict[str, float] = defaultdict(float)
    for names in near.values():
        for name in names:
            served[name] += 1 / len(names)
    load = {name: shares[name] / gpus for name, gpus in served.items() if name in shares}
    rest = {name: median([load[other] for other in load if other != name]) for name in load if len(load) > 1}
    return {name: load[name] / value for name, value in rest.items() if value > 0}


def far_ranks(
    nodes: Sequence[NodeChange], ranks: Sequence[RankPlace], gpus: Mapping[int, str]
) -> list[Finding]:
    """Return a finding for each host with ranks at other NUMA nodes than their GPU.

    It is one if the ranks of the same number on most hosts are near; that all hosts have ranks far from their
    GPUs is an observation.

    :param ranks: with the CPUs that they may use. :param gpus: the address of the GPU of each rank.
    """
    near, far = _near_and_far(nodes, ranks, gpus)
    found = []
    for host, other in unlike(near):
        count = [is_near for is_near, _ in other.values()].count(False)
        if count:
            text = f"node {host}: {far[host]}; near on most nodes ({count} of {len(near[host])} ranks)"
            found.append(finding("host", [host], text, "far ranks"))
    if not found and near and near.keys() == far.keys():
        host, text = next(iter(far.items()))
        text = f"on all nodes ranks run far from their GPUs: on {host} {text}"
        found.append(finding("host", sorted(near), text, "far ranks", severity=Severity.SUSPECT))
    return found


def _near_and_far(
    nodes: Sequence[NodeChange], ranks: Sequence[RankPlace], gpus: Mapping[int, str]
) -> tuple[dict[str, dict[int, bool]], dict[str, str]]:
    """Return whether each rank of a host is near, by its number there, and of each host the first that is
    not, in words; ranks of which it is unknown are left out."""
    near: dict[str, dict[int, bool]] = defaultdict(dict)
    far: dict[str, str] = {}
    of_node = grouped((rank.node.partition(".")[0], rank) for rank in ranks)
    for node in nodes:
        for number, rank in enumerate(of_node.get(node.node.partition(".")[0], ())):
            gpu = node.host.gpus.get(gpus.get(rank.rank, ""))
            homes = _homes(node.host, rank)
            if gpu and gpu.numa is not None and homes:
                near[node.node][number] = gpu.numa in homes
                if gpu.numa not in homes:
                    runs = names_text(sorted(map(str, homes)), MOST_SHOWN)
                    at = f"its GPU {gpu.path[-1]} is at NUMA node {gpu.numa}"
                    far.setdefault(node.node, f"rank {rank.rank} runs at NUMA node {runs}, {at}")
    return near, far


def _homes(host: Host, rank: RankPlace) -> set[int]:
    """Return the NUMA nodes whose CPUs a rank may use."""
    own = cpu_numbers(rank.cpus)
    return {numa for numa, cpus in host.numa_cpus.items() if not own.isdisjoint(cpu_numbers(cpus))}
