# SPDX-License-Identifier: BSD-3-Clause
"""Define gates, the conditions under which a comparison fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from fabric_checks.comparison.compare import Comparison
from fabric_checks.comparison.verdicts import BETTER, MISSING, NO_DIFFERENCE, NOT_COMPARABLE, TOO_FEW, WORSE

#: The verdict that each kind of gate is about.
KINDS = {"worse": WORSE, "missing": MISSING, "too-few": TOO_FEW, "not-comparable": NOT_COMPARABLE}


@dataclass(frozen=True)
class Gate:
    """One condition under which a comparison fails.

    :param kind: one of :data:`KINDS`.
    :param margin_percent: of ``worse``: the whole interval has to be at least as much worse; of values in per cent in
        points.
    """

    kind: str
    margin_percent: float = 0.0


def share(text: str) -> float:
    """Read a share such as ``5%`` or ``0.05``.

    :raises ValueError: with the cause, if it is not one.
    """
    number, percent = (text[:-1], 100.0) if text.endswith("%") else (text, 1.0)
    try:
        value = float(number) / percent
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{text!r} is not a share such as 5% or 0.05")
    return value


def parse(text: str) -> Gate:
    """Read a gate such as ``worse:5%`` or ``missing``.

    :raises ValueError: with the cause, if it is not one.
    """
    kind, colon, margin = text.partition(":")
    if kind not in KINDS or (colon and kind != "worse"):
        raise ValueError(f"{text!r} is not one of worse, worse:5%, {', '.join(list(KINDS)[1:])}")
    return Gate(kind, 100 * share(margin) if colon else 0.0)


def objections(comparison: Comparison, gates: Sequence[Gate]) -> list[str]:
    """Return why a comparison fails, a line each; empty if it passes.

    A gate of kind ``worse`` fails a comparison in which nothing could be judged.
    """
    lines = []
    for gate in gates:
        rows = comparison.frame.filter(pl.col("verdict") == KINDS[gate.kind])
        words = KINDS[gate.kind]
        if gate.margin_percent:
            rows = rows.filter(pl.col("at_least") >= gate.margin_percent)
            words += f" by at least {gate.margin_percent:g} % for certain"
        if rows.height:
            lines.append(f"{rows.height} {words}")
    judged = sum(comparison.count(verdict) for verdict in (WORSE, BETTER, NO_DIFFERENCE))
    if any(gate.kind == "worse" for gate in gates) and not judged:
        lines.append("no metric could be compared")
    return lines
