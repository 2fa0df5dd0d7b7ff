# SPDX-License-Identifier: BSD-3-Clause
"""The nodes that runs have used, as a section of the page."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.comparison.nodes import Node
from fabric_checks.core.text import clean
from fabric_checks.report.blocks import Cell, Column, Section, Table

_HEADS = (
    *("system", "last seen", "cases", "blamed", "failed"),
    *("share of bad cases", "others"),
)
_NOTES = (
    (
        "A case counts as bad for a node that it blames and, if it failed without blaming any, for all its"
        " nodes."
    ),
    "In brackets: the 95 % confidence interval of the share.",
    "<- is worse than the other nodes for certain.",
)
#: More rows than this are no help: the worst come first.
_MOST = 100


def section(nodes: Sequence[Node]) -> Section:
    """Return a table of the nodes, the worst first."""
    rows = tuple(
        (clean(node.name), tuple(map(Cell, _texts(node)))) for node in nodes[:_MOST]
    )
    more = (f"{len(nodes) - _MOST} more are not listed.",) if len(nodes) > _MOST else ()
    columns = tuple(map(Column, _HEADS))
    table = Table("nodes-table", "Nodes, the worst first", "node", columns, rows, more)
    return Section("nodes", "Nodes", (table,), _NOTES)


def _texts(node: Node) -> list[str]:
    """Return the cells of a node, in the order of the heads."""
    share = 100 * node.bad / node.cases if node.cases else 0.0
    found = (
        *(
            node.system,
            f"{node.last_seen:%Y-%m-%d %H:%M}",
            node.cases,
            node.blamed,
            node.failed,
        ),
        f"{share:.0f} % ({100 * node.low:.0f} to {100 * node.high:.0f} %){' <-' if node.stands_out else ''}",
        "" if node.others is None else f"{100 * node.others:.0f} %",
    )
    return list(map(clean, found))
