# SPDX-License-Identifier: BSD-3-Clause
"""List the problems of a run, the worst first, and the cases and suites that were not run."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric_checks.core.finding import Finding, Severity, same_cause
from fabric_checks.core.text import (
    count_text,
    first_of,
    names_text,
    one_line,
    range_text,
    shortened,
    test_text,
    value_text,
)
from fabric_checks.core.verdict import Verdict, verdict
from fabric_checks.diagnosis.limits import text as limits_text
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, bounds, case_name, is_success, machine_name
from fabric_checks.records.runs import Case, Session
from fabric_checks.report import sight
from fabric_checks.report.texts import load_text

#: The most characters that are quoted of a reason.
_LONGEST = 270
#: So many failed cases are all named.
_NAMED = 24


@dataclass(frozen=True)
class Problem:
    """A sentence about something that needs attention, and lines below it.

    :param failed: whether it names failed cases, which are always shown.
    """

    text: str
    details: tuple[str, ...] = ()
    failed: bool = False


def case_text(record: Record) -> str:
    """Return the name of a case on one line: its check, parameters and layout, and where it ran."""
    return f"{test_text(record['check'], record['parameters'])} {record['layout']} @{machine_name(record)}"


def problems(session: Session) -> list[Problem]:
    """Return the problems of a run: errors, faults, failed cases, missed references, suspects, and
    warnings."""
    again = [case.name for case in session.cases if case.failed_before and is_success(case.result)]
    return [
        *_first("error", runs.other_faults(session), most=4),
        *_of_severity(session.records, Severity.FAULT),
        *_failures(_without_values(session)),
        *_missed(_misses(session)),
        *_of_severity(session.records, Severity.SUSPECT),
        *_first("warning: passed only when rerun", again),
        *_first("warning", session.unreadable),
    ]


def verdict_of(session: Session) -> Verdict:
    """Return the verdict on a run."""
    was_killed = session.report is None and bool(session.records) and not session.archived
    is_incomplete = was_killed or any(case.result == "abort" for case in session.cases)
    has_values = any(record["metric"] for record in session.records)
    return verdict(
        failed=not is_incomplete and not (_has_run(session) and has_values),
        incomplete=is_incomplete,
        findings=_has_faults(session)
        or runs.failed(session)
        or _misses(session)
        or runs.other_faults(session),
        blind=sight.blind(by_case(session.records))[0],
        busy=load_text(session.records)[1],
    )


def _has_run(session: Session) -> bool:
    return any(
        not case.fixture and case.result not in ("skip", "abort", "fail_deps") for case in session.cases
    )


def _has_faults(session: Session) -> bool:
    return any(finding.is_fault for record in session.records for finding in findings_of(record))


def by_case(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return records by the name of their case."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(case_name(record), []).append(record)
    return found


def would_have_found(records: Sequence[Record]) -> str:
    """Return the smallest faults that a run would have found, by its best case for each part; empty if
    unknown."""
    between = [record for record in records if (record["nodes"] or 0) > 1]
    best: dict[str, float | None] = {}
    for limits in sight.limits(by_case(between)).values():
        for part, size in limits.items():
            known = best.get(part)
            best[part] = size if known is None or (size is not None and size < known) else known
    text = limits_text(best) if best else ""
    return f"{text[:1].upper()}{text[1:]}"


def _misses(session: Session) -> list[Record]:
    return [
        record for record in session.records if record["result"] in ("fail", "xpass") and record["metric"]
    ]


def _without_values(session: Session) -> list[Case]:
    """Return the cases that failed for another reason than a value that misses its reference."""
    explained = {case_name(record) for record in _misses(session)}
    failed = [case for case in runs.failed(session) if case.result != "abort"]
    return [case for case in failed if not (case.name in explained and case.phase == "performance")]


def _of_severity(of: Iterable[Record], severity: Severity) -> list[Problem]:
    """Return each finding of a severity once, by its key, with the cases that have it."""
    first: dict[str, Finding] = {}
    cases: dict[str, dict[str, None]] = {}
    for record in of:
        for finding in findings_of(record):
            if finding.severity is severity:
                first.setdefault(finding.key, finding)
                cases.setdefault(finding.key, {})[case_text(record)] = None
    return [
        Problem(each.text, (*each.lines, f"seen by {names_text(list(cases[key]))}"))
        for key, each in first.items()
    ]


def _failures(cases: Sequence[Case]) -> list[Problem]:
    """Return the failures, those of one cause together."""
    by_name = {case.name: case for case in cases if case.result != "fail_deps"}
    reasons = {name: f"in {case.phase}: {one_line(case.reason or '')}" for name, case in by_name.items()}
    found = [_of_one_cause([by_name[name] for name in names], len(cases)) for names in same_cause(reasons)]
    unbuilt = [short_name(case.name) for case in cases if case.result == "fail_deps"]
    if unbuilt:
        text = f"{count_text(len(unbuilt), 'case')} not run, because something they depend on failed"
        found.append(
            Problem(text, (names_text(unbuilt, len(unbuilt) if len(cases) <= _NAMED else 3),), failed=True)
        )
    return found


def _of_one_cause(group: Sequence[Case], failed: int) -> Problem:
    """Return the failures of one cause; :param failed: how many cases failed in all."""
    names = names_text([short_name(case.name) for case in group], len(group) if failed <= _NAMED else 3)
    reason = shortened(one_line(group[0].reason or "no reason was given"), _LONGEST)
    which = names if len(group) == 1 else f"{count_text(len(group), 'case')}: {names}"
    return Problem(f"failed: {which}", (f"in {group[0].phase}: {reason}",), failed=True)


def _missed(of: Sequence[Record]) -> list[Problem]:
    """Return the values that missed their references, a finding for each case."""
    by_case: dict[str, list[Record]] = {}
    for record in of:
        by_case.setdefault(case_text(record), []).append(record)
    found = []
    for name, missed in by_case.items():
        first = max(missed, key=_distance)
        value = "" if first["value"] is None else value_text(first["value"])
        within = range_text(*bounds(first)) or "without bounds"
        others = f"; {len(missed) - 1} more of its values" if len(missed) > 1 else ""
        verb = "missed" if first["result"] == "fail" else "met, although it was expected to miss"
        found.append(
            Problem(
                f"{name}: {first['metric']} is {value} {first['unit']}, reference {within}: {verb}{others}",
                failed=True,
            )
        )
    return found


def _distance(record: Record) -> float:
    """Return the factor by which a value is beyond the bound that it misses; infinite if either is not
    positive."""
    value, between = record["value"], [bound for bound in bounds(record) if bound is not None]
    if value is None or not between:
        return 0.0
    nearest = min(between, key=lambda bound: abs(bound - value))
    return max(value / nearest, nearest / value) if value > 0 and nearest > 0 else math.inf


def _first(kind: str, lines: Sequence[str], most: int = 2) -> list[Problem]:
    """Return at most so many lines of a kind; the last may be a count of the others."""
    return [Problem(f"{kind}: {line}") for line in first_of(lines, " like this", most)]


def not_run(session: Session) -> list[str]:
    """Return the suites and cases that were not run, a line for each reason."""
    cases = [case for case in session.cases if not case.fixture]
    counts = Counter(case.result for case in cases)
    reasons = Counter(case.reason for case in cases if case.result == "skip")
    lines = _not_offered(session)
    for reason, count in reasons.items():
        lines.append(f"{count_text(count, 'case')} skipped{f': {one_line(reason)}' if reason else ''}")
    if counts["abort"]:
        them = "it" if counts["abort"] == 1 else "them"
        lines.append(f"{count_text(counts['abort'], 'case')}, because the run ended before {them}")
    return lines


def _not_offered(session: Session) -> list[str]:
    """Return the suites that environments lack, a line for each reason and its environments."""
    environs: dict[tuple[str, str], dict[str, None]] = {}
    for record in session.records:
        for suite, why in (record["not_offered"] or {}).items():
            environs.setdefault((suite, why), {})[str(record["environ"])] = None
    suites: dict[tuple[str, str], list[str]] = {}
    for (suite, why), names in environs.items():
        suites.setdefault((", ".join(names), why), []).append(suite)
    return [f"{', '.join(names)} ({where}): {why}" for (where, why), names in suites.items()]


def short_name(name: str) -> str:
    """Return the name of a case without the names of its parameters.

    >>> short_name("ImbBarrier %layout=1x2 @local:node+mpich")
    'ImbBarrier 1x2 @local:node+mpich'
    """
    return re.sub(r"%\w+=", "", name)
