# SPDX-License-Identifier: BSD-3-Clause
"""Read runs: sessions from ReFrame's run report, its log and the records, and judge whether they were a
success.

A run report is one JSON object, so of a truncated one nothing is left. An archive has records alone: there
the cases of a session are known by their records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.text import count_text, uncoloured
from fabric_checks.records import reader, table
from fabric_checks.records.record import FIELDS, SUCCESS, Record, case_name, is_success
from fabric_checks.records.sessions import started
from fabric_checks.records.sources import Faults, Source

#: Clocks of hosts and of file servers differ, never by more than a day.
_CLOCKS_DIFFER_S = 86400


class _Reported(msgspec.Struct):
    """A case as ReFrame reports it."""

    name: str
    system: str
    partition: str
    environ: str
    result: str
    display_name: str | None = None
    unique_name: str | None = None
    fail_phase: str | None = None
    fail_reason: str | None = None
    skip_reason: str | None = None
    fixture: bool = False
    perfvalues: dict[str, Annotated[list[Any], msgspec.Meta(min_length=1)]] | None = (
        None
    )
    dependencies_actual: list[tuple[str, str, str]] = []

    @property
    def key(self) -> tuple[str | None, str, str]:
        """Return how those name it that depend on it."""
        return self.unique_name, f"{self.system}:{self.partition}", self.environ


class _Pass(msgspec.Struct):
    testcases: list[_Reported]


class _Info(msgspec.Struct):
    time_elapsed: float | None = None


class _Report(msgspec.Struct):
    session_info: _Info
    runs: list[_Pass]


@dataclass(frozen=True)
class Case:
    """One case of a session, from ReFrame's run report.

    :param name: see :func:`fabric_checks.records.record.case_name`; :param system: where it ran.
    :param result: ``pass``, ``fail``, ``xfail``, ``xpass``, ``skip``, ``abort``, or ``fail_deps`` if what it
        depends on failed.
    :param phase: the phase in which it failed, if it did; :param reason: why, as ReFrame printed it, or why
        it was skipped.
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
    :param passed_over: warnings of ReFrame about what it could not load or evaluate.
    :param unreadable: lines of the perflog that are no records; they may be of another session.
    :param report_fault: why the report could not be read, or nothing.
    :param archived: whether it is made of records alone, without report and log.
    :param elapsed_s: how long it took, None if the report does not say.
    :param selected_none: whether ReFrame had no case to run, by its log: it writes no report then.
    """

    name: str
    report: Path | None
    cases: tuple[Case, ...] = ()
    records: tuple[Record, ...] = ()
    passed_over: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    report_fault: str = ""
    archived: bool = False
    elapsed_s: float | None = None
    selected_none: bool = False

    @property
    def was_killed(self) -> bool:
        """Whether ReFrame ended before it could write its report."""
        return self.report is None and bool(self.records) and not self.archived


@dataclass(frozen=True)
class Run:
    """A line of the list of runs.

    :param started: from its name, or else the time of its first record; None if neither is known.
    :param cases: how many ran, without fixtures; :param passed: how many of them passed; None if unknown, as
        when ReFrame was killed or ran none.
    :param interrupted: whether some of them did not run any more.
    """

    session: str
    started: datetime | None
    systems: tuple[str, ...] = ()
    cases: int | None = None
    passed: int | None = None
    interrupted: bool = False


def _read_report(path: Path, within: Path) -> tuple[tuple[Case, ...], float | None]:
    """Return the cases of a run report, and how long the session took.

    :param within: the folder of results; see :func:`fabric_checks.core.files.opened`.
    :raises RecordError: if it is none, as one that was cut when the disk was full.
    """
    try:
        data = json.loads(files.read_bytes(path, within).decode(errors="replace"))
        report = msgspec.convert(data, _Report)
    except OSError as error:
        raise RecordError(
            f"{path}: {error.strerror}; the run report cannot be read"
        ) from None
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise RecordError(
            f"{path}: not a complete run report ({error}), for example because a disk was full: its cases are"
            " unknown; delete it, or run them again"
        ) from None
    return _cases_of(
        [_with_failed_dependencies(each.testcases) for each in report.runs]
    ), (report.session_info.time_elapsed)


def _with_failed_dependencies(cases: list[_Reported]) -> list[_Reported]:
    """Change the result of a case that ReFrame skipped because of a failed dependency to ``fail_deps``.

    Of a chain ReFrame has ``fail_deps`` for the case whose dependency failed, and ``skip`` for those that
    depend on it.
    """
    failed = {case.key for case in cases if case.result in ("fail", "fail_deps")}
    skipped = [case for case in cases if case.result == "skip"]
    while more := [
        case
        for case in skipped
        if case.key not in failed and failed & {*case.dependencies_actual}
    ]:
        failed.update(case.key for case in more)
        for case in more:
            case.result = "fail_deps"
    return cases


def _cases_of(passes: Sequence[Sequence[_Reported]]) -> tuple[Case, ...]:
    """Return the result of each case; a report may have several of a case.

    Of a case that failed and was tried again (``--max-retries``) it is the last. Where all cases run several
    times (``--reruns``), each counts, so it is the first that is no success.
    """
    tried: dict[str, list[_Reported]] = {}
    for each in passes:
        for case in each:
            name = case_name(
                {**msgspec.structs.asdict(case), "test": case.display_name or case.name}
            )
            tried.setdefault(name, []).append(case)
    # A retry is of cases that failed, and of builds that they need.
    earlier = [case for results in tried.values() for case in results[:-1]]
    is_rerun = any(not case.fixture and is_success(case.result) for case in earlier)
    found = []
    for name, results in tried.items():
        bad = [case for case in results if not is_success(case.result)]
        case = bad[0] if is_rerun and bad else results[-1]
        values = case.perfvalues or {}
        found.append(
            Case(
                name=name,
                result=case.result,
                phase=case.fail_phase,
                reason=case.fail_reason or case.skip_reason,
                fixture=case.fixture,
                metrics=frozenset(
                    key.split(":")[-1]
                    for key, each in values.items()
                    if each[0] is not None
                ),
                failed_before=not is_rerun
                and any(each.result == "fail" for each in results[:-1]),
                system=case.system,
            )
        )
    return tuple(found)


def reports_of(results: Path) -> dict[str, Path]:
    """Return the run reports by session, which is in their names: ``run-report-SESSION-NUMBER.json``."""
    paths = sorted((results / "reports").glob("run-report-*-*.json"))
    return {
        path.stem.removeprefix("run-report-").rpartition("-")[0]: path for path in paths
    }


def load_session(results: Path, name: str | None = None) -> Session:
    """Read the latest session, or the one called ``name``.

    :param results: the folder of all results.
    :raises RecordError: if there are no results at all, or none of that name.
    """
    reports = reports_of(results)
    if name is None:
        if not reports:
            # Of runs by a site's own settings, whose reports it has.
            if any((results / "perflogs").glob("*/*/*.jsonl")):
                raise RecordError(
                    f"{results}: only records, and no report of a run: name {results / 'perflogs'}"
                )
            raise RecordError(
                f"{results}: no run has left results here; start one with ci/run"
            )
        name = max(reports, key=lambda session: reports[session].stat().st_mtime_ns)
    path, log = reports.get(name), _log(results, name)
    if path is None and log is None:
        raise RecordError(
            f"{results}: no run called {quoted(name)}; `fabric-checks show --list` lists them"
        )
    faults = Faults()
    began = started(name)
    records = reader.of_session(
        results, name, began.timestamp() - _CLOCKS_DIFFER_S if began else 0.0, faults
    )
    cases: tuple[Case, ...] = ()
    elapsed_s, report_fault = None, ""
    if path:
        try:
            cases, elapsed_s = _read_report(path, results)
        except RecordError as error:
            report_fault = str(error)
    return Session(
        name,
        path,
        cases,
        tuple(records),
        passed_over=_passed_over(log or ""),
        unreadable=tuple(faults.lines()),
        report_fault=report_fault,
        elapsed_s=elapsed_s,
        selected_none=path is None and "[==========] Running 0 check(s)" in (log or ""),
    )


def ended_early(results: Path, name: str) -> str:
    """Return how a run ended before all of its cases had run; empty if it did not, or if nothing but records
    is left.

    :param results: a folder of results, or of records alone; :param name: of the run.
    """
    path = reports_of(results).get(name)
    if path is None:
        is_killed = (results / "logs" / f"{name}.log").exists()
        return (
            "ReFrame was killed: the cases that had ended are shown"
            if is_killed
            else ""
        )
    try:
        cases = [case for case in _read_report(path, results)[0] if not case.fixture]
    except RecordError as error:
        return str(error)
    left = sum(case.result == "abort" for case in cases)
    of_all = f"{len(cases) - left} of {count_text(len(cases), 'case')}"
    return f"the run was interrupted: {of_all} ran" if left else ""


def _log(results: Path, name: str) -> str | None:
    """Return the log of a session, or None if there is none."""
    try:
        return files.read_text(results / "logs" / f"{name}.log", results)
    except OSError:
        return None


def _passed_over(log: str) -> tuple[str, ...]:
    """Return the warnings of a session's log about what ReFrame could not load or evaluate: it goes on
    without."""
    found = re.findall(r"WARNING.*?(skipping .*)", log)
    return tuple(uncoloured(line).strip() for line in found)


def only_records(path: Path) -> bool:
    """Tell whether a set of results has records only, as an archive, and not what else a run leaves."""
    return path.exists() and not any(
        (path / folder).is_dir() for folder in ("reports", "logs")
    )


def session_of_records(path: Path, name: str | None) -> Session:
    """Return a run from records alone, the latest or the one called ``name``.

    :raises RecordError: if there is none.
    """
    runs = [run.session for run in listed(path)[0]]
    if name and name not in runs:
        raise RecordError(
            f"{path}: no run called {quoted(name)}; `fabric-checks show --list` lists them"
        )
    name = name or runs[-1]
    loaded = reader.load([Source(str(path), path, where={"session": name})], FIELDS)
    return of_records(
        name, [table.record_of(row) for row in loaded.frame.to_dicts()], loaded.faults
    )


def of_records(
    name: str, records: Sequence[Record], unreadable: tuple[str, ...] = ()
) -> Session:
    """Return a run that is known by its records, each case as the last of its own says."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        by_case.setdefault(case_name(record), []).append(record)
    cases = tuple(_case_of(case, of_case) for case, of_case in by_case.items())
    return Session(name, None, cases, tuple(records), (), unreadable, archived=True)


def _case_of(name: str, records: Sequence[Record]) -> Case:
    last = records[-1]
    return Case(
        name,
        last["case_result"] or "fail",
        "its job" if last["metric"] is None else "performance",
        re.sub(r"\s*\n\s*", " ", last["fail_reason"] or "") or None,
        False,
        frozenset(
            record["metric"] for record in records if record["metric"] is not None
        ),
        system=last["system"],
    )


def listed(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    """Return the runs of a set of results, the earliest first, and a line for all that could not be read.

    :raises RecordError: if there is none.
    """
    found, faults = (
        _runs_of_records(path) if only_records(path) else _runs_of_folder(path)
    )
    if not found:
        why = f"; {faults[0]}" if faults else ""
        raise RecordError(
            f"{path}: no run has left results here; start one with ci/run{why}"
        )
    order = sorted(
        found,
        key=lambda run: (
            run.started or datetime.min.replace(tzinfo=timezone.utc),
            run.session,
        ),
    )
    return order, faults


def _runs_of_folder(results: Path) -> tuple[list[Run], tuple[str, ...]]:
    faults: list[str] = []
    found = []
    reports = reports_of(results)
    for name, path in reports.items():
        try:
            cases, _ = _read_report(path, results)
        except RecordError as error:
            faults.append(str(error))
            cases = ()
        ran = [case for case in cases if not case.fixture and case.result != "skip"]
        systems = tuple(dict.fromkeys(case.system for case in ran))
        passed = sum(is_success(case.result) for case in ran)
        counts = (
            (len(ran), passed, any(case.result == "abort" for case in ran))
            if ran
            else ()
        )
        found.append(Run(name, started(name), systems, *counts))
    for log in sorted((results / "logs").glob("*.log")):
        if log.stem not in reports:
            found.append(Run(log.stem, started(log.stem)))
    return found, tuple(faults)


def _runs_of_records(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    case = ("system", "partition", "environ", "test")
    loaded = reader.load(
        [Source(str(path), path)], ("session", "time", *case, "case_result")
    )
    found = []
    for (name,), group in loaded.frame.drop_nulls("session").group_by(
        "session", maintain_order=True
    ):
        last = group.unique(case, keep="last", maintain_order=True)
        passed = last.filter(pl.col("case_result").is_in(SUCCESS)).height
        systems = tuple(last["system"].unique(maintain_order=True).to_list())
        found.append(
            Run(
                str(name),
                started(str(name)) or group["time"][0],
                systems,
                last.height,
                passed,
            )
        )
    return found, loaded.faults


def verdict(session: Session) -> list[str]:
    """Return all reasons why a session is no success, one line each; empty if it is one.

    A success ran at least one case, passed them all, and left a record of every metric.
    """
    return [
        *(f"{case.result}: {case.name}" for case in failed(session)),
        *other_faults(session),
    ]


def failed(session: Session) -> list[Case]:
    """Return the cases that are no success; one that was skipped was not to run here."""
    return [
        case
        for case in session.cases
        if not is_success(case.result) and case.result != "skip"
    ]


def other_faults(session: Session) -> list[str]:
    """Return the reasons apart from failed cases why a session is no success, one line each."""
    cases = [case for case in session.cases if not case.fixture]
    faults = [*session.passed_over, *filter(None, [session.report_fault])]
    if session.was_killed:
        faults.append(
            "ReFrame ended before it could write its report, for example because it was killed: the records"
            f" are those of {len({case_name(record) for record in session.records})} cases that had ended;"
            " run it again"
        )
    elif not session.report_fault and all(case.result == "skip" for case in cases):
        faults.append(_why_no_case(session, cases))
    logged: dict[str, set[str]] = {}
    for record in session.records:
        logged.setdefault(case_name(record), set()).add(record["metric"])
    for case in cases:
        if case.result == "pass" and not case.metrics:
            faults.append(f"nothing was measured: {case.name} passed without a value")
        lost = case.metrics - logged.get(case.name, set())
        if lost:
            faults.append(
                f"not in the perflog: {len(lost)} of {len(case.metrics)} metrics of {case.name}"
            )
    return faults


def _why_no_case(session: Session, cases: Sequence[Case]) -> str:
    if cases:
        return "no case ran: every one was skipped"
    if session.report or session.selected_none:
        return "no case ran: no check matches the selection; ci/run -l lists the checks there are"
    return (
        "nothing was recorded: ReFrame ended before its first case, or could not write its report; see its"
        " log"
    )
