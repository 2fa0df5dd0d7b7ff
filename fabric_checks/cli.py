# SPDX-License-Identifier: BSD-3-Clause
"""The command ``fabric-checks``."""

from __future__ import annotations

import os
import sys

import click

from fabric_checks import __version__
from fabric_checks.commands import Commands
from fabric_checks.errors import FabricError


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabric-checks")
def cli() -> None:
    """Read and show what the checks measured."""


def main() -> None:
    """Run the command; what the user can mend is one line, not a trace."""
    try:
        cli()
    except FabricError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as head, has seen enough
        sys.exit(0)
    except OSError as error:
        click.echo(f"error: {error.filename or 'standard output'}: {error.strerror}", err=True)
        os._exit(1)  # what is still buffered cannot be written either
