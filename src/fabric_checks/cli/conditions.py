# SPDX-License-Identifier: BSD-3-Clause
"""Options of commands that judge, and exit statuses: shares, verdicts, and the conditions under which they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from fabric_checks.comparison.gate import Gate, parse, share
from fabric_checks.core import console

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Callbacks and no types of click: these are generic in some releases only.


def read_share(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """Read an option that is a share such as 5% or 0.05."""
    try:
        return None if value is None else share(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def read_gates(_ctx: click.Context, _param: click.Parameter, values: Sequence[str]) -> tuple[Gate, ...]:
    """Read the conditions of --fail-on, such as worse:5%."""
    try:
        return tuple(parse(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def fail_on_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option --fail-on with a help text."""
    return click.option("--fail-on", "gates", callback=read_gates, multiple=True, metavar="CONDITION", help=text)


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
