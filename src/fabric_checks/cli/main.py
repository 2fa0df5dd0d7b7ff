# SPDX-License-Identifier: BSD-3-Clause
"""The command ``fabric-checks``."""

from __future__ import annotations

import signal
import sys

import click

from fabric_checks import __version__
from fabric_checks.cli.commands import Commands
from fabric_checks.cli.verb import FAILED, INTERRUPTED
from fabric_checks.core import console
from fabric_checks.core.errors import FabricError

_EPILOG = """
\b
Completion in bash, of ci/run as well: . ci/completion.bash
In zsh and fish, as for fish: _FABRIC_CHECKS_COMPLETE=fish_source fabric-checks | source
"""


@click.group(
    "fabric-checks",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
@click.version_option(__version__, prog_name="fabric-checks")
def cli() -> None:
    """Judge, compare and report what the checks measured."""


def main() -> None:
    """Run the command; an error that the user can fix is one line, not a traceback."""
    console.hold_descriptors()
    with console.opened():
        status = _status()
    if status == INTERRUPTED:
        # A second one would only disturb the end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(status)


def _status() -> int | str | None:
    """Run the command and return its exit status."""
    try:
        try:
            cli()
        except SystemExit as end:
            console.out().flush()
            return end.code
    except FabricError as error:
        console.error(f"error: {error}")
        return error.status
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        console.error(f"error: {path}{error.strerror or error}")
    return FAILED
