# SPDX-License-Identifier: BSD-3-Clause
"""Return the findings of one run: nodes and paths that its analysis blames, failed cases, nodes out of service."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fabric_checks.core.finding import Finding as CoreFinding
from fabric_checks.core.text import count_text, first_of, names_text, sentence, value_text
from fabric_checks.nightly import sight
from fabric_checks.nightly.model import Finding, Night
from fabric_checks.records import runs
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, case_name, is_success, never_began
from fabric_checks.records.runs import Case, Session

#: Kinds of findings that say why, or would: of ports, rails, hosts and GPUs; see :mod:`fabric_checks.ports`.
PORTS = ("port", "rail", "host", "gpu")
#: The reason of a case that has no room for its files, which has nothing to do with the fabric.
NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large|Read-only file system")


@dataclass(frozen=True)
class _Failure:
    """A case that failed, and its records."""

    case: Case
    records: Sequence[Record]

    @cached_property
    def nodes(self) -> list[str]:
        """The nodes that it ran on."""
        return list(dict.fromkeys(self.records[0]["nodelist"] or ())) if self.records else []

    @cached_property
    def node_faults(self) -> dict[str, str]:
        """The causes that keep its nodes out of service, by node."""
        return (self.records[0]["node_faults"] or {}) if self.records else {}

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
    def missed(self) -> list[Record]:
        """The values that miss their references; none if it failed before these were judged."""
        records = self.records if self.case.phase == "performance" else ()
        return [each for each in records if each["result"] in ("fail", "xpass") and each["metric"] is not None]

    @cached_property
    def cause(self) -> str:
        """The values that miss their references, or the reason that ReFrame gives."""
        if not self.missed:
            return self.reason
        where = f" on {', '.join(first_of(self.nodes))}" if self.nodes else ""
        return "; ".join(first_of([_miss(record) for record in self.missed])) + where

    @property
    def text(self) -> str:
        """Its name and cause."""
        return f"{self.case.name}: {self.cause}"

    @cached_property
    def signs(self) -> list[tuple[str, float]]:
        """Its signs: the values that miss their references, by what share, or the reason without numbers.

        A value above its reference is another sign than one below.
        """
        if not self.missed:
            return [(f"{self.case.name}: {_without_numbers(self.reason)}", 0.0)]
        signs = []
        for record in self.missed:
            share = (record["value"] - record["reference"]) / abs(record["reference"]) if record["reference"] else 0.0
            signs.append((f"{self.case.name}: {record['metric']}{' above' if share > 0 else ''}", abs(share)))
        return signs


def _miss(record: Record) -> str:
    value, reference = record["value"], record["reference"]
    if reference is None:
        return f"{record['metric']} {value_text(value)} {record['unit']}"
    by = f", {100 * abs(value - reference) / abs(reference):.0f} % off" if reference else ""
    return f"{record['metric']} is {value_text(value)} {record['unit']}; the reference is {value_text(reference)}{by}"


def _without_numbers(text: str) -> str:
    return re.sub(r"[0-9][0-9.,]*", "#", text)


def observed(night: Night, session: Session) -> Night:
    """Return a night with the findings of its session, and what that would have shown.

    Findings with a culprit come first. Failures are why the run itself cannot be trusted; warnings are limitations of
    single cases, the same as long as they stay so.
    """
    by_case: dict[str, list[Record]] = {}
    for record in session.records:
        by_case.setdefault(case_name(record), []).append(record)
    measured = frozenset(name for name, records in by_case.items() if any(r["metric"] is not None for r in records))
    left = [_Failure(case, by_case.get(case.name, ())) for case in runs.failed(session)]
    findings, failures = [], []

    full = [each for each in left if NO_ROOM.search(each.case.reason or "")]
    if full:
        failures.append(f"{count_text(len(full), 'case')} had no room for their files: {full[0].reason}")
    waiting = [each for each in left if each.lacked_nodes and each not in full]
    if waiting and not measured:
        failures.append(f"no case could run: {_why_not(waiting)}")
    elif waiting:
        findings.append(_out_of_service(waiting))
    left = [each for each in left if each not in full and each not in waiting]

    blamed = []
    for finding in _blamed(by_case):
        explained = [each for each in left if not each.case.fixture and set(finding.hosts).intersection(each.nodes)]
        left = [each for each in left if each not in explained]
        blamed.append(_with(finding, explained))

    builds = [each for each in left if each.case.fixture]
    missed = [each.case.name for each in left if each.case.result == "fail_deps"]
    if builds and not measured:
        failures.append(f"nothing could be built: {builds[0].case.name}: {builds[0].reason}")
    elif builds:
        findings += [_build(each, missed) for each in builds]
    findings += _alike([each for each in left if not each.case.fixture and each.case.result != "fail_deps"])
    failures += runs.other_faults(session)
    blind, notes = sight.blind(by_case)
    cases = [case for case in session.cases if not case.fixture and case.result != "skip"]
    return night.with_more(
        (*blamed, *findings),
        failures,
        (*notes, *sight.topology_notes(by_case)),
        measured=measured,
        limits=sight.limits(by_case),
        blind=tuple(blind),
        cases=len(cases),
        passed=sum(is_success(case.result) for case in cases),
        records=sum(record["metric"] is not None for record in session.records),
        simulated=any(record["evidence"] for record in session.records),
    )


def _sign(found: CoreFinding) -> tuple[str, float]:
    """Return the sign of a slow part, see :class:`Finding`."""
    in_us = found.size is not None and found.size_unit == "us"
    return f"{found.key}{', us' if in_us else ''}", found.size or 0.0


#: What the analysis of a case is certain of, with the name of the case.
_Seen = tuple[str, CoreFinding]


def _blamed(by_case: Mapping[str, Sequence[Record]]) -> list[Finding]:
    """Return a finding for each node, path, cable and switch that the analysis of some case is certain of."""
    seen: dict[tuple[tuple[str, ...], str], list[_Seen]] = {}  # by hosts and, where there are none, by part
    for name, records in by_case.items():
        for found in findings_of(records[0]):
            if found.is_fault:
                hosts = tuple(sorted(set(found.hosts)))
                part = "" if hosts else found.part or found.key
                seen.setdefault((hosts, part), []).append((name, found))
    signs = {key: [_sign(found) for _, found in of_key] for key, of_key in seen.items()}
    for key in [(hosts, part) for hosts, part in seen if len(hosts) > 1]:
        # A path to a node that is slow itself is one of its symptoms.
        ends = [((host,), "") for host in key[0] if ((host,), "") in seen]
        if ends:
            seen[ends[0]] += seen.pop(key)
            signs[ends[0]] += signs.pop(key)
    with_hosts_first = sorted(seen, key=lambda key: not key[0])
    return [_fault(*key, seen[key], signs[key]) for key in with_hosts_first]


def _fault(hosts: tuple[str, ...], part: str, seen: Sequence[_Seen], signs: Iterable[tuple[str, float]]) -> Finding:
    """Return one finding of all that is seen on some hosts or a part: the slow paths, and the errors of their ports."""
    subject = part or _subject(hosts)
    slow, of_ports = (
        list(dict.fromkeys(found.text for _, found in seen if (found.kind in PORTS) == is_of_ports))
        for is_of_ports in (False, True)
    )
    first = (slow or of_ports)[0]
    # A text names the node or path itself, as a rule, and perhaps its ranks.
    is_named = not slow or all(name in first for name in hosts or (part,))
    title, rest = _cut(first if is_named else f"{subject} is slow: {first}")
    alone = [] if slow else ["no slow path was found with it"]
    more = [f"more: fabric-checks show --node {hosts[0]}"] if of_ports and len(hosts) == 1 else []
    texts = dict.fromkeys((*slow, *(text for _, found in seen for text in found.details), *of_ports))
    texts.pop(first, None)
    cases = list(dict.fromkeys(case for case, _ in seen))
    sizes: dict[str, float | None] = {}
    for kind in {found.kind for _, found in seen}:
        if sight.is_limited(kind):
            losses = [found.size for _, found in seen if found.kind == kind]
            sizes[kind] = min((loss for loss in losses if loss is not None), default=None)
    return Finding(
        title=title,
        details=(*rest, *alone, *first_of(list(texts)), f"seen by {names_text(cases, 6)}", *more),
        keys=frozenset({f"part:{part}" if part else "hosts:" + " ".join(hosts)}),
        cases=frozenset(cases),
        hosts=hosts,
        signs=_worst(signs),
        subject=subject,
        sizes=sizes,
    )


def _cut(text: str) -> tuple[str, list[str]]:
    """Return a text as one short sentence, and what is left of it for a line below."""
    title = sentence(text)
    left = text.removeprefix(title.removesuffix(" ...")).lstrip(",;: ")
    return title, [f"... {left}"] if left else []


def _subject(hosts: Sequence[str]) -> str:
    """Return a node, the path between two, or several nodes, by name."""
    if len(hosts) == 2:
        return f"the path between {hosts[0]} and {hosts[1]}"
    return f"node{'' if len(hosts) == 1 else 's'} {names_text(hosts)}"


def _worst(signs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return each sign once, with the largest loss."""
    found: dict[str, float] = {}
    for sign, loss in signs:
        found[sign] = max(loss, found.get(sign, 0.0))
    return found


def _with(finding: Finding, explained: Sequence[_Failure]) -> Finding:
    """Return a finding with the failures that it explains."""
    names = {each.case.name for each in explained}
    return replace(
        finding,
        details=(*finding.details, *first_of([f"{each.case.name} failed there: {each.cause}" for each in explained])),
        keys=finding.keys | {f"case:{name}" for name in names},
        cases=finding.cases | names,
        signs=_worst([*finding.signs.items(), *(sign for each in explained for sign in each.signs)]),
    )


def _why_not(waiting: Sequence[_Failure]) -> str:
    """Return why jobs could not run: the nodes that are out of service, or the reason of the first."""
    faults = {node: why for each in waiting for node, why in each.node_faults.items()}
    return "; ".join(first_of(list(faults.values()))) or waiting[0].reason


def _out_of_service(waiting: Sequence[_Failure]) -> Finding:
    hosts = tuple(dict.fromkeys(node for each in waiting for node in each.node_faults))
    names = [each.case.name for each in waiting]
    return Finding(
        title=f"{count_text(len(names), 'case')} could not run or could not finish: {_why_not(waiting)}",
        details=(f"they are {', '.join(first_of(names))}",),
        keys=frozenset({f"service:{host}" for host in hosts} or {"service"}),
        cases=frozenset(names),
        hosts=hosts,
        subject=_subject(hosts) if hosts else count_text(len(names), "case"),
        signs={f"service {host}": 0.0 for host in hosts} or {f"service of {name}": 0.0 for name in names},
    )


def _of_cases(title: str, details: Sequence[str], failures: Sequence[_Failure]) -> Finding:
    """Return the finding that some cases fail."""
    names = frozenset(each.case.name for each in failures)
    signs = _worst(sign for each in failures for sign in each.signs)
    title, rest = _cut(title)
    return Finding(
        title,
        (*rest, *details),
        frozenset(f"case:{name}" for name in names),
        names,
        signs=signs,
        subject=next(iter(names)) if len(names) == 1 else f"{len(names)} cases",
    )


def _build(build: _Failure, missed: Sequence[str]) -> Finding:
    """Return a finding for a failed build; :param missed: the cases that did not run for want of a build."""
    details = [f"among the cases that need it and did not run: {', '.join(first_of(missed))}"] if missed else []
    finding = _of_cases(f"{build.case.name} could not be built: {build.reason}", details, [build])
    return replace(finding, cases=finding.cases.union(missed))


def _alike(failures: Sequence[_Failure]) -> Iterable[Finding]:
    """Yield a finding for each reason why cases failed; those that differ in numbers only are one."""
    groups: dict[tuple[str | None, str], list[_Failure]] = {}
    for each in failures:
        groups.setdefault((each.case.phase, _without_numbers(each.reason)), []).append(each)
    for group in groups.values():
        first, *more = (each.text for each in group)
        title = f"{len(group)} cases failed in the same way, the first: {first}" if more else first
        yield _of_cases(title, first_of(more), group)
