# SPDX-License-Identifier: BSD-3-Clause
"""Print proposals: the comment of a reference, and the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text, names_text
from fabric_checks.records.record import case_name
from fabric_checks.references.propose import Proposal


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
    """Return the lines of the report: refusals with their reasons, then the counts."""
    proposals = list(proposals)
    counts = Counter(each.action for each in proposals)
    order = ("new", "changed", "loosened", "unchanged", "kept", "refused")
    return [
        *_left_out(proposals),
        *_warnings([each for each in proposals if each.reference]),
        f"{len(proposals)} series: {', '.join(f'{counts[each]} {each}' for each in order if counts[each])}",
    ]


def _left_out(proposals: Sequence[Proposal]) -> Iterator[str]:
    """Yield what is not proposed, a line for each case and reason."""
    left_out = sorted(
        (each for each in proposals if each.why), key=lambda each: each.action
    )
    groups = by_key(
        left_out, lambda each: (each.action, case_name(each.series), each.why)
    )
    for (action, case, why), alike in groups.items():
        metrics = [each.series["metric"] for each in alike]
        yield f"{action}: {case}: {names_text(metrics, 1)}: {why}"


def _warnings(proposed: Sequence[Proposal]) -> Iterator[str]:
    """Yield what lessens the worth of references."""
    if disturbed := sum(each.history.disturbed > 0 for each in proposed):
        yield (
            f"warning: {disturbed} of the proposals use values of passes on a busy machine, which say little;"
            " measure again when it is idle"
        )


def _list(reference: Sequence[Any]) -> str:
    return f"[{', '.join('null' if each is None else str(each) for each in reference)}]"
