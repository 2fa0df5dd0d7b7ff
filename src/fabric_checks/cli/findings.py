# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks findings``: the open findings of nights, and their acknowledgement."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType

import click

from fabric_checks.cli import completion
from fabric_checks.cli.verb import Verbs, end_by, json_option, name_option, option
from fabric_checks.core import console, locks, paths
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.paths import sound_name
from fabric_checks.nightly import journal
from fabric_checks.nightly.model import Acknowledgement
from fabric_checks.nightly.plan import folder_of, journals
from fabric_checks.nightly.summary import as_dict, lines_of

_EPILOG = """
\b
Examples:
  fabric-checks findings                    of all systems that have had nights
  fabric-checks findings --system oak --json
"""
_ACKNOWLEDGE_EPILOG = """
\b
Examples:
  fabric-checks findings acknowledge 3fa1 --reason 'cable is ordered' --ticket HW-117 --until 2026-12-15
"""


class _Findings(Verbs):
    known_as = MappingProxyType(dict.fromkeys(("list", "ls", "show", "open"), ""))


@click.group("findings", cls=_Findings, epilog=_EPILOG, invoke_without_command=True)
@option("--system", "Only those of this system.", shell_complete=completion.systems)
@json_option
@click.pass_context
def command(context: click.Context, system: str | None, *, as_json: bool) -> None:
    """List the findings of nights that are still open: name, since when, and who has acknowledged each."""
    if context.invoked_subcommand:
        if system or as_json:
            raise click.UsageError(f"give options behind {context.invoked_subcommand}")
        return
    warnings: list[str] = []
    found = _open(system, warnings)
    if as_json:
        listed = {name: list(map(as_dict, entries)) for name, entries in found.items()}
        console.print_json({"open": listed, "faults": warnings})
    else:
        lines = [f"{name}: {line}" for name in found for line in lines_of(found[name])]
        console.print(*(lines or ["Nothing is open."]))
    end_by(warnings)


@command.command("acknowledge", epilog=_ACKNOWLEDGE_EPILOG)
@click.argument("name", metavar="FINDING", shell_complete=completion.findings)
@name_option("--reason", "Why it needs no attention.", required=True)
@name_option("--ticket", "The ticket of its repair.", required=True)
@option(
    "--until",
    "The last day of the acknowledgement (UTC).",
    required=True,
    type=click.DateTime(["%Y-%m-%d"]),
)
@option("--system", "The system of config/systems, if several have nights.")
def acknowledge(
    name: str, *, reason: str, ticket: str, until: datetime, system: str | None
) -> None:
    """Mark FINDING as known; name it as `fabric-checks findings` does, or by the beginning of that name.

    Nights then report it in one line and stay quiet about it until it gets worse, the day has passed, or it
    is repaired. The last acknowledgement counts: one until today ends another.
    """
    path, entry = _finding(name, system)
    now, day = datetime.now(timezone.utc), until.date()
    if day < now.date():
        raise click.UsageError(f"--until needs a day from today on: {day} has passed")
    journal.append(
        path,
        Acknowledgement(
            entry.id, entry.finding.sizes, " ".join(reason.split()), " ".join(ticket.split()), day,
            locks.user(os.geteuid()), now.isoformat(timespec="seconds"),
        ),
    )  # fmt: skip
    console.print(f"{entry.id} is quiet until {day}: {entry.finding.title}")


def _open(system: str | None, warnings: list[str]) -> dict[str, list[journal.Open]]:
    """Return the open findings of systems by name.

    :raises RecordError: if the one that is asked for has had no night.
    """
    results = paths.results().absolute()
    found = journal.all_open(results, warnings, system)
    if system and not found:
        folder = folder_of(results, sound_name("--system", system))
        raise RecordError(
            f"{folder}: no night of {system!r} has run here; start one with ci/nightly --system {system}"
        )
    return found


def _finding(name: str, system: str | None) -> tuple[Path, journal.Open]:
    known = journals(paths.results().absolute())
    found = [
        (known[of], entry)
        for of, entries in _open(system, []).items()
        for entry in entries
        if name and entry.id.startswith(name)
    ]
    if not found:
        raise RecordError(
            f"no finding {quoted(name)} is open; `fabric-checks findings` lists those that are"
        )
    if len(found) > 1:
        raise RecordError(
            f"{len(found)} findings begin with {quoted(name)}; give more of the name, or --system"
        )
    return found[0]
