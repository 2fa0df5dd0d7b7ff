# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks nodes``: every node that any run has touched."""

from __future__ import annotations

import json

import click

from fabric_checks.cli import choosing
from fabric_checks.comparison import nodes
from fabric_checks.core import console
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.report.terminal import nodes_table

_EPILOG = """
\b
Examples:
  fabric-checks nodes                                  in the results of this clone; the worst first
  fabric-checks nodes --node n17                       what happened on it
  fabric-checks nodes /archive/2026,system=oak --json

\b
A SOURCE is [LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]; several are read as one.
Exit status: 0; 1 if records could not be used; 2 for wrong usage.
"""


@click.command("nodes", epilog=_EPILOG)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--node", "name", help="Show the history of this node.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(sources: tuple[str, ...], *, name: str | None, as_json: bool) -> None:
    """List the nodes: last seen, ports and errors, and in how many cases each was blamed, against the others."""
    loaded = choosing.load(sources, nodes.COLUMNS)
    found = nodes.nodes_of(loaded.frame)
    if name is not None:
        found = [node for node in found if node.name == name]
        if not found:
            raise RecordError(f"no case ran on a node {quoted(name)}; `fabric-checks nodes` lists the nodes there are")
    console.warn(loaded.faults)
    if as_json:
        console.print_json(json.dumps({"nodes": [node.as_dict() for node in found], "faults": loaded.faults}, indent=1))
    elif name is None:
        console.print_rich([nodes_table.listed(found)])
    else:
        console.print_rich([nodes_table.history(node) for node in found])
    if loaded.faults:
        raise SystemExit(1)
