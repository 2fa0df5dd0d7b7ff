# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks show``: the metrics of a run."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import click

from fabric_checks import records, session, summary
from fabric_checks.commands.output import csv_cell, show_all
from fabric_checks.perflog import FIELDS

_EPILOG = """
\b
Examples:
  fabric-checks show                 the latest run
  fabric-checks show --json          its perflog records, as one JSON array
  fabric-checks show --csv > a.csv   the same as a table for a spreadsheet
"""


@click.command("show", epilog=_EPILOG)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of results.  [default: .fabric/results]")
@click.option("--session", "name", help="Name of the run.  [default: the latest]")
@click.option("--json", "form", flag_value="json", help="Print the records as a JSON array.")
@click.option("--csv", "form", flag_value="csv", help="Print the records as CSV.")
@click.option("--gate", is_flag=True, help="Exit with status 1 unless a case ran, all passed and all left records.")
def command(results: Path | None, name: str | None, form: str | None, gate: bool) -> None:
    """Print the metrics of a run."""
    folder = results or session.results()
    found = records.load_session(folder, name)
    faults = records.verdict(found)
    if form == "json":
        click.echo(json.dumps(list(found.records), indent=1))
    elif form == "csv":
        _write_csv(found.records)
    else:
        show_all(summary.render(found))
        if found.report:
            click.echo(f"session:  {found.name}\nperflogs: {folder / 'perflogs'}\nreport:   {found.report}")
    if gate and faults:
        raise SystemExit(1)


def _write_csv(rows: tuple[records.Record, ...]) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(FIELDS)
    for row in rows:
        out.writerow([csv_cell(row[field]) for field in FIELDS])
