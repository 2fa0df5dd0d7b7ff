# SPDX-License-Identifier: BSD-3-Clause
"""Texts that several renderers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from fabric_checks.core.text import shortened

if TYPE_CHECKING:
    from fabric_checks.comparison.changes import Circumstance

T = TypeVar("T")

#: How comparisons of one process a node with more are shown.
COMPARED = "One process a node against more"
COMPARED_NOTE = (
    "The change is the second value divided by the first or, where it has a sign, their difference. For a curve the "
    "table has the smallest message, the largest, and the one that loses most with more processes."
)


def ends_and_worst(points: Sequence[T], change: Callable[[T], float], better: str | None) -> list[T]:
    """Return of a curve of changes, sorted by size, the ends and the one that loses most.

    :param better: whether a ``smaller`` or a larger change is better.
    """
    worst = (max if better == "smaller" else min)(points, key=change)
    return [point for point in points if point is worst or point is points[0] or point is points[-1]]


@dataclass
class Footnotes:
    """Reasons that many rows share, numbered in order of appearance."""

    reasons: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """Return the mark of a reason, such as ``[1]``."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"[{self.reasons.index(reason) + 1}]"


def circumstance_text(circumstance: Circumstance) -> str:
    """Return a change of a circumstance, as in ``mpi: MPICH 4.2 -> MPICH 4.3``."""
    before, after = (shortened(", ".join(each) or "none", 70) for each in (circumstance.before, circumstance.after))
    return f"{circumstance.field}: {before} -> {after}"
