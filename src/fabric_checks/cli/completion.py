# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks completion``: what makes the shell complete commands and options."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from fabric_checks.core import console

_EPILOG = """
\b
Examples:
  eval "$(fabric-checks completion bash)"       in this shell, or in ~/.bashrc
  eval "$(fabric-checks completion zsh)"        the same in ~/.zshrc
  fabric-checks completion fish > ~/.config/fish/completions/fabric-checks.fish
"""
_SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog=_EPILOG)
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
def command(shell: str | None) -> None:
    """Print the script that makes bash, zsh or fish complete fabric-checks; without a name, the one for $SHELL."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name)
    if name not in _SHELLS or kind is None:
        raise click.UsageError(f"Which shell? Give one of {', '.join(_SHELLS)}.")
    root = click.get_current_context().find_root()
    # The script asks the command itself, by this variable.
    console.print_document(kind(root.command, {}, "fabric-checks", "_FABRIC_CHECKS_COMPLETE").source())
