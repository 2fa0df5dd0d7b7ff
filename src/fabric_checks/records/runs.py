# SPDX-License-Identifier: BSD-3-Clause
"""Read runs: sessions from ReFrame's run report, its log and the records, and judge whether they were a
success.

A run report is one JSON object, so of a truncated one nothing is left; a malformed case in it costs that case
only. An archive has records alone: there the cases of a session are known by their records.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.text import count_text, uncoloured
from fabric_checks.records import reader, table
from fabric_checks.records.record import FIELDS, SUCCESS, Record, case_name, is_success
from fabric_checks.records.sessions import started
from fabric_checks.records.sources import Faults, Source

#: Members of a case in a run report that are text, and those that may be null.
_TEXTS = ("system", "partition", "environ", "result")
_OPTIONAL = ("display_name", "fail_phase", "fail_reason", "skip_reason")
#: The log files stand near the start of a report, which has megabytes.
_HEAD_B = 65536
#: The longest stem of a log file's name.
_LONGEST = 200
#: Clocks of hosts and of file servers differ, never by more than a day.
_CLOCKS_DIFFER_S = 86400


@dataclass(frozen=True)
class RunReport:
    """A run report of ReFrame.

    :param runs: the well-formed cases of each pass, as ReFrame writes them, with ``metrics``, the names of
        those that have a value.
    :param faults: a line for each malformed case: file, position and cause.
    :param elapsed_s: how long the session took, None if the report does not say.
    """

    runs: tuple[tuple[Mapping[str, Any], ...], ...]
    faults: tuple[str, ...] = ()
    elapsed_s: float | None = None


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
    :param report_faults: what of the report could not be read.
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
    report_faults: tuple[str, ...] = ()
    archived: bool = False
    elapsed_s: float | None = None
    selected_none: bool = False


@dataclass(frozen=True)
class Run:
    """A line of the list of runs.

    :param started: from its name, or else the time of its first record; None if neither is known.
    :param cases: how many ran, without fixtures; :param passed: how many of them passed; None if unknown, as
        when ReFrame was killed or ran none.
    """

    session: str
    started: datetime | None
    systems: tuple[str, ...] = ()
    cases: int | None = None
    passed: int | None = None


def read_report(path: Path, within: Path | None = None) -> RunReport:
    """Read a run report.

    :param within: the folder of results; see :func:`fabric_checks.core.files.opened`.
    :raises RecordError: if it is none, as one that was cut when the disk was full.
    """
    try:
        data = json.loads(files.read_bytes(path, within).decode(errors="replace"))
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; the run report cannot be read") from None
    except RecursionError:
        raise RecordError(f"{path}: nested too deeply to be a run report; delete it") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise RecordError(
            f"{path}: not a complete run report{where}, for example because a disk was full: its cases are"
            " unknown; delete it, or run them again"
        ) from None
    runs = data.get("runs") if isinstance(data, dict) else None
    if not isinstance(runs, list):
        raise RecordError(f"{path}: not a run report of ReFrame: it has no list 'runs'; delete it")
    faults: list[str] = []
    found = tuple(_cases_of_pass(path, number, run, faults) for number, run in enumerate(runs, 1))
    info = data.get("session_info")
    elapsed_s = info.get("time_elapsed") if isinstance(info, dict) else None
    is_time = isinstance(elapsed_s, (int, float)) and 0 <= elapsed_s < 1e9
    return RunReport(found, tuple(faults), elapsed_s if is_time else None)


def _cases_of_pass(path: Path, number: int, run: Any, faults: list[str]) -> tuple[Mapping[str, Any], ...]:
    listed = run.get("testcases") if isinstance(run, dict) else None
    if not isinstance(listed, list):
        faults.append(f"{path}: run {number} has no list 'testcases'; it is left out")
        return ()
    found: list[dict[str, Any]] = []
    for position, case in enumerate(listed, 1):
        if cause := _fault(case):
            faults.append(f"{path}: run {number}, case {position}: {cause}; it is left out")
        else:
            values = case.get("perfvalues") or {}
            metrics = frozenset(key.split(":")[-1] for key, each in values.items() if each[0] is not None)
            found.append({**case, "metrics": metrics})
    return tuple(_with_failed_dependencies(found))


def _fault(case: Any) -> str | None:
    """Return the fault of a case, or None."""
    if not isinstance(case, dict):
        return "not a JSON object"
    if not (case.get("display_name") or case.get("name")):
        return "it has no name"
    for name in ("name", *_TEXTS, *_OPTIONAL):
        value = case.get(name)
        if not isinstance(value, str) and (value is not None or name in _TEXTS):
            return f"{name!r} is {quoted(str(value)[:100], 40)} where text is expected"
    values = case.get("perfvalues") or {}
    if not isinstance(values, dict) or not all(isinstance(each, list) and each for each in values.values()):
        return "'perfvalues' is not an object of lists"
    return None


def _with_failed_dependencies(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Change the result of a case that ReFrame skipped because of a failed dependency to ``fail_deps``.

    Of a chain ReFrame has ``fail_deps`` for the case whose dependency failed, and ``skip`` for those that
    depend on it.
    """
    failed = {_key(case) for case in cases if case["result"] in ("fail", "fail_deps")}
    while True:
        more = [
            case for case in cases if case["result"] == "skip" and not failed.isdisjoint(_dependencies(case))
        ]
        if not more:
            return cases
        failed |= {_key(case) for case in more}
        for case in more:
            case["result"] = "fail_deps"


def _key(case: Mapping[str, Any]) -> tuple[Any, ...]:
    return case.get("unique_name"), f"{case['system']}:{case['partition']}", case["environ"]


def _dependencies(case: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    listed = case.get("dependencies_actual")
    return (
        [tuple(map(str, each)) for each in listed if isinstance(each, list)]
        if isinstance(listed, list)
        else []
    )


def name_of(case: Mapping[str, Any]) -> str:
    """Return the name of a case of a run report, see :func:`fabric_checks.records.record.case_name`."""
    return case_name({**case, "test": case.get("display_name") or case["name"]})


def cases_of(report: RunReport) -> tuple[Case, ...]:
    """Return the result of each case; a report may have several of a case.

    Of a case that failed and was tried again (``--max-retries``) it is the last. Where all cases run several
    times (``--reruns``), each counts, so it is the first that is no success.
    """
    tried: dict[str, list[Mapping[str, Any]]] = {}
    for run in report.runs:
        for case in run:
            tried.setdefault(name_of(case), []).append(case)
    # A retry is of cases that failed, and of builds that they need.
    is_rerun = any(
        not case.get("fixture") and is_success(case["result"])
        for results in tried.values()
        for case in results[:-1]
    )
    found = []
    for name, results in tried.items():
        bad = [case for case in results if not is_success(case["result"])]
        case = bad[0] if is_rerun and bad else results[-1]
        found.append(
            Case(
                name=name,
                result=case["result"],
                phase=case.get("fail_phase"),
                reason=case.get("fail_reason") or case.get("skip_reason"),
                fixture=bool(case.get("fixture")),
                metrics=case["metrics"],
                failed_before=not is_rerun and any(each["result"] == "fail" for each in results[:-1]),
                system=case["system"],
            )
        )
    return tuple(found)


def reports_of(results: Path, faults: list[str] | None = None) -> dict[str, Path]:
    """Return the run reports by session; a report names the session's log file.

    :param faults: gets a line for each report that does not name its session.
    """
    found: dict[str, Path] = {}
    for path in sorted((results / "reports").glob("run-report-*.json")):
        try:
            found |= dict.fromkeys(_sessions_of(path, results), path)
        except RecordError as error:
            if faults is not None:
                faults.append(str(error))
    return found


def _sessions_of(path: Path, within: Path) -> list[str]:
    """Return the sessions that a report is of: its log files have their names, or with a site's own logs the
    report.

    :raises RecordError: if it does not say.
    """
    try:
        with files.opened(path, within) as file:
            head = re.search(r'"log_files": (\[[^\]\[]*\])', file.read(_HEAD_B).decode(errors="replace"))
        stems = [Path(log).stem for log in json.loads(head[1]) if isinstance(log, str)] if head else []
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; the run report is skipped") from None
    except ValueError:
        stems = []
    found = [stem for stem in stems if 0 < len(stem) <= _LONGEST and "\0" not in stem]
    if not found:
        raise RecordError(f"{path}: a run report that does not name its run; it is skipped: delete it")
    own = re.fullmatch(r"run-report-(.+)-\d+\.json", path.name)
    return [own[1]] if own and own[1] not in found else found


def load_session(results: Path, name: str | None = None) -> Session:
    """Read the latest session, or the one called ``name``.

    :param results: the folder of all results.
    :raises RecordError: if there are no results at all, or none of that name.
    """
    nameless: list[str] = []
    reports = reports_of(results, nameless)
    if name is None:
        if not reports:
            why = f"; {nameless[0]}" if nameless else ""
            if any(
                (results / "perflogs").glob("*/*/*.jsonl")
            ):  # of runs by a site's own settings, whose reports it has
                raise RecordError(
                    f"{results}: only records, and no report of a run: name {results / 'perflogs'}{why}"
                )
            raise RecordError(f"{results}: no run has left results here; start one with ci/run{why}")
        name = max(reports, key=lambda session: reports[session].stat().st_mtime_ns)
    else:
        nameless = []  # of other runs, if that one has a report
    path, log = reports.get(name), results / "logs" / f"{name}.log"
    if path is None and not log.exists():
        raise RecordError(f"{results}: no run called {quoted(name)}; `fabric-checks show --list` lists them")
    passed_over = _passed_over(log, results)
    faults = Faults()
    began = started(name)
    records = reader.of_session(results, name, began.timestamp() - _CLOCKS_DIFFER_S if began else 0.0, faults)
    try:
        report = read_report(path, results) if path else RunReport(())
    except RecordError as error:
        report = RunReport((), (str(error),))
    unreadable = (*nameless, *faults.lines())
    none = path is None and _logged(log, results, "[==========] Running 0 check(s)")
    return Session(
        name, path, cases_of(report), tuple(records), passed_over, unreadable, report.faults,
        elapsed_s=report.elapsed_s, selected_none=none,
    )  # fmt: skip


def ended_early(results: Path, name: str) -> str:
    """Return how a run ended before all of its cases had run; empty if it did not, or if nothing but records
    is left.

    :param results: a folder of results, or of records alone; :param name: of the run.
    """
    path = reports_of(results).get(name)
    if path is None:
        is_killed = (results / "logs" / f"{name}.log").exists()
        return "ReFrame was killed: the cases that had ended are shown" if is_killed else ""
    try:
        cases = [case for case in cases_of(read_report(path, results)) if not case.fixture]
    except RecordError as error:
        return str(error)
    left = sum(case.result == "abort" for case in cases)
    return (
        f"the run was interrupted: {len(cases) - left} of {count_text(len(cases), 'case')} ran"
        if left
        else ""
    )


def _logged(log: Path, results: Path, text: str) -> bool:
    """Return whether a line of a session's log has a text."""
    if not log.exists():
        return False
    with (
        files.opened(log, results) as file,
        io.TextIOWrapper(io.BufferedReader(file), errors="replace") as lines,
    ):
        return any(text in line for line in lines)


def _passed_over(log: Path, results: Path) -> tuple[str, ...]:
    """Return the warnings of a session's log about what ReFrame could not load or evaluate: it goes on
    without."""
    if not log.exists():
        return ()
    with (
        files.opened(log, results) as file,
        io.TextIOWrapper(io.BufferedReader(file), errors="replace") as lines,
    ):
        return tuple(
            uncoloured(line[line.index(sign) :]).strip()
            for line in lines
            if (sign := "skipping ") in line and "WARNING" in line
        )


def only_records(path: Path) -> bool:
    """Tell whether a set of results has records only, as an archive, and not what else a run leaves."""
    return path.exists() and not any((path / folder).is_dir() for folder in ("reports", "logs"))


def session_of_records(path: Path, name: str | None) -> Session:
    """Return a run from records alone, the latest or the one called ``name``.

    :raises RecordError: if there is none.
    """
    runs = [run.session for run in listed(path)[0]]
    if name and name not in runs:
        raise RecordError(f"{path}: no run called {quoted(name)}; `fabric-checks show --list` lists them")
    name = name or runs[-1]
    loaded = reader.load([Source(str(path), path, where={"session": name})], FIELDS)
    return of_records(name, [table.record_of(row) for row in loaded.frame.to_dicts()], loaded.faults)


def of_records(name: str, records: Sequence[Record], unreadable: tuple[str, ...] = ()) -> Session:
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
        frozenset(record["metric"] for record in records if record["metric"] is not None),
        system=last["system"],
    )


def listed(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    """Return the runs of a set of results, the earliest first, and a line for all that could not be read.

    :raises RecordError: if there is none.
    """
    found, faults = _runs_of_records(path) if only_records(path) else _runs_of_folder(path)
    if not found:
        why = f"; {faults[0]}" if faults else ""
        raise RecordError(f"{path}: no run has left results here; start one with ci/run{why}")
    order = sorted(
        found, key=lambda run: (run.started or datetime.min.replace(tzinfo=timezone.utc), run.session)
    )
    return order, faults


def _runs_of_folder(results: Path) -> tuple[list[Run], tuple[str, ...]]:
    faults: list[str] = []
    found = []
    reports = reports_of(results, faults)
    logs = (
        log for log in (results / "logs").glob("*.log") if log.stem not in reports and not _is_listing(log)
    )
    for name in (*reports, *(log.stem for log in logs)):
        try:
            report = read_report(reports[name], results) if name in reports else RunReport(())
        except RecordError as error:
            report = RunReport((), (str(error),))
        faults += report.faults
        cases = [case for case in cases_of(report) if not case.fixture and case.result != "skip"]
        systems = tuple(dict.fromkeys(case.system for case in cases))
        passed = sum(is_success(case.result) for case in cases)
        found.append(Run(name, started(name), systems, *((len(cases), passed) if cases else ())))
    return found, tuple(faults)


def _is_listing(log: Path) -> bool:
    """Tell whether a log is of ``reframe -l``, which runs nothing."""
    try:
        return b"[List of matched checks]" in files.read_bytes(log)
    except OSError:
        return False


def _runs_of_records(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    case = ("system", "partition", "environ", "test")
    loaded = reader.load([Source(str(path), path)], ("session", "time", *case, "case_result"))
    found = []
    for (name,), group in loaded.frame.drop_nulls("session").group_by("session", maintain_order=True):
        last = group.unique(case, keep="last", maintain_order=True)
        passed = last.filter(pl.col("case_result").is_in(SUCCESS)).height
        systems = tuple(last["system"].unique(maintain_order=True).to_list())
        found.append(Run(str(name), started(str(name)) or group["time"][0], systems, last.height, passed))
    return found, loaded.faults


def verdict(session: Session) -> list[str]:
    """Return all reasons why a session is no success, one line each; empty if it is one.

    A success ran at least one case, passed them all, and left a record of every metric.
    """
    return [*(f"{case.result}: {case.name}" for case in failed(session)), *other_faults(session)]


def failed(session: Session) -> list[Case]:
    """Return the cases that are no success; one that was skipped was not to run here."""
    return [case for case in session.cases if not is_success(case.result) and case.result != "skip"]


def other_faults(session: Session) -> list[str]:
    """Return the reasons apart from failed cases why a session is no success, one line each."""
    cases = [case for case in session.cases if not case.fixture]
    faults = [*session.passed_over, *session.report_faults]
    if session.report is None and session.records and not session.archived:
        faults.append(
            "ReFrame ended before it could write its report, for example because it was killed: the records"
            f" are those of {len({case_name(record) for record in session.records})} cases that had ended;"
            " run it again"
        )
    elif not (session.report_faults or any(case.result != "skip" for case in cases)):
        faults.append(
            "no case ran: every one was skipped"
            if cases
            else (
                "no case ran: no check matches the selection; ci/run -l lists the checks there are"
                if session.report or session.selected_none
                else (
                    "nothing was recorded: ReFrame ended before its first case, or could not write its"
                    " report; see its log"
                )
            )
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
