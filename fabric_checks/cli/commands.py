# SPDX-License-Identifier: BSD-3-Clause
"""The commands of ``fabric-checks``, a module each, with what click needs to know of them under ``command``.

A module imports click and little else when it is loaded: the help of the whole loads them all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from fabric_checks import door

#: The modules of the commands by name, in the order of the help.
MODULES = {
    "show": "fabric_checks.cli.show",
    "history": "fabric_checks.cli.history",
    "references": "fabric_checks.cli.references",
    "cost": "fabric_checks.cli.cost",
    "report": "fabric_checks.cli.report",
    "archive": "fabric_checks.cli.archive",
    "compare": "fabric_checks.cli.compare",
    "changes": "fabric_checks.cli.changes",
    "nodes": "fabric_checks.cli.nodes",
    "rotate": "fabric_checks.cli.rotate",
    "twin": "fabric_twins.cli.twin",
    "twins-table": "fabric_twins.cli.twins_table",
    "twins-references": "fabric_twins.cli.twins_references",
    "spack": "fabric_checks.cli.spack",
    "child-pipeline": "fabric_checks.cli.child_pipeline",
    "completion": "fabric_checks.cli.completion",
    "nightly": "fabric_checks.cli.nightly",
    "new-session": "fabric_checks.cli.new_session",
}


#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands are loaded when they are asked for, and print through the door."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command."""
        with door.opened():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt ends it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            door.complain("error: interrupted")
            raise SystemExit(INTERRUPTED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of that name."""
        if cmd_name not in MODULES:
            return None
        command: click.Command = import_module(MODULES[cmd_name]).command
        return command
