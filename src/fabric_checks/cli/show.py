# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks show``: the metrics of a run, or the list of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from fabric_checks.cli import completion, run_summary
from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    UNUSABLE,
    csv_option,
    end_by,
    ending,
    flag,
    json_option,
    name_option,
    named,
    refuse_together,
    verb,
)
from fabric_checks.core import console, paths
from fabric_checks.core.errors import RecordError
from fabric_checks.records import runs, sources
from fabric_checks.report.texts import rich_table

#: Prints rows.
Writer = Callable[[Sequence[Mapping[str, object]]], None]

_EPILOG = """
\b
Examples:
  fabric-checks show                            the latest run
  fabric-checks show --short                    the one screen that it ended with
  fabric-checks show --list                     all runs
  fabric-checks show --session 20261121T080000Z-8c1d
  fabric-checks show perflogs --list            the runs of a set of records
  fabric-checks show --json                     its perflog records, as one JSON array
"""


@verb("show", _EPILOG, {FAILED: UNUSABLE, FOUND: "--gate: the run is no success"})
@click.argument("source", metavar="[SOURCE]", required=False, callback=named)
@name_option(
    "--session",
    "Name of the run.  [default: the latest]",
    "name",
    shell_complete=completion.sessions,
)
@flag("--list", "List the runs: date, system, cases, passed.", "as_list")
@json_option
@csv_option
@flag(
    "--gate",
    "Exit with status 3 unless at least one case ran, all passed and all left records.",
)
@flag("--short", "Print only the one screen that the run ended with.")
def command(
    source: str | None,
    name: str | None,
    *,
    as_list: bool,
    as_json: bool,
    as_csv: bool,
    gate: bool,
    short: bool,
) -> None:
    """Print the metrics of a run: a line for each curve, with its largest size; `--csv` has every size."""
    refuse_together(json=as_json, csv=as_csv, short=short)
    refuse_together(list=as_list, session=name or gate or short)
    folder = _folder(source)
    write = console.print_json if as_json else console.print_csv if as_csv else None
    if as_list:
        _list(folder, write)
        return
    read = runs.session_of_records if runs.only_records(folder) else runs.load_session
    found = read(folder, name)
    if write:
        console.warn([*found.unreadable, *filter(None, [found.report_fault])])
        write(found.records)
    else:
        run_summary.show(folder, found, None, every=not short)
    raise _end(found, gate=gate)


def _folder(source: str | None) -> Path:
    if source is None:
        return paths.results()
    if not Path(source).exists():
        raise RecordError(
            f"{source}: there is no such file or folder; name a folder of results, or a file of records"
        )
    return sources.folder_of(Path(source))


def _end(found: runs.Session, *, gate: bool) -> SystemExit:
    """Return the end of the command.

    A gate judges its own run: a broken line may belong to any run, and a record that is missing is named
    anyway.
    """
    if not gate:
        return ending(found=False, failed=found.unreadable or found.report_fault)
    faults = runs.other_faults(found)
    return ending(found=not faults and runs.failed(found), failed=faults)


def _list(folder: Path, write: Writer | None) -> None:
    listed, faults = runs.listed(folder)
    if write:
        write([asdict(run) for run in listed])
    else:
        header = ("session", "started", "systems", "cases", "passed")
        console.print_rich(
            [rich_table(header, list(map(_row, listed)), right=header[3:])]
        )
    end_by(faults)


def _row(run: runs.Run) -> tuple[object, ...]:
    when = f"{run.started:%Y-%m-%d %H:%M:%S}" if run.started else "unknown"
    cases = f"{run.cases}, interrupted" if run.interrupted else run.cases
    counts = ("none", "") if run.cases is None else (cases, run.passed)
    return run.session, when, ", ".join(run.systems), *counts
