# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks replay-series``: a traced application over the nodes of twins, by processes a node."""

from __future__ import annotations

from pathlib import Path

import click

from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_twins import replay, replay_series
from fabric_twins.cli import options
from fabric_twins.simulate import Bounds

_EPILOG = """
\b
Examples:
  fabric-checks replay-series app config/twins/cbc.yaml config/twins/escher.yaml
  fabric-checks replay-series app config/twins/itanium2-ib.yaml --ppn 1 --ppn 2 --ppn 4 --json
"""


@click.command("replay-series", epilog=_EPILOG)
@click.argument("traces", type=click.Path(path_type=Path))
@click.argument("twin", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--ppn", type=click.IntRange(min=1), multiple=True, default=(1, 2), show_default=True, help="Processes a node."
)
@options.CPU_SPEED
@click.option("--json", "form", flag_value="json", help="Print everything as JSON.")
@click.option(
    "--table", "form", flag_value="table", help="Print the values of one twin in the form that the checks read."
)
@options.REPLAY_TIME_LIMIT
def command(
    traces: Path,
    twin: tuple[Path, ...],
    *,
    ppn: tuple[int, ...],
    cpu_speed: float,
    form: str | None,
    time_limit: float,
) -> None:
    """Predict how long an application takes on more and more nodes, with one process on each and with more.

    TRACES is a folder with a folder for each number of ranks, as `fabric-checks profile --trace TRACES/8 -- mpirun -np
    8 ...` writes one; each TWIN describes a cluster, or a planned one with its alternatives. Every trace is replayed in
    all layouts of nodes and processes that it fills. The values are predictions; nothing is measured.
    """
    if form == "table" and len(twin) > 1:
        raise FabricError(f"--table takes one twin, but {len(twin)} are given")
    found = replay_series.load(traces)
    clusters = replay.clusters_of(twin)
    if form == "table" and len(clusters) > 1:
        raise FabricError(f"{twin[0]}: has {len(clusters)} alternatives, but --table takes one twin; leave --table out")
    outcomes = replay_series.run(found, clusters, ppn, cpu_speed, Bounds(time_limit))
    if form == "json":
        console.print_json(replay_series.as_json(traces, outcomes, cpu_speed))
    elif form == "table":
        console.print(*replay_series.as_table(traces, outcomes[0], cpu_speed))
    else:
        console.print(*replay_series.as_lines(traces, outcomes, cpu_speed))
