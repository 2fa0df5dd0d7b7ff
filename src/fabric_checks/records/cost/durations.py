# SPDX-License-Identifier: BSD-3-Clause
"""How long cases took in earlier runs."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from fabric_checks.core.errors import RecordError
from fabric_checks.records import run_records as records
from fabric_checks.records import run_report

#: Of how many runs the reports are read, the latest.
LATEST = 5


def of_runs(results: Path) -> dict[str, float]:
    """Return how long each case ran in the latest runs, in seconds, the median; fixtures are not counted.

    What of the reports cannot be read is passed over: the reader of the run itself reports it.

    :param results: the folder of all results.
    """
    reports = sorted({*records.reports_of(results).values()}, key=lambda path: path.stat().st_mtime_ns)
    found: dict[str, list[float]] = {}
    for path in reports[-LATEST:]:
        try:
            told = run_report.read(path, results)
        except RecordError:
            continue
        for case in (case for run in told.runs for case in run if not case.get("fixture")):
            seconds = case.get("time_run")
            if isinstance(seconds, (int, float)) and 0 <= seconds < 1e9:
                found.setdefault(records.name_of(case), []).append(float(seconds))
    return {name: median(times) for name, times in found.items()}
