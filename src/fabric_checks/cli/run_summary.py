# SPDX-License-Identifier: BSD-3-Clause
"""End a run: write its report, and print the one screen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import retention
from fabric_checks.records import runs
from fabric_checks.records.record import is_success
from fabric_checks.report.terminal import screen


def end(
    folder: Path,
    session: str,
    elapsed_s: float,
    messages: tuple[str, ...] = (),
) -> bool:
    """Write the report of a run, and print the one screen; return whether the run is a success.

    :param messages: ReFrame's own, apart from cases.
    """
    found = runs.load_session(folder, session)
    report = "not written because of a bug in fabric-checks"
    try:
        report = write_report(folder, found)
    finally:  # measured values are shown in any case
        show(folder, found, elapsed_s, report=report, messages=messages)
    return not runs.verdict(found)


def report_of(folder: Path, session: str) -> Path:
    """Return the path of the report of a run."""
    return folder / "reports" / f"{session}.html"


def write_report(folder: Path, found: runs.Session) -> str:
    """Write the report of a run's system; return its path, or the reason why there is none."""
    systems = [
        str(record["system"])
        for record in found.records
        if record["metric"] is not None
    ]
    if not systems:
        return "none: nothing was measured"
    path = report_of(folder, found.name)
    try:
        retention.write_report(folder, min(systems), path, session=found)
    except (FabricError, OSError) as error:
        return f"not written: {error}"
    return str(path)


def show(
    folder: Path,
    found: runs.Session,
    elapsed_s: float | None,
    *,
    report: str = "",
    messages: tuple[str, ...] = (),
    every: bool = False,
) -> None:
    """Print the one screen of a run, or all of it with every value.

    :param elapsed_s: its duration, None for that of ReFrame's run report.
    :param report: the path of the page, empty for the one that the run has written.
    """
    if elapsed_s is None:
        elapsed_s = found.elapsed_s
    terminal, out = console.rich_console(), console.out()
    width = terminal.width if out.isatty() else screen.WIDTH
    most = sys.maxsize if every or out.is_file() else screen.LINES
    info = screen.RunInfo(elapsed_s, tuple(_paths(folder, found, report)), messages)
    console.print_rich(screen.render(found, info, width, most=most, every=every))


def _paths(folder: Path, found: runs.Session, report: str) -> Iterator[tuple[str, str]]:
    """Yield where more about a run is, each place with its title."""
    page = report_of(folder, found.name)
    if report or page.exists():
        yield "report", report or str(page)
    if found.archived:
        yield "records", f"{folder}"
    else:
        yield "all", f". ci/env.sh; fabric-checks show --session {found.name}"
        if any(
            not is_success(case.result) and case.result != "skip"
            for case in found.cases
        ):
            yield "files", f"{folder / 'stage' / found.name}"
        yield "log", f"{folder / 'logs' / found.name}.log"
