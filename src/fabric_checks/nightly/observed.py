# SPDX-License-Identifier: BSD-3-Clause
"""Return the findings of one run: nodes and paths that its analysis blames, failed cases, nodes out of service."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from fabric_checks.core.text import count_text, first_of, value_text
from fabric_checks.nightly.model import Finding
from fabric_checks.records import runs
from fabric_checks.records.record import Record, case_name, never_began
from fabric_checks.records.runs import Case, Session

#: Kinds of findings that say why, or would: of ports, rails and hosts; see :mod:`fabric_checks.ports`.
PORTS = ("port", "rail", "host")
#: Of fewer nodes than these none can be named as slow: there is too little to compare it with.
FEWEST_NODES = 4
#: The reason of a case that has no room for its files, which has nothing to do with the fabric.
NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large|Read-only file system")


@dataclass(frozen=True)
class Observed:
    """The findings of a run.

    :param findings: the faults of the machine, each once; those with a culprit first.
    :param failures: why the run itself cannot be trusted, a line each.
    :param measured: the names of the cases that have values.
    :param blind: faults that the run could not have seen, a line each, the same as long as it stays so.
    """

    findings: tuple[Finding, ...] = ()
    failures: tuple[str, ...] = ()
    measured: frozenset[str] = frozenset()
    blind: tuple[str, ...] = ()


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


def observed(session: Session) -> Observed:
    """Return the findings of a session."""
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
    return Observed((*blamed, *findings), tuple(failures), measured, tuple(_blind(by_case)))


def _blind(by_case: Mapping[str, Sequence[Record]]) -> Iterable[str]:
    """Yield the faults that cases could not have seen, by their own findings: a line for each cause, with its remedy.

    The cases are in the order of their names, so that a line is the same on the next night.
    """
    few: list[str] = []
    noisy: list[str] = []
    others: dict[str, list[str]] = {}
    for name, records in sorted(by_case.items()):
        for found in records[0]["findings"] or ():
            if found.get("kind") == "limits" and found.get("saw_a_tenth") is False:
                (few if records[0]["nodes"] < FEWEST_NODES else noisy).append(name)
            elif found.get("kind") == "topology":
                others.setdefault(found["text"], []).append(name)
    if few:
        remedy = "take a level with more nodes"
        yield f"fewer than {FEWEST_NODES} nodes are too few to name a slow one: {_cases(few)}; {remedy}"
    if noisy:
        yield (
            f"values vary too much to name a node slower by a tenth: {_cases(noisy)}; run the night while nobody else "
            "uses the machine, for example in a reservation"
        )
    for text, names in others.items():
        yield f"{text}: {_cases(names)}"


def _cases(names: Sequence[str]) -> str:
    """Return a case, or how many there are and the first."""
    return names[0] if len(names) == 1 else f"{len(names)} cases, the first {names[0]}"


class _Line(NamedTuple):
    """A line of a case's analysis on a node, path or part: its sign and loss, see :class:`Finding`."""

    case: str
    text: str
    by_ports: bool
    sign: str
    loss: float


def _line(case: str, found: Mapping[str, Any], what: str) -> _Line:
    """Return the line for a finding of an analysis; :param what: the name of the part that is blamed."""
    kind, share, excess_us = found.get("kind"), found.get("share"), found.get("excess_us")
    if kind in PORTS:
        # Numbers of errors differ from night to night: without them, only another counter or port is another sign.
        return _Line(case, found["text"], True, f"{kind} {what}: {_without_numbers(found['text'])}", 0.0)
    if excess_us is not None:
        return _Line(case, found["text"], False, f"{kind} {what}, us", max(excess_us, 0.0))
    return _Line(case, found["text"], False, f"{kind} {what}", max(1 - share, 0.0) if share is not None else 0.0)


def _blamed(by_case: Mapping[str, Sequence[Record]]) -> list[Finding]:
    """Return a finding for each node, path, cable and switch that the analysis of some case is certain of."""
    lines: dict[tuple[tuple[str, ...], str], list[_Line]] = {}  # by hosts and, where there are none, by part
    for name, records in by_case.items():
        for found in records[0]["findings"] or ():
            if found.get("fault"):
                hosts = tuple(sorted(set(found.get("hosts") or ())))
                part = "" if hosts else str(found.get("part") or found["text"])
                lines.setdefault((hosts, part), []).append(_line(name, found, part or " ".join(hosts)))
    for key in [(hosts, part) for hosts, part in lines if len(hosts) > 1]:
        # A path to a node that is slow itself is one of its symptoms.
        ends = [((host,), "") for host in key[0] if ((host,), "") in lines]
        if ends:
            lines[ends[0]] += lines.pop(key)
    with_hosts_first = sorted(lines.items(), key=lambda item: not item[0][0])
    return [_fault(hosts, part, of_key) for (hosts, part), of_key in with_hosts_first]


def _fault(hosts: tuple[str, ...], part: str, lines: Sequence[_Line]) -> Finding:
    """Return one finding from all lines on some hosts or a part: the slow paths, and the errors of their ports."""
    is_node = len(hosts) == 1
    what = part or (f"node {hosts[0]}" if is_node else f"the path between {' and '.join(hosts)}")
    slow = list(dict.fromkeys(line.text for line in lines if not line.by_ports))
    of_ports = list(dict.fromkeys(line.text for line in lines if line.by_ports))
    first = (slow or of_ports)[0]
    # A text names the node or path itself, as a rule, and perhaps its ranks.
    title = first if all(name in first for name in hosts or (part,)) else f"{what} is slow: {first}"
    alone = [] if slow else ["no slow path was found with it"]
    more = [f"more: fabric-checks show --node {hosts[0]}"] if of_ports and is_node else []
    texts = first_of([text for text in (*of_ports, *slow) if text != first])
    cases = list(dict.fromkeys(line.case for line in lines))
    return Finding(
        title=title,
        details=(*alone, *texts, f"seen by {', '.join(first_of(cases))}", *more),
        keys=frozenset({f"part:{part}" if part else "hosts:" + " ".join(hosts)}),
        cases=frozenset(cases),
        hosts=hosts,
        signs=_worst((line.sign, line.loss) for line in lines),
    )


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
        signs={f"service {host}": 0.0 for host in hosts} or {f"service of {name}": 0.0 for name in names},
    )


def _of_cases(title: str, details: Sequence[str], failures: Sequence[_Failure]) -> Finding:
    """Return the finding that some cases fail."""
    names = frozenset(each.case.name for each in failures)
    signs = _worst(sign for each in failures for sign in each.signs)
    return Finding(title, tuple(details), frozenset(f"case:{name}" for name in names), names, signs=signs)


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
