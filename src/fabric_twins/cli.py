# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twin`` and ``replay``: what simulated clusters predict, and the files of the published ones."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fabric_checks.core import console, files
from fabric_checks.core.errors import FabricError
from fabric_twins import plan, published_table, reference_file, replay_series, what_if
from fabric_twins import replay as replaying
from fabric_twins.flows import MOST_SIMULATED
from fabric_twins.simulate import Bounds

_PREDICT = """
\b
Examples:
  fabric-checks twin predict config/twins/examples/planned-cluster.yaml
  fabric-checks twin predict my-planned-cluster.yaml --pictures folder
  fabric-checks twin predict my-planned-cluster.yaml --confirm      also name what is to blame
  fabric-checks twin predict config/twins/feynman.yaml --alltoall   any description will do
"""
_TABLE = """
\b
Examples:
  fabric-checks twin table            print it; the simulation takes minutes
  fabric-checks twin table --write    into config/twins/README.md, for example after a change to a description
  fabric-checks twin table --json
"""
_REFERENCES = """
\b
Examples:
  fabric-checks twin references           for example after a change to a description
  fabric-checks twin references --json    also list the files as JSON
"""
_REPLAY = """
\b
Examples:
  fabric-checks replay lj4 config/twins/escher.yaml config/twins/rogue-gige.yaml
  fabric-checks replay lj4 my-planned-cluster.yaml --ppn 2 --cpu-speed 1.5
  fabric-checks replay lj4 config/twins/escher.yaml --one-rank lj1 --json
  fabric-checks replay app config/twins/cbc.yaml config/twins/escher.yaml     app has a folder for each number of ranks
  fabric-checks replay app config/twins/itanium2-ib.yaml --ppn 1 --ppn 2 --ppn 4 --json
"""

_json = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
_time_limit = click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    help="Time limit of one simulation, in seconds.",
)
_memory_limit = click.option(
    "--memory-limit",
    type=click.IntRange(min=64),
    default=4096,
    show_default=True,
    help="Memory limit of one simulation, in MiB.",
)


@click.group()
def twin() -> None:
    """Predict what a planned cluster will deliver, and compare published clusters with their simulations."""


@twin.command("predict", epilog=_PREDICT)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--alltoall", is_flag=True, help="Also simulate MPI_Ialltoall.")
@click.option("--confirm", is_flag=True, help="Let rotate measure again what looks slow, and name what is to blame.")
@click.option("--shifts", type=click.IntRange(min=0), default=0, help="Rounds of rotate, evenly spread; 0: all.")
@click.option(
    "--flows/--no-flows",
    default=None,
    help=f"Compute rotate with flows instead of simulated processes, as is done on more than {MOST_SIMULATED} nodes.",
)
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Folder to write pictures to.")
@_json
@_time_limit
@_memory_limit
def predict(
    file: Path,
    *,
    alltoall: bool,
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
    questions = what_if.Questions(alltoall, shifts, confirm, flows)
    bounds = Bounds(time_limit, memory_limit)
    outcomes = what_if.simulate(plan.load(file), questions, bounds, console.error)
    if as_json:
        console.print_json(what_if.as_json(file, outcomes))
    else:
        console.print(*what_if.as_lines(file, outcomes))
    if pictures:
        what_if.draw(outcomes, pictures)


@twin.command("table", epilog=_TABLE)
@click.option("--write", is_flag=True, help="Write config/twins/README.md instead of printing it.")
@_json
def table(*, write: bool, as_json: bool) -> None:
    """Simulate every value that the documents report for the twins, and print published and simulated values."""
    twins = published_table.shipped()
    found = published_table.simulate_all(twins)
    if write:
        files.write_text(published_table.README, published_table.text(twins, found))
    if as_json:
        rows = [published_table.as_json(row) for row in published_table.rows(twins, found)]
        console.print_json(json.dumps(rows, indent=1))
    elif write:
        console.print(str(published_table.README))
    else:
        console.print_document(published_table.text(twins, found))


@twin.command("references", epilog=_REFERENCES)
@_json
def references(*, as_json: bool) -> None:
    """Write config/references/TWIN.yaml of every twin, from the values in config/twins/TWIN.yaml."""
    paths = []
    for each in published_table.shipped():
        path = reference_file.path(each)
        files.write_text(path, reference_file.text(each))
        paths.append(str(path))
    if as_json:
        console.print_json(json.dumps(paths, indent=1))
    else:
        console.print(*paths)


@click.command("replay", epilog=_REPLAY)
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("twins", metavar="TWIN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--ppn",
    type=click.IntRange(min=1),
    multiple=True,
    help="Processes a node; several only for several traces.  [default: as few as will do; 1 and 2]",
)
@click.option(
    "--cpu-speed",
    type=click.FloatRange(min=1e-3, max=1e3),
    default=1,
    show_default=True,
    help="Speed of a processor relative to the one that was traced on.",
)
@click.option("--one-rank", type=click.Path(path_type=Path), help="A trace of the same problem on one rank.")
@click.option("--no-sensitivity", is_flag=True, help="Predict only the run time; this takes a ninth of the replays.")
@_json
@click.option(
    "--table", "as_table", is_flag=True, help="Print the values of one twin in the form that the checks read."
)
@_time_limit
@_memory_limit
def replay(
    trace: Path,
    twins: tuple[Path, ...],
    *,
    ppn: tuple[int, ...],
    cpu_speed: float,
    one_rank: Path | None,
    no_sensitivity: bool,
    as_json: bool,
    as_table: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Predict how long a traced application would take on simulated clusters.

    TRACE is a folder that `fabric-checks profile --trace` wrote; each TWIN describes a cluster, like those in
    config/twins, or a planned one with its alternatives. SimGrid replays the trace on each, which gives run time, share
    of communication, efficiency, and what 10 % of latency, bandwidth, message rate and CPU speed cost or gain.

    If TRACE has a folder for each number of ranks, as `--trace TRACE/8` for `mpirun -np 8`, every trace is replayed in
    all layouts of nodes and processes that it fills. The values are predictions; nothing is measured.
    """
    bounds = Bounds(time_limit, memory_limit)
    if replay_series.is_series(trace):
        if one_rank or no_sensitivity:
            raise click.UsageError(
                f"{trace} has traces of several numbers of ranks: leave out --one-rank and --no-sensitivity"
            )
        _series(trace, twins, ppn or (1, 2), cpu_speed, bounds, as_json=as_json, as_table=as_table)
        return
    if as_table or len(ppn) > 1:
        raise click.UsageError(f"{trace} is one trace, but --table and several --ppn need one for each number of ranks")
    found = replaying.load(trace)
    questions = replaying.Questions(
        ppn[0] if ppn else None, cpu_speed, replaying.load(one_rank) if one_rank else None, not no_sensitivity
    )
    outcomes = replaying.replay(found, twins, questions, bounds, console.error)
    if as_json:
        console.print_json(replaying.as_json(found, outcomes, questions))
    else:
        console.print(*replaying.as_lines(found, outcomes, questions))


def _series(
    traces: Path,
    twins: tuple[Path, ...],
    ppn: tuple[int, ...],
    cpu_speed: float,
    bounds: Bounds,
    *,
    as_json: bool,
    as_table: bool,
) -> None:
    found = replay_series.load(traces)
    clusters = replaying.clusters_of(twins)
    if as_table and len(clusters) > 1:
        raise FabricError(f"--table takes one twin, but {len(clusters)} are given; leave out the others, or --table")
    outcomes = replay_series.run(found, clusters, ppn, cpu_speed, bounds)
    if as_json:
        console.print_json(replay_series.as_json(traces, outcomes, cpu_speed))
    elif as_table:
        console.print(*replay_series.as_table(traces, outcomes[0], cpu_speed))
    else:
        console.print(*replay_series.as_lines(traces, outcomes, cpu_speed))
