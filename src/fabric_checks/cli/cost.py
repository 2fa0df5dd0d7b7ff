# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks cost``: what runs took, and what one would take."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from fabric_checks.core import console, paths
from fabric_checks.records import cost, reading
from fabric_checks.records import sources as sets_of
from fabric_checks.report.terminal import cost_table

_EPILOG = """
\b
Examples:
  fabric-checks cost                         the runs of this clone
  fabric-checks cost --results /archive/a    the runs of another folder of results, or of an archive
  fabric-checks cost --json                  the same as JSON
  ci/run --cost --mode nightly               compute what a run would cost; nothing is run
  ci/run --cost --mode acceptance --past /archive/2026,system=oak
                                             the same, also from records kept elsewhere

\b
Times are those that jobs spent on their nodes, without time in the queue.
Exit status: 0; 1 if something could not be read; 2 for wrong usage.
"""


@click.command("cost", epilog=_EPILOG)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of results.  [default: .fabric/results]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    hidden=True,
    help="For ci/run --cost: compute the cost of the run planned in this file.",
)
@click.option("--past", "sources", multiple=True, hidden=True, help="For ci/run --cost: records from another place.")
def command(results: Path | None, *, as_json: bool, plan_file: Path | None, sources: tuple[str, ...]) -> None:
    """List what runs took: jobs, nodes, node-minutes, minutes of jobs."""
    folder = results or paths.results()
    if plan_file:
        _estimate(folder, plan_file, sources, as_json=as_json)
        return
    loaded = reading.load([sets_of.Source(str(folder), folder)], cost.COLUMNS)
    console.warn(loaded.faults)
    costs = cost.costs(loaded.frame)
    if as_json:
        console.print_json(json.dumps([asdict(each) for each in costs], indent=1))
    else:
        console.print_rich([cost_table.listed(costs)])
    if loaded.faults:
        raise SystemExit(1)


def _estimate(folder: Path, plan_file: Path, sources: tuple[str, ...], *, as_json: bool) -> None:
    plan = cost.read_plan(plan_file)
    sets = [sets_of.parse(text) for text in sources]
    if (folder / "perflogs").is_dir() and any((folder / "perflogs").rglob("*.jsonl")):
        sets.insert(0, sets_of.Source(str(folder), folder))
    past: dict[str, float] = {}
    if sets:
        loaded = reading.load(sets, cost.COLUMNS, compact=True)
        console.warn(loaded.faults)
        past = cost.durations(loaded.frame)
    found = cost.estimate(plan, past)
    if as_json:
        console.print_json(json.dumps(asdict(found), indent=1))
    else:
        console.print_rich(cost_table.estimated(found))
