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


_TWIN_EPILOG = """
\b
Examples:
  fabric-checks twin config/twins/examples/planned-cluster.yaml
  fabric-checks twin my-planned-cluster.yaml --pictures folder
  fabric-checks twin my-planned-cluster.yaml --confirm          name what is to blame, too
  fabric-checks twin config/twins/feynman.yaml --hot-spot       any description will do
"""


@cli.command(epilog=_TWIN_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--alltoall", is_flag=True, help="Simulate MPI_Ialltoall as well.")
@click.option("--hot-spot", is_flag=True, help="Simulate one master with more and more slaves as well.")
@click.option("--confirm", is_flag=True, help="Let rotate measure what looks slow again, and say what is to blame.")
@click.option("--shifts", type=click.IntRange(min=0), default=0, help="Rounds of rotate, evenly spread; 0: all.")
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Folder to write pictures to.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--time-limit", type=click.FloatRange(min=1), default=600, show_default=True, help="s a simulation.")
@click.option("--memory-limit", type=click.IntRange(min=64), default=4096, show_default=True, help="MiB a simulation.")
def twin(
    file: Path,
    *,
    alltoall: bool,
    hot_spot: bool,
    confirm: bool,
    shifts: int,
    pictures: Path | None,
    as_json: bool,
    time_limit: float,
    memory_limit: int,
) -> None:
    """Predict what a planned cluster gives, and its alternatives side by side.

    FILE describes the cluster, as those in config/twins do, and under `alternatives` in what others differ: topology,
    routing, oversubscription, faults. The cross-section test rotate is simulated on each, with SimGrid. The figures
    are predictions that rest on the description; nothing is measured.
    """
    from fabric_checks.twins import plan, what_if  # noqa: PLC0415  (slow to import)
    from fabric_checks.twins.simulate import Bounds  # noqa: PLC0415  (only this needs it)

    questions = what_if.Questions(alltoall, hot_spot, shifts, confirm)
    bounds = Bounds(time_limit, memory_limit)
    outcomes = what_if.simulate(plan.load(file), questions, bounds, lambda line: click.echo(line, err=True))
    click.echo(what_if.as_json(file, outcomes) if as_json else what_if.as_text(file, outcomes))
    if pictures:
        what_if.draw(outcomes, pictures)


@cli.command("twins-table")
@click.option("--write", is_flag=True, help="Write config/twins/README.md instead of printing it.")
def twins_table(write: bool) -> None:
    """Simulate every figure that the documents report of the twins, and print published against simulated."""
    from fabric_checks.twins import published_table  # noqa: PLC0415  (slow to import)

    twins = published_table.shipped()
    text = published_table.text(twins, published_table.simulate_all(twins))
    if write:
        published_table.README.write_text(text)
    click.echo(published_table.README if write else text, nl=write)


@cli.command("twins-references")
def twins_references() -> None:
    """Write config/references/TWIN.yaml of every twin, from the figures in config/twins/TWIN.yaml."""
    from fabric_checks.twins import published_table, reference_file  # noqa: PLC0415  (slow to import)

    for each in published_table.shipped():
        path = reference_file.path(each)
        path.write_text(reference_file.text(each))
        click.echo(path)


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
