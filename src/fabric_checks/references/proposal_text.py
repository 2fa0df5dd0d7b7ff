# SPDX-License-Identifier: BSD-3-Clause
"""Print proposals: the comment of a reference, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fabric_checks.core.text import count_text, names_text
from fabric_checks.records.record import case_name
from fabric_checks.references.propose import Proposal

#: A bound at this share of its value or beyond judges little.
_WIDE = 0.5


def comment(proposal: Proposal) -> str:
    """Return the comment on the source of a reference."""
    history = proposal.history
    days = (
        history.first
        if history.first == history.last
        else f"{history.first} to {history.last}"
    )
    passes = count_text(len(history.values), "pass", "passes")
    parts = [f"from {passes} in {count_text(history.runs, 'run')} {days}"]
    if history.failed:
        parts.append(f"{history.failed} of them missed a reference")
    if history.nodes:
        many = count_text(len(history.nodes), "node")
        parts.append(f"{many} {names_text(history.nodes, 4, ' ')}")
    parts.append(history.program)
    if proposal.action == "loosened" and proposal.slot:
        parts.append(f"LOOSENED: was {_list(proposal.slot.reference)}")
    return ", ".join(parts)


def report(proposals: Iterable[Proposal]) -> list[str]:
    """Return the lines of the report: looser references, then refusals with their reasons, then the
    counts."""
    proposals = list(proposals)
    counts = Counter(each.action for each in proposals)
    order = ("new", "changed", "loosened", "unchanged", "kept", "refused")
    return [
        *_loosened(proposals),
        *_left_out(proposals),
        *(
            f"warning: {text}"
            for text in _warnings([each for each in proposals if each.reference])
        ),
        f"{len(proposals)} series: {', '.join(f'{counts[each]} {each}' for each in order if counts[each])}",
    ]


def _loosened(proposals: Sequence[Proposal]) -> Iterator[str]:
    loosened = [each for each in proposals if each.action == "loosened"]
    if loosened:
        yield "LOOSENED: these ask for less than before"
    for each in loosened:
        old = _list(each.slot.reference) if each.slot else ""
        yield f"  {each.name}: {old} becomes {_list(each.reference or ())}"


def _left_out(proposals: Sequence[Proposal]) -> Iterator[str]:
    """Yield what is not proposed, a line for each case and reason."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for action in ("kept", "refused"):
        for each in proposals:
            if each.action == action:
                groups.setdefault(
                    (action, case_name(each.series), each.why), []
                ).append(each.series["metric"])
    for (action, case, why), metrics in groups.items():
        yield f"{action}: {case}: {names_text(metrics, 1)}: {why}"


def _warnings(proposed: Sequence[Proposal]) -> Iterator[str]:
    """Yield what lessens the worth of references."""
    if disturbed := sum(each.history.disturbed > 0 for each in proposed):
        yield (
            f"{disturbed} of the proposals use values of passes on a busy machine, which say little; measure"
            " again when it is idle"
        )
    if wide := [each for each in proposed if _width(each) >= _WIDE]:
        widest = max(wide, key=_width)
        yield (
            f"{len(wide)} of the proposals would pass a value that is worse by half or more, most so"
            f" {widest.name} ({100 * _width(widest):.0f} %); measure again, or write those bounds by hand"
        )


def _width(proposal: Proposal) -> float:
    """Return the distance of the bound from the value, as a share of it."""
    return (
        max(-(proposal.derived.lower or 0.0), proposal.derived.upper or 0.0)
        if proposal.derived
        else 0.0
    )


def _list(reference: Sequence[Any]) -> str:
    return f"[{', '.join('null' if each is None else str(each) for each in reference)}]"
