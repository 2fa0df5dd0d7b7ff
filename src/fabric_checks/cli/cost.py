# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks cost``: what a planned run would cost, for ``ci/run --cost``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fabric_checks.cli.verb import FILE, json_option, option, verb
from fabric_checks.core import console, paths
from fabric_checks.core.errors import RecordError
from fabric_checks.core.templates import filled
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
    template = Path(__file__).with_name("cost.jinja")
    return filled(template, {}, cost=estimate).splitlines()
