# SPDX-License-Identifier: BSD-3-Clause
"""Return the findings of one run: nodes and paths that its analysis blames, failed cases, nodes out of
service."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fabric_checks.core.finding import Finding, Severity, cause, same_cause
from fabric_checks.core.text import count_text, first_of, names_text
from fabric_checks.nightly.model import Entry, Night
from fabric_checks.records import repeats, runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import (
    UNCONFIRMED,
    Record,
    by_case,
    case_name,
    is_success,
    never_began,
)
from fabric_checks.records.runs import Case, Session
from fabric_checks.report import sight
from fabric_checks.report.texts import load_text
from fabric_checks.schedulers.model import CANCELLED

#: The reason of a case that has no room for its files, which has nothing to do with the fabric.
NO_ROOM = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|Read-only file system"
)


#: The kinds of failures that are no finding, and what the night says of them.
_WITHOUT_RESULT = {
    "cancelled": "cancelled by somebody",
    "aborted": "not run to the end, as the run was interrupted",
}


@dataclass(frozen=True)
class _Failure:
    """A case that failed, and its records."""

    case: Case
    records: Sequence[Record]

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.case.name

    @property
    def nodes(self) -> list[str]:
        """The nodes that it ran on."""
        return self._fact("nodelist") or []

    @property
    def node_faults(self) -> dict[str, str]:
        """The causes that keep its nodes out of service, by node."""
        return self._fact("node_faults") or {}

    def _fact(self, name: str) -> Any:
        return self.records[0][name] if self.records else None

    @property
    def kind(self) -> str:
        """What went wrong: ``aborted`` with its run, ``cancelled`` by somebody, ``full`` disk, ``waiting`` in
        vain for nodes or out of them, ``build``, ``unbuilt`` for want of one, or ``failed``."""
        waited = any(map(never_began, self.records))
        if self.case.result == "abort":
            return "aborted"
        if self._is_cancelled:
            return "cancelled"
        if NO_ROOM.search(self.case.reason or ""):
            return "full"
        if self.node_faults or waited:
            return "waiting"
        if self.case.fixture:
            return "build"
        return "unbuilt" if self.case.result == "fail_deps" else "failed"

    @property
    def _is_cancelled(self) -> bool:
        began = [each for each in self.records if not never_began(each)]
        return CANCELLED in (self.case.reason or "") or any(
            str(each["job_state"]).startswith("CANCELLED") for each in began
        )

    @property
    def reason(self) -> str:
        """The first line of why it failed."""
        default = f"it ended with the result {self.case.result}"
        lines = (self.case.reason or "").strip().splitlines() or [default]
        return lines[0].strip()

    @property
    def findings(self) -> list[Finding]:
        """A finding for each value that misses its reference, or one for the reason that ReFrame gives."""
        records = self.records if self.case.phase == "performance" else ()
        missed = [
            self._miss(each)
            for each in records
            if each["result"] in ("fail", "xpass") and each["metric"]
        ]
        return missed or [self._finding(self.reason, cause(self.reason, self.name))]

    def _miss(self, record: Record) -> Finding:
        metric, reference = record["metric"], record["reference"]
        share = 0.0
        if reference is not None:
            share = (record["value"] - reference) / (abs(reference) or 1.0)
        about = f"{metric} above" if share > 0 else metric
        return self._finding(repeats.text_of(record), about, abs(share))

    def _finding(self, text: str, about: str, size: float | None = None) -> Finding:
        return Finding(
            kind="case", severity=Severity.FAULT, text=f"{self.name}: {text}", part=self.name, size=size,
            key=f"{self.name}: {about}",
        )  # fmt: skip


def observed(night: Night, session: Session) -> Night:
    """Return a night with the findings of its session, and what that would have shown.

    Findings with a culprit come first. Failures are why the run itself cannot be trusted; warnings are
    limitations of single cases, the same as long as they stay so.
    """
    cases = by_case(session.records)
    measured = {case_name(each) for each in session.records if each["metric"]}
    failed = defaultdict[str, list[_Failure]](list)
    for case in runs.failed(session):
        each = _Failure(case, cases.get(case.name, ()))
        failed[each.kind].append(each)
    findings, failures = _entries(cases, failed), runs.other_faults(session)
    notes = _notes(failed)
    if full := failed["full"]:
        failures.append(
            f"{count_text(len(full), 'case')} had no room for their files: {full[0].reason}"
        )
    if not measured:
        causes = [each.findings[0].text for each in findings] or notes
        if causes or not failures:
            failures.append(f"no case gave a value: {'; '.join(first_of(causes))}")
        findings = []
    blind, dim = sight.blind(cases)
    return night.with_more(
        findings,
        failures,
        (*dim, *notes, *sight.topology_notes(cases)),
        measured=frozenset(measured),
        limits=sight.limits(cases),
        blind=tuple(blind),
        unconfirmed=tuple(
            f"{case_name(each)}: {repeats.text_of(each)}"
            for each in session.records
            if each["result"] == UNCONFIRMED
        ),
        **_counted(session),
    )


def _notes(failed: Mapping[str, Sequence[_Failure]]) -> list[str]:
    """Return a line for each kind of failure that is no finding."""
    notes = []
    for kind, why in _WITHOUT_RESULT.items():
        if names := [each.name for each in failed.get(kind, ())]:
            many = count_text(len(names), "case")
            notes.append(
                f"{many} {why}, which says nothing of nodes: {names_text(names)}"
            )
    return notes


def _counted(session: Session) -> dict[str, Any]:
    """Return the fields of a night that count its cases and values, and say whether it was incomplete, busy
    or simulated."""
    load, is_busy = load_text(session.records)
    selected = [
        case for case in session.cases if not case.fixture and case.result != "skip"
    ]
    cases = [case for case in selected if case.result != "abort"]
    is_whole = len(cases) == len(selected)
    return {
        "incomplete": ""
        if is_whole
        else f"{len(cases)} of {count_text(len(selected), 'case')} ran",
        "busy": load if is_busy else "",
        "cases": len(cases),
        "passed": sum(is_success(case.result) for case in cases),
        "records": sum(record["metric"] is not None for record in session.records),
        "simulated": any(record["evidence"] for record in session.records),
    }


def _entries(
    by_case: Mapping[str, Sequence[Record]], failed: Mapping[str, list[_Failure]]
) -> list[Entry]:
    """Return what is wrong with the machine: what the analysis of some case is certain of, and failures."""
    left, entries = failed["failed"], []
    for part, seen in _faults_by_part(by_case).items():
        hosts = {host for _, found in seen for host in found.hosts}.intersection(part)
        explained = [each for each in left if hosts.intersection(each.nodes)]
        left = [each for each in left if each not in explained]
        entries.append(_blamed(part, seen, explained))
    if failed["waiting"]:
        entries.append(_out_of_service(failed["waiting"]))
    unbuilt = [each.name for each in failed["unbuilt"]]
    entries += [_alike(group, unbuilt) for group in _groups(failed["build"])]
    return [*entries, *map(_alike, _groups(left))]


def _faults_by_part(
    by_case: Mapping[str, Sequence[Record]],
) -> dict[tuple[str, ...], list[tuple[str, Finding]]]:
    """Return the faults, each with its case, by their hosts or, where there are none, by their part."""
    seen = defaultdict[tuple[str, ...], list[tuple[str, Finding]]](list)
    for name, records in by_case.items():
        for found in findings_of(records[0]):
            if found.is_fault:
                part = tuple(sorted(set(found.hosts))) or (found.part or found.key,)
                seen[part].append((name, found))
    for path in [part for part in seen if len(part) > 1]:
        # A path to a node that is slow itself is one of its symptoms.
        end = next(((host,) for host in path if (host,) in seen), None)
        if end:
            seen[end] += seen.pop(path)
    return seen


def _blamed(
    part: tuple[str, ...],
    seen: Sequence[tuple[str, Finding]],
    explained: Sequence[_Failure],
) -> Entry:
    """Return the entry of all that is seen on some hosts or a part, its own findings first, of these a slow
    one, and of the failures that it explains."""
    findings = sorted(
        (found for _, found in seen),
        key=lambda found: ({*found.hosts} != {*part}, found.size is None),
    )
    names = frozenset(each.name for each in explained)
    return Entry(
        findings=(*findings, *(found for each in explained for found in each.findings)),
        keys=names | {" ".join(part)},
        cases=names.union(case for case, _ in seen),
    )


def _out_of_service(waiting: Sequence[_Failure]) -> Entry:
    """Return the entry of the nodes that are out of service, or of the jobs that did not begin."""
    faults = {node: why for each in waiting for node, why in each.node_faults.items()}
    many, why = (
        count_text(len(waiting), "case"),
        "; ".join(first_of(list(faults.values()))),
    )
    text = f"{many} could not run or could not finish: {why or waiting[0].reason}"
    whole = Finding(
        kind="service", severity=Severity.FAULT, text=text, hosts=tuple(faults), part="" if faults else many,
        key="service",
    )  # fmt: skip
    single = [
        Finding(
            kind="service",
            severity=Severity.FAULT,
            text=why,
            part=f"node {host}",
            hosts=(host,),
        )
        for host, why in faults.items()
    ]
    return Entry(
        findings=(whole, *single),
        keys=frozenset(f"service {host}" for host in faults) or frozenset({"service"}),
        cases=frozenset(each.name for each in waiting),
    )


def _groups(failed: Sequence[_Failure]) -> list[list[_Failure]]:
    """Return failures by their causes."""
    by_name = {each.name: each for each in failed}
    reasons = {
        name: f"in {each.case.phase}: {each.reason}" for name, each in by_name.items()
    }
    return [[by_name[name] for name in names] for names in same_cause(reasons)]


def _alike(group: Sequence[_Failure], unbuilt: Sequence[str] = ()) -> Entry:
    """Return the entry of cases that failed for one reason.

    :param unbuilt: the cases that did not run because one that they need could not be built.
    """
    first, *others = (found for each in group for found in each.findings)
    if len(group) > 1:
        first = replace(
            first,
            text=f"{len(group)} cases failed for one reason, the first: {first.text}",
        )
    if unbuilt:
        first = replace(
            first, details=(f"did not run for want of it: {names_text(unbuilt, 6)}",)
        )
    names = frozenset(each.name for each in group)
    return Entry(findings=(first, *others), keys=names, cases=names.union(unbuilt))
