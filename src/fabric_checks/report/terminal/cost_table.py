# SPDX-License-Identifier: BSD-3-Clause
"""Costs of runs for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from fabric_checks.core.text import count_text, value_text
from fabric_checks.records.cost import Cost, Estimate
from fabric_checks.report.texts import plain, rich_table


def estimated(estimate: Estimate) -> list[Text]:
    """Return the estimated cost of a run, a line each."""
    passes = f" in {estimate.passes} passes" if estimate.passes > 1 else ""
    head = f"{estimate.system or 'no system'}: {count_text(estimate.jobs, 'job')}{passes}, computed, nothing was run"
    if not estimate.jobs:
        return [plain(head), plain("no case matches the selection; ci/run -l lists the cases")]
    known = f"recorded durations of {count_text(estimate.timed_jobs, 'job')}"
    if estimate.similar_jobs:
        known += f"; for {count_text(estimate.similar_jobs, 'job')}, the longest of the case in another layout"
    if estimate.unknown_jobs == estimate.jobs:
        known = "nothing: none of these cases has run; `ci/run --mode smoke` first gives durations"
    lines = [
        head,
        f"  nodes:        at most {estimate.nodes} in a job",
        f"  node-minutes: {_sum(estimate, estimate.node_minutes)}",
        f"  job minutes:  {_sum(estimate, estimate.job_minutes)} (one after the other, without waiting in a queue)",
        f"  based on:     {known}",
    ]
    return [plain(line) for line in lines]


def _sum(estimate: Estimate, minutes: float) -> str:
    """Return a sum, whether it is an estimate, and of how many jobs it is not."""
    if estimate.unknown_jobs == estimate.jobs:
        return "unknown"
    without = f", without {count_text(estimate.unknown_jobs, 'job')} that never ran" if estimate.unknown_jobs else ""
    return f"{'about ' if estimate.similar_jobs else ''}{value_text(minutes)}{without}"


def listed(costs: Sequence[Cost]) -> Table:
    """Return the runs with their costs."""
    header = ("run", "system", "jobs", "nodes", "node-minutes", "job minutes")
    rows = []
    for cost in costs:
        minutes = (
            (value_text(cost.node_minutes), value_text(cost.job_minutes)) if cost.timed_jobs else ("unknown", "unknown")
        )
        rows.append((cost.session, cost.system, cost.jobs, cost.nodes, *minutes))
    return rich_table(header, rows, right=header[2:])
