# SPDX-License-Identifier: BSD-3-Clause
"""What all verbs of ``fabric-checks`` have in common: exit statuses, their help, usage errors and shared
options."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from fabric_checks.cli import completion
from fabric_checks.core import console

#: The exit statuses of all verbs: nothing wrong, the command itself failed, wrong usage, and something is
#: wrong.
DONE, FAILED, USAGE, FOUND = 0, 1, 2, 3
#: The exit status of a command that was interrupted, as shells have it.
INTERRUPTED = 130

#: What the second means to verbs that read records.
UNUSABLE = "some records could not be used: each is named"

#: What adds an option to a command.
Option = Callable[[Any], Any]

_MEANINGS = {
    DONE: "done",
    FAILED: "it failed: the line that begins with `error:` says why",
    USAGE: "wrong usage",
}
_SOURCE = (
    "A SOURCE is [LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]: a folder of results, a file of records or an"
    " offer, and which of its records; without one, the results of this clone."
)


class _Helped(click.Command):
    """A command whose help states its exit statuses, and the form of the sources that it takes."""

    statuses: Mapping[int, str] = _MEANINGS

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence, however long it is."""
        return super().get_short_help_str(3 * limit)

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


class Verb(_Helped):
    """A command.

    :param statuses: what its exit statuses mean, where that is not what they mean everywhere.
    """

    def __init__(
        self, *args: Any, statuses: Mapping[int, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.statuses = dict(sorted((_MEANINGS | dict(statuses or {})).items()))


class Verbs(_Helped, click.Group):
    """A group of verbs, whose errors have the form of all others."""

    command_class = Verb
    #: What a command is called elsewhere, and its words here: none if it is the group itself.
    known_as: Mapping[str, str] = MappingProxyType({})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called, and its remaining arguments; or refuse a name that is none."""
        wrong = args[0]
        if self.get_command(ctx, wrong) is None and not wrong.startswith("-"):
            meant = self._meant(ctx, wrong)
            path = f"{ctx.command_path} {meant}".rstrip()
            did_you = "" if meant is None else f"; did you mean '{path}'?"
            raise click.UsageError(f"no such command {wrong!r}{did_you}", ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, wrong: str) -> str | None:
        """Return the words of the command that a wrong name may mean; None if there is none."""
        if wrong in self.known_as:
            return self.known_as[wrong]
        names = [name for name, command in self.commands.items() if not command.hidden]
        begun = [name for name in names if name.startswith(wrong)]
        if len(begun) == 1:
            return begun[0]
        return next(iter(difflib.get_close_matches(wrong, names, 1)), None)

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
    see = ""
    if context and not text.endswith("?"):
        # A hidden verb is called by the script of its name.
        path = context.command_path
        if context.command.hidden:
            path = f"ci/{context.command.name}"
        see = f"; see {path} --help"
        is_passed_on = any(each.name == "options" for each in context.command.params)
        if is_passed_on and isinstance(error, click.NoSuchOption):
            see = f"; options of ci/run go behind `--`{see}"
    return f"{text[:1].lower()}{text[1:]}{see}"


def read_by(
    parse: Callable[[Any], object],
) -> Callable[[click.Context, click.Parameter, Any], object]:
    """Return the callback of an option that a function parses; its ValueError is wrong usage.

    A callback and no type of click: these are generic in some releases only.
    """

    def read(_ctx: click.Context, _param: click.Parameter, value: Any) -> object:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def _named(text: str) -> str:
    """Return a value; an empty one, as that of an unset variable, would choose the default."""
    if not text.strip():
        raise ValueError("it is empty: give a name, or leave the option out")
    return text


#: The callback of options and arguments that may not be empty.
named = read_by(_named)

#: What a folder and a file are that a command reads or writes.
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)


def verb(
    name: str, epilog: str, statuses: Mapping[int, str] | None = None, **more: Any
) -> Callable[[Callable[..., Any]], Verb]:
    """Return the decorator of a command; see :class:`Verb`."""
    return click.command(name, cls=Verb, epilog=epilog, statuses=statuses, **more)


def option(name: str, text: str, *into: str, **more: Any) -> Option:
    """Return an option with its help text.

    :param into: the name of its parameter, if it is another one.
    """
    return click.option(name, *into, help=text, **more)


def flag(name: str, text: str, *into: str) -> Option:
    """Return an option without a value; see :func:`option`."""
    return option(name, text, *into, is_flag=True)


def name_option(name: str, text: str, *into: str, **more: Any) -> Option:
    """Return an option with a value that may not be empty; see :func:`option`."""
    return option(name, text, *into, callback=named, **more)


def number_option(
    name: str, text: str, *, least: float, is_whole: bool = False, **more: Any
) -> Option:
    """Return an option that takes a number, at least the least one, but not infinity; see :func:`option`."""
    kind = click.IntRange(min=int(least)) if is_whole else click.FloatRange(min=least)

    def finite(value: float) -> float:
        if not math.isfinite(value):  # NaN is in every range of click
            raise ValueError(f"{value} is not finite; give a number")
        return value

    more = {"show_default": True} | more
    return option(name, text, type=kind, callback=read_by(finite), **more)


def _in_a_folder(path: Path) -> Path:
    if not path.absolute().parent.is_dir():
        raise ValueError(
            f"{path.parent}: there is no such folder; make it, or name another one with -o"
        )
    return path


def output_option(default: str) -> Option:
    """Return the option that names the report to write."""
    return option(
        "-o", "The file to write.", "--output", type=FILE, default=default, show_default=True,
        callback=read_by(_in_a_folder),
    )  # fmt: skip


def refuse_together(**options: object) -> None:
    """Refuse more than one of some options; each is given with its value."""
    if len(given := [f"--{name}" for name, value in options.items() if value]) > 1:
        raise click.UsageError(
            f"{given[0]} and {given[1]} exclude each other; leave one of them out"
        )


def end_by(faults: Sequence[str], objections: Sequence[str] = ()) -> None:
    """Print the faults and objections; exit with status 3 for objections, 1 for faults alone."""
    console.warn(faults)
    console.error(*(f"--fail-on: {objection}" for objection in objections))
    raise ending(found=objections, failed=faults)


def ending(*, found: object, failed: object) -> SystemExit:
    """Return what ends a command, to be raised: with status 3 if it found something, 1 if it failed."""
    return SystemExit(FOUND if found else FAILED if failed else DONE)


json_option = flag("--json", "Print everything as JSON.", "as_json")
csv_option = flag("--csv", "Print flat rows as CSV.", "as_csv")
sources_argument = click.argument("sources", nargs=-1, metavar="[SOURCE...]")
link_rate_option = option(
    "--link-MBps",
    "The rate of a link in one direction, in MB/s (200 Gbit/s: 25000).",
    "link_MBps",
    type=click.FloatRange(min=0, min_open=True),
)
system_option = name_option(
    "--system",
    "A system of config/systems.  [default: the one whose host names match, else local]",
    envvar="RFM_SYSTEM",
    shell_complete=completion.systems,
)
metrics_option = option(
    "--metrics",
    "Folder of the gauges, that of node_exporter's textfile collector.  [default: nightly/SYSTEM in the"
    " results]",
    type=FOLDER,
    envvar="FABRIC_METRICS",
)
#: Arguments that go on to another program.
passed_on = click.argument("options", nargs=-1, metavar="[-- OPTION...]")
