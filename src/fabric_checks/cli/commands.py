# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``fabric-checks``: one module each, with its click command under the name ``command``."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from fabric_checks.cli.verb import FOUND, Verbs
from fabric_checks.core import plugins

#: The groups of the help, in its order. Verbs of no group are not listed: scripts call them.
GROUPS = ("Every day", "Look closer", "Set up a site", "Exchange results", "Predict")
#: The verbs of the collection: by name the group and the short help.
_VERBS = Path(__file__).with_name("verbs.json")


class Verb(NamedTuple):
    """A verb: its group, the module of its command, and the short help, so that lists load no module."""

    group: str
    module: str
    help: str


def verbs() -> dict[str, Verb]:
    """Return the verbs of the collection and of its plugins by name, in the order of the help."""
    found = {
        name: Verb(group, f"fabric_checks.cli.{name.replace('-', '_')}", text)
        for name, (group, text) in json.loads(_VERBS.read_text()).items()
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
