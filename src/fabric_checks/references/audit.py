# SPDX-License-Identifier: BSD-3-Clause
"""Find the faults of a reference file: orphans, gaps, wrong units, missing bounds, and bounds beyond the line
rate.

Every fault is one line with file, line, cause and remedy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core import schema, yaml_file
from fabric_checks.core.errors import ReferenceError, quoted
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import count_text, names_text
from fabric_checks.references import line_rate, lookup
from fabric_checks.references.cases import Case
from fabric_checks.references.lookup import Keys
from fabric_checks.references.reference_file import NO_REFERENCE, ReferenceFile


@dataclass
class _Used:
    """Collect the entries that the cases of a system use."""

    paths: set[Keys] = field(default_factory=set)
    #: For each reference the first case and metric that it judges.
    judged: dict[Keys, tuple[Case, Metric]] = field(default_factory=dict)


def of_file(
    file: ReferenceFile, checks: Iterable[str], cases: Sequence[Case]
) -> list[str]:
    """Return the faults of a file, given the cases that look up references in it.

    :param checks: the names of all check classes, of any system.
    """
    lines = yaml_file.lines(file.path)
    used = _Used()
    faults = list(_looked_up(file, cases, used))
    faults += _orphans(file, set(checks), cases, used, lines)
    faults += _misjudged(file, used, lines)
    faults += _lists(file, cases, lines)
    return faults


def _looked_up(
    file: ReferenceFile, cases: Iterable[Case], used: _Used
) -> Iterator[str]:
    """Yield metrics without reference and reason, and record the entries in use."""
    missing: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        context = f"{file.path}: {case.check} on {case.partition} with {case.environ}, {case.layout}"
        derived: Collection[str] = ()
        try:
            derived = line_rate.references(
                file.derived, case.metrics, case.extras, context, **case.facts
            )
        except ReferenceError as error:
            yield str(error)
        if gaps := _gaps(file, case, derived, used):
            own = [
                value
                for key, value in case.attributes.items()
                if key[:1] != "$" and key != "layout"
            ]
            missing.setdefault((case.check, *gaps), []).append(
                f"{context} ({', '.join(own)})" if own else context
            )
    for (_, *gaps), contexts in missing.items():
        others = (
            f" and {count_text(len(contexts) - 1, 'more case')}" if contexts[1:] else ""
        )
        yield (
            f"{contexts[0]}{others}: missing: {names_text(gaps, 1)}: neither a reference nor a reason;"
            f" `fabric-checks references propose` finds one, or give a reason under {NO_REFERENCE}"
        )


def _gaps(
    file: ReferenceFile, case: Case, derived: Collection[str], used: _Used
) -> list[str]:
    """Return the metrics of a case without reference and reason, and record the entries that it uses."""
    keys, found = lookup.descend(
        file.entries.get(case.check) or {}, case.attributes.get
    )
    used.paths.add((case.check, *keys))
    gaps = []
    for metric in case.metrics:
        if metric.name in found:
            used.judged.setdefault((case.check, *keys, metric.name), (case, metric))
        elif (
            metric.name not in derived
            and file.why_none(metric=metric.name, **case.facts) is None
        ):
            gaps.append(metric.name)
    return gaps


def _orphans(
    file: ReferenceFile,
    checks: set[str],
    cases: Sequence[Case],
    used: _Used,
    lines: Mapping[Keys, int],
) -> Iterator[str]:
    """Yield entries and keys that no case looks up."""
    for check, entry in file.entries.items():
        own = [case for case in cases if case.check == check]
        if why := lookup.why_no_check(check, checks) or _why_no_index(
            check, entry, own
        ):
            yield f"{file.path}:{lines[check,]}: {why}"
            continue
        for keys, why in _unused(check, entry, own, used):
            yield f"{file.path}:{lines.get(keys, 0)}: {why}"


def _why_no_index(
    check: str, entry: Mapping[Any, Any], cases: Sequence[Case]
) -> str | None:
    """Return a fault if ``$index`` names what no case of the check has."""
    for item in entry["$index"] if cases else ():
        if all(item not in case.attributes for case in cases):
            meant = schema.near(str(item), list(cases[0].attributes))
            return f"{check}: $index names {item!r}, which the check does not have; {meant}"
    return None


def _unused(
    check: str, entry: Mapping[Any, Any], cases: Sequence[Case], used: _Used
) -> Iterator[tuple[Keys, str]]:
    """Yield the keys of an entry that no case uses, and why."""
    items = list(entry["$index"])
    known = (
        {
            item: dict.fromkeys(case.attributes.get(item, "") for case in cases)
            for item in items
        }
        if cases
        else {}
    )
    for keys in lookup.paths(check, entry):
        if keys not in used.paths:
            yield (
                keys,
                lookup.why_no_key(items, keys, known) or _why_unused(keys, cases),
            )
    for keys, _ in lookup.references(check, entry):
        if keys[:-1] in used.paths and keys not in used.judged:
            yield keys, lookup.no_metric(keys)


def _why_unused(keys: Keys, cases: Sequence[Case]) -> str:
    """Return why no case uses these keys, each of which is known."""
    why = (
        "no case has all of these, or an earlier key matches first"
        if cases
        else "no case of this check runs here"
    )
    return f"orphan: {lookup.where(keys)}: {why}; delete it"


def _misjudged(
    file: ReferenceFile, used: _Used, lines: Mapping[Keys, int]
) -> Iterator[str]:
    """Yield references in the wrong unit, without a bound that judges, or beyond what the links can carry."""
    for keys, (case, metric) in used.judged.items():
        found: Any = file.entries[keys[0]]
        for key in keys[1:]:
            found = found[key]
        value, lower, upper, unit = found[2] if found[0] == "$xfail" else found
        context = f"{file.path}:{lines.get(keys, 0)}: {lookup.where(keys)}"
        if metric.unit != unit:
            yield f"{context}: in {unit}, but the metric is in {metric.unit}; convert the value"
        elif (
            (lower if metric.better == "larger" else upper) is None
            and found[0] != "$xfail"
            and not _is_published(file, case, metric.name)
        ):
            yield (
                f"{context}: bounds only too good values ({metric.better} is better); give the other"
                " bound too"
            )
        if why := line_rate.why_unreachable(
            value, lower, unit, case.layout, case.extras
        ):
            yield f"{context}: {why}"


def _is_published(file: ReferenceFile, case: Case, metric: str) -> bool:
    """Return whether the value is from a publication, which may be poor; a twin may be fitted to it."""
    evidence = file.evidence_of(held=True, **case.facts, metric=metric)
    return evidence is not None and evidence.evidence in ("said", "fitted")


def _lists(
    file: ReferenceFile, cases: Sequence[Case], lines: Mapping[Keys, int]
) -> Iterator[str]:
    """Yield items of our lists that cover no metric of any case."""
    named: list[tuple[str, Sequence[Any]]] = [
        (NO_REFERENCE, file.reasons), ("derived", file.derived), ("evidence", file.evidence)
    ]  # fmt: skip
    metrics = [
        {**case.facts, "metric": metric.name}
        for case in cases
        for metric in case.metrics
    ]
    for name, items in named:
        for position, item in enumerate(items):
            if not any(item.covers(**metric) for metric in metrics):
                what = " ".join(
                    f"{key} {pattern}" for key, pattern in item.patterns.items()
                )
                line = lines.get((name, position), 0)
                yield (
                    f"{file.path}:{line}: {name}: {quoted(what)} covers no metric; fix the patterns, or"
                    " delete it"
                )


def index_items(file: ReferenceFile) -> list[str]:
    """Return the attributes of checks that occur in the ``$index`` of the file's entries."""
    items = (item for entry in file.entries.values() for item in entry["$index"])
    return sorted(
        {"layout", *(item for item in items if re.fullmatch(r"[A-Za-z_]\w*", item))}
    )
