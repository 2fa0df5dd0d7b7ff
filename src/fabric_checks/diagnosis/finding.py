# SPDX-License-Identifier: BSD-3-Clause
"""The findings of an analysis of pairs: those of ``core.finding``, with the ranks that they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from fabric_checks.core.finding import Finding, Severity

NOT_MEASURED = "not measured"


class RankFinding(Finding):
    """A finding about ranks, or about what lies between them; ``data`` has what is more than a finding
    has."""

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks of the node, or of sender and receiver; empty for cables and switches."""
        return tuple(self.data.get("ranks", ()))

    @property
    def side(self) -> str:
        """The direction in which it is slow; empty for both."""
        return str(self.data.get("side", ""))

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the parts that explain it as well."""
        return tuple(self.data.get("others", ()))

    @property
    def share(self) -> float:
        """The bandwidth that is left, as a share."""
        return 1 - (self.size or 0.0)


AnyFinding = TypeVar("AnyFinding", bound=Finding)


def faults(found: Iterable[AnyFinding]) -> list[AnyFinding]:
    """Return the findings that are certain."""
    return [finding for finding in found if finding.is_fault]


def note(
    kind: str, text: str, *, hosts: Sequence[str] = (), **data: Any
) -> RankFinding:
    """Return an observation that blames nothing; of one kind there may be several, which differ in their
    texts."""
    key = f"{kind} {text}" if kind == NOT_MEASURED else kind
    return RankFinding(
        kind=kind,
        severity=Severity.NOTE,
        text=text,
        hosts=tuple(hosts),
        key=key,
        data=data,
    )


def advised(
    look: str, *details: str, severity: Severity = Severity.FAULT, **of: Any
) -> RankFinding:
    """Return a finding with what to do next, which comes after its details; empty ones are left out."""
    lines = (*filter(None, details), look)
    return RankFinding(severity=severity, advice=look, details=lines, **of)


def not_measured(lines: Iterable[str]) -> list[RankFinding]:
    """Return what was not measured as observations."""
    return [note(NOT_MEASURED, f"not measured: {line}") for line in lines]
