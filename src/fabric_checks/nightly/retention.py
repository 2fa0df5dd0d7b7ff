# SPDX-License-Identifier: BSD-3-Clause
"""The report of a night, or of a run."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.nightly import journal, summary
from fabric_checks.records.runs import Session
from fabric_checks.records.sources import Source

#: The report has the values of so many days.
DAYS = 92


def write_report(
    results: Path,
    system: str,
    path: Path,
    *,
    session: Session | None = None,
) -> None:
    """Write the report on the last months of a system, with the open findings of its nights.

    :param session: the run that the report begins with; without one, the last of each case.
    :raises RecordError: if there is nothing to report.
    :raises OSError: if it cannot be written.
    """
    from fabric_checks.report.page import report  # noqa: PLC0415  (slow to import; a failed night has no report)

    since = datetime.now(timezone.utc) - timedelta(days=DAYS)
    found = journal.all_open(results, [], system).get(system, [])
    text, _ = report(
        [Source(system, results, since, None, {"system": system})],
        published=False,
        opened=summary.lines_of(found),
        outputs=[results],
        session=session,
    )
    files.write_text(path, text)
