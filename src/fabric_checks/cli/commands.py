# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``fabric-checks``: one module each, with its click command under the name ``command``."""

from __future__ import annotations

import difflib
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
    "nightly": (DAILY, "Run a level, judge it, archive it, and report what is new."),
    "vet": (DAILY, "Judge every node: good, slow or faulty."),
    "findings": (DAILY, "List the findings of nights that are open, and mark known ones."),
    "show": (DAILY, "Print the metrics of a run, or the nodes that runs used."),
    "report": (DAILY, "Write one HTML file about the machines in the results."),
    "compare": (CLOSER, "Compare sets of results with the first one."),
    "changes": (CLOSER, "Find when a metric's level changed, and what else changed."),
    "history": (CLOSER, "Plot a metric from run to run."),
    "blame": (CLOSER, "Name who is slow, by a matrix of pairs of any program."),
    "init": (REFERENCES, "Detect this machine, ask for the rest, write its files."),
    "doctor": (REFERENCES, "Say which checks run with settings of ReFrame, which not, why."),
    "references": (REFERENCES, "Propose references from history, and check the files."),
    "archive": (REFERENCES, "Add results to an archive."),
    "cost": ("", "Compute what a run would cost, for ci/run --cost."),
    "spack": ("", "Build the packages of spack-envs, or mirror their sources."),
    "run": ("", "Run ReFrame, with one line while it runs and one screen at its end."),
    "new-session": ("", "Print a name for a session."),
}


def verbs() -> dict[str, Verb]:
    """Return the verbs of the collection and of its plugins by name, in the order of the help."""
    found = {
        name: Verb(group, f"fabric_checks.cli.{name.replace('-', '_')}", text) for name, (group, text) in _OWN.items()
    }
    found |= {name: Verb(*entry) for name, entry in plugins.verbs().items()}
    order = {group: number for number, group in enumerate((*GROUPS, ""))}
    return dict(sorted(found.items(), key=lambda item: order.get(item[1].group, len(order))))


#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands are loaded when they are called, and print through the console."""

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
        """Return the entry of a command in lists, or None for an unknown name."""
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
        """Return the command that is called, and its remaining arguments."""
        if near := args and args[0] not in verbs() and difflib.get_close_matches(args[0], verbs(), 1):
            ctx.fail(f"no such command {args[0]!r}; did you mean {near[0]!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name)), rest


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    module = import_module(verbs()[name].module)
    command: click.Command = module.command if hasattr(module, "command") else getattr(module, name)
    return command
