# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks rotate``: saved outputs of the program rotate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from fabric_checks.core import console
from fabric_checks.core.routing import ROUTINGS
from fabric_checks.diagnosis.fabric_map import topology_files
from fabric_checks.report.terminal import cross_section as rotate_files

_EPILOG = """
\b
Examples:
  mpirun -np 16 rotate --confirm > a.txt
  fabric-checks rotate a.txt                    values and findings
  fabric-checks rotate a.txt --pictures folder  the heat map and the histogram too
  fabric-checks rotate a.txt --topology net.txt --topology lfts.txt --routing static
                                                of ibnetdiscover and dump_lfts.sh
"""


@click.command("rotate", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--link-MBps", "link_MBps", type=click.FloatRange(min=0, min_open=True), help="Rate of a link, MB/s.")
@click.option(
    "--topology",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The map of the fabric: output of ibnetdiscover, dump_lfts.sh or `scontrol show topology`, and OpenSM's log. "
    "May be repeated.",
)
@click.option(
    "--routing",
    type=click.Choice(ROUTINGS),
    help="Of the fabric; without it as the log of OpenSM has it (--topology). Cables are named only if it is static.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write pictures to this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    files: tuple[Path, ...],
    *,
    link_MBps: float | None,
    topology: tuple[Path, ...],
    routing: str | None,
    pictures: Path | None,
    as_json: bool,
) -> None:
    """Analyse output of the program rotate: which node, cable or switch is slow.

    Exit status 1 if one is slow for certain, if nodes are of several kinds, or if all are far below --link-MBps.
    With the topology, switches are named; with the forwarding tables too, cables, if routing is static.
    """
    known = topology_files.read(topology) if topology else None
    if known and routing:
        known = replace(known, routing=routing)
    reports = rotate_files.load(files, link_MBps, known)
    if known and not as_json:
        console.print(*(topology_files.age_text(topology, file.stat().st_mtime) for file in files[:1]))
    if pictures:
        rotate_files.draw(reports, pictures)
    if as_json:
        console.print_json(rotate_files.as_json(reports))
    else:
        console.print(*rotate_files.as_lines(reports))
    if not all(report.is_quiet for report in reports.values()):
        raise SystemExit(1)
