# SPDX-License-Identifier: BSD-3-Clause
"""The nodes that runs have touched."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.comparison.nodes import Node
from fabric_checks.report.html.blocks import Cell, Column, Section, Table
from fabric_checks.report.html.values import clean
from fabric_checks.report.terminal.nodes_table import HEADS, cells

#: More rows than this are no help: the worst come first.
MOST = 100


def section(nodes: Sequence[Node]) -> Section:
    """Return a table of the nodes, the worst first."""
    rows = tuple(
        (clean(row[1]), tuple(Cell(clean(cell)) for cell in (row[0], *row[2:]))) for row in map(cells, nodes[:MOST])
    )
    columns = tuple(map(Column, (HEADS[0], *HEADS[2:])))
    more = (f"{len(nodes) - MOST} more are listed by `fabric-checks nodes`.",) if len(nodes) > MOST else ()
    blocks = (Table("nodes-table", "Nodes, the worst first", "node", columns, rows, more),) if rows else ()
    return Section(
        "nodes",
        "Nodes",
        blocks,
        (
            "A case counts as bad for a node that it blames and, if it failed without blaming any, for all its nodes.",
            "In brackets: the 95 % confidence interval of the share.",
            "<- is worse than the other nodes for certain.",
        ),
    )
