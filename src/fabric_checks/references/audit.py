# SPDX-License-Identifier: BSD-3-Clause
"""The faults of a reference file: orphans, gaps, units, bounds beyond the links, and bounds that history shows useless.

Every fault is one line with file, line, cause and remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from fabric_checks.core.errors import ReferenceError, quoted
from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import names_text, value_text
from fabric_checks.records.record import SERIES, limit
from fabric_checks.records.series import records_by_series
from fabric_checks.references import line_rate, lookup
from fabric_checks.references.cases import Case
from fabric_checks.references.lookup import Keys
from fabric_checks.references.reference_file import NO_REFERENCE, ReferenceFile

#: A bound that all values meet by more than this factor judges nothing.
EASY = 5.0
#: The fields of records that this needs.
COLUMNS = (*SERIES, "parameters", "tasks", "ppn", "time", "value", "better")


@dataclass(frozen=True)
class Leaf:
    """One reference of a file.

    :param keys: from the check down to the metric; :param line: of the file, from 1.
    :param reference: value, lower, upper and unit; :param expected_to_fail: whether it is an ``$xfail``.
    """

    keys: Keys
    line: int
    reference: Sequence[Any]
    expected_to_fail: bool


@dataclass
class _Used:
    """Collect what the cases of a system use."""

    paths: set[Keys] = field(default_factory=set)
    leaves: set[Keys] = field(default_factory=set)
    #: For each reference the cases and metrics that it judges.
    judged: dict[Keys, list[tuple[Case, Metric]]] = field(default_factory=dict)


def of_file(file: ReferenceFile, checks: Iterable[str], cases: Sequence[Case]) -> list[str]:
    """Return what is wrong with a file, given the cases that look into it.

    :param checks: the names of all check classes, of any system.
    """
    lines = line_numbers(file.path)
    used = _Used()
    faults = list(_looked_up(file, cases, used))
    faults += _orphans(file, set(checks), cases, used, lines)
    faults += _misjudged(file, used, lines)
    faults += _lists(file, cases, lines)
    return faults


def leaves(file: ReferenceFile, lines: Mapping[Keys, int]) -> Iterator[Leaf]:
    """Return all references of a file, given its :func:`line_numbers`."""
    for check, entry in file.entries.items():
        for keys, value in lookup.references(check, entry):
            expected = value[0] == "$xfail"
            yield Leaf(keys, lines.get(keys, 0), value[2] if expected else value, expected)


def line_numbers(path: Path) -> dict[Keys, int]:
    """Return the line of every key by the keys that lead to it; of the items of our lists by list and position."""
    root = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
    found: dict[Keys, int] = {}

    def note(node: yaml.Node | None, before: Keys) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                keys = (*before, yaml.safe_load(key.value) if key.style is None else key.value)
                found[keys] = key.start_mark.line + 1
                note(value, keys)
        elif isinstance(node, yaml.SequenceNode) and len(before) == 1:
            for position, item in enumerate(node.value):
                keys = (*before, position)
                found[keys] = item.start_mark.line + 1

    note(root, ())
    return found


def _found(entry: Mapping[Any, Any], case: Case) -> tuple[Keys, Mapping[str, Any]] | None:
    """Return the keys that ReFrame takes for a case, and the references there; None if there is nothing for it."""
    level: Any = {key: value for key, value in entry.items() if key != "$index"}
    keys: list[Any] = []
    for item in entry["$index"]:
        value = case.attributes.get(item)
        key = None if value is None else lookup.key_of(level, value)
        if key is None:
            return None
        keys.append(key)
        level = level[key]
    return tuple(keys), level


def _looked_up(file: ReferenceFile, cases: Iterable[Case], used: _Used) -> Iterator[str]:
    """Yield metrics without reference and reason, and note what is used."""
    for case in cases:
        entry = file.entries.get(case.check)
        keys, found = (_found(entry, case) if entry else None) or ((), {})
        used.paths.add((case.check, *keys))
        place = f"{file.path}: {case.check} on {case.partition} with {case.environ}, {case.layout}"
        try:
            derived = line_rate.references(file.derived, case.metrics, case.extras, place, **case.facts)
        except ReferenceError as error:
            derived = {}
            yield str(error)
        gaps = []
        for metric in case.metrics:
            if metric.name in found:
                leaf = (case.check, *keys, metric.name)
                used.leaves.add(leaf)
                used.judged.setdefault(leaf, []).append((case, metric))
                yield from _contradiction(file, leaf, metric, found[metric.name], derived.get(metric.name))
            elif metric.name not in derived and file.why_none(metric=metric.name, **case.facts) is None:
                gaps.append(metric.name)
        if gaps:
            parameters = ", ".join(
                value for key, value in case.attributes.items() if key[:1] != "$" and key != "layout"
            )
            yield (
                f"{place}{f' ({parameters})' if parameters else ''}: missing: {names_text(gaps, 1)}: "
                "neither a reference nor a reason; `fabric-checks references propose` finds one, or give a reason "
                f"under {NO_REFERENCE}"
            )


def _contradiction(
    file: ReferenceFile, keys: Keys, metric: Metric, value: Sequence[Any], derived: line_rate.FromLineRate | None
) -> Iterator[str]:
    """Yield an entry that asks for less than a rule of the same file."""
    if derived is None or value[0] == "$xfail" or metric.better != "larger":
        return
    own, asked = limit(value[0], value[1]), limit(derived.reference[0], derived.reference[1])
    if asked is not None and (own is None or own < asked):
        less = "nothing" if own is None else f"{value_text(own)} MB/s"
        yield (
            f"{file.path}: {lookup.where(keys)}: asks for {less}, but the file's own rule asks for "
            f"{value_text(asked)} ({derived.source}); raise the entry, or exempt this from the rule"
        )


def _orphans(
    file: ReferenceFile, checks: set[str], cases: Sequence[Case], used: _Used, lines: Mapping[Keys, int]
) -> Iterator[str]:
    for check, entry in file.entries.items():
        place = f"{file.path}:{lines[check,]}"
        why = lookup.why_no_check(check, checks)
        if why:
            yield f"{place}: {why}"
            continue
        own = [case for case in cases if case.check == check]
        items = list(entry["$index"])
        unknown = next((item for item in items if own and all(item not in case.attributes for case in own)), None)
        if unknown is not None:
            yield f"{place}: {check}: $index names {unknown!r}, which the check does not have"
            continue
        known = {item: dict.fromkeys(case.attributes.get(item, "") for case in own) for item in items} if own else {}
        for keys in lookup.paths(check, entry):
            if keys not in used.paths:
                why = lookup.why_no_key(items, keys, known) or _why_unused(keys, own)
                yield f"{file.path}:{lines.get(keys, 0)}: {why}"
    for leaf in leaves(file, lines):
        if leaf.keys[:-1] in used.paths and leaf.keys not in used.leaves:
            yield f"{file.path}:{leaf.line}: {lookup.no_metric(leaf.keys)}"


def _why_unused(keys: Keys, cases: Sequence[Case]) -> str:
    """Return why no case comes to these keys, each of which is known."""
    why = "no case has all of these, or an earlier key matches first" if cases else "no case of this check runs here"
    return f"orphan: {lookup.where(keys)}: {why}; delete it"


def _misjudged(file: ReferenceFile, used: _Used, lines: Mapping[Keys, int]) -> Iterator[str]:
    """Yield references in the wrong unit, without a bound that judges, or beyond what the links can carry."""
    for leaf in leaves(file, lines):
        place = f"{file.path}:{leaf.line}: {lookup.where(leaf.keys)}"
        value, lower, upper, unit = leaf.reference
        for case, metric in used.judged.get(leaf.keys, ())[:1]:
            if metric.unit != unit:
                yield f"{place}: in {unit}, but the metric is in {metric.unit}; convert the value"
            elif (
                (lower if metric.better == "larger" else upper) is None
                and not leaf.expected_to_fail
                and not _is_published(file, case, metric.name)
            ):
                yield (
                    f"{place}: only values that are too good are bounded ({metric.better} is better); give the other "
                    "bound too"
                )
            ceiling = _ceiling_MBps(case)
            asked = value if lower is None else limit(value, lower)
            if unit == line_rate.UNIT and ceiling and asked is not None and asked > ceiling:
                yield (
                    f"{place}: unreachable: {value_text(asked)} MB/s is beyond the line rate of {case.layout}, "
                    f"{value_text(ceiling)} MB/s by link_MBps and nics; fix whichever is wrong"
                )


def _is_published(file: ReferenceFile, case: Case, metric: str) -> bool:
    """Return whether the value is published, which may be a bad one; a twin may be fitted to it."""
    evidence = file.evidence_of(held=True, **case.facts, metric=metric)
    return evidence is not None and evidence.kind in ("said", "fitted")


def _ceiling_MBps(case: Case) -> float | None:
    """Return more than any value of a case can be: all links of all nodes, one process on each."""
    layout = Layout.of(case.layout)
    link = case.extras.get("link_MBps")
    if layout.nodes == 1 or layout.ppn > 1 or not link:
        return None  # within a node no link is used
    return float(layout.nodes * case.extras.get("nics", 1) * link)


def _lists(file: ReferenceFile, cases: Sequence[Case], lines: Mapping[Keys, int]) -> Iterator[str]:
    """Yield items of our lists that cover no metric of any case."""
    named: list[tuple[str, Sequence[Any]]] = [
        (NO_REFERENCE, file.reasons), ("derived", file.derived), ("evidence", file.evidence)
    ]  # fmt: skip
    metrics = [{**case.facts, "metric": metric.name} for case in cases for metric in case.metrics]
    for name, items in named:
        for position, item in enumerate(items):
            if not any(item.covers(**metric) for metric in metrics):
                what = " ".join(f"{key} {pattern}" for key, pattern in item.patterns.items())
                line = lines.get((name, position), 0)
                yield f"{file.path}:{line}: {name}: {quoted(what)} covers no metric; fix the patterns, or delete it"


def index_items(file: ReferenceFile) -> list[str]:
    """Return the attributes of checks that the file's entries go by."""
    items = (item for entry in file.entries.values() for item in entry["$index"])
    return sorted({"layout", *(item for item in items if re.fullmatch(r"[A-Za-z_]\w*", item))})


def of_history(file: ReferenceFile, frame: pl.DataFrame, min_runs: int = 5) -> list[str]:
    """Return bounds that no value of the history met, or that all met by more than :data:`EASY` times.

    :param frame: records with :data:`COLUMNS`, of the systems that the file is for.
    """
    lines = line_numbers(file.path)
    faults = []
    for _, records in records_by_series(frame):
        record = records[-1]
        if len(records) < min_runs or record["check"] not in file.entries:
            continue
        try:
            slot = lookup.slot(file.entries, record)
        except ReferenceError:
            continue  # an orphan, which `of_file` names
        reference = slot.reference
        if reference is None or reference[0] == "$xfail" or reference[3] != record["unit"]:
            continue
        why = _unreachable(reference, [each["value"] for each in records], record["better"], record["unit"])
        if why:
            where = ": ".join(map(str, (slot.check, *slot.keys, slot.metric)))
            line = lines.get((slot.check, *slot.keys, slot.metric), 0)
            faults.append(f"{file.path}:{line}: {where}: {why}; `fabric-checks references propose` suggests one")
    return faults


def _unreachable(reference: Sequence[Any], values: Sequence[float], better: str, unit: str) -> str:
    value, lower, upper, _ = reference
    bound = limit(value, upper if better == "smaller" else lower)
    if bound is None:
        return ""
    best, worst = (min(values), max(values)) if better == "smaller" else (max(values), min(values))
    text = f"{'at most' if better == 'smaller' else 'at least'} {value_text(bound)} {unit}"
    if (best > bound) if better == "smaller" else (best < bound):
        return f"unreachable: {text}, but the best of {len(values)} values is {value_text(best)}"
    easy = worst * EASY < bound if better == "smaller" else worst > bound * EASY
    if easy and bound > 0 and worst > 0:
        return f"judges nothing: {text}, and the worst of {len(values)} values is {value_text(worst)}"
    return ""
