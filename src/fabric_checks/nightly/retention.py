# SPDX-License-Identifier: BSD-3-Clause
"""Retention of a night: its records in the archive, its report, and its files, each replaced when whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import FileError
from fabric_checks.nightly import journal, summary
from fabric_checks.nightly.plan import folder_of
from fabric_checks.records import archive_writer
from fabric_checks.records.runs import Session
from fabric_checks.records.sources import Source

#: The longest wait for another process that writes the archive, as the night of another system does.
TIMEOUT_S = 120.0
#: The report has the values of so many days.
DAYS = 92


def archive_results(results: Path, archive: Path, session: str) -> list[str]:
    """Add all results to the archive.

    A file of the archive that cannot be read is moved aside, and rewritten from the results that are left.

    :returns: what could not be used, and what was moved aside, a line each.
    :raises RecordError: if they cannot be added.
    """
    lines: list[str] = []
    while True:
        try:
            return [
                *lines,
                *archive_writer.add(results, archive, wait_s=TIMEOUT_S).faults,
            ]
        except FileError as error:
            aside = error.path.with_name(f"{error.path.name}.broken-{session}")
            error.path.rename(aside)
            lines.append(
                f"{error}; it was moved aside to {aside.name}, and rewritten from the results that are left"
            )


def write_report(
    results: Path,
    system: str,
    path: Path,
    *,
    archive: Path | None = None,
    left_out: Sequence[str] = (),
    session: Session | None = None,
) -> None:
    """Write the report on the last months of a system, with the open findings of its nights.

    :param archive: has all results; None: the report is made from the results, of which all years are read.
    :param left_out: records that could not be archived, a line each.
    :param session: the run that the report begins with; without one, the last of each case.
    :raises RecordError: if there is nothing to report.
    :raises OSError: if it cannot be written.
    """
    from fabric_checks.report.page import report  # noqa: PLC0415  (slow to import; a failed night has no report)

    since = datetime.now(timezone.utc) - timedelta(days=DAYS)
    found = journal.still_open(
        journal.read(folder_of(results, system) / "nights.jsonl", [])
    )
    text, _ = report(
        [Source(system, archive or results, since, None, {"system": system})],
        published=False,
        opened=summary.lines_of(found),
        outputs=[results],
        left_out=left_out,
        session=session,
    )
    files.write_text(path, text)
