# SPDX-License-Identifier: BSD-3-Clause
"""The commands of ``fabric-checks``, one module each, with its click command under the name ``command``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from fabric_checks.core import console
from fabric_checks.core.plugins import verbs

#: The modules of the commands by name, in the order of the help, and what each does: the help of the whole, and the
#: shell's completion, load none of them.
MODULES = {
    "init": ("fabric_checks.cli.init", "Look at this machine, ask for the rest, write its files."),
    "show": ("fabric_checks.cli.show", "Print the metrics of a run."),
    "history": ("fabric_checks.cli.history", "Plot a metric from run to run."),
    "references": ("fabric_checks.cli.references", "Propose references from history, and check the files."),
    "cost": ("fabric_checks.cli.cost", "List what runs cost, and what was computed beforehand."),
    "report": ("fabric_checks.cli.report", "Write one HTML file about the machines in the results."),
    "archive": ("fabric_checks.cli.archive", "Add results to an archive."),
    "compare": ("fabric_checks.cli.compare", "Compare sets of results with the first one."),
    "changes": ("fabric_checks.cli.changes", "Find when a metric's level changed, and what else changed."),
    "nodes": ("fabric_checks.cli.nodes", "List the nodes that runs used, compared with each other."),
    "findings": ("fabric_checks.cli.findings", "List the open findings of nights; acknowledge one."),
    "rotate": ("fabric_checks.cli.rotate", "Analyse output of rotate: which node or path is slow."),
    "spack": ("fabric_checks.cli.spack", "Build the packages of spack-envs, or mirror their sources."),
    "child-pipeline": ("fabric_checks.cli.child_pipeline", "Print a child pipeline for GitLab, one job for each case."),
    "completion": ("fabric_checks.cli.completion", "Print the shell completion script of fabric-checks."),
    "nightly": ("fabric_checks.cli.nightly", "Run a level, judge it, archive it, and say what is new."),
    "vet": ("fabric_checks.cli.vet", "Say for every node whether it is good, slow or faulty."),
    "run": ("fabric_checks.cli.run", "Run ReFrame, with one line while it is under way and one screen at its end."),
    "new-session": ("fabric_checks.cli.new_session", "Print a name for a session."),
}
#: Those that the help does not list: scripts call them.
HIDDEN = {"new-session", "run"}


def all_verbs() -> dict[str, tuple[str, str]]:
    """Return the verbs of the collection and of its plugins: by name, the module and the short help."""
    return MODULES | verbs()


#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands are loaded when they are asked for, and print through the door."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command."""
        with console.opened():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an interrupt ends it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            console.error("error: interrupted")
            raise SystemExit(INTERRUPTED) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(all_verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return what lists show of a command, or None if there is none of that name."""
        if cmd_name not in all_verbs():
            return None
        return click.Command(cmd_name, short_help=all_verbs()[cmd_name][1], hidden=cmd_name in HIDDEN)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and what is left of its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name)), rest


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    module = import_module(all_verbs()[name][0])
    command: click.Command = module.command
    return command
