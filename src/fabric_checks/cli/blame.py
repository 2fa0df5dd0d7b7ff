# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks blame``: who is slow, by saved measurements of all pairs of any program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from fabric_checks.cli.verb import (
    FAILED,
    FILE,
    FOUND,
    ending,
    flag,
    json_option,
    link_rate_option,
    option,
    verb,
)
from fabric_checks.core import console, files
from fabric_checks.core.routing import ROUTINGS
from fabric_checks.fabric_map import names, topology_files
from fabric_checks.fabric_map.model import FabricMap
from fabric_checks.records import fabric_maps
from fabric_checks.report.terminal import blame

_EPILOG = """
\b
Examples:
  mpirun -np 16 rotate --confirm > a.txt
  fabric-checks blame a.txt                     values and findings
  fabric-checks blame mon.csv tue.csv wed.csv   three nights of one machine, joined
  fabric-checks blame bandwidth.txt --next hosts.txt
                                                of ClusterKit; what to measure again
  fabric-checks blame a.txt --topology net.txt --topology lfts.txt --routing static
                                                of ibnetdiscover and dump_lfts.sh

docs/blame.md has an example of each format.
"""


@verb(
    "blame",
    _EPILOG,
    {
        0: "nothing is slow for certain",
        FAILED: "a file cannot be read: it is named, and the others are judged",
        FOUND: "a node or link is slow for certain, or all are far below --link-MBps",
    },
)
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=FILE)
@link_rate_option
@option(
    "--topology",
    "The map of the fabric: output of ibnetdiscover, dump_lfts.sh or `scontrol show topology`, and OpenSM's"
    " log. May be repeated.",
    multiple=True,
    type=click.Path(path_type=Path),
)
@option(
    "--routing",
    "Of the fabric; without it as the log of OpenSM has it (--topology). Cables are named only if it is"
    " static.",
    type=click.Choice(ROUTINGS),
)
@option(
    "--adapter",
    "The adapter that MPI used, where hosts have several in the topology, as mlx5_0. May be repeated.",
    "adapters",
    multiple=True,
    metavar="NAME",
)
@option(
    "--next",
    "Write what to measure again to this file: a hostfile, commands or pairs, as the program needs it.",
    "next_file",
    type=FILE,
)
@flag(
    "--alone",
    "Pairs were measured one after the other, where a format does not say so.",
)
@json_option
def command(
    paths: tuple[Path, ...],
    *,
    link_MBps: float | None,
    topology: tuple[Path, ...],
    routing: str | None,
    adapters: tuple[str, ...],
    next_file: Path | None,
    alone: bool,
    as_json: bool,
) -> None:
    """Find slow nodes, GPUs, cables and switches in any all-pairs matrix.

    The format (rotate, latency_map, ClusterKit and others, CSV) is recognized by content. Several of one
    program are joined as repeats, in the order given.

    With the topology, switches are named; with the forwarding tables too, cables, if routing is static.
    """
    known = _map(topology, routing, adapters)
    judged, refused = blame.load(paths, link_MBps, known, alone=alone)
    rest = "; the others are judged without it" if judged else ""
    console.error(*(f"error: {line}{rest}" for line in refused))
    if not judged:
        raise SystemExit(FAILED)
    written: list[str] = []
    if next_file:
        again = blame.next_text(judged, str(next_file))
        files.write_text(next_file, again)
        what = (
            "what to measure again"
            if again
            else "empty: nothing is to be measured again"
        )
        written = [f"{next_file}: {what}"]
    if as_json:
        console.print_json(blame.as_json(judged, refused))
    else:
        console.print(
            *_about(known, topology, paths[0]),
            *blame.as_lines(judged, str(next_file or "next.txt")),
            *written,
        )
    raise ending(found=any(each.report.has_faults for each in judged), failed=refused)


def _about(
    known: FabricMap | None, topology: Sequence[Path], measured: Path
) -> list[str]:
    """Return what there is to know of a map before its names are believed."""
    if known is None:
        return []
    age = topology_files.age_text(topology, measured.stat().st_mtime)
    return [age, *known.warnings, *known.slow_links.values()]


def _map(
    files: tuple[Path, ...], routing: str | None, adapters: tuple[str, ...]
) -> FabricMap | None:
    """Return the map of the fabric that files have, with the routing and the adapters that are given; None
    without files."""
    if not files:
        return None
    known = names.on_adapters(fabric_maps.of_files(files), adapters)
    return replace(known, routing=routing) if routing else known
