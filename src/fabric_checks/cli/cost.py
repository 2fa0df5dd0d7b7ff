# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks cost``: what a planned run would cost, for ``ci/run --cost``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fabric_checks.cli.verb import FILE, json_option, option, verb
from fabric_checks.core import console, paths
from fabric_checks.core.errors import RecordError
from fabric_checks.core.text import count_text, value_text
from fabric_checks.records import cost, reader
from fabric_checks.records.cost import Estimate
from fabric_checks.records.sessions import NO_MATCH
from fabric_checks.records.sources import default, perflogs

_EPILOG = """
\b
Examples:
  fabric-checks cost --plan plan.json        as ci/run --cost does, which plans the run first

\b
Times are those that jobs spent on their nodes, without time in the queue.
"""


@verb("cost", _EPILOG)
@option("--plan", "The file of the planned run.", "plan_file", type=FILE, required=True)
@json_option
def command(plan_file: Path, *, as_json: bool) -> None:
    """Estimate jobs, nodes, node-minutes and wall time of a run that `ci/run --cost` has planned."""
    folder, plan = paths.results(), cost.read_plan(plan_file)
    if not plan.cases:
        raise RecordError(NO_MATCH)
    past: dict[str, float] = {}
    if perflogs(folder):
        loaded = reader.load([default()], cost.COLUMNS, compact=True)
        console.warn(loaded.faults)
        past = cost.durations(loaded.frame)
    found = cost.estimate(plan, past)
    if as_json:
        console.print_json(asdict(found))
    else:
        console.print(*lines(found))


def lines(estimate: Estimate) -> list[str]:
    """Return the estimated cost of a run for people."""
    passes = f" in {estimate.passes} passes" if estimate.passes > 1 else ""
    head = (
        f"{estimate.system}: {count_text(estimate.jobs, 'job')}{passes}, computed, nothing"
        " was run"
    )
    known = f"recorded durations of {count_text(estimate.timed_jobs, 'job')}"
    if estimate.unknown_jobs == estimate.jobs:
        known = "nothing: none of these cases has run; `ci/run --mode smoke` first gives durations"
    scans = [
        f"  of all pairs: {value_text(estimate.scan_minutes)} minutes at the rate of a link, computed;"
        f" {value_text(estimate.output_MB)} MB of output"
    ]
    return [
        head,
        f"  nodes:        at most {estimate.nodes} in a job",
        f"  node-minutes: {_sum(estimate, estimate.node_minutes)}",
        (
            f"  job minutes:  {_sum(estimate, estimate.job_minutes)} (one after the other, without waiting in"
            " a queue)"
        ),
        f"  based on:     {known}",
        *(scans if estimate.output_MB else ()),
    ]


def _sum(estimate: Estimate, minutes: float) -> str:
    """Return a sum, and of how many jobs it is not."""
    if estimate.unknown_jobs == estimate.jobs:
        return "unknown"
    without = (
        f", without {count_text(estimate.unknown_jobs, 'job')} that never ran"
        if estimate.unknown_jobs
        else ""
    )
    return f"{value_text(minutes)}{without}"
