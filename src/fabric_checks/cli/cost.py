# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks cost``: what a planned run would cost, for ``ci/run --cost``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fabric_checks.core import console, paths
from fabric_checks.core.errors import RecordError
from fabric_checks.records import reading
from fabric_checks.records import sources as sets_of
from fabric_checks.records.cost import estimate, past, plan, recorded
from fabric_checks.report.terminal import cost_table

_EPILOG = """
\b
Examples:
  fabric-checks cost --plan plan.json        as ci/run --cost does, which plans the run first
  fabric-checks cost --plan plan.json --past /archive/2026,system=oak
                                             the same, also from records kept elsewhere

\b
Times are those that jobs spent on their nodes, without time in the queue. 1 GB is 10^9 bytes.
Exit status: 0; 1 if something could not be read; 2 for wrong usage.
"""


@click.command("cost", epilog=_EPILOG)
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path), required=True, help="The file of the planned run."
)
@click.option("--past", "sources", multiple=True, help="Records from another place.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(plan_file: Path, sources: tuple[str, ...], *, as_json: bool) -> None:
    """Compute jobs, nodes, node-minutes, wall time and disk of a run that `ci/run --cost` has planned."""
    _compute(paths.results(), plan_file, sources, as_json=as_json)


def _compute(folder: Path, plan_file: Path, sources: tuple[str, ...], *, as_json: bool) -> None:
    wanted = plan.read(plan_file)
    sets = [sets_of.parse(text) for text in sources]
    if (folder / "perflogs").is_dir() and any((folder / "perflogs").rglob("*.jsonl")):
        sets.insert(0, sets_of.Source(str(folder), folder))
    known = past.Past()
    if sets:
        loaded = reading.load(sets, past.FIELDS, compact=True)
        console.warn(loaded.faults)
        known = past.Past.of(loaded.frame)
    lines = []
    for place in dict.fromkeys([folder, *(each.path for each in sets)]):
        found, faults = recorded.read(place)
        console.warn(faults)
        lines += found
    cost = estimate.estimate(wanted, known, estimate.beside_jobs(lines, wanted.system, wanted.jobs))
    if as_json:
        console.print_json(json.dumps(cost.as_line(), indent=1))
    else:
        console.print_rich(cost_table.computed(cost))
    if cost.jobs:
        try:
            recorded.append(folder, cost.as_line(), recorded.COMPUTED)
        except RecordError as error:
            console.warn([str(error)])  # what was computed is on the screen
