# SPDX-License-Identifier: BSD-3-Clause
"""Results on disk: perflog records and ReFrame's run reports."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.records import objects, run_report
from fabric_checks.records.faults import Faults
from fabric_checks.records.record import Record, case_name, is_success


@dataclass(frozen=True)
class Case:
    """One case of a session, as ReFrame's run report tells it.

    :param name: see :func:`fabric_checks.records.record.case_name`; :param system: where it ran.
    :param result: ``pass``, ``fail``, ``xfail``, ``xpass``, ``skip``, ``abort``, or ``fail_deps`` if what it
        depends on failed.
    :param phase: the phase in which it failed, if it did; :param reason: why, as ReFrame printed it.
    :param fixture: whether it only prepares others, such as a build.
    :param metrics: the names of its performance variables that have a value.
    :param failed_before: whether it failed in an earlier run of the same session, as with retries.
    """

    name: str
    result: str
    phase: str | None
    reason: str | None
    fixture: bool
    metrics: frozenset[str] = frozenset()
    failed_before: bool = False
    system: str = ""


@dataclass(frozen=True)
class Session:
    """One run.

    :param name: its name; :param report: ReFrame's run report, None if no case ran or ReFrame was killed.
    :param cases: what ran, from the report; :param records: what was measured, from the perflog.
    :param passed_over: what ReFrame could not load or evaluate and went on without.
    :param unreadable: lines of the perflog that are no records; they may be of another session.
    :param report_faults: what of the report could not be read.
    :param archived: whether it is made of records alone, without report and log.
    """

    name: str
    report: Path | None
    cases: tuple[Case, ...] = ()
    records: tuple[Record, ...] = ()
    passed_over: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    report_faults: tuple[str, ...] = ()
    archived: bool = False


def load_session(results: Path, name: str | None = None) -> Session:
    """Read the latest session, or the one called ``name``.

    :param results: the folder of all results (see :func:`fabric_checks.records.sessions.results`).
    :raises RecordError: if there are no results at all, or none of that name.
    """
    # Slow to import, and this module is loaded for the help of the command.

    nameless: list[str] = []
    reports = reports_of(results, nameless)
    if name is None:
        if not reports:
            why = f"; {nameless[0]}" if nameless else ""
            raise RecordError(f"{results}: no run has left results here; start one with ci/run{why}")
        name = max(reports, key=lambda session: reports[session].stat().st_mtime_ns)
    else:
        nameless = []  # of other runs, if that one has a report
    report = reports.get(name)
    log = results / "logs" / f"{name}.log"
    if report is None and not log.exists():
        raise RecordError(f"{results}: no run called {quoted(name)}; leave --session out to see the latest")
    passed_over = _passed_over(log, results)
    faults = Faults()
    # Clocks of hosts and of file servers differ; a day is more than they ever do.
    records = objects.of_session(results, name, _start(name) - 86400, faults)
    try:
        cases, of_report = cases_of(report, results) if report else ((), ())
    except RecordError as error:
        cases, of_report = (), (str(error),)
    return Session(name, report, cases, tuple(records), passed_over, (*nameless, *faults.lines()), of_report)


def _start(session: str) -> float:
    """Return when a session began, in seconds since the epoch, as its name tells; 0 for a name that does not."""
    try:
        return datetime.strptime(session[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0


def _passed_over(log: Path, results: Path) -> tuple[str, ...]:
    """Return the warnings of a session's log about what ReFrame could not load or evaluate: it goes on without."""
    if not log.exists():
        return ()
    with files.opened(log, results) as file, io.TextIOWrapper(io.BufferedReader(file), errors="replace") as lines:
        return tuple(
            re.sub(r"\x1b\[[0-9;]*m", "", line[line.index(sign) :]).strip()
            for line in lines
            if (sign := "skipping ") in line and "WARNING" in line
        )


def only_records(path: Path) -> bool:
    """Tell whether a set of results has records only, as an archive, and not what else a run leaves."""
    return path.exists() and not any((path / folder).is_dir() for folder in ("reports", "logs"))


def reports_of(results: Path, faults: list[str] | None = None) -> dict[str, Path]:
    """Return the run reports by session; the report names the session's log file.

    :param faults: gets a line for each that does not say whose it is.
    """
    found: dict[str, Path] = {}
    for path in sorted((results / "reports").glob("run-report-*.json")):
        try:
            found |= dict.fromkeys(run_report.sessions(path, results), path)
        except RecordError as error:
            if faults is not None:
                faults.append(str(error))
    return found


def cases_of(report: Path, within: Path | None = None) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Return the result of each case, and a line for each that is none; a report may have several of a case.

    Of a case that failed and was tried again (``--max-retries``) it is the last. Where all cases run several times
    (``--reruns``), each counts, so it is the first that is no success.

    :param within: the folder of results, which links must not lead out of.
    :raises RecordError: if it is no whole report.
    """
    found = run_report.read(report, within)
    failed_before: set[str] = set()
    last: dict[str, Any] = {}
    tried: dict[str, list[Any]] = {}
    for run in found.runs:
        for case in run:
            tried.setdefault(name_of(case), []).append(case)
    # A retry is of cases that failed, and of builds that they need.
    passes = any(
        not case.get("fixture") and is_success(case["result"]) for results in tried.values() for case in results[:-1]
    )
    for name, results in tried.items():
        bad = [case for case in results if not is_success(case["result"])]
        last[name] = bad[0] if passes and bad else results[-1]
        if not passes and any(case["result"] == "fail" for case in results[:-1]):
            failed_before.add(name)
    cases = tuple(
        Case(
            name=name,
            result=case["result"],
            phase=case.get("fail_phase"),
            reason=case.get("fail_reason"),
            fixture=bool(case.get("fixture")),
            failed_before=name in failed_before,
            metrics=case["metrics"],
            system=case["system"],
        )
        for name, case in last.items()
    )
    return cases, found.faults


def name_of(case: Mapping[str, Any]) -> str:
    """Return what a case of a run report is called, see :func:`fabric_checks.records.record.case_name`."""
    return case_name({**case, "test": case.get("display_name") or case["name"]})


def verdict(session: Session) -> list[str]:
    """Return everything that keeps a session from being a success, one line each; empty if it is one.

    A success ran at least one case, passed them all, and left a record of every metric.
    """
    return [*(f"{case.result}: {case.name}" for case in failed(session)), *other_faults(session)]


def failed(session: Session) -> list[Case]:
    """Return the cases that are no success."""
    return [case for case in session.cases if not is_success(case.result)]


def other_faults(session: Session) -> list[str]:
    """Return what keeps a session from being a success beside the cases that failed, one line each."""
    cases = [case for case in session.cases if not case.fixture]
    faults = [*session.passed_over, *session.report_faults]
    if session.report is None and session.records and not session.archived:
        faults.append(
            "ReFrame ended before it could write its report, for example because it was killed: the records are those "
            f"of {len({case_name(record) for record in session.records})} cases that had ended; run it again"
        )
    elif not (session.report_faults or any(case.result != "skip" for case in cases)):
        faults.append(
            "no case ran: no check matches the selection; ci/run -l lists the checks there are"
            + ("" if session.report else " (or ReFrame ended before the first case; see its log)")
        )
    logged: dict[str, set[str]] = {}
    for record in session.records:
        logged.setdefault(case_name(record), set()).add(record["metric"])
    for case in cases:
        if case.result == "pass" and not case.metrics:
            faults.append(f"nothing was measured: {case.name} passed without a value")
        lost = case.metrics - logged.get(case.name, set())
        if lost:
            faults.append(f"not in the perflog: {len(lost)} of {len(case.metrics)} metrics of {case.name}")
    return faults
