# SPDX-License-Identifier: BSD-3-Clause
"""Return the findings of one run: nodes and paths that its analysis blames, failed cases, nodes out of
service."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fabric_checks.core.finding import Finding, Severity, cause, same_cause
from fabric_checks.core.text import count_text, first_of, names_text, value_text
from fabric_checks.nightly.model import Entry, Night, parted
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, is_success, never_began
from fabric_checks.records.runs import Case, Session
from fabric_checks.report import sight
from fabric_checks.report.findings import by_case as of_cases
from fabric_checks.report.texts import load_text
from fabric_checks.schedulers.model import CANCELLED

#: The reason of a case that has no room for its files, which has nothing to do with the fabric.
NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large|Read-only file system")
#: The records of each case by its name.
_Records = Mapping[str, Sequence[Record]]


@dataclass(frozen=True)
class _Failure:
    """A case that failed, and its records."""

    case: Case
    records: Sequence[Record]

    @property
    def nodes(self) -> list[str]:
        """The nodes that it ran on."""
        return list(dict.fromkeys(self.records[0]["nodelist"] or ())) if self.records else []

    @property
    def node_faults(self) -> dict[str, str]:
        """The causes that keep its nodes out of service, by node."""
        return (self.records[0]["node_faults"] or {}) if self.records else {}

    @property
    def had_no_room(self) -> bool:
        """Whether the disk was full."""
        return bool(NO_ROOM.search(self.case.reason or ""))

    @property
    def was_cancelled(self) -> bool:
        """Whether somebody cancelled its job."""
        return CANCELLED in (self.case.reason or "") or any(
            str(record["job_state"]).startswith("CANCELLED") and not never_began(record)
            for record in self.records
        )

    @property
    def lacked_nodes(self) -> bool:
        """Whether its job never began, or nodes of it are out of service."""
        return bool(self.node_faults) or any(map(never_began, self.records))

    @cached_property
    def reason(self) -> str:
        """The first line of why it failed."""
        lines = [line.strip() for line in (self.case.reason or "").splitlines() if line.strip()]
        return lines[0] if lines else f"it ended with the result {self.case.result}"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each value that misses its reference, or one for the reason that ReFrame gives."""
        records = self.records if self.case.phase == "performance" else ()
        missed = [
            each for each in records if each["result"] in ("fail", "xpass") and each["metric"] is not None
        ]
        if not missed:
            return (_of_case(self.case.name, self.reason, cause(self.reason, self.case.name)),)
        where = f" on {', '.join(first_of(self.nodes))}" if self.nodes else ""
        text = "; ".join(first_of([_miss(record) for record in missed])) + where
        found = []
        for record in missed:
            share = _share_off(record)
            above = " above" if share > 0 else ""
            found.append(_of_case(self.case.name, text, f"{record['metric']}{above}", abs(share)))
        return tuple(found)


def _of_case(name: str, text: str, about: str, size: float | None = None) -> Finding:
    full = f"{name}: {text}"
    return Finding(
        kind="case", severity=Severity.FAULT, text=full, part=name, size=size, key=f"{name}: {about}"
    )


def _share_off(record: Record) -> float:
    reference = record["reference"]
    return (record["value"] - reference) / abs(reference) if reference else 0.0


def _miss(record: Record) -> str:
    value, reference = record["value"], record["reference"]
    if reference is None:
        return f"{record['metric']} {value_text(value)} {record['unit']}"
    by = f", {100 * abs(_share_off(record)):.0f} % off" if reference else ""
    return (
        f"{record['metric']} is {value_text(value)} {record['unit']}; the reference is"
        f" {value_text(reference)}{by}"
    )


def observed(night: Night, session: Session) -> Night:
    """Return a night with the findings of its session, and what that would have shown.

    Findings with a culprit come first. Failures are why the run itself cannot be trusted; warnings are
    limitations of single cases, the same as long as they stay so.
    """
    by_case = of_cases(session.records)
    measured = frozenset(
        name for name, records in by_case.items() if any(r["metric"] is not None for r in records)
    )
    failed = [_Failure(case, by_case.get(case.name, ())) for case in runs.failed(session)]
    cancelled, failed = parted(failed, lambda each: each.was_cancelled)
    findings, failures = _judged(by_case, failed, cancelled, is_measured=bool(measured))
    failures += runs.other_faults(session) or ([] if measured or failures else ["no value was recorded"])
    blind, notes = sight.blind(by_case)
    warnings = (*notes, *_noted(cancelled), *sight.topology_notes(by_case))
    seen = {"measured": measured, "limits": sight.limits(by_case), "blind": tuple(blind)}
    return night.with_more(findings, failures, warnings, **seen, **_counted(session))


def _counted(session: Session) -> dict[str, Any]:
    """Return the fields of a night that count its cases and values, and say whether it was busy or
    simulated."""
    load, is_busy = load_text(session.records)
    cases = [case for case in session.cases if not case.fixture and case.result != "skip"]
    return {
        "busy": load if is_busy else "",
        "cases": len(cases),
        "passed": sum(is_success(case.result) for case in cases),
        "records": sum(record["metric"] is not None for record in session.records),
        "simulated": any(record["evidence"] for record in session.records),
    }


def _judged(
    by_case: _Records, failed: Sequence[_Failure], cancelled: Sequence[_Failure], *, is_measured: bool
) -> tuple[list[Entry], list[str]]:
    """Return what is wrong with the machine, and why the run cannot be trusted: one cause if nothing was
    measured."""
    full, left = parted(failed, lambda each: each.had_no_room)
    waiting, left = parted(left, lambda each: each.lacked_nodes)
    findings, left = _blamed(by_case, left)
    builds, left = parted(left, lambda each: each.case.fixture)
    unbuilt, left = parted(left, lambda each: each.case.result == "fail_deps")
    if is_measured:
        findings += [*_out_of_service(waiting), *(_build(each, unbuilt) for each in builds), *_alike(left)]
        return findings, _no_room(full)
    return findings, _no_room(full) or _why_nothing_came(waiting, builds, left, cancelled)


def _noted(cancelled: Sequence[_Failure]) -> list[str]:
    """Return the warning that cases were cancelled."""
    if not cancelled:
        return []
    names = names_text([each.case.name for each in cancelled])
    return [
        f"{count_text(len(cancelled), 'case')} cancelled by somebody, which says nothing of nodes: {names}"
    ]


def _no_room(full: Sequence[_Failure]) -> list[str]:
    return [f"{count_text(len(full), 'case')} had no room for their files: {full[0].reason}"] if full else []


def _why_nothing_came(
    waiting: Sequence[_Failure],
    builds: Sequence[_Failure],
    failed: Sequence[_Failure],
    cancelled: Sequence[_Failure],
) -> list[str]:
    """Return the cause why a run has no value; nothing if no case failed."""
    if waiting:
        return [f"no case could run: {_why_not(waiting)}"]
    if builds:
        return [f"nothing could be built: {builds[0].case.name}: {builds[0].reason}"]
    if failed:
        largest, *others = _groups(failed)
        first = largest[0]
        many = count_text(len(largest), "case")
        more = f"; {count_text(len(others), 'other reason')}" if others else ""
        return [
            f"no case gave a value: {many} failed in {first.case.phase} for one reason: {first.reason}{more}"
        ]
    count = count_text(len(cancelled), "case was", "cases were")
    return [f"no case gave a value: {count} cancelled by somebody"] if cancelled else []


def _blamed(by_case: _Records, failed: Sequence[_Failure]) -> tuple[list[Entry], list[_Failure]]:
    """Return an entry for each node, path, cable and switch that the analysis of some case is certain of.

    :returns: the entries with the failures that they explain, nodes and paths first, and the failures that
        are left.
    """
    seen = _faults_by_part(by_case)
    entries, left = [], list(failed)
    for part in sorted(seen, key=lambda part: not seen[part][0][1].hosts):
        entry = _entry(part, seen[part])
        explained, left = _ran_on(entry.hosts, left)
        entries.append(_explaining(entry, explained))
    return entries, left


def _faults_by_part(by_case: _Records) -> dict[tuple[str, ...], list[tuple[str, Finding]]]:
    """Return the faults, each with its case, by their hosts or, where there are none, by their part."""
    seen: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for name, records in by_case.items():
        for found in filter(lambda found: found.is_fault, findings_of(records[0])):
            part = tuple(sorted(set(found.hosts))) or (found.part or found.key,)
            seen.setdefault(part, []).append((name, found))
    for path in [part for part in seen if len(part) > 1]:
        # A path to a node that is slow itself is one of its symptoms.
        end = next(((host,) for host in path if (host,) in seen), None)
        if end:
            seen[end] += seen.pop(path)
    return seen


def _ran_on(hosts: Sequence[str], failed: Sequence[_Failure]) -> tuple[list[_Failure], list[_Failure]]:
    """Return the failures of cases that ran on some of these hosts, and the others."""
    return parted(failed, lambda each: not each.case.fixture and not set(hosts).isdisjoint(each.nodes))


def _entry(part: tuple[str, ...], seen: Sequence[tuple[str, Finding]]) -> Entry:
    """Return the entry of all that is seen on some hosts or a part: its own findings first, of these a slow
    one."""
    of_part = [found for _, found in seen]
    first, *others = sorted(
        of_part, key=lambda found: (tuple(sorted(set(found.hosts))) != part, found.size is None)
    )
    first = replace(first, hosts=tuple(sorted(set(first.hosts))))
    cases = frozenset(case for case, _ in seen)
    entry = Entry(findings=(first, *others), keys=frozenset({" ".join(part)}), cases=cases)
    is_named = first.size is None or all(name in first.text for name in part)
    return entry if is_named else replace(entry, headline=f"{entry.subject} is slow: {first.text}")


def _explaining(entry: Entry, explained: Sequence[_Failure]) -> Entry:
    """Return an entry with the failures that it explains."""
    names = {each.case.name for each in explained}
    findings = [found for each in explained for found in each.findings]
    return replace(
        entry, findings=(*entry.findings, *findings), keys=entry.keys | names, cases=entry.cases | names
    )


def _why_not(waiting: Sequence[_Failure]) -> str:
    """Return why jobs could not run: the nodes that are out of service, or the reason of the first."""
    faults = {node: why for each in waiting for node, why in each.node_faults.items()}
    return "; ".join(first_of(list(faults.values()))) or waiting[0].reason


def _out_of_service(waiting: Sequence[_Failure]) -> Iterator[Entry]:
    """Yield the entry of the nodes that are out of service, or of the jobs that did not begin."""
    if not waiting:
        return
    names = [each.case.name for each in waiting]
    faults = {node: why for each in waiting for node, why in each.node_faults.items()}
    title = f"{count_text(len(names), 'case')} could not run or could not finish: {_why_not(waiting)}"
    details = (f"they are {', '.join(first_of(names))}",)
    whole = Finding(
        kind="service", severity=Severity.FAULT, text=title, hosts=tuple(faults), details=details,
        part="" if faults else count_text(len(names), "case"), key="service",
    )  # fmt: skip
    single = [
        Finding(kind="service", severity=Severity.FAULT, text=why, part=f"node {host}", hosts=(host,))
        for host, why in faults.items()
    ]
    keys = frozenset(f"service {host}" for host in faults) or frozenset({"service"})
    yield Entry(findings=(whole, *single), keys=keys, cases=frozenset(names))


def _build(build: _Failure, unbuilt: Sequence[_Failure]) -> Entry:
    """Return an entry for a failed build; :param unbuilt: the cases that did not run for want of a build."""
    missed = [each.case.name for each in unbuilt]
    text = f"{build.case.name} could not be built: {build.reason}"
    details = (
        (f"among the cases that need it and did not run: {', '.join(first_of(missed))}",) if missed else ()
    )
    found = replace(build.findings[0], text=text, details=details)
    name = build.case.name
    return Entry(findings=(found,), keys=frozenset({name}), cases=frozenset({name, *missed}))


def _groups(failed: Sequence[_Failure]) -> list[list[_Failure]]:
    """Return failures by their causes."""
    by_name = {each.case.name: each for each in failed}
    reasons = {name: f"in {each.case.phase}: {each.reason}" for name, each in by_name.items()}
    return [[by_name[name] for name in names] for names in same_cause(reasons)]


def _alike(failed: Sequence[_Failure]) -> Iterator[Entry]:
    """Yield an entry for each reason why cases failed."""
    for group in _groups(failed):
        findings = tuple(found for each in group for found in each.findings)
        names = frozenset(each.case.name for each in group)
        many = (
            f"{len(group)} cases failed for one reason, the first: {findings[0].text}"
            if len(group) > 1
            else ""
        )
        yield Entry(findings=findings, keys=names, cases=names, headline=many)
