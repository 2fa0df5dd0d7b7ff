# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twins-table``: published against simulated."""

from __future__ import annotations

import json

import click

from fabric_checks.core import console, files
from fabric_twins import published_table

_EPILOG = """
\b
Examples:
  fabric-checks twins-table            print it; the simulation takes minutes
  fabric-checks twins-table --write    into config/twins/README.md, for example after a change to a description
  fabric-checks twins-table --json
"""


@click.command("twins-table", epilog=_EPILOG)
@click.option("--write", is_flag=True, help="Write config/twins/README.md instead of printing it.")
@click.option("--json", "as_json", is_flag=True, help="Print the values as JSON.")
def command(write: bool, as_json: bool) -> None:
    """Simulate every value that the documents report for the twins, and print published beside simulated values."""
    twins = published_table.shipped()
    found = published_table.simulate_all(twins)
    if write:
        files.write_text(published_table.README, published_table.text(twins, found))
    if as_json:
        rows = [published_table.as_json(row) for row in published_table.rows(twins, found)]
        console.print_json(json.dumps(rows, indent=1))
    elif write:
        console.print(str(published_table.README))
    else:
        console.print_document(published_table.text(twins, found))
