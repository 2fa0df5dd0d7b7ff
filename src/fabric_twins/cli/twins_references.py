# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twins-references``: the references of the twins."""

from __future__ import annotations

import json

import click

from fabric_checks.core import console, files
from fabric_twins import published_table, reference_file

_EPILOG = """
\b
Examples:
  fabric-checks twins-references           for example after a change to a description
  fabric-checks twins-references --json    also list the files as JSON
"""


@click.command("twins-references", epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print the names of the files as a JSON array.")
def command(as_json: bool) -> None:
    """Write config/references/TWIN.yaml of every twin, from the values in config/twins/TWIN.yaml."""
    paths = []
    for each in published_table.shipped():
        path = reference_file.path(each)
        files.write_text(path, reference_file.text(each))
        paths.append(str(path))
    if as_json:
        console.print_json(json.dumps(paths, indent=1))
    else:
        console.print(*paths)
