# SPDX-License-Identifier: BSD-3-Clause
"""Proof that the intended network carried the bytes of a case, and the shares of a node's rails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import median

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import bytes_text, names_text, plural_text
from fabric_checks.ports.counter_growth import (
    Nodes,
    PortChange,
    port_changes,
)
from fabric_checks.ports.outliers import finding, grouped, nodes_text
from fabric_checks.ports.snapshots import Port

#: The named network has to carry this share of the expected bytes; docs/ports.md has measurements.
PROVEN_SHARE = 0.9
#: Without expected bytes, the share of all that crossed the ports, of at least so many bytes: traffic of a
#: batch system and of a file system is included.
CARRIED_SHARE, ENOUGH_B = 0.5, 10_000_000
#: A rail idles if it carried less than this part of its even share. It is uneven if its share is less than
#: this part of the median of all nodes: a limit of our own. Where a node sends half in a ring, its neighbours
#: carry 0.75.
IDLE_PART, UNEVEN_PART = 0.1, 0.7

#: The share of each rail of a node in what its rails moved, by node and rail.
Shares = Mapping[str, Mapping[str, float]]


def is_of(port: Port, patterns: Sequence[str]) -> bool:
    """Tell whether a port is one that patterns such as ``mlx5_*``, ``hsn*`` or ``eth0`` name, by any of its
    names."""
    names = {port.name, port.name.partition(":")[0], *port.aliases}
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def named(nodes: Nodes, fabric: Sequence[str]) -> list[tuple[str, str, PortChange]]:
    """Return node, name and activity of each port that patterns name."""
    return list(port_changes(nodes, lambda port: is_of(port, fabric)))


def _own(nodes: Nodes) -> Iterator[tuple[str, str, PortChange]]:
    """Yield the ports but for those whose bytes count for another."""
    return port_changes(nodes, lambda port: not port.stacked)


def sent_by_port(nodes: Nodes) -> dict[str, int]:
    """Return how many bytes all nodes sent through the ports of a name; those that count for another are left
    out."""
    sent = Counter[str]()
    for _, name, change in _own(nodes):
        sent[name] += change.sent_B or 0
    return {name: count for name, count in sent.most_common() if count}


def disproof(nodes: Nodes, fabric: Sequence[str], moved_B: int | None) -> str | None:
    """Return why the named network did not carry what was measured, in a line; None if it did, or it is
    unknown.

    :param fabric: patterns of ports. :param moved_B: bytes that the nodes sent to each other, by the
        program's output.
    """
    if not all((nodes, fabric, moved_B != 0)):
        return None
    ports = named(nodes, fabric)
    if without := sorted({node.node for node in nodes} - {host for host, *_ in ports}):
        return _no_port(nodes, without, fabric)
    counts = [change.sent_B for *_, change in ports]
    if None in counts:  # then nothing is proven: :func:`unproven`
        return None
    by_fabric = sum(filter(None, counts))
    others = _others(nodes, ports)
    if by_fabric >= _enough_B(by_fabric, sum(others.values()), moved_B):
        return None
    carried = bytes_text(by_fabric) if by_fabric else "none"
    return _elsewhere(nodes, others, f"{carried} over {names_text(fabric)}", moved_B)


def _others(
    nodes: Nodes, ports: Sequence[tuple[str, str, PortChange]]
) -> dict[str, int]:
    """Return how many bytes all nodes sent through other ports."""
    names = {name for _, name, _ in ports}
    return {
        name: sent for name, sent in sent_by_port(nodes).items() if name not in names
    }


def _no_port(nodes: Nodes, without: Sequence[str], fabric: Sequence[str]) -> str:
    has = sorted({name for _, name, _ in _own(nodes)})
    return (
        f"{nodes_text(without)} {plural_text(len(without), 'has', 'have')} no port {names_text(fabric)},"
        f" only {names_text(has)}; is the driver loaded, and is `fabric` in the partition's extras right?"
    )


def _elsewhere(
    nodes: Nodes,
    others: Mapping[str, int],
    by_fabric: str,
    moved_B: int | None,
) -> str:
    """Return what other ports carried."""
    ways = [
        f"{bytes_text(count)} went over {name}" for name, count in [*others.items()][:2]
    ]
    went = f"{', '.join(ways) or 'nothing went over another port'}, {by_fabric}"
    if moved_B is not None:
        went += f"; the program moved {bytes_text(moved_B)} between nodes"
        if sum(others.values()) < PROVEN_SHARE * moved_B:
            return f"{went}: no port of these nodes counted them; is there one that `ports` does not know?"
    name = next(iter(others))
    kinds = {node.ports[name].port.kind for node in nodes if name in node.ports}
    return f"{went}: MPI uses {'TCP' if kinds == {'interface'} else 'another network'}"


def _enough_B(by_fabric: int, by_others: int, moved_B: int | None) -> float:
    """Return how many bytes prove that the named network carried what was measured."""
    if moved_B is not None:
        return PROVEN_SHARE * moved_B
    return CARRIED_SHARE * (by_fabric + by_others) if by_others >= ENOUGH_B else 0


def unproven(
    nodes: Nodes, unknown: Mapping[str, str], fabric: Sequence[str]
) -> list[Finding]:
    """Return the findings that prove nothing: nodes without counters, and ports of the named network that do
    not count their bytes.

    :param unknown: why a node's ports are not known, by its name.
    """
    whys = [
        (f"nothing is known about the ports: {why}", host)
        for host, why in unknown.items()
    ]
    whys += [
        (
            f"it is not proven what carried the bytes: {name} does not count what it sent, or was reset",
            host,
        )
        for host, name, change in named(nodes, fabric)
        if change.sent_B is None
    ]
    return [
        finding(
            "wire",
            hosts,
            f"{nodes_text(hosts)}: {why}",
            "unknown",
            severity=Severity.NOTE,
        )
        for why, hosts in grouped(whys).items()
    ]


def rails(nodes: Nodes, fabric: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the share of each rail of a node in what its rails moved; nothing for nodes with one rail, or
    none named.

    :param fabric: patterns of the ports that are rails. A port that only other nodes of the job have is a
        rail that carries nothing.
    """
    ports = named(nodes, fabric)
    names = sorted({name for _, name, _ in ports})
    moved = {node.node: dict.fromkeys(names, 0) for node in nodes}
    for host, name, change in ports:
        moved[host][name] = (change.sent_B or 0) + (change.received_B or 0)
    return {
        host: {name: count / sum(of.values()) for name, count in of.items()}
        for host, of in moved.items()
        if len(names) > 1 and sum(of.values()) >= ENOUGH_B
    }


def low_rails(shares: Shares) -> list[Finding]:
    """Return a finding for each rail that carried next to nothing while another did, or much less than on
    most nodes.

    :param shares: what :func:`rails` returns.
    """
    usual_of, low = _low(shares)
    found = []
    for (name, is_idle), hosts in low.items():
        of = shares[hosts[0]]
        best = max(of, key=of.__getitem__)
        who = "all nodes" if 2 < len(hosts) == len(shares) else nodes_text(hosts)
        what, usual = (
            ("is idle: it carried", "")
            if is_idle
            else ("carried", f"; on most nodes it carried {100 * usual_of[name]:.2g} %")
        )
        text = (
            f"{who}: {name} {what} {100 * of[name]:.2g} % of what the {len(of)} rails of a node moved, {best}"
            f" {100 * of[best]:.0f} %{usual}"
        )
        about = f"{name} {'idle' if is_idle else 'uneven'}"
        found.append(finding("rail", hosts, text, about, port=name))
    return found


def _low(
    shares: Shares,
) -> tuple[dict[str, float], dict[tuple[str, bool], list[str]]]:
    """Return the usual share of each rail, and the nodes of those that are low, by name and whether they
    idle."""
    of_rail = grouped(
        (name, share) for of in shares.values() for name, share in of.items()
    )
    usual_of = {name: median(every) for name, every in of_rail.items()}
    uneven = UNEVEN_PART if len(shares) > 2 else 0
    low = []
    for node, of in shares.items():
        idle = IDLE_PART / len(of)
        low += [
            ((name, of[name] < idle), node)
            for name in of
            if of[name] < max(idle, uneven * usual_of[name])
        ]
    return usual_of, grouped(low)
