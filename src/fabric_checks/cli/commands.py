# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``fabric-checks``: one module each, with its click command under the name ``command``."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import click

from fabric_checks.core import console, plugins

DAILY, CLOSER, REFERENCES, PREDICT = "Every day", "Look closer", "References and offers", "Predict"
#: The groups of the help, in its order. Verbs of no group are not listed: scripts call them.
GROUPS = (DAILY, CLOSER, REFERENCES, PREDICT)


class Verb(NamedTuple):
    """A verb: its group, the module of its command, and the short help, so that lists load no module."""

    group: str
    module: str
    help: str


_OWN = {
    "nightly": Verb(DAILY, "fabric_checks.cli.nightly", "Run a level, judge it, archive it, and report what is new."),
    "vet": Verb(DAILY, "fabric_checks.cli.vet", "Judge every node: good, slow or faulty."),
    "findings": Verb(
        DAILY, "fabric_checks.cli.findings", "List the findings of nights that are open, and mark known ones."
    ),
    "show": Verb(DAILY, "fabric_checks.cli.show", "Print the metrics of a run, its nodes, or what runs cost."),
    "report": Verb(DAILY, "fabric_checks.cli.report", "Write one HTML file about the machines in the results."),
    "compare": Verb(CLOSER, "fabric_checks.cli.compare", "Compare sets of results with the first one."),
    "changes": Verb(CLOSER, "fabric_checks.cli.changes", "Find when a metric's level changed, and what else changed."),
    "history": Verb(CLOSER, "fabric_checks.cli.history", "Plot a metric from run to run."),
    "rotate": Verb(CLOSER, "fabric_checks.cli.rotate", "Analyse output of rotate: which node or path is slow."),
    "init": Verb(REFERENCES, "fabric_checks.cli.init", "Look at this machine, ask for the rest, write its files."),
    "references": Verb(
        REFERENCES, "fabric_checks.cli.references", "Propose references from history, and check the files."
    ),
    "archive": Verb(REFERENCES, "fabric_checks.cli.archive", "Add results to an archive."),
    "cost": Verb("", "fabric_checks.cli.cost", "Compute what a run would cost, for ci/run --cost."),
    "spack": Verb("", "fabric_checks.cli.spack", "Build the packages of spack-envs, or mirror their sources."),
    "completion": Verb("", "fabric_checks.cli.completion", "Print the shell completion script of fabric-checks."),
    "run": Verb("", "fabric_checks.cli.run", "Run ReFrame, with one line while it runs and one screen at its end."),
    "new-session": Verb("", "fabric_checks.cli.new_session", "Print a name for a session."),
}


def verbs() -> dict[str, Verb]:
    """Return the verbs of the collection and of its plugins by name, in the order of the help."""
    added = {name: Verb(*entry) for name, entry in plugins.verbs().items()}
    found = _OWN | added
    order = {group: number for number, group in enumerate((*GROUPS, ""))}
    return dict(sorted(found.items(), key=lambda item: order.get(item[1].group, len(order))))


#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands are loaded when they are asked for, and print through the console."""

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
        return list(verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return what lists show of a command, or None if there is none of that name."""
        verb = verbs().get(cmd_name)
        return verb and click.Command(cmd_name, short_help=verb.help, hidden=not verb.group)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs into the help, by group."""
        for group in GROUPS:
            rows = [(name, verb.help) for name, verb in verbs().items() if verb.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and what is left of its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name)), rest


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    module = import_module(verbs()[name].module)
    command: click.Command = module.command if hasattr(module, "command") else getattr(module, name)
    return command
