# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks replay``: what a traced application would take on twins."""

from __future__ import annotations

from pathlib import Path

import click

from fabric_checks.core import console
from fabric_twins import replay
from fabric_twins.cli import options
from fabric_twins.simulate import Bounds

_EPILOG = """
\b
Examples:
  fabric-checks replay lj4 config/twins/escher.yaml config/twins/rogue-gige.yaml
  fabric-checks replay lj4 my-planned-cluster.yaml --ppn 2 --cpu-speed 1.5
  fabric-checks replay lj4 config/twins/escher.yaml --one-rank lj1 --json
"""


@click.command("replay", epilog=_EPILOG)
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("twin", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--ppn", type=click.IntRange(min=1), help="Processes a node.  [default: as few as will do]")
@options.CPU_SPEED
@click.option("--one-rank", type=click.Path(path_type=Path), help="A trace of the same problem on one rank.")
@click.option("--no-sensitivity", is_flag=True, help="Predict only the run time; this takes a ninth of the replays.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@options.REPLAY_TIME_LIMIT
@click.option(
    "--memory-limit",
    type=click.IntRange(min=64),
    default=4096,
    show_default=True,
    help="Memory limit of a replay, in MiB.",
)
def command(
    trace: Path,
    twin: tuple[Path, ...],
    *,
    ppn: int | None,
    cpu_speed: float,
    one_rank: Path | None,
    no_sensitivity: bool,
    as_json: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Predict how long a traced application would take on simulated clusters.

    TRACE is a folder that `fabric-checks profile --trace` wrote; each TWIN describes a cluster, like those in
    config/twins, or a planned one with its alternatives. SimGrid replays the trace on each, which gives run time, share
    of communication, efficiency, and what 10 % of latency, bandwidth, message rate and CPU speed cost or gain. The
    values are predictions based on the trace and on the description; nothing is measured.
    """
    found = replay.load(trace)
    questions = replay.Questions(ppn, cpu_speed, replay.load(one_rank) if one_rank else None, not no_sensitivity)
    outcomes = replay.replay(found, twin, questions, Bounds(time_limit, memory_limit), console.error)
    if as_json:
        console.print_json(replay.as_json(found, outcomes, questions))
    else:
        console.print(*replay.as_lines(found, outcomes, questions))
