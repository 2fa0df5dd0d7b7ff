# SPDX-License-Identifier: BSD-3-Clause
"""List the problems of a run, the worst first, and the cases and suites that were not run."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric_checks.core.finding import Severity
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
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, bounds, case_name, is_success, machine_name
from fabric_checks.records.runs import Case, Session

#: The most characters that are quoted of a reason.
_LONGEST = 270
#: So many failed cases are all named.
_NAMED = 24
#: Numbers and paths, in which the reasons of equal failures differ.
_VARYING = re.compile(r"(?:~|\.{1,2})?(?:/[\w.+%=@~-]+)+/?|\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Finding:
    """A sentence about something that needs attention, and lines below it.

    :param failed: whether it names failed cases, which are always shown.
    """

    text: str
    details: tuple[str, ...] = ()
    failed: bool = False


def case_text(record: Record) -> str:
    """Return the name of a case on one line: its check, parameters and layout, and where it ran."""
    return f"{test_text(record['check'], record['parameters'])} {record['layout']} @{machine_name(record)}"


def findings(session: Session) -> list[Finding]:
    """Return the problems of a run: errors, faults, failed cases, missed references, suspects, and warnings."""
    missed = [record for record in session.records if record["result"] in ("fail", "xpass") and record["metric"]]
    explained = {case_name(record) for record in missed}
    failed = [case for case in runs.failed(session) if case.result != "abort"]
    again = [case.name for case in session.cases if case.failed_before and is_success(case.result)]
    return [
        *_first("error", runs.other_faults(session), most=4),
        *_blamed(session.records, Severity.FAULT),
        *_failures([case for case in failed if not (case.name in explained and case.phase == "performance")]),
        *_missed(missed),
        *_blamed(session.records, Severity.SUSPECT),
        *_first("warning: passed only when rerun", again),
        *_first("warning", session.unreadable),
    ]


def _blamed(of: Iterable[Record], severity: Severity) -> list[Finding]:
    """Return each finding of a severity once, with the cases that have it."""
    by_text: dict[str, dict[str, None]] = {}
    details: dict[str, Sequence[str]] = {}
    for record in of:
        for finding in findings_of(record):
            if finding.severity is severity:
                by_text.setdefault(finding.text, {})[case_text(record)] = None
                details[finding.text] = finding.details
    return [Finding(text, (*details[text], f"seen by {names_text(list(cases))}")) for text, cases in by_text.items()]


def _failures(cases: Sequence[Case]) -> list[Finding]:
    """Return the failures, those of one cause together: numbers, paths and the check's name are no part of a cause."""
    by_cause: dict[str, list[Case]] = {}
    for case in cases:
        cause = "" if case.result == "fail_deps" else f"in {case.phase}: {one_line(case.reason or '')}"
        alike = _VARYING.sub("0", cause.replace(case.name.split(" ")[0], ""))
        by_cause.setdefault(alike, []).append(case)
    found = []
    for group in sorted(by_cause.values(), key=len, reverse=True):
        names = names_text([short_name(case.name) for case in group], len(group) if len(cases) <= _NAMED else 3)
        first = group[0]
        if first.result == "fail_deps":
            text = f"{count_text(len(group), 'case')} not run, because something they depend on failed"
            found.append(Finding(text, (names,), failed=True))
            continue
        reason = shortened(one_line(first.reason or "no reason was given"), _LONGEST)
        which = names if len(group) == 1 else f"{count_text(len(group), 'case')}: {names}"
        found.append(Finding(f"failed: {which}", (f"in {first.phase}: {reason}",), failed=True))
    return found


def _missed(of: Sequence[Record]) -> list[Finding]:
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
            Finding(
                f"{name}: {first['metric']} is {value} {first['unit']}, reference {within}: {verb}{others}", failed=True
            )
        )
    return found


def _distance(record: Record) -> float:
    """Return the factor by which a value is beyond the bound that it misses; infinite if either is not positive."""
    value, between = record["value"], [bound for bound in bounds(record) if bound is not None]
    if value is None or not between:
        return 0.0
    nearest = min(between, key=lambda bound: abs(bound - value))
    return max(value / nearest, nearest / value) if value > 0 and nearest > 0 else math.inf


def _first(kind: str, lines: Sequence[str], most: int = 2) -> list[Finding]:
    """Return at most so many lines of a kind; the last may be a count of the others."""
    return [Finding(f"{kind}: {line}") for line in first_of(lines, " like this", most)]


def not_run(session: Session) -> list[str]:
    """Return the suites and cases that were not run, a line for each reason."""
    environs: dict[tuple[str, str], dict[str, None]] = {}
    for record in session.records:
        for suite, why in (record["not_offered"] or {}).items():
            environs.setdefault((suite, why), {})[str(record["environ"])] = None
    suites: dict[tuple[str, str], list[str]] = {}
    for (suite, why), names in environs.items():
        suites.setdefault((", ".join(names), why), []).append(suite)
    lines = [f"{', '.join(names)} ({where}): {why}" for (where, why), names in suites.items()]
    counts = Counter(case.result for case in session.cases if not case.fixture)
    reasons = Counter(case.reason for case in session.cases if not case.fixture and case.result == "skip")
    for reason, count in reasons.items():
        lines.append(f"{count_text(count, 'case')} skipped{f': {one_line(reason)}' if reason else ''}")
    if counts["abort"]:
        them = "it" if counts["abort"] == 1 else "them"
        lines.append(f"{count_text(counts['abort'], 'case')}, because the run ended before {them}")
    return lines


def short_name(name: str) -> str:
    """Return the name of a case without the names of its parameters.

    >>> short_name("ImbBarrier %layout=1x2 @local:node+mpich")
    'ImbBarrier 1x2 @local:node+mpich'
    """
    return re.sub(r"%\w+=", "", name)
