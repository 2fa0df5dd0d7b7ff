# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks twin`` and ``replay``: what simulated clusters predict, and the files of the published
ones."""

from __future__ import annotations

from pathlib import Path

import click

from fabric_checks.cli.verb import Verb, Verbs, json_option, number_option
from fabric_checks.core import console, files
from fabric_twins import plan, published_table, reference_file, what_if
from fabric_twins import replay as replaying
from fabric_twins.simulate import Bounds

_PREDICT = """
\b
Examples:
  fabric-checks twin predict config/twins/examples/planned-cluster.yaml
  fabric-checks twin predict my-planned-cluster.yaml --pictures folder
  fabric-checks twin predict config/twins/feynman.yaml     any description will do
"""
_REFERENCES = """
\b
Examples:
  fabric-checks twin references     write them; `git diff config/references` shows what changed
"""

_TABLE = """
\b
Examples:
  fabric-checks twin table            print it; the simulation takes minutes
  fabric-checks twin table --write    into config/twins/README.md, for example after a change to a description
"""
_REPLAY = """
\b
Examples:
  fabric-checks replay lj4 config/twins/escher.yaml config/twins/rogue-gige.yaml
  fabric-checks replay lj4 my-planned-cluster.yaml --ppn 2 --cpu-speed 1.5
  fabric-checks replay lj4 config/twins/escher.yaml --sensitivity --json
  fabric-checks replay app config/twins/cbc.yaml config/twins/escher.yaml     \
app has a folder for each number of ranks
  fabric-checks replay app config/twins/itanium2-ib.yaml --ppn 1 --ppn 2 --ppn 4 --json
"""


@click.group(cls=Verbs)
def twin() -> None:
    """Predict what a planned cluster will deliver, and compare published clusters with their simulations."""


@twin.command("predict", epilog=_PREDICT)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--shifts",
    type=click.IntRange(min=0),
    default=0,
    help="Rounds of rotate, evenly spread; 0: all.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write pictures to.",
)
@json_option
def predict(file: Path, *, shifts: int, pictures: Path | None, as_json: bool) -> None:
    """Predict what a planned cluster would deliver, with its alternatives side by side.

    FILE describes the cluster, like those in config/twins, and under `alternatives` how others differ from
    it: topology, routing, oversubscription, faults. The cross-section test rotate is computed on each: all
    pairs send long messages at once and share links fairly. The values are predictions based on the
    description; nothing is measured.
    """
    outcomes = what_if.predict(plan.load(file), shifts, console.error)
    if as_json:
        console.print_json(what_if.as_json(file, outcomes))
    else:
        console.print(*what_if.as_lines(file, outcomes))
    if pictures:
        what_if.draw(outcomes, pictures)


@twin.command("table", epilog=_TABLE)
@click.option(
    "--write", is_flag=True, help="Write config/twins/README.md instead of printing it."
)
@json_option
def table(*, write: bool, as_json: bool) -> None:
    """Simulate every value that the documents report for the twins, and print published and simulated
    values."""
    twins = published_table.shipped()
    found = published_table.simulate_all(twins)
    text = published_table.text(twins, found)
    if as_json:
        console.print_json(
            list(map(published_table.as_json, published_table.rows(twins, found)))
        )
    elif write:
        files.write_text(published_table.README, text)
        console.print(str(published_table.README))
    else:
        console.print_document(text)


@twin.command("references", epilog=_REFERENCES)
def references() -> None:
    """Write config/references/TWIN.yaml of every twin, from the values in config/twins/TWIN.yaml."""
    for each in published_table.shipped():
        path = reference_file.path(each)
        files.write_text(path, reference_file.text(each))
        console.print(str(path))


@click.command("replay", cls=Verb, epilog=_REPLAY)
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument(
    "twins", metavar="TWIN...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--ppn",
    type=click.IntRange(min=1),
    multiple=True,
    default=(1, 2),
    show_default=True,
    help="Processes a node.",
)
@click.option(
    "--cpu-speed",
    type=click.FloatRange(min=1e-3, max=1e3),
    default=1,
    show_default=True,
    help="Speed of a processor relative to the one that was traced on.",
)
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Also predict what 10 % of latency, bandwidth, ... cost or gain.",
)
@json_option
@number_option(
    "--time-limit", "Time limit of one simulation, in seconds.", least=1, default=600
)
@number_option(
    "--memory-limit",
    "Memory limit of one simulation, in MiB.",
    least=64,
    is_whole=True,
    default=4096,
)
def replay(
    trace: Path,
    twins: tuple[Path, ...],
    *,
    ppn: tuple[int, ...],
    cpu_speed: float,
    sensitivity: bool,
    as_json: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Predict how long a traced application would take on simulated clusters.

    TRACE is a folder that `fabric-checks profile --trace` wrote, or one that has such a folder for each
    number of ranks, as `--trace TRACE/8` for `mpirun -np 8`. Each TWIN describes a cluster, like those in
    config/twins, or a planned one with its alternatives. SimGrid replays every trace in all layouts of nodes
    and processes that it fills, which gives run time and share of communication, and with --sensitivity what
    10 % of latency, bandwidth, message rate and CPU speed cost or gain. The values are predictions; nothing
    is measured.
    """
    traces, clusters = replaying.load(trace), replaying.clusters_of(twins)
    bounds = Bounds(time_limit, memory_limit)
    found = replaying.run(
        traces, clusters, ppn, cpu_speed, bounds, sensitivity=sensitivity
    )
    if as_json:
        console.print_json(replaying.as_json(trace, found, cpu_speed))
    else:
        console.print(*replaying.as_lines(trace, found, cpu_speed))
