# SPDX-License-Identifier: BSD-3-Clause
"""Options of commands that judge: shares, verdicts, and the conditions under which they fail."""

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


confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(50, 99.9),
    default=95,
    show_default=True,
    help="Confidence of the intervals, in %.",
)


def fail_on_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option --fail-on with what a command says of it."""
    return click.option("--fail-on", "gates", callback=read_gates, multiple=True, metavar="CONDITION", help=text)


def chosen_words(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Read words with commas between; a space in one may be written as a hyphen, and its end may be left out.

    :raises click.BadParameter: if one is not known.
    """
    by_word = {word.replace(" ", "-"): word for word in known}
    words = [word.strip().replace(" ", "-") for word in (text or "").split(",") if word.strip()]
    chosen = []
    for word in words:
        fitting = [full for full in by_word if full.startswith(word)]
        if len(fitting) != 1:
            raise click.BadParameter(f"{word!r} is not one of {', '.join(by_word)}")
        chosen.append(by_word[fitting[0]])
    return tuple(chosen)


def end_by(objections: Sequence[str], faults: Sequence[str]) -> None:
    """Say what does not pass and what could not be used, and exit with status 3 for the one, 1 for the other."""
    console.warn(faults)
    console.error(*(f"--fail-on: {objection}" for objection in objections))
    if objections:
        raise SystemExit(3)
    if faults:
        raise SystemExit(1)
