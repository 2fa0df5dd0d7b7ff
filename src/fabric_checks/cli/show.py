# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks show``: the metrics of a run."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich import box
from rich.table import Table

from fabric_checks.cli import ending
from fabric_checks.core import console, paths
from fabric_checks.core.text import csv_text
from fabric_checks.records import cost, runs
from fabric_checks.records.record import FIELDS
from fabric_checks.report.terminal import cost_table, summary

_EPILOG = """
\b
Examples:
  fabric-checks show                            the latest run
  fabric-checks show --short                    the one screen that it ended with
  fabric-checks show --list                     all runs
  fabric-checks show --session 20261121T08      the run whose name begins like this
  fabric-checks show --results archive --list   the runs of an archive, or of any other set of records
  fabric-checks show --json                     its perflog records, as one JSON array
  fabric-checks show --csv > a.csv              the same as a table for a spreadsheet
"""


@click.command("show", epilog=_EPILOG)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Folder of results, or an archive or other records.  [default: .fabric/results]",
)
@click.option("--session", "name", help="Name of the run, or the beginning of it.  [default: the latest]")
@click.option("--list", "as_list", is_flag=True, help="List the runs: date, system, cases, passed.")
@click.option("--json", "form", flag_value="json", help="Print the records, or the list, as a JSON array.")
@click.option("--csv", "form", flag_value="csv", help="Print the records as CSV.")
@click.option(
    "--gate", is_flag=True, help="Exit with status 1 unless at least one case ran, all passed and all left records."
)
@click.option("--short", is_flag=True, help="Print only the one screen that the run ended with.")
def command(
    results: Path | None, name: str | None, *, as_list: bool, form: str | None, gate: bool, short: bool
) -> None:
    """Print the metrics of a run."""
    folder = results or paths.results()
    if as_list:
        _list(folder, form)
        return
    found = _session(folder, name)
    if form:
        console.warn([*found.unreadable, *found.report_faults])
    if form == "json":
        console.print_json(json.dumps(list(found.records), indent=1))
    elif form == "csv":
        console.print_document(csv_text(FIELDS, ([row[field] for field in FIELDS] for row in found.records)))
    elif short:
        ending.show(folder, found, None)
    else:
        console.print_rich(summary.render(found))
        if found.report:
            console.print(f"session:  {found.name}", f"perflogs: {folder / 'perflogs'}", f"report:   {found.report}")
            _show_cost(found)
        elif found.archived:
            console.print(f"session:  {found.name}", f"records:  {folder}")
    # A gate is about its own run: a line that is none may be of any other, and one of its own is missed by name.
    if runs.verdict(found) if gate else found.unreadable or found.report_faults:
        raise SystemExit(1)


def _show_cost(found: runs.Session) -> None:
    if measured := cost.cost_of(found.name, found.records):
        console.print(f"cost:     {cost_table.one_line(measured)}")


def _session(folder: Path, name: str | None) -> runs.Session:
    of_records = runs.only_records(folder)
    if not of_records and (name is None or (folder / "logs" / f"{name}.log").exists()):
        return runs.load_session(folder, name)

    if name is not None:
        name = runs.resolved(folder, name)
    return runs.session_of_records(folder, name) if of_records else runs.load_session(folder, name)


def _list(folder: Path, form: str | None) -> None:
    fields = ("session", "started", "systems", "cases", "passed")
    listed, faults = runs.listed(folder)
    rows = [
        (run.session, run.started.isoformat() if run.started else None, list(run.systems), run.cases, run.passed)
        for run in listed
    ]
    if form == "json":
        console.print_json(json.dumps([dict(zip(fields, row, strict=True)) for row in rows], indent=1))
    elif form == "csv":
        console.print_document(csv_text(fields, rows))
    else:
        table = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
        for title in fields:
            table.add_column(title, justify="right" if title in fields[3:] else "left", overflow="fold")
        for name, started, systems, cases, passed in rows:
            when = started.replace("T", " ")[:19] if started else "unknown"
            counts = ("none", "") if cases is None else (str(cases), str(passed))
            table.add_row(*(summary.plain(cell) for cell in (name, when, ", ".join(systems), *counts)))
        console.print_rich([table])
    console.warn(faults)
    if faults:
        raise SystemExit(1)
