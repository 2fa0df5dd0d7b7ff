# SPDX-License-Identifier: BSD-3-Clause
"""Where every figure of the page comes from: kept once a case, and for each figure what is its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fabric_checks.report.html.judged import bounds_text
from fabric_checks.report.html.values import Value, case_text, clean
from fabric_checks.text import value_text

#: More nodes than this are counted.
_MOST_NODES = 8

Facts = tuple[tuple[str, str], ...]


class Provenance:
    """The provenance of a page's figures; each is told once and referred to by its number."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._kept: list[Value] = []  # their identities have to stay theirs
        self._facts: list[tuple[int, Facts]] = []
        self._cases: dict[tuple[str, ...], int] = {}
        self._case_facts: list[Facts] = []
        self._case_runs: list[dict[str, datetime | None]] = []

    def number_of(self, value: Value) -> int:
        """Return the number of a value's provenance, from 0."""
        number = self._values.get(id(value))
        if number is None:
            number = self._values[id(value)] = len(self._facts)
            self._kept.append(value)
            self._facts.append((self._case_of(value), _own_facts(value)))
        return number

    def _case_of(self, value: Value) -> int:
        facts = _case_facts(value)
        key = tuple(text for _, text in facts)
        number = self._cases.get(key)
        if number is None:
            number = self._cases[key] = len(self._case_facts)
            self._case_facts.append((("case", f"{number + 1}"), *facts))
            self._case_runs.append({})
        self._case_runs[number].update((session, time) for time, session, _ in value.runs)
        return number

    @property
    def cases(self) -> list[Mapping[str, str]]:
        """What is told of each case, by label, with when it was run."""
        return [
            {**dict(facts), "when": f"{_dates(runs.values())}; {clean(_sessions(sorted(runs)))}"}
            for facts, runs in zip(self._case_facts, self._case_runs, strict=True)
        ]

    def data(self) -> dict[str, Any]:
        """Return all of it for the page's script: texts once, and by number which of them are meant."""
        texts: dict[str, int] = {}

        def numbers(facts: Facts) -> list[int]:
            return [texts.setdefault(text, len(texts)) for pair in facts for text in pair]

        values = [[case, *numbers(facts)] for case, facts in self._facts]
        return {"cases": [numbers(facts) for facts in self._case_facts], "values": values, "texts": list(texts)}


def _own_facts(value: Value) -> Facts:
    record = value.record
    unit = f" {value.unit}" if value.unit != "1" else ""
    figures = [figure for _, _, figure in value.runs]
    runs = f"{len(figures)} run" if len(figures) == 1 else f"{len(figures)} runs, median"
    spread = ""
    if value.low is not None and value.high is not None:
        spread = f"{value_text(value.low)} to {value_text(value.high)}{unit}"
    elif len(figures) > 1:
        spread = f"too few runs; {value_text(min(figures))} to {value_text(max(figures))}{unit} seen"
    reference = bounds_text(value)
    if not reference and not value.derived:
        reference = f"none: {record['no_reference']}" if record["no_reference"] else "none"
    facts = (
        ("metric", f"{record['metric']} = {value_text(value.median)}{unit}"),
        ("runs", runs),
        ("date (UTC)", _dates(time for time, _, _ in value.runs)),
        ("session", _sessions(session for _, session, _ in value.runs)),
        ("95 % interval", spread),
        ("computed", value.derived),
        ("kind", f"{value.evidence}, not measured on a machine" if value.evidence else ""),
        ("reference", reference),
        ("verdict", value.verdict),
        ("source", record["reference_source"] or ""),
    )
    return tuple((label, clean(text)) for label, text in facts if text)


def _dates(times: Iterable[datetime | None]) -> str:
    """Return from when to when, in UTC."""
    known = [time for time in times if time]
    if not known:
        return ""
    return " to ".join(dict.fromkeys(f"{time:%Y-%m-%d %H:%M}" for time in (min(known), max(known))))


def _sessions(names: Iterable[str]) -> str:
    """Return names of sessions, of many the first and the last."""
    known = list(dict.fromkeys(filter(None, names)))
    return ", ".join(known) if len(known) < 3 else f"{known[0]} .. {known[-1]}, {len(known)} in all"


def _case_facts(value: Value) -> Facts:
    record = value.record
    nodes = record["nodelist"] or []
    listed = ", ".join(nodes[:_MOST_NODES]) + (
        f" and {len(nodes) - _MOST_NODES} more" if len(nodes) > _MOST_NODES else ""
    )
    facts = (
        ("machine", value.machine),
        ("test", case_text(record)),
        (
            "program",
            f"{record['program'] or 'not known'} {record['program_version'] or ''}, {record['stack'] or 'unknown'}",
        ),
        ("MPI", record["mpi"] or ""),
        ("compiler", record["compiler"] or ""),
        ("environment", record["environ"]),
        ("Spack", record["spec_hash"] or ""),
        ("layout", f"{value.layout}, {record['tasks']} processes, binding {record['binding'] or 'not known'}"),
        ("nodes", listed),
        ("collection", f"{record['collection'] or ''}, ReFrame {record['reframe'] or ''}"),
    )
    return tuple((label, clean(text)) for label, text in facts if text)
