# SPDX-License-Identifier: BSD-3-Clause
"""The command ``fabric-checks``."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from fabric_checks import __version__, records, session, summary
from fabric_checks.errors import FabricError
from fabric_checks.perflog import FIELDS
from fabric_checks.spack.cli import spack as spack_commands

_SHOW_EPILOG = """
\b
Examples:
  fabric-checks show                 the latest run
  fabric-checks show --json          its perflog records, as one JSON array
  fabric-checks show --csv > a.csv   the same as a table for a spreadsheet
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fabric-checks")
def cli() -> None:
    """Read and show what the checks measured."""


@cli.command(epilog=_SHOW_EPILOG)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of results.  [default: .fabric/results]")
@click.option("--session", "name", help="Name of the run.  [default: the latest]")
@click.option("--json", "form", flag_value="json", help="Print the records as a JSON array.")
@click.option("--csv", "form", flag_value="csv", help="Print the records as CSV.")
@click.option("--gate", is_flag=True, help="Exit with status 1 unless a case ran, all passed and all left records.")
def show(results: Path | None, name: str | None, form: str | None, gate: bool) -> None:
    """Print the metrics of a run."""
    folder = results or session.results()
    found = records.load_session(folder, name)
    faults = records.verdict(found)
    if form == "json":
        click.echo(json.dumps(list(found.records), indent=1))
    elif form == "csv":
        _write_csv(found.records)
    else:
        # A terminal has a width, and COLUMNS may give one; a file or a pipe gets one that fits the table.
        has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
        console = Console(width=None if has_width else 160, highlight=False)
        for part in summary.render(found):
            # Sentences are left to the terminal to wrap, so that they can be searched and copied.
            console.print(part, soft_wrap=isinstance(part, Text))
        if found.report:
            click.echo(f"session:  {found.name}\nperflogs: {folder / 'perflogs'}\nreport:   {found.report}")
    if gate and faults:
        raise SystemExit(1)


def _write_csv(rows: tuple[records.Record, ...]) -> None:
    out = csv.writer(sys.stdout)
    out.writerow(FIELDS)
    for row in rows:
        out.writerow([_cell(row[field]) for field in FIELDS])


def _cell(value: object) -> object:
    """Return a value for a CSV cell; text that a spreadsheet would take for a formula is made text."""
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


_ROTATE_EPILOG = """
\b
Examples:
  mpirun -np 16 rotate --confirm > a.txt
  fabric-checks rotate a.txt                    figures and findings
  fabric-checks rotate a.txt --pictures folder  the heat map and the histogram too
  fabric-checks rotate a.txt b.txt              and how alike the patterns of two runs are
"""


@cli.command(epilog=_ROTATE_EPILOG)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--link-MBps", "link_MBps", type=click.FloatRange(min=0, min_open=True), help="Rate of a link, MB/s.")
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Folder to write pictures to.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def rotate(files: tuple[Path, ...], link_MBps: float | None, pictures: Path | None, as_json: bool) -> None:
    """Analyse outputs of the program rotate: which node or path is slow.

    Exit status 1 if a node or a path is slow for certain.
    """
    from fabric_checks.cross_section import files as rotate_files  # noqa: PLC0415  (slow to import)

    reports = rotate_files.load(files, link_MBps)
    if pictures:
        rotate_files.draw(reports, pictures)
    click.echo(rotate_files.as_json(reports) if as_json else rotate_files.as_text(reports))
    if any(report.has_faults for report in reports.values()):
        raise SystemExit(1)


cli.add_command(spack_commands)


@cli.command("new-session", hidden=True)
def new_session() -> None:
    """Print a name for a session, for FABRIC_SESSION."""
    click.echo(session.new_session_id())


def main() -> None:
    """Run the command; what the user can mend is one line, not a trace."""
    try:
        cli()
    except FabricError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as head, has seen enough
        sys.exit(0)
    except OSError as error:
        click.echo(f"error: {error.filename or 'standard output'}: {error.strerror}", err=True)
        os._exit(1)  # what is still buffered cannot be written either
