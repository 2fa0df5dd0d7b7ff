# SPDX-License-Identifier: BSD-3-Clause
"""Read runs: sessions from ReFrame's run report, its log and the records, and judge whether they were a
success.

A run report is one JSON object, so of a truncated one nothing is left. Where there are records alone, the
cases of a session are known by these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text, uncoloured
from fabric_checks.records import reader, repeats, sources
from fabric_checks.records.record import (
    UNCONFIRMED,
    Record,
    by_case,
    case_name,
    is_success,
)
from fabric_checks.records.sessions import NO_MATCH, started
from fabric_checks.records.sources import Faults, Source

_NOTHING = "no run has left results here; start one with ci/run"
#: What the list of runs needs of records.
_OF_LIST = (
    *("session", "time", "system", "partition", "environ", "test", "metric"),
    *("case_result", "fail_reason"),
)
#: How the reason of a case begins that was to run, and for which the allocation of the run had no time left.
NOT_RUN = "not run: "


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

    @property
    def full_name(self) -> str:
        """Return its name, see :func:`fabric_checks.records.record.case_name`."""
        facts = msgspec.structs.asdict(self)
        return case_name(facts | {"test": self.display_name or self.name})


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


@dataclass(frozen=True)
class _Read:
    """The cases of a run report, and how long the session took; or why that cannot be read."""

    cases: tuple[Case, ...] = ()
    elapsed_s: float | None = None
    fault: str = ""


def _read_report(path: Path | None, within: Path) -> _Read:
    """Read a run report; it may be cut, as when the disk was full. Without one nothing is known.

    :param within: the folder of results; see :func:`fabric_checks.core.files.opened`.
    """
    if path is None:
        return _Read()
    try:
        data = json.loads(files.read_bytes(path, within).decode(errors="replace"))
        report = msgspec.convert(data, _Report)
    except OSError as error:
        return _Read(fault=f"{path}: {error.strerror}; the run report cannot be read")
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        return _Read(
            fault=f"{path}: not a complete run report ({error}), for example because a disk was full: its"
            " cases are unknown; delete it, or run them again"
        )
    for each in report.runs:
        _mark_failed_dependencies(each.testcases)
    cases = _cases_of([case for each in report.runs for case in each.testcases])
    return _Read(cases, report.session_info.time_elapsed)


def _mark_failed_dependencies(cases: Sequence[_Reported]) -> None:
    """Change the result of cases that ReFrame skipped because of a failed dependency to ``fail_deps``.

    Of a chain ReFrame has ``fail_deps`` for the case whose dependency failed, and ``skip`` for those that
    depend on it.
    """
    failed = {case.key for case in cases if case.result in ("fail", "fail_deps")}
    skipped = [case for case in cases if case.result == "skip"]
    before = -1
    while before < len(failed):
        before = len(failed)
        for case in skipped:
            if failed.intersection(case.dependencies_actual):
                case.result = "fail_deps"
                failed.add(case.key)


def _cases_of(reported: Sequence[_Reported]) -> tuple[Case, ...]:
    """Return the result of each case; a report may have several of a case.

    Of a case that failed and was tried again (``--max-retries``) it is the last. Where all cases run several
    times (``--reruns``), each counts, so it is the first that is no success.
    """
    for each in reported:
        if (each.skip_reason or "").startswith(NOT_RUN):
            each.result = "abort"
    tried = by_key(reported, lambda each: each.full_name)
    # A retry is of cases that failed, and of builds that they need.
    earlier = [case for results in tried.values() for case in results[:-1]]
    is_rerun = any(not case.fixture and is_success(case.result) for case in earlier)
    return tuple(
        _case(name, results, is_rerun=is_rerun) for name, results in tried.items()
    )


def _case(name: str, results: Sequence[_Reported], *, is_rerun: bool) -> Case:
    *earlier, case = results
    if is_rerun:
        case = next((each for each in results if not is_success(each.result)), case)
    values = case.perfvalues or {}
    return Case(
        name=name,
        result=case.result,
        phase=case.fail_phase,
        reason=case.fail_reason or case.skip_reason,
        fixture=case.fixture,
        metrics=frozenset(
            key.split(":")[-1] for key, value in values.items() if value[0] is not None
        ),
        failed_before=not is_rerun and any(each.result == "fail" for each in earlier),
        system=case.system,
    )


def reports_of(results: Path) -> dict[str, Path]:
    """Return the run reports by session, which is in their names: ``run-report-SESSION-NUMBER.json``."""
    paths = sorted((results / "reports").glob("run-report-*-*.json"))
    return {
        path.stem.removeprefix("run-report-").rpartition("-")[0]: path for path in paths
    }


def _listed(names: Iterable[str]) -> list[str]:
    """Return the names of sessions without repeats, which belong to the runs that they repeat."""
    return [name for name in names if repeats.original(name) == name]


def load_session(results: Path, name: str | None = None) -> Session:
    """Read the latest session, or the one called ``name``.

    :param results: the folder of all results.
    :raises RecordError: if there are no results at all, or none of that name.
    """
    reports = reports_of(results)
    name = name or _latest(results, reports)
    path, log = reports.get(name), _log(results, name)
    if path is None and log is None:
        raise _unknown(results, name)
    faults = Faults()
    read = _read_report(path, results)
    # Other lines of JSON in the folder are journals.
    has_any = (results / "perflogs").is_dir()
    records = repeats.judged(
        reader.of_session(results, name, faults) if has_any else []
    )
    return Session(
        name,
        path,
        tuple(_with_repeats(read.cases, records)),
        tuple(records),
        passed_over=_passed_over(log or ""),
        unreadable=tuple(faults.lines()),
        report_fault=read.fault,
        elapsed_s=read.elapsed_s,
        selected_none=path is None and "[==========] Running 0 check(s)" in (log or ""),
    )


def _with_repeats(cases: Iterable[Case], records: Iterable[Record]) -> Iterator[Case]:
    """Yield cases, those whose misses are not confirmed with that result."""
    unconfirmed = {
        case_name(each) for each in records if each["case_result"] == UNCONFIRMED
    }
    for case in cases:
        is_one = case.name in unconfirmed and case.phase == "performance"
        yield replace(case, result=UNCONFIRMED) if is_one else case


def _latest(results: Path, reports: Mapping[str, Path]) -> str:
    """Return the name of the latest session.

    :raises RecordError: if there is none.
    """
    if runs := _listed(reports):
        return max(runs, key=lambda name: reports[name].stat().st_mtime_ns)
    # Of runs by a site's own settings, whose reports it has.
    if sources.perflogs(results):
        raise RecordError(
            f"{results}: only records, and no report of a run: name {results / 'perflogs'}"
        )
    raise RecordError(f"{results}: {_NOTHING}")


def _unknown(results: Path, name: str) -> RecordError:
    return RecordError(
        f"{results}: no run called {quoted(name)}; `fabric-checks show --list` lists them"
    )


def ended_early(results: Path, name: str) -> str:
    """Return how a run ended before all of its cases had run; empty if it did not, or if nothing but records
    is left.

    :param results: a folder of results, or of records alone; :param name: of the run.
    """
    path = reports_of(results).get(name)
    if path is None and (results / "logs" / f"{name}.log").exists():
        return "ReFrame was killed: the cases that had ended are shown"
    read = _read_report(path, results)
    cases = [case for case in read.cases if not case.fixture]
    left = sum(case.result == "abort" for case in cases)
    if not left:
        return read.fault
    of_all = f"{len(cases) - left} of {count_text(len(cases), 'case')}"
    return f"the run was interrupted: {of_all} ran"


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
    """Tell whether a set of results has records only, and not what else a run leaves."""
    return path.exists() and not any(
        (path / folder).is_dir() for folder in ("reports", "logs")
    )


def session_of_records(path: Path, name: str | None) -> Session:
    """Return a run from records alone, the latest or the one called ``name``.

    :raises RecordError: if there is none.
    """
    runs = [run.session for run in listed(path)[0]]
    if name and name not in runs:
        raise _unknown(path, name)
    name = name or runs[-1]
    faults = Faults()
    records = repeats.judged(reader.of_session(path, name, faults))
    return of_records(name, records, tuple(faults.lines()))


def of_records(
    name: str, records: Sequence[Record], unreadable: tuple[str, ...] = ()
) -> Session:
    """Return a run that is known by its records, each case as the last of its own says."""
    cases = tuple(map(_case_of, by_case(records).items()))
    return Session(name, None, cases, tuple(records), (), unreadable, archived=True)


def _case_of(named: tuple[str, Sequence[Record]]) -> Case:
    name, records = named
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
    runs_of = _runs_of_records if only_records(path) else _runs_of_folder
    found, faults = runs_of(path)
    if not found:
        raise RecordError("; ".join([f"{path}: {_NOTHING}", *faults[:1]]))
    found.sort(key=lambda run: (run.started is not None, run.started, run.session))
    return found, faults


def _runs_of_folder(results: Path) -> tuple[list[Run], tuple[str, ...]]:
    reports = reports_of(results)
    read = {name: _read_report(reports[name], results) for name in _listed(reports)}
    found = [_run(name, report.cases) for name, report in read.items()]
    logs = sorted(path.stem for path in (results / "logs").glob("*.log"))
    found += [_run(name) for name in _listed(logs) if name not in reports]
    return found, tuple(report.fault for report in read.values() if report.fault)


def _run(name: str, cases: Sequence[Case] = (), first: datetime | None = None) -> Run:
    """Return the line of a run.

    :param first: when its first case ended, if its name does not say when it began.
    """
    began = started(name) or first
    ran = [case for case in cases if not case.fixture and case.result != "skip"]
    if not ran:
        return Run(name, began)
    return Run(
        name,
        began,
        systems=tuple(dict.fromkeys(case.system for case in ran)),
        cases=len(ran),
        passed=sum(is_success(case.result) for case in ran),
        interrupted=any(case.result == "abort" for case in ran),
    )


def _runs_of_records(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    loaded = reader.load([Source(str(path), path)], _OF_LIST)
    by_session = loaded.frame.drop_nulls("session").partition_by(
        "session", as_dict=True
    )
    found = [
        _run(str(name), of_records(str(name), rows.to_dicts()).cases, rows["time"][0])
        for (name,), rows in by_session.items()
    ]
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
    recorded = by_case(session.records)
    faults = [*session.passed_over, *filter(None, [session.report_fault])]
    if session.was_killed:
        faults.append(
            "ReFrame ended before it could write its report, for example because it was killed: the records"
            f" are those of {len(recorded)} cases that had ended;"
            " run it again"
        )
    elif not session.report_fault and all(case.result == "skip" for case in cases):
        faults.append(_why_no_case(session, cases))
    for case in cases:
        if case.result == "pass" and not case.metrics:
            faults.append(f"nothing was measured: {case.name} passed without a value")
        kept = recorded.get(case.name, ())
        lost = case.metrics.difference(record["metric"] for record in kept)
        if lost:
            faults.append(
                f"not in the perflog: {len(lost)} of {len(case.metrics)} metrics of {case.name}"
            )
    return faults


def _why_no_case(session: Session, cases: Sequence[Case]) -> str:
    if cases:
        return "no case ran: every one was skipped"
    if session.report or session.selected_none:
        return f"no case ran: {NO_MATCH}"
    return (
        "nothing was recorded: ReFrame ended before its first case, or could not write its report; see its"
        " log"
    )
