# SPDX-License-Identifier: BSD-3-Clause
"""Print nodes as a table, and one with its history."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fabric_checks.comparison.nodes import Node
from fabric_checks.core.text import bytes_text, count_text, one_line, value_text
from fabric_checks.report.sections.nodes import HEADS, NOTES, cells


def listed(nodes: Sequence[Node]) -> RenderableType:
    """Return all nodes as a table."""
    table = Table(box=None, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in ("cases", "blamed", "failed", "others") else "left")
    for node in nodes:
        table.add_row(*map(Text, cells(node)))
    notes = [" ".join(NOTES)]
    if any(node.stands_out for node in nodes):
        notes.append("<- worse than the other nodes of its system for certain.")
    return Group(table, *map(Text, ["", *notes]))


def history(node: Node) -> RenderableType:
    """Return a node with its ports, errors and bad cases, the latest first."""
    lines = [
        f"{node.name} of {node.system}: {count_text(node.cases, 'case')} from {node.since:%Y-%m-%d %H:%M} to "
        f"{node.last_seen:%Y-%m-%d %H:%M}, blamed in {node.blamed}, {node.failed} failed"
    ]
    for name, port in sorted(node.ports.items()):
        rate = f"{value_text(port['rate_MBps'] / 125)} Gbit/s, " if port["rate_MBps"] else ""
        moved = f"{bytes_text(port['sent_B'])} sent, {bytes_text(port['received_B'])} received"
        lines.append(f"  {name}: {rate}{moved} in these cases")
    lines += [f"  {kind}: {count} in these cases" for kind, count in sorted(node.errors.items())]
    for event in reversed(node.events):
        lines += ["", f"{event.time:%Y-%m-%d %H:%M}  {event.case}", f"    {event.text}"]
    if not node.events:
        lines.append("  no case blames it, and none failed")
    return Group(*(Text(f"  {one_line(line.strip())}" if line.startswith("  ") else one_line(line)) for line in lines))
