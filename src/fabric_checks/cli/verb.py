# SPDX-License-Identifier: BSD-3-Clause
"""What all verbs of ``fabric-checks`` have in common: exit statuses, their help, usage errors and shared
options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from fabric_checks.core import console

#: The exit statuses of all verbs: nothing wrong, the command itself failed, wrong usage, and something is
#: wrong.
DONE, FAILED, USAGE, FOUND = 0, 1, 2, 3
#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130

_MEANINGS = {
    DONE: "done",
    FAILED: "it failed: the line that begins with `error:` says why",
    USAGE: "wrong usage",
}
_SOURCE = (
    "A SOURCE is [LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]: a folder of results, an archive, a file of records"
    " or an offer, and which of its records; without one, the results of this clone."
)


class Verb(click.Command):
    """A command whose help states its exit statuses, and the form of the sources that it takes.

    :param statuses: what its exit statuses mean, where that is not what they mean everywhere.
    """

    def __init__(
        self, *args: Any, statuses: Mapping[int, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.statuses = dict(sorted((_MEANINGS | dict(statuses or {})).items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and what belongs to each verb."""
        super().format_epilog(ctx, formatter)
        if any(param.name in ("source", "sources") for param in self.params):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(_SOURCE)
        with formatter.section("Exit status"):
            formatter.write_dl(
                [(str(status), meaning) for status, meaning in self.statuses.items()]
            )


class Verbs(click.Group):
    """A group of verbs, whose errors have the form of all others."""

    command_class = Verb

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command; wrong usage is one line with the cause and where the help is."""
        run = partial(super().main, *args, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        with console.opened():
            raise SystemExit(_status(run))


def _status(run: Callable[[], object]) -> int:
    """Run a command; return its exit status."""
    try:
        status = run()
    except click.exceptions.NoArgsIsHelpError as error:
        console.print_document(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        console.error(f"error: {_usage_text(error)}")
        return error.exit_code
    except click.Abort:
        console.error("error: interrupted")
        return INTERRUPTED
    return status if isinstance(status, int) else DONE


def _usage_text(error: click.ClickException) -> str:
    """Return a message of click as one of ours: no capital, no full stop, and where to look."""
    text = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    see = (
        f"; see {context.command_path} --help"
        if context and not text.endswith("?")
        else ""
    )
    return f"{text[:1].lower()}{text[1:]}{see}"


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print everything as JSON."
)
csv_option = click.option(
    "--csv", "as_csv", is_flag=True, help="Print flat rows as CSV."
)
sources_argument = click.argument("sources", nargs=-1, metavar="[SOURCE...]")
link_rate_option = click.option(
    "--link-MBps",
    "link_MBps",
    type=click.FloatRange(min=0, min_open=True),
    help="The rate of a link in one direction, in MB/s (200 Gbit/s: 25000).",
)
#: Arguments that go on to another program.
passed_on = click.argument("options", nargs=-1, metavar="[-- OPTION...]")
