# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of the ports of a job: findings, the disproof that fails a case, and the part of its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_checks.core.finding import Finding
from fabric_checks.parsers.placement import RankPlace
from fabric_checks.ports import errors, events, pcie, states, tcp, transport
from fabric_checks.ports.counter_growth import NodeChange, Nodes
from fabric_checks.ports.transport import Shares


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a case.

    :param findings: what the ports and hosts show. :param disproof: why the case fails, or None.
    :param values: of the metrics :data:`.transport.OF_RAILS`, if there are rails.
    :param record: the part of its record: plain data. ``nodes`` has ``sent_B``, ``received_B``, ``rate_MBps``
        and ``errors`` by node and port, for the ports that moved something or counted an error; ``carried_B``
        the bytes that all nodes sent, by port; ``moved_B`` those of which the program knows; ``fabric`` the
        patterns; ``rails`` the shares of a node's rails, and ``slowest_ms`` the longest snapshot. Where nodes
        have GPUs, ``gpus`` has the adapters nearest to each, by node and number.
    """

    findings: list[Finding]
    disproof: str | None
    values: dict[str, float]
    record: dict[str, Any]


def evaluate(
    nodes: Nodes,
    unknown: Mapping[str, str],
    *,
    fabric: Sequence[str] = (),
    link_MBps: float | None = None,
    moved_B: int | None = None,
    bindings: Mapping[str, str] | None = None,
    ranks: Sequence[RankPlace] = (),
    failed: bool = False,
) -> Evaluation:
    """Evaluate the ports of a case.

    :param nodes: those whose activity is known. :param unknown: why another node's is not, by its name.
    :param fabric: patterns of the ports that the system's file names. :param link_MBps: the rate of a link.
    :param moved_B: bytes that the nodes sent to each other, as the program states.
    :param bindings: of ranks to CPUs, by node. :param ranks: with their nodes and CPUs.
    :param failed: whether the program failed, so that all that the kernel logged is of interest.
    """
    shares = transport.rails(nodes, fabric)
    near = pcie.nearest(pcie.numbered(nodes), nodes, fabric)
    used = _used(shares, near, ranks)
    findings = [
        *errors.port_errors(nodes),
        *tcp.lost_segments(nodes),
        *pcie.findings(
            nodes, fabric
        ),  # before the ports, whose NUMA nodes follow from it
        *events.nvlinks(nodes),
        *events.kernel_messages(nodes, failed=failed),
        *states.outliers(nodes, bindings or {}),
        *states.slow_links(nodes, link_MBps, fabric),
        *transport.low_rails(
            used, {host: pcie.rails_of_gpus(of) for host, of in near.items()}
        ),
        *states.high_loads(nodes),
        *transport.unproven(nodes, unknown, fabric),
    ]
    whole = () if unknown else nodes  # of a part of the nodes nothing is proven
    disproof = transport.disproof(whole, fabric, moved_B)
    record = _record(nodes, shares, near) | {"moved_B": moved_B, "fabric": list(fabric)}
    return Evaluation(findings, disproof, transport.rail_values(shares), record)


def _used(shares: Shares, near: pcie.Nearest, ranks: Sequence[RankPlace]) -> Shares:
    """Return the shares of rails without nodes with fewer ranks than GPUs: not all of their rails need to be
    in use."""
    ranks_of = Counter(rank.node.partition(".")[0] for rank in ranks)
    return {
        node: of
        for node, of in shares.items()
        if not 0 < ranks_of[node.partition(".")[0]] < len(near.get(node, {}))
    }


def _record(nodes: Nodes, shares: Shares, near: pcie.Nearest) -> dict[str, Any]:
    record: dict[str, Any] = {
        "nodes": {node.node: _ports_of(node) for node in nodes},
        "carried_B": transport.sent_by_port(nodes),
        "rails": {
            node: {name: round(share, 4) for name, share in of.items()}
            for node, of in shares.items()
        },
        "slowest_ms": max((node.slowest_ms for node in nodes), default=None),
    }
    if near:
        record["gpus"] = {
            host: {str(at): list(names) for at, names in of.items()}
            for host, of in near.items()
        }
    return record


def _ports_of(node: NodeChange) -> dict[str, dict[str, Any]]:
    """Return the ports of a node that moved something or counted an error."""
    kept: dict[str, dict[str, Any]] = {}
    for name, change in sorted(node.ports.items()):
        sent_B, received_B, port = change.sent_B, change.received_B, change.port
        grown = errors.errors_of(change)
        if grown or (not port.stacked and (sent_B or received_B)):
            kept[name] = {
                "sent_B": sent_B,
                "received_B": received_B,
                "rate_MBps": port.rate_MBps,
            }
            kept[name] |= {"errors": grown} if grown else {}
    return kept
