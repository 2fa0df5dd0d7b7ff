# SPDX-License-Identifier: BSD-3-Clause
"""The option --fail-on: its conditions, and what fails them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from fabric_checks.cli.verb import Option, option, read_by
from fabric_checks.comparison.compare import Comparison
from fabric_checks.comparison.verdicts import BETTER, NO_DIFFERENCE, WORSE

#: What exit status 3 means to verbs that judge by it.
GATED = "--fail-on found something"


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
        failing = comparison.frame.filter(pl.col("verdict") == verdict)
        if margin:
            failing = failing.filter(pl.col("at_least") >= margin)
        if failing.height:
            lines.append(f"{failing.height} {verdict}{margin_text(margin)}")
    judged = sum(
        comparison.count(verdict) for verdict in (WORSE, BETTER, NO_DIFFERENCE)
    )
    if WORSE in gates and not judged:
        lines.append("no metric could be compared")
    return lines


def margin_text(percent: float) -> str:
    """Return the margin of a gate in words."""
    return f" by at least {percent:g} % for certain" if percent else ""


def fail_on_option(text: str, verdicts: Sequence[str]) -> Option:
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

    return option(
        "--fail-on",
        text,
        "gates",
        callback=read_by(gates),
        multiple=True,
        metavar="CONDITION",
    )
