# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks doctor``: which checks a configuration of ReFrame has cases of, which not, and why.

It also tells what the files of a fabric's map are worth.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
from reframe.core.exceptions import ReframeError

from fabric_checks.cli.verb import FAILED, FILE, json_option, option, verb
from fabric_checks.core import console
from fabric_checks.core.errors import ChoiceError, FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.core.templates import filled
from fabric_checks.core.text import count_text, names_text, one_line
from fabric_checks.fabric_map import names, slurm_topology, topology_files
from fabric_checks.fabric_map.model import FabricMap
from fabric_checks.records import fabric_maps
from fabric_checks.reframe_ext.own_settings import examined

_EPILOG = """
\b
Examples:
  fabric-checks doctor                                the system that matches this host
  fabric-checks doctor -C site.py --system ada        a system of your own settings of ReFrame
  fabric-checks doctor --topology net.txt --topology tables.txt --nodes 'n[001-128]'
                                                      what these files say of these nodes
"""


@verb("doctor", _EPILOG, {FAILED: "no check has a case, or the settings are wrong"})
@option(
    "-C",
    "A file with settings of ReFrame; can be repeated.  [default: RFM_CONFIG_FILES, or config/settings.py]",
    "--config-file",
    "files",
    multiple=True,
)
@option("--system", "The system.  [default: the first that matches this host]")
@option(
    "--topology",
    "Look at this file of the fabric's map instead; can be repeated.",
    multiple=True,
    type=FILE,
)
@option("--nodes", "Those that should be on it, in Slurm's notation.", metavar="LIST")
@json_option
def command(
    files: tuple[str, ...],
    system: str | None,
    topology: tuple[Path, ...],
    nodes: str | None,
    *,
    as_json: bool,
) -> None:
    """Show which checks your ReFrame settings enable, and why others are skipped. Nothing is run.

    With --topology, show what the files of a fabric's map are worth.
    """
    if topology:
        _show_worth(topology, nodes, as_json=as_json)
    elif nodes:
        raise click.UsageError("--nodes is for --topology")
    else:
        _show_cases(files, system, as_json=as_json)


def _show_cases(files: Sequence[str], system: str | None, *, as_json: bool) -> None:
    default = os.environ.get("RFM_CONFIG_FILES") or str(ROOT / "config" / "settings.py")
    if missing := [file for file in files if not Path(file).is_file()]:
        raise FabricError(
            f"{missing[0]}: there is no such file; name the settings of your ReFrame"
        )
    named = [str(Path(file).absolute()) for file in files] or default.split(os.pathsep)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = examined(named, system, Path(folder))
    except ReframeError as error:
        cause = one_line(str(error)).removeprefix(f"{named[0]}: ")
        kind = ChoiceError if isinstance(error, ChoiceError) else FabricError
        raise kind(f"{', '.join(named)}: {cause}") from None
    if as_json:
        console.print_json(found)
    else:
        template = Path(__file__).with_name("doctor.jinja")
        console.print(*filled(template, {}, **found).splitlines())
    if not found["cases"]:
        raise FabricError(f"{found['system']}: no check has a case there")


def _show_worth(paths: Sequence[Path], nodes: str | None, *, as_json: bool) -> None:
    """Show what files of a map have; :param nodes: those that should be on it."""
    known = fabric_maps.of_files(paths)
    age = topology_files.age_text(paths, time.time())
    worth = {
        "age": [
            age.replace("on the day of the run", "today").replace(
                "before the run", "ago"
            )
        ],
        "hosts": _hosts(known),
        "nodes": _lacking(known, slurm_topology.hostlist(nodes)) if nodes else [],
        "links": _links(known),
        "contradictions": [*known.warnings, *known.slow_links.values()],
    }
    if as_json:
        console.print_json(worth)
    else:
        console.print(*(line for lines in worth.values() for line in lines))


def _hosts(known: FabricMap) -> list[str]:
    """Return how many hosts there are, and with which adapters."""
    hosts = {name.partition(" ")[0] for name in known.hosts}
    at = count_text(len(set(known.at.tolist())), "switch", "switches")
    above = len(known.switches) - len(set(known.at.tolist()))
    adapters = Counter(filter(None, map(names.adapter, known.hosts)))
    listed = [f"{name} on {count}" for name, count in sorted(adapters.items())]
    return [
        f"{count_text(len(hosts), 'host')} at {at}, {above} above, {len(known.cables)} cables between these",
        *([f"adapters: {names_text(listed, 8)}"] if listed else []),
    ]


def _lacking(known: FabricMap, nodes: Sequence[str]) -> list[str]:
    """Return how many of some nodes are on a map, and which are not."""
    plain = set(map(names.plain, known.hosts))
    missing = [node for node in nodes if names.plain(node) not in plain]
    rest = f"; it lacks {names_text(missing, 8)}" if missing else ""
    return [f"{len(nodes) - len(missing)} of {len(nodes)} nodes are on the map{rest}"]


def _links(known: FabricMap) -> list[str]:
    """Return what is known of the rates of cables and of routes."""
    rates = "all alike, or not known"
    if known.rates is not None:
        kinds = sorted(set(known.rates.round(3).tolist()))
        rates = (
            f"{', '.join(f'{each:g}' for each in kinds)} times that of a host's link"
        )
    routes = "not known" if known.next is None else "known"
    lines = [f"rates of cables: {rates}", f"routes: {routes}; routing: {known.routing}"]
    if known.has_routes:
        return lines
    lack = (
        "forwarding tables" if known.next is None else "a log of OpenSM, or --routing"
    )
    return [*lines, f"nodes and switches can be named, cables cannot: give {lack}"]
