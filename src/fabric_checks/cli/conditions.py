# SPDX-License-Identifier: BSD-3-Clause
"""Options of several commands that run or judge, and their exit statuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from fabric_checks.comparison.gate import parse
from fabric_checks.core import console

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Callbacks and no types of click: these are generic in some releases only.


def read_by(parse: Callable[[Any], object]) -> Callable[[click.Context, click.Parameter, Any], object]:
    """Return the callback of an option that a function parses; its ValueError is wrong usage."""

    def read(_ctx: click.Context, _param: click.Parameter, value: Any) -> object:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


system_option = click.option(
    "--system",
    envvar="RFM_SYSTEM",
    help="A system of config/systems.  [default: the one whose host names match, else local]",
)


def fail_on_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option --fail-on with a help text."""
    read = read_by(lambda values: tuple(map(parse, values)))
    return click.option("--fail-on", "gates", callback=read, multiple=True, metavar="CONDITION", help=text)


def only_option(words: Sequence[str]) -> Callable[[_Command], _Command]:
    """Return the option --only, which chooses among some words; a space in one is written as a hyphen."""
    by_name = {word.replace(" ", "-"): word for word in words}
    return click.option(
        "--only",
        multiple=True,
        type=click.Choice(list(by_name)),
        callback=lambda _ctx, _param, values: tuple(by_name[value] for value in values),
        help="Show only these; may be repeated.",
    )


def end_by(faults: Sequence[str], objections: Sequence[str] = ()) -> None:
    """Print the faults and objections; exit with status 3 for objections, 1 for faults alone."""
    console.warn(faults)
    console.error(*(f"--fail-on: {objection}" for objection in objections))
    if objections or faults:
        raise SystemExit(3 if objections else 1)
