# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twin``: what a planned cluster would give."""

from __future__ import annotations

from pathlib import Path

import click

from fabric_checks.core import console
from fabric_twins import plan, what_if
from fabric_twins.flows import MOST_SIMULATED
from fabric_twins.simulate import Bounds

_EPILOG = """
\b
Examples:
  fabric-checks twin config/twins/examples/planned-cluster.yaml
  fabric-checks twin my-planned-cluster.yaml --pictures folder
  fabric-checks twin my-planned-cluster.yaml --confirm          also name what is to blame
  fabric-checks twin config/twins/feynman.yaml --hot-spot       any description will do
"""


@click.command("twin", epilog=_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--alltoall", is_flag=True, help="Also simulate MPI_Ialltoall.")
@click.option("--hot-spot", is_flag=True, help="Also simulate one master with more and more slaves.")
@click.option("--confirm", is_flag=True, help="Let rotate measure again what looks slow, and say what is to blame.")
@click.option("--shifts", type=click.IntRange(min=0), default=0, help="Rounds of rotate, evenly spread; 0: all.")
@click.option(
    "--flows/--no-flows",
    default=None,
    help=f"Compute rotate with flows instead of simulated processes, as is done on more than {MOST_SIMULATED} nodes.",
)
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Folder to write pictures to.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    help="Time limit of one simulation, in seconds.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(min=64),
    default=4096,
    show_default=True,
    help="Memory limit of one simulation, in MiB.",
)
def command(
    file: Path,
    *,
    alltoall: bool,
    hot_spot: bool,
    confirm: bool,
    shifts: int,
    flows: bool | None,
    pictures: Path | None,
    as_json: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Predict what a planned cluster would deliver, with its alternatives side by side.

    FILE describes the cluster, like those in config/twins, and under `alternatives` how others differ from it:
    topology, routing, oversubscription, faults. The cross-section test rotate is simulated on each: with SimGrid, or on
    many nodes with flows, which share links in the same way. The values are predictions based on the description;
    nothing is measured.
    """
    questions = what_if.Questions(alltoall, hot_spot, shifts, confirm, flows)
    bounds = Bounds(time_limit, memory_limit)
    outcomes = what_if.simulate(plan.load(file), questions, bounds, console.error)
    if as_json:
        console.print_json(what_if.as_json(file, outcomes))
    else:
        console.print(*what_if.as_lines(file, outcomes))
    if pictures:
        what_if.draw(outcomes, pictures)
