# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of the ports of a job: findings, the disproof that fails a case, and the part of its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_checks.core.finding import Finding
from fabric_checks.parsers.placement import RankPlace
from fabric_checks.ports import errors, events, states, tcp, transport
from fabric_checks.ports.counter_growth import NodeChange, Nodes
from fabric_checks.ports.transport import Shares


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a case.

    :param findings: what the ports and hosts show. :param disproof: why the case fails, or None.
    :param record: the part of its record: plain data. ``nodes`` has ``sent_B``, ``received_B``, ``rate_MBps``
        and ``errors`` by node and port, for the ports that moved something or counted an error; ``carried_B``
        the bytes that all nodes sent, by port; ``moved_B`` those of which the program knows; ``fabric`` the
        patterns; ``rails`` the shares of a node's rails.
    """

    findings: list[Finding]
    disproof: str | None
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
    findings = [
        *errors.port_errors(nodes),
        *tcp.lost_segments(nodes),
        *states.missing_devices(nodes),
        *events.of_nodes(nodes, failed=failed),
        *states.outliers(nodes, bindings or {}),
        *states.slow_links(nodes, link_MBps, fabric),
        *transport.low_rails(_used(shares, nodes, ranks)),
        *states.high_loads(nodes),
        *transport.unproven(nodes, unknown, fabric),
    ]
    whole = () if unknown else nodes  # of a part of the nodes nothing is proven
    disproof = transport.disproof(whole, fabric, moved_B)
    record = {
        "nodes": {node.node: _ports_of(node) for node in nodes},
        "carried_B": transport.sent_by_port(nodes),
        "moved_B": moved_B,
        "fabric": list(fabric),
        "rails": {
            node: {name: round(share, 4) for name, share in of.items()}
            for node, of in shares.items()
        },
    }
    return Evaluation(findings, disproof, record)


def _used(shares: Shares, nodes: Nodes, ranks: Sequence[RankPlace]) -> Shares:
    """Return the shares of rails without nodes with fewer ranks than GPUs: not all of their rails need to be
    in use."""
    gpus_of = {node.node: len(node.host.gpus) for node in nodes}
    ranks_of = Counter(rank.node.partition(".")[0] for rank in ranks)
    return {
        node: of
        for node, of in shares.items()
        if not 0 < ranks_of[node.partition(".")[0]] < gpus_of[node]
    }


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
