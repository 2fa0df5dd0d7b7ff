# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twins-table``: published against simulated."""

from __future__ import annotations

import click


@click.command("twins-table")
@click.option("--write", is_flag=True, help="Write config/twins/README.md instead of printing it.")
def command(write: bool) -> None:
    """Simulate every figure that the documents report of the twins, and print published against simulated."""
    from fabric_checks.twins import published_table  # noqa: PLC0415  (slow to import)

    twins = published_table.shipped()
    text = published_table.text(twins, published_table.simulate_all(twins))
    if write:
        published_table.README.write_text(text)
    click.echo(published_table.README if write else text, nl=write)
