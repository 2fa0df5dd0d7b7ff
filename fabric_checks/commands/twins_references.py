# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twins-references``: the references of the twins."""

from __future__ import annotations

import click


@click.command("twins-references")
def command() -> None:
    """Write config/references/TWIN.yaml of every twin, from the figures in config/twins/TWIN.yaml."""
    from fabric_checks.twins import published_table, reference_file  # noqa: PLC0415  (slow to import)

    for each in published_table.shipped():
        path = reference_file.path(each)
        path.write_text(reference_file.text(each))
        click.echo(path)
