# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``fabric-checks``: one module each, with its click command under the name ``command``."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from fabric_checks.cli.verb import FOUND, Verbs
from fabric_checks.core import plugins

DAILY, CLOSER, SITE = "Every day", "Look closer", "Set up a site"
#: The groups of the help, in its order. Verbs of no group are not listed: scripts call them.
GROUPS = (DAILY, CLOSER, SITE, "Exchange results", "Predict")


class Verb(NamedTuple):
    """A verb: its group, the module of its command, and the short help, so that lists load no module."""

    group: str
    module: str
    help: str


_OWN = {
    "nightly": (DAILY, "Run a level, judge it, and report what is new."),
    "vet": (DAILY, "Check the health of every node: good, slow or faulty."),
    "findings": (
        DAILY,
        "List the open findings of nights, and acknowledge known ones.",
    ),
    "show": (DAILY, "Show the metrics of a run, or list the runs."),
    "report": (DAILY, "Write one HTML file about the machines in the results."),
    "compare": (CLOSER, "Compare sets of results with a baseline."),
    "changes": (
        CLOSER,
        "Find when the level of a metric changed, and what else changed.",
    ),
    "blame": (CLOSER, "Find slow nodes and links in any all-pairs matrix."),
    "demo": (SITE, "Show how a slow node is named, from saved results."),
    "init": (SITE, "Detect this machine and write its configuration."),
    "doctor": (
        SITE,
        "Show which checks your ReFrame settings enable, and why others are skipped.",
    ),
    "references": (SITE, "Propose references from history, and check reference files."),
    "cost": ("", "Estimate what a run will cost, for ci/run --cost."),
    "spack": ("", "Build the packages of spack-envs, or mirror their sources."),
    "run": ("", "Run ReFrame, show its progress, and end with one screen."),
}


def verbs() -> dict[str, Verb]:
    """Return the verbs of the collection and of its plugins by name, in the order of the help."""
    found = {
        name: Verb(group, f"fabric_checks.cli.{name.replace('-', '_')}", text)
        for name, (group, text) in _OWN.items()
    }
    found |= {name: Verb(*entry) for name, entry in plugins.verbs().items()}
    order = {group: number for number, group in enumerate((*GROUPS, ""))}
    return dict(
        sorted(found.items(), key=lambda item: order.get(item[1].group, len(order)))
    )


class Commands(Verbs):
    """The group of all verbs, which are loaded when they are called."""

    known_as = MappingProxyType(
        {
            **dict.fromkeys(("list", "ls", "runs", "sessions"), "show --list"),
            "accept": "offers accept",
            "clauses": "offers accept",
            "diff": "compare",
            "help": "--help",
            "version": "--version",
        }
    )
    statuses = MappingProxyType(
        {**Verbs.statuses, FOUND: "something is wrong: the help of each verb says what"}
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {
            name: click.Command(name, short_help=verb.help, hidden=not verb.group)
            for name, verb in verbs().items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(self.commands)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the verbs into the help, by group."""
        for group in GROUPS:
            rows = [
                (name, verb.help)
                for name, verb in verbs().items()
                if verb.group == group
            ]
            with formatter.section(group):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and its remaining arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(str(name)), rest


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    module = import_module(verbs()[name].module)
    command: click.Command = vars(module).get("command") or getattr(module, name)
    return command
