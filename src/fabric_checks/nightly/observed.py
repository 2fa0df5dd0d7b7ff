# SPDX-License-Identifier: BSD-3-Clause
"""Return the findings of one run: nodes and paths that its analysis blames, failed cases, nodes out of service."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabric_checks.core.text import first_of, value_text
from fabric_checks.nightly.model import Finding
from fabric_checks.records import runs
from fabric_checks.records.record import Record, case_name, never_began
from fabric_checks.records.runs import Case, Session

#: Kinds of findings that say why, or would: of ports, rails and hosts; see :mod:`fabric_checks.ports`.
PORTS = ("port", "rail", "host")
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

    findings: tuple[Finding, ...]
    failures: tuple[str, ...]
    measured: frozenset[str]
    blind: tuple[str, ...] = ()


def observed(session: Session) -> Observed:
    """Return the findings of a session."""
    by_case: dict[str, list[Record]] = {}
    for record in session.records:
        by_case.setdefault(case_name(record), []).append(record)
    measured = frozenset(name for name, records in by_case.items() if any(r["metric"] is not None for r in records))
    failed = runs.failed(session)
    blamed = _blamed(by_case)
    findings, failures = [], []
    without_room = [case for case in failed if NO_ROOM.search(case.reason or "")]
    if without_room:
        failures.append(f"{_cases(without_room)} had no room for their files: {_reason(without_room[0])}")
    rest = [case for case in failed if case not in without_room]
    waiting = [case for case in rest if any(map(_lacked_nodes, by_case.get(case.name, ())))]
    if waiting and not measured:
        failures.append(f"no case could run: {_why_not(waiting, by_case)}")
    elif waiting:
        findings.append(_out_of_service(waiting, by_case))
    rest = [case for case in rest if case not in waiting]
    for hosts, finding in blamed:
        explained = [case for case in rest if not case.fixture and hosts & set(_nodes(by_case.get(case.name, ())))]
        rest = [case for case in rest if case not in explained]
        findings.insert(0, _with(finding, explained, by_case))
    builds = [case for case in rest if case.fixture]
    missed = [case for case in rest if case.result == "fail_deps"]
    if builds and not measured:
        failures.append(f"nothing could be built: {builds[0].name}: {_reason(builds[0])}")
        builds, missed = [], []
    findings += [_build(case, missed) for case in builds]
    findings += _alike([case for case in rest if not case.fixture and case.result != "fail_deps"], by_case)
    failures += runs.other_faults(session)
    return Observed(tuple(findings), tuple(failures), measured, tuple(_blind(by_case)))


def _blind(by_case: Mapping[str, Sequence[Record]]) -> Iterable[str]:
    """Yield the faults that some case could not have seen, by its own findings."""
    for name, records in by_case.items():
        for found in records[0].get("findings") or ():
            if not isinstance(found, Mapping):
                continue
            if found.get("kind") == "limits" and found.get("saw_a_tenth") is False:
                yield f"{name} would not have seen a node slower by a tenth; its findings say what it would have seen"
            elif found.get("kind") == "topology":
                yield f"{name}: {found.get('text')}"


class _Line(NamedTuple):
    """A line on a part: whether its ports show it, and its sign with the loss, see :class:`Finding`."""

    by_ports: bool
    sign: str
    lost: float


_Lines = dict[tuple[str, str], _Line]


def _line(found: Mapping[str, Any], what: str) -> _Line:
    """Return the line for a finding of an analysis; :param what: the name of the part that is blamed."""
    kind, share, excess_us = str(found.get("kind")), found.get("share"), found.get("excess_us")
    if kind in PORTS:
        # Numbers of errors differ from night to night; another counter or port is another sign.
        return _Line(True, f"{kind} {what}: {_without_numbers(str(found['text']))}", 0.0)
    if isinstance(excess_us, int | float) and math.isfinite(excess_us):
        return _Line(False, f"{kind} {what}, us", max(excess_us, 0.0))
    lost = 1 - share if isinstance(share, int | float) and 0 <= share <= 1 else 0.0
    return _Line(False, f"{kind} {what}", lost)


def _blamed(by_case: Mapping[str, Sequence[Record]]) -> list[tuple[set[str], Finding]]:
    """Return a finding for each node, path, cable and switch that the analysis of some case is certain of.

    Each is there once, with its nodes; cables and switches have none.
    """
    by_hosts: dict[frozenset[str], _Lines] = {}
    parts: dict[str, _Lines] = {}
    for name, records in by_case.items():
        for found in records[0].get("findings") or ():
            if not isinstance(found, Mapping) or found.get("fault") is not True:
                continue
            text = str(found["text"])
            if hosts := frozenset(map(str, found.get("hosts") or ())):
                by_hosts.setdefault(hosts, {})[name, text] = _line(found, " ".join(sorted(hosts)))
            elif part := str(found.get("part") or text):
                parts.setdefault(part, {})[name, text] = _line(found, part)
    nodes = [hosts for hosts in by_hosts if len(hosts) == 1]
    for pair in [hosts for hosts in by_hosts if len(hosts) > 1]:
        # A path to a node that is slow itself is one of its symptoms.
        ends = [node for node in nodes if node <= pair]
        if ends:
            by_hosts[ends[0]] |= by_hosts.pop(pair)
    of_parts = [(set[str](), _fault((), lines, part)) for part, lines in reversed(parts.items())]
    return of_parts + [(set(hosts), _fault(hosts, lines)) for hosts, lines in reversed(by_hosts.items())]


def _fault(hosts: Collection[str], lines: _Lines, part: str = "") -> Finding:
    """Return one finding from all lines on some hosts or a part: the slow paths, and the errors of their ports.

    :param lines: by case and text.
    """
    names = sorted(hosts) or [part]
    what = part or f"node {names[0]}" if len(names) == 1 else f"the path between {' and '.join(names)}"
    slow = list(dict.fromkeys(text for (_, text), line in lines.items() if not line.by_ports))
    of_ports = list(dict.fromkeys(text for (_, text), line in lines.items() if line.by_ports))
    texts = [*slow, *of_ports]
    cases = list(dict.fromkeys(name for name, _ in lines))
    # A text names the node or path itself, as a rule, and perhaps its ranks.
    named = texts[0] if all(name in texts[0] for name in names) else f"{what} is slow: {texts[0]}"
    alone = ["no slow path was found with it"] if of_ports and not slow else []
    if slow and of_ports:
        named, texts = f"{named}; {of_ports[0]}", [*slow, *of_ports[1:]]
    more = [f"more: fabric-checks show --node {names[0]}"] if of_ports and len(names) == 1 else []
    return Finding(
        title=named,
        details=(*first_of(texts[1:]), *alone, f"seen by {_listed(cases)}", *more),
        keys=frozenset({f"part:{part}" if part else "hosts:" + " ".join(names)}),
        cases=frozenset(cases),
        hosts=tuple(sorted(hosts)),
        signs=_worst((line.sign, line.lost) for line in lines.values()),
    )


def _worst(signs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return each sign once, with the largest share that is lost."""
    found: dict[str, float] = {}
    for sign, lost in signs:
        found[sign] = max(lost, found.get(sign, 0.0))
    return found


def _with(finding: Finding, cases: Sequence[Case], by_case: Mapping[str, Sequence[Record]]) -> Finding:
    """Return a finding with the failures that it explains: those of cases that used its hosts."""
    if not cases:
        return finding
    lines = [f"{case.name} failed there: {_what(case, by_case)}" for case in cases]
    return Finding(
        title=finding.title,
        details=(*finding.details, *first_of(lines)),
        keys=finding.keys | {f"case:{case.name}" for case in cases},
        cases=finding.cases | {case.name for case in cases},
        hosts=finding.hosts,
        signs=_worst([*finding.signs.items(), *_signs(cases, by_case)]),
    )


def _lacked_nodes(record: Record) -> bool:
    """Tell whether a job never began, or nodes of it are out of service."""
    return never_began(record) or bool(record["node_faults"])


def _out_of_service(cases: Sequence[Case], by_case: Mapping[str, Sequence[Record]]) -> Finding:
    names = tuple(_node_faults(cases, by_case))
    return Finding(
        title=f"{_cases(cases)} could not run or could not finish: {_why_not(cases, by_case)}",
        details=(f"they are {_listed([case.name for case in cases])}",),
        keys=frozenset({f"service:{name}" for name in names} or {"service"}),
        cases=frozenset(case.name for case in cases),
        hosts=names,
        signs={f"service {name}": 0.0 for name in names} or {f"service of {case.name}": 0.0 for case in cases},
    )


def _why_not(cases: Sequence[Case], by_case: Mapping[str, Sequence[Record]]) -> str:
    """Return why jobs could not run: the nodes that are out of service, or the reason of the first."""
    faults = list(_node_faults(cases, by_case).values())
    return "; ".join(first_of(faults)) if faults else _reason(cases[0])


def _node_faults(cases: Iterable[Case], by_case: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    records = (record for case in cases for record in by_case.get(case.name, ())[:1])
    return {node: why for record in records for node, why in (record["node_faults"] or {}).items()}


def _build(case: Case, missed: Sequence[Case]) -> Finding:
    without = (
        (f"among the cases that need it and did not run: {_listed([each.name for each in missed])}",) if missed else ()
    )
    return Finding(
        title=f"{case.name} could not be built: {_reason(case)}",
        details=without,
        keys=frozenset({f"case:{case.name}"}),
        cases=frozenset({case.name, *(each.name for each in missed)}),
        signs={f"{case.name}: {_without_numbers(_reason(case))}": 0.0},
    )


def _alike(cases: Sequence[Case], by_case: Mapping[str, Sequence[Record]]) -> list[Finding]:
    """Return a finding for each reason why cases failed; those that differ in numbers only are one."""
    groups: dict[tuple[str | None, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.phase, _without_numbers(_reason(case))), []).append(case)
    found = []
    for group in groups.values():
        first = f"{group[0].name}: {_what(group[0], by_case)}"
        more = [f"{case.name}: {_what(case, by_case)}" for case in group[1:]]
        title = first if len(group) == 1 else f"{_cases(group)} failed in the same way, the first: {first}"
        found.append(
            Finding(
                title=title,
                details=tuple(first_of(more)),
                keys=frozenset(f"case:{case.name}" for case in group),
                cases=frozenset(case.name for case in group),
                signs=_worst(_signs(group, by_case)),
            )
        )
    return found


def _without_numbers(text: str) -> str:
    return re.sub(r"[0-9][0-9.,]*", "#", text)


def _missed(case: Case, by_case: Mapping[str, Sequence[Record]]) -> list[Record]:
    """Return the values for whose references a case failed; none if it failed before."""
    records = by_case.get(case.name, ()) if case.phase == "performance" else ()
    return [record for record in records if record["result"] in ("fail", "xpass") and record["metric"] is not None]


def _signs(cases: Iterable[Case], by_case: Mapping[str, Sequence[Record]]) -> Iterable[tuple[str, float]]:
    """Return the signs of failures: the values that miss their references by what share, or the reason without numbers.

    A value above its reference is another sign than one below.
    """
    for case in cases:
        missed = _missed(case, by_case)
        for record in missed:
            value, reference = record["value"], record["reference"]
            off = (value - reference) / abs(reference) if reference else 0.0
            side = " above" if off > 0 else ""
            yield f"{case.name}: {record['metric']}{side}", abs(off)
        if not missed:
            yield f"{case.name}: {_without_numbers(_reason(case))}", 0.0


def _what(case: Case, by_case: Mapping[str, Sequence[Record]]) -> str:
    """Return what was wrong with a case: the values that miss their references, or the reason that ReFrame gives."""
    records = by_case.get(case.name, ())
    missed = _missed(case, by_case)
    if not missed:
        return _reason(case)
    nodes = _nodes(records)
    where = f" on {_listed(nodes)}" if nodes else ""
    return "; ".join(first_of([_miss(record) for record in missed])) + where


def _miss(record: Record) -> str:
    value, reference = record["value"], record["reference"]
    if reference is None:
        return f"{record['metric']} {value_text(value)} {record['unit']}"
    by = f", {100 * abs(value - reference) / abs(reference):.0f} % off" if reference else ""
    return f"{record['metric']} is {value_text(value)} {record['unit']}; the reference is {value_text(reference)}{by}"


def _nodes(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(node for record in records[:1] for node in record["nodelist"] or ()))


def _reason(case: Case) -> str:
    """Return the first line of why a case failed."""
    lines = [line.strip() for line in (case.reason or "").splitlines() if line.strip()]
    return lines[0] if lines else f"it ended with the result {case.result}"


def _cases(cases: Sequence[Case]) -> str:
    return "1 case" if len(cases) == 1 else f"{len(cases)} cases"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(first_of(names))
