# SPDX-License-Identifier: BSD-3-Clause
"""Costs of runs for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.records.cost import Cost, Estimate
from fabric_checks.report.terminal.summary import plain


def number(value: float) -> str:
    """Return a number of minutes: three significant digits, no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 or not value else "0.001"


def estimated(estimate: Estimate) -> list[Text]:
    """Return the estimated cost of a run, a line each."""
    passes = f" in {estimate.passes} passes" if estimate.passes > 1 else ""
    head = f"{estimate.system or 'no system'}: {_count(estimate.jobs)}{passes}, computed, nothing was run"
    if not estimate.jobs:
        return [plain(head), plain("no case matches the selection; ci/run -l lists what there is")]
    node_minutes, job_minutes = _sum(estimate, estimate.node_minutes), _sum(estimate, estimate.job_minutes)
    lines = [
        head,
        f"  nodes:        at most {estimate.nodes} in a job",
        f"  node-minutes: {node_minutes}",
        f"  job minutes:  {job_minutes} (one after the other, without waiting in a queue)",
        f"  based on:     recorded durations of {_count(estimate.timed_jobs)}, time limits (upper bounds) of "
        f"{_count(estimate.bounded_jobs)}",
    ]
    if estimate.untimed_jobs:
        lines.append(f"  unknown:      {_count(estimate.untimed_jobs)} without record and time limit")
    return [plain(line) for line in lines]


def _sum(estimate: Estimate, minutes: float) -> str:
    """Return a sum, and whether it is only a bound."""
    if estimate.untimed_jobs == estimate.jobs:
        return "unknown"
    if estimate.untimed_jobs:
        return f"{number(minutes)}, without {_count(estimate.untimed_jobs)}"
    return f"{'at most ' if estimate.bounded_jobs else ''}{number(minutes)}"


def listed(costs: Sequence[Cost]) -> Table:
    """Return the runs with what they took."""
    out = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for title in ("run", "system"):
        out.add_column(title, overflow="fold")
    for title in ("jobs", "nodes", "node-minutes", "job minutes"):
        out.add_column(title, justify="right")
    for cost in costs:
        minutes = (number(cost.node_minutes), number(cost.job_minutes)) if cost.timed_jobs else ("unknown", "unknown")
        out.add_row(plain(cost.session), plain(cost.system), str(cost.jobs), str(cost.nodes), *minutes)
    return out


def one_line(cost: Cost) -> str:
    """Return the cost of a run as the end of its summary has it."""
    parts = [_count(cost.jobs), f"{_count(cost.nodes, 'node')} at most"]
    if cost.timed_jobs:
        parts += [f"{number(cost.node_minutes)} node-minutes", f"{number(cost.job_minutes)} job minutes"]
    if cost.timed_jobs < cost.jobs:
        parts.append(f"the time of {cost.jobs - cost.timed_jobs} is unknown")
    return ", ".join(parts)


def _count(count: int, noun: str = "job") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
