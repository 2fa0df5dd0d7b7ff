# SPDX-License-Identifier: BSD-3-Clause
"""Which runs there are, in a folder of results or in records alone, such as an archive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.records import reading, rows
from fabric_checks.records import run_records as records
from fabric_checks.records.record import FIELDS, SUCCESS, case_name, is_success
from fabric_checks.records.run_records import Case, Session
from fabric_checks.records.sources import Source

_CASE = ("system", "partition", "environ", "test")


@dataclass(frozen=True)
class Run:
    """One run.

    :param started: as its name tells, or its first record; None if neither does.
    :param cases: how many ran, fixtures not counted; :param passed: of them; None if nothing tells, as when ReFrame was
        killed or ran none.
    """

    session: str
    started: datetime | None
    systems: tuple[str, ...] = ()
    cases: int | None = None
    passed: int | None = None


def listed(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    """Return the runs of a set of results, the earliest first, and a line for all that could not be read.

    :raises RecordError: if there is none.
    """
    found, faults = _of_records(path) if records.only_records(path) else _of_folder(path)
    if not found:
        why = f"; {faults[0]}" if faults else ""
        raise RecordError(f"{path}: no run has left results here; start one with ci/run{why}")
    order = sorted(found, key=lambda run: (run.started or datetime.min.replace(tzinfo=timezone.utc), run.session))
    return order, faults


def _of_folder(results: Path) -> tuple[list[Run], tuple[str, ...]]:
    faults: list[str] = []
    reports = records.reports_of(results, faults)
    names = [*reports, *(log.stem for log in (results / "logs").glob("*.log") if log.stem not in reports)]
    return [_of_report(name, reports.get(name), results, faults) for name in names], tuple(faults)


def _of_report(name: str, report: Path | None, results: Path, faults: list[str]) -> Run:
    try:
        all_cases, bad = records.cases_of(report, results) if report else ((), ())
        faults += bad
    except RecordError as error:
        all_cases = ()
        faults.append(str(error))
    cases = [case for case in all_cases if not case.fixture]
    if not cases:
        return Run(name, _start(name))
    systems = dict.fromkeys(case.system for case in cases)
    return Run(name, _start(name), tuple(systems), len(cases), sum(is_success(case.result) for case in cases))


def _start(name: str) -> datetime | None:
    try:
        return datetime.strptime(name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _of_records(path: Path) -> tuple[list[Run], tuple[str, ...]]:
    loaded = reading.load([Source(str(path), path)], ("session", "time", *_CASE, "case_result"))
    frame, found = loaded.frame, []
    for (name,), group in frame.filter(pl.col("session").is_not_null()).group_by("session", maintain_order=True):
        last = group.unique(_CASE, keep="last", maintain_order=True)
        passed = last.filter(pl.col("case_result").is_in(SUCCESS)).height
        systems = tuple(last["system"].unique(maintain_order=True).to_list())
        found.append(Run(str(name), _start(str(name)) or group["time"].to_list()[0], systems, last.height, passed))
    return found, loaded.faults


def resolved(path: Path, given: str) -> str:
    """Return the name of the one run whose name begins with what was given.

    :raises RecordError: if there is none, or several.
    """
    if records.only_records(path):
        frame = reading.load([Source(str(path), path)], ("session",)).frame
        names: Iterable[str] = [name for name in frame["session"].unique().to_list() if name]
    else:
        names = {*records.reports_of(path), *(log.stem for log in (path / "logs").glob("*.log"))}
    if given in names:
        return given
    fitting = sorted(name for name in names if name.startswith(given))
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise RecordError(f"{path}: no run called {quoted(given)}; `fabric-checks show --list` lists them")
    shown = ", ".join(fitting[:4]) + (" ..." if len(fitting) > 4 else "")
    raise RecordError(f"{path}: {len(fitting)} runs begin with {quoted(given)}: {shown}; give more of the name")


def of_records(path: Path, name: str | None) -> Session:
    """Return a run from records alone, the latest or the one called ``name``; what failed is known by its records.

    :raises RecordError: if there is none.
    """
    name = name or listed(path)[0][-1].session
    loaded = reading.load([Source(str(path), path, where={"session": name})], FIELDS)
    found = [rows.record_of(row) for row in loaded.frame.to_dicts()]
    return Session(name, None, tuple(_cases(found)), tuple(found), (), loaded.faults, archived=True)


def _cases(found: Sequence[Mapping[str, Any]]) -> list[Case]:
    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for record in found:
        by_case.setdefault(case_name(record), []).append(record)
    return [
        Case(
            name,
            group[-1]["case_result"] or "fail",
            "its job" if group[-1]["metric"] is None else "performance",
            re.sub(r"\s*\n\s*", " ", group[-1]["fail_reason"] or "") or None,
            False,
            frozenset(record["metric"] for record in group if record["metric"] is not None),
            system=group[-1]["system"],
        )
        for name, group in by_case.items()
    ]
