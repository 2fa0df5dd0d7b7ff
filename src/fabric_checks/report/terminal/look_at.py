# SPDX-License-Identifier: BSD-3-Clause
"""What of a run has to be looked at, the worst first, and what was not run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabric_checks.core.text import one_line, range_text, test_text, value_text
from fabric_checks.records import runs
from fabric_checks.records.record import Record, bounds, case_name, is_success, machine_name
from fabric_checks.records.runs import Case, Session

#: Findings of these kinds describe a machine, or what was not seen again, and blame nothing.
DESCRIBING = (
    "not repeated",
    *("slowest pair", "plateaus", "sharing", "limits", "not measured", "by switch", "groups"),
    *("protocol switch", "blocking wait"),
)
#: The most that is quoted of a reason.
_LONGEST = 270


@dataclass(frozen=True)
class Matter:
    """Something to look at: what it is, and lines below it."""

    text: str
    more: tuple[str, ...] = ()


def case_text(record: Record) -> str:
    """Return what a case is called on one line: its check, its parameters, its layout, and where it ran."""
    return f"{test_text(record['check'], record['parameters'])} {record['layout']} @{machine_name(record)}"


def matters(session: Session) -> list[Matter]:
    """Return what has to be looked at, the worst first.

    That is what is wrong with the run, findings that blame, cases that failed, references missed, and warnings. A
    change of protocol, and what else only describes, is not among it.
    """
    missed = [record for record in session.records if record["result"] in ("fail", "xpass") and record["metric"]]
    explained = {case_name(record) for record in missed}
    failed = [case for case in runs.failed(session) if case.result != "abort"]
    found = _listed("error", runs.other_faults(session), most=3)
    found += _findings(session.records)
    found += _failures([case for case in failed if not (case.name in explained and case.phase == "performance")])
    found += _missed(missed)
    again = [case.name for case in session.cases if case.failed_before and is_success(case.result)]
    found += _listed("warning: passed only when rerun", again)
    found += _listed("warning", session.unreadable)
    return found


def _findings(of: Iterable[Record]) -> list[Matter]:
    """Return what the analysis blames, once, with the cases that say so."""
    by_text: dict[str, dict[str, None]] = {}
    for record in of:
        for finding in record.get("findings") or ():
            if finding.get("kind") not in DESCRIBING:
                by_text.setdefault(finding["text"], {})[case_text(record)] = None
    return [Matter(text, (f"seen by {_names(list(cases))}",)) for text, cases in by_text.items()]


def _failures(cases: Sequence[Case]) -> list[Matter]:
    """Return the failures, those of one cause together, whatever numbers are in it and whatever the check is called."""
    by_cause: dict[str, list[Case]] = {}
    for case in cases:
        if case.result == "fail_deps":
            cause = "something they depend on failed"
        else:
            cause = f"in {case.phase}: {one_line(case.reason or 'no reason was given')}"
        # Numbers, and the name of the check itself, make no cause of its own.
        alike = re.sub(r"\d+(?:\.\d+)?", "0", cause.replace(case.name.split(" ")[0], ""))
        by_cause.setdefault(alike, []).append(case)
    found = []
    for group in sorted(by_cause.values(), key=len, reverse=True):
        first, names = group[0], [short_name(case.name) for case in group]
        if first.result == "fail_deps":
            found.append(
                Matter(f"{_cases(len(group))} not run, because something they depend on failed", (_names(names),))
            )
            continue
        why = _cut(one_line(first.reason or "no reason was given"))
        if len(group) == 1:
            found.append(Matter(f"failed: {names[0]}", (f"in {first.phase}: {why}",)))
        else:
            found.append(Matter(f"failed: {_cases(len(group))}: {_names(names)}", (f"in {first.phase}: {why}",)))
    return found


def _missed(of: Sequence[Record]) -> list[Matter]:
    """Return the values that missed their references, a matter each case."""
    by_case: dict[str, list[Record]] = {}
    for record in of:
        by_case.setdefault(case_text(record), []).append(record)
    found = []
    for name, missed in by_case.items():
        first = missed[0]
        value = "" if first["value"] is None else value_text(first["value"])
        within = range_text(*bounds(first)) or "without bounds"
        others = f"; {len(missed) - 1} more of its values" if len(missed) > 1 else ""
        verb = "missed" if first["result"] == "fail" else "met, although it was expected to miss"
        text = f"{name}: {first['metric']} is {value} {first['unit']}, reference {within}: {verb}{others}"
        found.append(Matter(text))
    return found


def _listed(what: str, lines: Sequence[str], most: int = 1) -> list[Matter]:
    """Return the first of some lines, and how many more there are of their kind."""
    shown = [Matter(f"{what}: {line}") for line in lines[:most]]
    if len(lines) > most:
        shown[-1] = Matter(f"{shown[-1].text}; and {len(lines) - most} more like this")
    return shown


def not_run(session: Session) -> list[str]:
    """Return what was not run and why, a line for each reason."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for record in session.records:
        for suite, why in (record["not_offered"] or {}).items():
            reasons.setdefault((suite, why), {})[str(record["environ"])] = None
    suites: dict[tuple[str, str], list[str]] = {}
    for (suite, why), environs in reasons.items():
        suites.setdefault((", ".join(environs), why), []).append(suite)
    lines = [f"{', '.join(names)} ({environs}): {why}" for (environs, why), names in suites.items()]
    counts = Counter(case.result for case in session.cases if not case.fixture)
    if counts["skip"]:
        reason = next((case.reason for case in session.cases if case.result == "skip" and case.reason), "")
        lines.append(f"{_cases(counts['skip'])} skipped{f': {one_line(reason)}' if reason else ''}")
    if counts["abort"]:
        them = "it" if counts["abort"] == 1 else "them"
        lines.append(f"{_cases(counts['abort'])}, because the run ended before {them}")
    return lines


def short_name(name: str) -> str:
    """Return what a case is called without what marks parameters.

    >>> short_name("ImbBarrier %layout=1x2 @local:node+mpich")
    'ImbBarrier 1x2 @local:node+mpich'
    """
    return re.sub(r"%\w+=", "", name)


def _names(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _cases(number: int) -> str:
    return f"{number} case{'' if number == 1 else 's'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
