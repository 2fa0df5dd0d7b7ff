# SPDX-License-Identifier: BSD-3-Clause
"""List the problems of a run, the worst first, and the cases and suites that were not run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from fabric_checks.core.finding import Finding, Severity, same_cause
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import (
    count_text,
    duration_text,
    names_text,
    one_line,
    range_text,
    value_text,
)
from fabric_checks.core.verdict import Verdict, verdict
from fabric_checks.diagnosis.limits import text as limits_text
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import (
    UNCONFIRMED,
    Record,
    bounds,
    by_case,
    case_name,
    is_success,
    machine_name,
)
from fabric_checks.records.repeats import confirmation_text
from fabric_checks.records.runs import Case, Session
from fabric_checks.report import sight
from fabric_checks.report.texts import load_text, mpi_text
from fabric_checks.report.values import case_text, is_judged

#: If so many cases failed of one cause, all are named; else some are.
_NAMED = 24

#: The words for cases that did not pass, by their result.
_ENDS = {
    "fail": "failed",
    UNCONFIRMED: "with an unconfirmed miss",
    "xpass": "passed although it was expected to fail",
    "fail_deps": "not run, as something they depend on failed",
    "skip": "skipped",
    "abort": "not run, as the run was interrupted",
}


@dataclass(frozen=True)
class Problem:
    """A sentence about something that needs attention, and lines below it."""

    text: str
    details: tuple[str, ...] = ()


def problems(session: Session) -> list[Problem]:
    """Return the problems of a run: errors, faults, failed cases, missed references, suspects, and
    warnings."""
    again = [
        case.name
        for case in session.cases
        if case.failed_before and is_success(case.result)
    ]
    return [
        *(Problem(f"error: {line}") for line in runs.other_faults(session)),
        *of_severity(session.records, Severity.FAULT),
        *_failures(_without_values(session)),
        *map(_missed, by_key(_misses(session), _case_and_place).values()),
        *of_severity(session.records, Severity.SUSPECT),
        *(Problem(f"warning: passed only when rerun: {name}") for name in again),
        *(Problem(f"warning: {line}") for line in session.unreadable),
    ]


def verdict_of(session: Session) -> Verdict:
    """Return the verdict on a run."""
    aborted = [case for case in session.cases if case.result == "abort"]
    is_incomplete = session.was_killed or aborted
    return verdict(
        failed=not is_incomplete and not measured(session.records),
        incomplete=is_incomplete,
        findings=of_severity(session.records, Severity.FAULT)
        or runs.failed(session)
        or _misses(session)
        or runs.other_faults(session),
        blind=sight.blind(by_case(session.records))[0],
        busy=load_text(session.records)[1],
    )


def measured(records: Iterable[Record]) -> list[Record]:
    """Return the records that have a value, or should have: not those of cases that failed before."""
    return [record for record in records if record["metric"] is not None]


def counts_text(cases: Sequence[Case]) -> str:
    """Return how many cases passed, and how the others ended."""
    counts = Counter(case.result for case in cases if not case.fixture)
    if not counts:
        return "no case ran"
    of_all = count_text(counts.total(), "case")
    parts = [f"{counts['pass'] + counts['xfail']} of {of_all} passed"]
    parts += [f"{counts[end]} {words}" for end, words in _ENDS.items() if counts[end]]
    return ", ".join(parts)


def references_text(records: Iterable[Record]) -> str:
    """Return how many values met their references, or why none has one."""
    values = measured(records)
    held = list(filter(is_judged, values))
    if held:
        missed = sum(not is_success(record["result"]) for record in held)
        once = [
            _case_and_metric(each) for each in held if each["result"] == UNCONFIRMED
        ]
        more = f"; unconfirmed by repeats: {names_text(once, 2)}" if once else ""
        return f"{len(held)} held to references, {missed or 'none'} missed{more}"
    reasons = {str(record["no_reference"]) for record in values} - {"None", ""}
    return "no references" + (f" ({reasons.pop()})" if len(reasons) == 1 else "")


def where_text(of: Sequence[Record]) -> str:
    """Return partitions, nodes and MPIs of a run."""
    places = dict.fromkeys(machine_name(record).rpartition("+")[0] for record in of)
    used = {node for record in of for node in record["nodelist"] or ()}
    nodes = sorted(used, key=lambda name: (len(name), name))
    mpis = dict.fromkeys(mpi_text(record["mpi"]) for record in of if record["mpi"])
    names = ", ".join(nodes) if len(nodes) <= 4 else f"{nodes[0]} .. {nodes[-1]}"
    parts = (
        names_text(list(places), 4),
        f"{count_text(len(nodes), 'node')} ({names})" if nodes else "",
        names_text(list(mpis), 4),
    )
    return "; ".join(filter(None, parts))


def allocation_text(of: Sequence[Record]) -> str:
    """Return how well the cases of one allocation used it; empty where each case was a job of its own.

    It is taken to be as wide as its widest case, and to be held from the begin of the first to the end of the
    last: the job of such a case is ``JOB/NUMBER``.
    """
    cases = {
        str(record["jobid"]): record
        for record in of
        if "/" in str(record["jobid"]) and record["elapsed_s"] and record["job_began"]
    }
    if not cases:
        return ""
    spans = [
        (datetime.fromisoformat(record["job_began"]).timestamp(), record["elapsed_s"])
        for record in cases.values()
    ]
    held_s = max(begin + time_s for begin, time_s in spans) - min(spans)[0]
    nodes = max(record["nodes"] for record in cases.values())
    used = sum(record["nodes"] * record["elapsed_s"] for record in cases.values())
    share = min(1.0, used / (nodes * held_s))
    job = next(iter(cases)).partition("/")[0]
    return (
        f"one allocation, job {job}: {count_text(nodes, 'node')} for {duration_text(held_s)}, in"
        f" {share:.0%} of whose node-seconds cases ran"
    )


def would_have_found(records: Sequence[Record]) -> str:
    """Return the smallest faults that a run would have found, by its best case for each part; empty if
    unknown."""
    between = [record for record in records if (record["nodes"] or 0) > 1]
    best: dict[str, float | None] = {}
    for limits in sight.limits(by_case(between)).values():
        for part, size in limits.items():
            known = [each for each in (best.get(part), size) if each is not None]
            best[part] = min(known, default=None)
    text = limits_text(best) if best else ""
    return f"{text[:1].upper()}{text[1:]}"


def _case_and_metric(record: Record) -> str:
    return f"{record['metric']} of {case_text(record).strip()}"


def _case_and_place(record: Record) -> str:
    return f"{case_text(record)} @{machine_name(record)}"


def _misses(session: Session) -> list[Record]:
    return [
        record
        for record in measured(session.records)
        if record["result"] in ("fail", "xpass")
    ]


def _without_values(session: Session) -> list[Case]:
    """Return the cases that failed for another reason than a value that misses its reference."""
    explained = {case_name(record) for record in _misses(session)}
    return [
        case
        for case in runs.failed(session)
        if case.result != "abort"
        and not (case.name in explained and case.phase == "performance")
    ]


def of_severity(of: Iterable[Record], severity: Severity) -> list[Problem]:
    """Return each finding of a severity once, by its key, or each note by its text, with the cases that have
    it."""
    found: dict[str, tuple[Finding, dict[str, None]]] = {}
    for record in of:
        for finding in findings_of(record):
            if finding.severity is severity:
                same = finding.text if severity is Severity.NOTE else finding.key
                cases = found.setdefault(same, (finding, {}))[1]
                cases[_case_and_place(record)] = None
    return [
        Problem(first.text, (*first.lines, f"seen by {names_text(list(cases))}"))
        for first, cases in found.values()
    ]


def _failures(cases: Sequence[Case]) -> list[Problem]:
    """Return the failures, those of one cause together."""
    reasons = {case.name: why_failed(case) for case in cases}
    found = []
    for names in same_cause(reasons):
        count = f"{count_text(len(names), 'case')}: " if len(names) > 1 else ""
        most = _NAMED if len(names) <= _NAMED else 3
        named = names_text(list(map(short_name, names)), most)
        why = one_line(reasons[names[0]])
        found.append(Problem(f"failed: {count}{named}", (why,)))
    return found


def why_failed(case: Case) -> str:
    """Return why a case failed, in ReFrame's words."""
    if case.result == "fail_deps":
        return "was not run: something it depends on failed; see there"
    return f"in {case.phase}: {case.reason or 'no reason was given'}"


def _missed(of: Sequence[Record]) -> Problem:
    """Return the values of a case that missed their references, the one that is the furthest off."""
    first = max(of, key=lambda each: abs(each["value"] / (each["reference"] or 1) - 1))
    within = range_text(*bounds(first)) or "without bounds"
    others = f"; {len(of) - 1} more of its values" if len(of) > 1 else ""
    is_miss = first["result"] == "fail"
    verb = "missed" if is_miss else "met, although it was expected to miss"
    is_now = f"{first['metric']} is {value_text(first['value'])} {first['unit']}"
    text = f"{is_now}, reference {within}: {verb}{others}"
    told = confirmation_text(first)
    return Problem(f"{_case_and_place(first)}: {text}", (told,) if told else ())


def not_run(session: Session) -> list[str]:
    """Return the suites and cases that were not run, a line for each reason."""
    reasons = Counter(
        case.reason and one_line(case.reason)
        for case in session.cases
        if (case.result == "skip" and not case.fixture)
        or (case.result == "abort" and (case.reason or "").startswith(runs.NOT_RUN))
    )
    skipped = (
        f"{count_text(count, 'case')} skipped{f': {reason}' if reason else ''}".replace(
            f"skipped: {runs.NOT_RUN}", runs.NOT_RUN
        )
        for reason, count in reasons.items()
    )
    return [*_not_offered(session), *skipped]


def _not_offered(session: Session) -> list[str]:
    """Return the suites that environments lack, a line for each reason and its environments."""
    lacking = {
        (suite, why, str(record["environ"]))
        for record in session.records
        for suite, why in (record["not_offered"] or {}).items()
    }
    environs = by_key(sorted(lacking), lambda each: each[:2])
    suites = by_key(
        environs, lambda key: (key[1], ", ".join(name for *_, name in environs[key]))
    )
    return [
        f"{', '.join(suite for suite, _ in keys)} ({where}): {why}"
        for (why, where), keys in suites.items()
    ]


def short_name(name: str) -> str:
    """Return the name of a case without the names of its parameters.

    >>> short_name("ImbBarrier %layout=1x2 @local:node+mpich")
    'ImbBarrier 1x2 @local:node+mpich'
    """
    return re.sub(r"%\w+=", "", name)
