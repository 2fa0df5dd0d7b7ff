# SPDX-License-Identifier: BSD-3-Clause
"""Texts that several renderers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabric_checks.comparison.changes.model import Circumstance
from fabric_checks.core.text import count_text, shortened


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
    moved = circumstance.runs_later
    when = f" ({count_text(abs(moved), 'run')} {'later' if moved > 0 else 'earlier'})" if moved else ""
    return f"{circumstance.field}: {before} -> {after}{when}"
