# SPDX-License-Identifier: BSD-3-Clause
"""How long cases took in earlier runs, and what that says of a run that is under way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, median

from fabric_checks.errors import RecordError
from fabric_checks.results import records, run_report

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


def remaining_s(
    past: Mapping[str, float],
    finished: Iterable[str],
    running: Iterable[str],
    unknown: int,
    *,
    done_in_s: float,
    since_s: float,
) -> float | None:
    """Return about how long a run will still take, in seconds; None without any past.

    A case is taken to take what it took before; one that never ran, or whose name is not known yet, what the others
    took on average. This is scaled by what the finished ones took now.

    :param past: of :func:`of_runs`. :param finished: cases that have ended; :param running: that have begun.
    :param unknown: how many are still to begin. :param done_in_s: what the finished ones took together.
    :param since_s: how long ago the last of them ended.
    """
    if not past:
        return None
    finished, running = list(finished), list(running)
    seen = {*finished, *running}
    usual = fmean([seconds for name, seconds in past.items() if name not in seen] or past.values())
    done_s = sum(past.get(name, usual) for name in finished)
    left_s = sum(past.get(name, usual) for name in running) + unknown * usual
    pace = done_in_s / done_s if len(finished) >= 3 and done_s > 0 else 1.0
    return max(pace * left_s - since_s, 0.0)
