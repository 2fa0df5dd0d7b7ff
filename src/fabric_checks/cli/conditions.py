# SPDX-License-Identifier: BSD-3-Clause
"""Options of several commands that run or judge, their gates, the conditions of --fail-on, and their exit
statuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import polars as pl

from fabric_checks.cli.verb import FAILED, FOUND
from fabric_checks.comparison.compare import Comparison
from fabric_checks.comparison.verdicts import BETTER, NO_DIFFERENCE, WORSE
from fabric_checks.core import console

#: What exit statuses mean to verbs that read records, and to those that judge by --fail-on.
UNUSABLE = "some records could not be used: each is named"
GATED = "--fail-on found something"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def share(text: str) -> float:
    """Read a share such as ``5%`` or ``0.05``.

    :raises ValueError: with the cause, if it is not one.
    """
    number, percent = (text[:-1], 100.0) if text.endswith("%") else (text, 1.0)
    try:
        value = float(number) / percent
    except ValueError:
        value = math.nan
    # Who writes 5 means 5 %, and a condition of 500 % would never be met.
    if not 0 <= value < math.inf or (value > 1 and percent == 1):
        raise ValueError(f"{text!r} is not a share such as 5% or 0.05")
    return value


def objections(comparison: Comparison, gates: Mapping[str, float]) -> list[str]:
    """Return why a comparison fails, a line each; empty if it passes.

    A gate of kind ``worse`` fails a comparison in which nothing could be judged.

    :param gates: the value of :func:`fail_on_option`.
    """
    lines = []
    for verdict, margin in gates.items():
        count = comparison.frame.filter(
            pl.col("verdict") == verdict,
            pl.lit(value=not margin) | (pl.col("at_least") >= margin),
        ).height
        if count:
            lines.append(f"{count} {verdict}{margin_text(margin)}")
    judged = sum(
        comparison.count(verdict) for verdict in (WORSE, BETTER, NO_DIFFERENCE)
    )
    if WORSE in gates and not judged:
        lines.append("no metric could be compared")
    return lines


def margin_text(percent: float) -> str:
    """Return the margin of a gate in words."""
    return f" by at least {percent:g} % for certain" if percent else ""


# Callbacks and no types of click: these are generic in some releases only.


def read_by(
    parse: Callable[[Any], object],
) -> Callable[[click.Context, click.Parameter, Any], object]:
    """Return the callback of an option that a function parses; its ValueError is wrong usage."""

    def read(_ctx: click.Context, _param: click.Parameter, value: Any) -> object:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def named(text: str | None) -> str | None:
    """Return a value; raise ValueError if it is empty, as that of an unset variable, which would choose the
    default."""
    if text is not None and not text.strip():
        raise ValueError("it is empty: give a name, or leave the option out")
    return text


def number_option(
    name: str, text: str, *, least: float, is_whole: bool = False, **more: Any
) -> Callable[[_Command], _Command]:
    """Return an option that takes a number, at least the least one, with its help text; not infinity."""
    kind = click.IntRange(min=int(least)) if is_whole else click.FloatRange(min=least)
    more = {"show_default": True} | more

    def finite(value: float) -> float:
        if not math.isfinite(value):  # NaN is in every range of click
            raise ValueError(f"{value} is not finite; give a number")
        return value

    return click.option(name, type=kind, callback=read_by(finite), help=text, **more)


def refuse_together(**options: object) -> None:
    """Refuse more than one of some options; each is given with its value."""
    if len(given := [f"--{name}" for name, value in options.items() if value]) > 1:
        raise click.UsageError(
            f"{given[0]} and {given[1]} exclude each other; leave one of them out"
        )


system_option = click.option(
    "--system",
    envvar="RFM_SYSTEM",
    callback=read_by(named),
    help="A system of config/systems.  [default: the one whose host names match, else local]",
)
metrics_option = click.option(
    "--metrics",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FABRIC_METRICS",
    help=(
        "Folder of the gauges, that of node_exporter's textfile collector.  [default: nightly/SYSTEM in the"
        " results]"
    ),
)


def fail_on_option(
    text: str, verdicts: Sequence[str]
) -> Callable[[_Command], _Command]:
    """Return the option --fail-on with a help text: by verdict, how much worse in per cent is tolerated.

    The whole interval has to be at least as much worse; of values in per cent in points.
    """

    def gates(values: Sequence[str]) -> dict[str, float]:
        found = {}
        for value in values:
            verdict, colon, margin = value.partition(":")
            if verdict not in verdicts or (colon and verdict != WORSE):
                raise ValueError(
                    f"{value!r} is not one of {', '.join(verdicts)}, {WORSE}:5%"
                )
            found[verdict] = 100 * share(margin) if colon else 0.0
        return found

    return click.option(
        "--fail-on",
        "gates",
        callback=read_by(gates),
        multiple=True,
        metavar="CONDITION",
        help=text,
    )


def end_by(faults: Sequence[str], objections: Sequence[str] = ()) -> None:
    """Print the faults and objections; exit with status 3 for objections, 1 for faults alone."""
    console.warn(faults)
    console.error(*(f"--fail-on: {objection}" for objection in objections))
    if objections or faults:
        raise SystemExit(FOUND if objections else FAILED)
