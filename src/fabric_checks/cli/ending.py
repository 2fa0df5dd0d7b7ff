# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run: its report is written, and the one screen is printed."""

from __future__ import annotations

import sys
from pathlib import Path

from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import retention
from fabric_checks.records import runs
from fabric_checks.records.record import is_success
from fabric_checks.report.terminal import screen


def end(folder: Path, session: str, began_at_uptime_s: float | None, said: tuple[str, ...] = ()) -> bool:
    """Write the report of a run, and print the one screen; tell whether it is a success.

    :param began_at_uptime_s: the uptime of the host when it began. :param said: what ReFrame said beside its cases.
    """
    found = runs.load_session(folder, session)
    elapsed_s = wall_s(began_at_uptime_s)
    try:
        report = write_report(folder, found)
    except Exception as fault:  # what was measured is shown nevertheless
        show(folder, found, elapsed_s, report=f"not written because of a bug in fabric-checks: {fault}", said=said)
        raise
    show(folder, found, elapsed_s, report=report, said=said)
    return not runs.verdict(found)


def wall_s(began_at_uptime_s: float | None) -> float | None:
    """Return how long ago something began, in seconds, by what the host's uptime was then; None if nobody can tell."""
    try:
        now_s = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError):
        return None
    return now_s - began_at_uptime_s if began_at_uptime_s is not None and now_s >= began_at_uptime_s else None


def report_of(folder: Path, session: str) -> Path:
    """Return where the report of a run is."""
    return folder / "reports" / f"{session}.html"


def write_report(folder: Path, found: runs.Session) -> str:
    """Write the report of a run's system; return where it is, or why it is not there."""
    systems = sorted({str(record["system"]) for record in found.records if record["metric"] is not None})
    if not systems:
        return "none: nothing was measured"
    path = report_of(folder, found.name)
    try:
        with console.rich_console(console.err()).status("writing the report .."):
            retention.write_report(folder, systems[0], path)
    except (FabricError, OSError) as error:
        return f"not written: {error}"
    return str(path)


def show(
    folder: Path, found: runs.Session, elapsed_s: float | None, *, report: str = "", said: tuple[str, ...] = ()
) -> None:
    """Print the one screen of a run.

    :param elapsed_s: how long it took, None for what ReFrame's run report says.
    :param report: where the page is, empty for the one that the run has written.
    """
    if elapsed_s is None:
        elapsed_s = found.elapsed_s
    if not report and report_of(folder, found.name).exists():
        report = str(report_of(folder, found.name))
    places = [("report", report)] if report else []
    places.append(("all", f". ci/env.sh; fabric-checks show --session {found.name}"))
    if not found.archived:
        failed = [case for case in found.cases if not is_success(case.result) and case.result != "skip"]
        if failed:
            places.append(("files", f"{folder / 'stage' / found.name}"))
        places.append(("log", f"{folder / 'logs' / found.name}.log"))
    terminal = console.rich_console()
    width = terminal.width if console.out().isatty() else screen.WIDTH
    most = sys.maxsize if console.out().is_file() else screen.LINES
    console.print_rich(screen.render(found, screen.RunInfo(elapsed_s, tuple(places), said), width, most=most))
