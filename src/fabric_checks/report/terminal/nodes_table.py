# SPDX-License-Identifier: BSD-3-Clause
"""Nodes as a table, and one with its history."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fabric_checks.comparison.nodes import Node
from fabric_checks.core.text import bytes_text, one_line, value_text

HEADS = ("system", "node", "last seen", "cases", "blamed", "failed", "share of bad cases", "others", "ports", "errors")


def cells(node: Node) -> tuple[str, ...]:
    """Return what a row of a table has, in the order of :data:`HEADS`; untrusted text is on one line."""
    share = node.bad / node.cases if node.cases else 0.0
    ports = ", ".join(
        name + (f" {value_text(port['rate_MBps'] / 125)} Gbit/s" if port["rate_MBps"] else "")
        for name, port in sorted(node.ports.items())
    )
    errors = ", ".join(f"{what} {count}" for what, count in sorted(node.errors.items(), key=lambda each: -each[1])[:3])
    found = (
        *(
            node.system,
            node.name,
            f"{node.last_seen:%Y-%m-%d %H:%M}",
            str(node.cases),
            str(node.blamed),
            str(node.failed),
        ),
        f"{100 * share:.0f} % ({100 * node.low:.0f} to {100 * node.high:.0f} %)" + (" <-" if node.stands_out else ""),
        "" if node.others is None else f"{100 * node.others:.0f} %",
        *(ports, errors),
    )
    return tuple(map(one_line, found))


def listed(nodes: Sequence[Node]) -> RenderableType:
    """Return all nodes as a table."""
    table = Table(box=None, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in ("cases", "blamed", "failed", "others") else "left")
    for node in nodes:
        table.add_row(*map(Text, cells(node)))
    notes = [
        "A case counts as bad for a node that it blames and, if it failed without blaming any, for all its nodes. In "
        "brackets: the 95 % confidence interval of the share."
    ]
    if any(node.stands_out for node in nodes):
        notes.append("<- worse than the other nodes of its system for certain.")
    return Group(table, *map(Text, ["", *notes]))


def history(node: Node) -> RenderableType:
    """Return a node with its ports, errors and bad cases, the latest first."""
    lines = [
        f"{node.name} of {node.system}: {node.cases} case{'s' * (node.cases != 1)} from {node.since:%Y-%m-%d %H:%M} to "
        f"{node.last_seen:%Y-%m-%d %H:%M}, blamed in {node.blamed}, {node.failed} failed"
    ]
    for name, port in sorted(node.ports.items()):
        rate = f"{value_text(port['rate_MBps'] / 125)} Gbit/s, " if port["rate_MBps"] else ""
        moved = f"{bytes_text(port['sent_B'])} sent, {bytes_text(port['received_B'])} received"
        lines.append(f"  {name}: {rate}{moved} in these cases")
    lines += [f"  {what}: {count} in these cases" for what, count in sorted(node.errors.items())]
    for event in reversed(node.events):
        lines += ["", f"{event.time:%Y-%m-%d %H:%M}  {event.case}", f"    {event.text}"]
    if not node.events:
        lines.append("  no case blames it, and none failed")
    return Group(*(Text(f"  {one_line(line.strip())}" if line.startswith("  ") else one_line(line)) for line in lines))
