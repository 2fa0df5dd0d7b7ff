# SPDX-License-Identifier: BSD-3-Clause
"""The nodes that runs have used, as a section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fabric_checks.comparison.nodes import Node
from fabric_checks.core.text import clean, value_text
from fabric_checks.report.blocks import Cell, Column, Section, Table

HEADS = (
    "system",
    "node",
    "last seen",
    "cases",
    "blamed",
    "failed",
    "share of bad cases",
    "others",
    "ports",
    "errors",
)
#: What the columns mean.
NOTES = (
    (
        "A case counts as bad for a node that it blames and, if it failed without blaming any, for all its"
        " nodes."
    ),
    "In brackets: the 95 % confidence interval of the share.",
)
#: More rows than this are no help: the worst come first.
MOST = 100


def cells(node: Node) -> tuple[str, ...]:
    """Return the row of a node, in the order of :data:`HEADS`; untrusted text is on one line."""
    share = node.bad / node.cases if node.cases else 0.0
    ports = (f"{name}{_rate(port)}" for name, port in sorted(node.ports.items()))
    errors = (f"{kind} {count}" for kind, count in sorted(node.errors.items(), key=lambda each: -each[1])[:3])
    found = (
        *(node.system, node.name, f"{node.last_seen:%Y-%m-%d %H:%M}"),
        *(str(node.cases), str(node.blamed), str(node.failed)),
        f"{100 * share:.0f} % ({100 * node.low:.0f} to {100 * node.high:.0f} %)"
        + (" <-" if node.stands_out else ""),
        "" if node.others is None else f"{100 * node.others:.0f} %",
        *(", ".join(ports), ", ".join(errors)),
    )
    return tuple(map(clean, found))


def _rate(port: Mapping[str, Any]) -> str:
    return f" {value_text(port['rate_MBps'] / 125)} Gbit/s" if port["rate_MBps"] else ""


def section(nodes: Sequence[Node]) -> Section:
    """Return a table of the nodes, the worst first."""
    rows = tuple((row[1], tuple(map(Cell, (row[0], *row[2:])))) for row in map(cells, nodes[:MOST]))
    columns = tuple(map(Column, (HEADS[0], *HEADS[2:])))
    more = (f"{len(nodes) - MOST} more are not listed.",) if len(nodes) > MOST else ()
    table = Table("nodes-table", "Nodes, the worst first", "node", columns, rows, more)
    return Section("nodes", "Nodes", (table,), (*NOTES, "<- is worse than the other nodes for certain."))
