# SPDX-License-Identifier: BSD-3-Clause
"""GPUs, adapters and ranks by PCIe and NUMA nodes: which are near each other, and hosts unlike the others.

The path of a device in ``/sys`` names the bridges above it. An adapter is the nearer to a GPU the more of
them they share; where they share none, it is near if it is at the same NUMA node. ``lstopo`` shows the same
tree, and the classes of ``nvidia-smi topo -m`` (PIX, PXB, PHB, NODE, SYS) follow from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from operator import eq
from statistics import median

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import count_text, names_text, plural_text
from fabric_checks.parsers.placement import RankPlace, cpu_numbers
from fabric_checks.ports.counter_growth import NodeChange
from fabric_checks.ports.outliers import MOST_SHOWN, finding, grouped, nodes_text, unlike, usual
from fabric_checks.ports.snapshots import Gpu, Host, Port
from fabric_checks.ports.transport import IDLE_PART, is_of

#: A rail is uneven if it carried less than this part of the median of the others, for each GPU: a limit of
#: our own. Where a node sends half in a ring, its neighbours carry 0.75.
UNEVEN_PART = 0.7
#: Rails carried the same if none carried more than so many times what another did.
SAME_TIMES = 1.2

#: The GPUs by host and number.
Gpus = Mapping[str, Mapping[int, Gpu]]
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
    most = max(common.values(), default=0)
    if most:
        return tuple(sorted(name for name, count in common.items() if count == most))
    return tuple(
        sorted(name for name, port in ports.items() if port.numa is not None and port.numa == gpu.numa)
    )


def rails_of_gpus(near: Mapping[int, Sequence[str]]) -> dict[str, str]:
    """Return the GPUs of a node that each adapter is nearest to, in words, by name of the adapter."""
    return {name: _gpus_text(sorted(of)) for name, of in _served(near).items()}


def _served(near: Mapping[int, Sequence[str]]) -> dict[str, dict[int, float]]:
    """Return the share of each GPU that an adapter serves, by name of the adapter and number of the GPU."""
    found: dict[str, dict[int, float]] = {}
    for number, names in near.items():
        for name in names:
            found.setdefault(name, {})[number] = 1 / len(names)
    return found


def findings(nodes: Sequence[NodeChange], fabric: Sequence[str]) -> list[Finding]:
    """Return what stands out: devices that are missing or have fewer lanes, and GPUs that are at other
    adapters.

    :param nodes: of the job. :param fabric: patterns of the ports that the system's file names.
    """
    whole = [node for node in nodes if node.whole]
    gpus = numbered(whole)
    parts: dict[str, dict[str, tuple[str, ...]]] = {}
    for node in whole:
        parts[node.node] = {f"GPU {number}": gpu.path for number, gpu in gpus.get(node.node, {}).items()}
        parts[node.node] |= {name: port.path for name, port in adapters(node, fabric).items()}
    return [
        *_missing(whole, parts, gpus),
        *_fewer_lanes({node.node: node.host for node in whole}, parts),
        *_elsewhere(nearest(gpus, whole, fabric)),
    ]


def _missing(
    nodes: Sequence[NodeChange], parts: Mapping[str, Mapping[str, Sequence[str]]], gpus: Gpus
) -> list[Finding]:
    """Return a finding for each node that has lost devices during the case, and for each that has fewer than
    most."""
    on_most = _on_most(parts)
    count = usual({node.node: len(node.host.gpus) for node in nodes}) or 0
    found = []
    for node in nodes:
        absent = [f"{name} ({address})" for name, address in on_most.items() if name not in parts[node.node]]
        if node.host.gpus and node.node not in gpus:  # which of them is unknown
            others = [name for name in absent if not name.startswith("GPU ")]
            absent = [*_fewer(len(node.host.gpus), count), *others]
        if node.lost:
            text = f"{names_text(node.lost, MOST_SHOWN)} was there before the case and is missing after it"
            found.append(_lacking(node.node, node.lost, text))
        elif absent:
            text = f"{names_text(absent, MOST_SHOWN)} is missing, on most nodes it is there"
            found.append(_lacking(node.node, absent, text))
    return found


def _on_most(parts: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, str]:
    """Return the devices that most nodes have, each with its address."""
    known = {name: path[-1] for of in parts.values() for name, path in of.items()}
    return {name: at for name, at in known.items() if usual({node: name in of for node, of in parts.items()})}


def _fewer(gpus: int, most: int) -> list[str]:
    return [f"{count_text(most - gpus, 'GPU')} of {most}"] if gpus < most else []


def _lacking(host: str, parts: Sequence[str], text: str) -> Finding:
    names = " ".join(part.partition(" (")[0] for part in parts)
    remedy = "look whether lspci lists it, and at the kernel's log"
    return finding("host", [host], f"node {host}: {text}; {remedy}", f"missing {names}")


def _fewer_lanes(
    hosts: Mapping[str, Host], parts: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[Finding]:
    """Return a finding for each link of PCIe with fewer lanes than on most nodes, with the devices behind it.

    Its speed is no matter: an idle GPU lowers it. An adapter's own link is compared with the states of its
    port.
    """
    narrowest = {host: _narrowest(of, hosts[host].lanes) for host, of in parts.items()}
    most = {part: _usual_lanes(part, narrowest) for of in narrowest.values() for part in of}
    found = []
    for host, of in narrowest.items():
        behind = grouped(
            ((address, lanes, most[part]), part)
            for part, (lanes, address) in of.items()
            if lanes < most[part] and (part.startswith("GPU ") or address != parts[host][part][-1])
        )
        for (address, lanes, wanted), devices in behind.items():
            text = (
                f"node {host}: the PCIe link of {names_text(devices, MOST_SHOWN)} has"
                f" {count_text(lanes, 'lane')} at {address}, on most nodes {wanted}; look at its slot, riser"
                " or cable"
            )
            found.append(finding("host", [host], text, f"lanes at {address}"))
    return found


def _usual_lanes(part: str, narrowest: Mapping[str, Mapping[str, tuple[int, str]]]) -> int:
    return usual({host: of[part][0] for host, of in narrowest.items() if part in of}) or 0


def _narrowest(parts: Mapping[str, Sequence[str]], lanes: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """Return the fewest lanes above each part, and the address of that link: of its two ends the lower
    one."""
    links = {
        part: [(lanes[each], each) for each in reversed(path) if each in lanes]
        for part, path in parts.items()
    }
    return {part: min(of, key=lambda link: link[0]) for part, of in links.items() if of}


def _elsewhere(near: Nearest) -> list[Finding]:
    """Return a finding for each host whose GPUs are near other adapters than on most hosts."""
    known = {host: {number: names for number, names in of.items() if names} for host, of in near.items()}
    found = []
    for host, other in unlike(known):
        number, (names, most) = next(iter(other.items()))
        here, there = names_text(names, MOST_SHOWN), names_text(most, MOST_SHOWN)
        text = f"GPU {number} is nearest to {here}, on most nodes to {there}"
        if len(other) > 1:
            text += f" ({count_text(len(other), 'GPU')} of {len(near[host])} differ)"
        for names in {names: None for names, _ in other.values()}:
            sharing = [mate for mate, own in known[host].items() if own == names]
            if len(sharing) > len(names) and _are_apart(sharing, known):
                text = (
                    f"{_gpus_text(sharing)} share {names_text(names, MOST_SHOWN)}, on most nodes they do not"
                )
        found.append(finding("gpu", [host], f"node {host}: {text}", "nearest adapters"))
    return found


def _are_apart(gpus: Sequence[int], near: Nearest) -> bool:
    """Tell whether GPUs are near different adapters on most hosts."""
    usually = {usual({host: of[gpu] for host, of in near.items() if gpu in of}) for gpu in gpus}
    return len(usually) == len(gpus)


def _gpus_text(numbers: Sequence[int]) -> str:
    return f"{plural_text(len(numbers), 'GPU')} {names_text([str(number) for number in numbers], MOST_SHOWN)}"


def uneven_rails(shares: Mapping[str, Mapping[str, float]], near: Nearest) -> list[Finding]:
    """Return a finding for each rail of a GPU that carried much less than those of the other GPUs of its
    node.

    Collectives between all GPUs use their rails alike. It is a finding if the rails of most nodes carried the
    same, else an observation where all other rails of the node did. Rails that idle are another finding.

    :param shares: of the rails of a node, see :func:`.transport.rails`. :param near: see :func:`nearest`.
    """
    part = {host: _parts(of, _served(near.get(host, {}))) for host, of in shares.items()}
    low = {host: _low(of) for host, of in part.items() if of}
    most_even = usual(low) == ()
    uneven = grouped(
        (name, host)
        for host, names in low.items()
        if most_even or _others_even(part[host], names)
        for name in names
        if shares[host][name] >= IDLE_PART / len(shares[host])
    )
    found = []
    for name, hosts in uneven.items():
        least = min(part[host][name] for host in hosts)
        text = (
            f"{nodes_text(hosts)}: {name}, the rail of {rails_of_gpus(near[hosts[0]])[name]}, carried "
            f"{100 * least:.0f} % of what each rail of the other GPUs did"
        )
        severity = Severity.SUSPECT
        if most_even:
            text, severity = f"{text}; on most nodes they carried the same", Severity.FAULT
        found.append(finding("rail", hosts, text, f"{name} uneven", severity=severity, port=name))
    return found


def _low(parts: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(name for name, part in parts.items() if part < UNEVEN_PART)


def _others_even(parts: Mapping[str, float], names: Sequence[str]) -> bool:
    values = [value for name, value in parts.items() if name not in names]
    return max(values, default=1) <= SAME_TIMES * min(values, default=1)


def _parts(shares: Mapping[str, float], served: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """Return what each rail carried for a GPU, relative to the median of the other rails; nothing without
    others."""
    load = {name: shares[name] / sum(of.values()) for name, of in served.items() if name in shares}
    rest = {name: median([load[other] for other in load if other != name]) for name in load if len(load) > 1}
    return {name: load[name] / value for name, value in rest.items() if value > 0}


def far_ranks(
    nodes: Sequence[NodeChange],
    ranks: Sequence[RankPlace],
    fabric: Sequence[str],
    gpus: Mapping[int, str] | None = None,
) -> list[Finding]:
    """Return a finding for each host with ranks at other NUMA nodes than their GPU, or than every adapter.

    It is one if the ranks of the same number on most hosts are near; that all hosts have ranks far from their
    GPUs is an observation.

    :param ranks: with the CPUs that they may use. :param gpus: the address of the GPU of each rank, if known.
    """
    near: dict[str, dict[int, bool]] = {}
    where: dict[tuple[str, int], str] = {}
    of_node = _by_node(ranks)
    for node in nodes:
        at_adapters = {port.numa for port in adapters(node, fabric).values()}
        for number, rank in enumerate(of_node[node.node.partition(".")[0]]):
            gpu = node.host.gpus.get((gpus or {}).get(rank.rank, ""))
            targets = {gpu.numa} if gpu else set() if gpus else at_adapters
            homes = _homes(node.host, rank)
            if homes and targets and None not in targets:
                near.setdefault(node.node, {})[number] = not homes.isdisjoint(targets)
                where[node.node, number] = _where(rank, homes, gpu, targets)
    return _far_from_most(near, where) or (_all_far(near, where) if gpus else [])


def _far_from_most(
    near: Mapping[str, Mapping[int, bool]], where: Mapping[tuple[str, int], str]
) -> list[Finding]:
    found = []
    for host, other in unlike(near):
        far = [number for number, (is_near, _) in other.items() if not is_near]
        if far:
            text = (
                f"node {host}: {where[host, far[0]]}; near on most nodes ({len(far)} of {len(near[host])}"
                " ranks)"
            )
            found.append(finding("host", [host], text, "far ranks"))
    return found


def _by_node(ranks: Sequence[RankPlace]) -> dict[str, list[RankPlace]]:
    found: dict[str, list[RankPlace]] = defaultdict(list)
    for rank in ranks:
        found[rank.node.partition(".")[0]].append(rank)
    return found


def _homes(host: Host, rank: RankPlace) -> set[int]:
    """Return the NUMA nodes whose CPUs a rank may use."""
    own = cpu_numbers(rank.cpus)
    return {numa for numa, cpus in host.numa_cpus.items() if not own.isdisjoint(cpu_numbers(cpus))}


def _where(rank: RankPlace, homes: set[int], gpu: Gpu | None, targets: set[int | None]) -> str:
    what = f"its GPU {gpu.path[-1]}" if gpu else "every adapter"
    runs, there = (names_text(list(map(str, of)), MOST_SHOWN) for of in (sorted(homes), targets))
    return f"rank {rank.rank} runs at NUMA node {runs}, {what} is at NUMA node {there}"


def _all_far(near: Mapping[str, Mapping[int, bool]], where: Mapping[tuple[str, int], str]) -> list[Finding]:
    """Return the observation that ranks of all hosts are far from their GPUs."""
    if not near or any(all(of.values()) for of in near.values()):
        return []
    host, of = next(iter(near.items()))
    first = next(number for number in of if not of[number])
    text = f"on all nodes ranks run far from their GPUs: on {host} {where[host, first]}"
    return [finding("host", sorted(near), text, "far ranks", severity=Severity.SUSPECT)]
