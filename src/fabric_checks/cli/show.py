# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks show``: the metrics of a run, and the nodes that runs used."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from fabric_checks.cli import run_summary, selection
from fabric_checks.cli.conditions import UNUSABLE, end_by, named, read_by, refuse_together
from fabric_checks.cli.verb import DONE, FAILED, FOUND, Verb, json_option
from fabric_checks.comparison import nodes
from fabric_checks.core import console, paths
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.records import runs
from fabric_checks.report import nodes as node_tables
from fabric_checks.report.terminal import summary
from fabric_checks.report.texts import rich_table

_EPILOG = """
\b
Examples:
  fabric-checks show                            the latest run
  fabric-checks show --short                    the one screen that it ended with
  fabric-checks show --list                     all runs
  fabric-checks show --session 20261121T080000Z-8c1d
  fabric-checks show archive --list             the runs of an archive, or of any other set of records
  fabric-checks show --json                     its perflog records, as one JSON array
  fabric-checks show --nodes                    every node that runs used; the worst first
  fabric-checks show /archive/2026,system=oak --node n17
                                                the history of one of them
"""


@click.command(
    "show", cls=Verb, epilog=_EPILOG, statuses={FAILED: UNUSABLE, FOUND: "--gate: the run is no success"}
)
@click.argument("source", metavar="[SOURCE]", required=False, callback=read_by(named))
@click.option("--session", "name", callback=read_by(named), help="Name of the run.  [default: the latest]")
@click.option("--list", "as_list", is_flag=True, help="List the runs: date, system, cases, passed.")
@json_option
@click.option(
    "--gate",
    is_flag=True,
    help="Exit with status 3 unless at least one case ran, all passed and all left records.",
)
@click.option("--short", is_flag=True, help="Print only the one screen that the run ended with.")
@click.option(
    "--nodes", "as_nodes", is_flag=True, help="List the nodes instead: last seen, errors, how often blamed."
)
@click.option("--node", callback=read_by(named), help="Show the history of this node instead.")
def command(
    source: str | None,
    name: str | None,
    *,
    as_list: bool,
    as_json: bool,
    gate: bool,
    short: bool,
    as_nodes: bool,
    node: str | None,
) -> None:
    """Print the metrics of a run, or the nodes that runs used."""
    refuse_together(json=as_json, short=short)
    for of_a_run in ({"session": name}, {"short": short}, {"gate": gate}):
        refuse_together(node=node, nodes=as_nodes and not node, list=as_list, **of_a_run)
    if as_nodes or node:
        _nodes(source, node, as_json=as_json)
        return
    folder = Path(source) if source else paths.results()
    if source and not folder.exists():
        raise RecordError(
            f"{folder}: there is no such file or folder; @FROM..TO and FIELD=VALUE go with --nodes"
        )
    if as_list:
        _list(folder, as_json=as_json)
        return
    read = runs.session_of_records if runs.only_records(folder) else runs.load_session
    found = read(folder, name)
    if short:
        run_summary.show(folder, found, None)
    else:
        _session(folder, found, as_json=as_json)
    raise SystemExit(_status(found, gate=gate))


def _status(found: runs.Session, *, gate: bool) -> int:
    """Return the exit status of a run that was shown.

    A gate judges its own run: a broken line may belong to any run, and a record that is missing is named
    anyway.
    """
    if gate and runs.other_faults(found):
        return FAILED
    if gate:
        return FOUND if runs.failed(found) else DONE
    return FAILED if found.unreadable or found.report_faults else DONE


def _session(folder: Path, found: runs.Session, *, as_json: bool) -> None:
    if as_json:
        console.warn([*found.unreadable, *found.report_faults])
        console.print_json(list(found.records))
        return
    console.print_rich(summary.render(found))
    if found.report:
        console.print(
            f"session:  {found.name}", f"perflogs: {folder / 'perflogs'}", f"report:   {found.report}"
        )
    elif found.archived:
        console.print(f"session:  {found.name}", f"records:  {folder}")


def _nodes(source: str | None, name: str | None, *, as_json: bool) -> None:
    loaded = selection.load((source,) if source else (), nodes.COLUMNS)
    found = nodes.nodes_of(loaded.frame)
    if name is not None:
        found = [node for node in found if node.name == name]
        if not found:
            raise RecordError(
                f"no case ran on a node {quoted(name)}; `fabric-checks show --nodes` lists them"
            )
    if as_json:
        content = {"nodes": [asdict(node) for node in found], "faults": loaded.faults}
        console.print_json(content)
    elif name is None:
        console.print_rich([node_tables.listed(found)])
    else:
        console.print_rich([node_tables.history(node) for node in found])
    end_by(loaded.faults)


def _list(folder: Path, *, as_json: bool) -> None:
    listed, faults = runs.listed(folder)
    if as_json:
        console.print_json([asdict(run) for run in listed])
    else:
        shown: list[tuple[object, ...]] = []
        for run in listed:
            when = f"{run.started:%Y-%m-%d %H:%M:%S}" if run.started else "unknown"
            counts = ("none", "") if run.cases is None else (run.cases, run.passed)
            shown.append((run.session, when, ", ".join(run.systems), *counts))
        header = ("session", "started", "systems", "cases", "passed")
        console.print_rich([rich_table(header, shown, right=header[3:])])
    end_by(faults)
