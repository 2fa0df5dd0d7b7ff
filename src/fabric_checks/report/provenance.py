# SPDX-License-Identifier: BSD-3-Clause
"""The origin of every value of the page: kept once for each case, and for each value the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from fabric_checks.core.text import clean, count_text, names_text, value_text
from fabric_checks.report.drawing import Line
from fabric_checks.report.values import Value, bounds_text, case_text

#: More nodes than this are counted.
_MOST_NODES = 8

Facts = tuple[tuple[str, str], ...]


class Provenance:
    """The provenance of a page's values; each is kept once and referred to by its number."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._kept: list[Value] = []  # their identities have to stay theirs
        self._facts: list[tuple[int, Facts]] = []
        self._cases: dict[tuple[str, ...], int] = {}
        self._case_facts: list[Facts] = []
        self._case_runs: list[dict[str, datetime | None]] = []
        self._series: list[tuple[int, str, str, str, Line]] = []

    def number_of(self, value: Value) -> int:
        """Return the number of a value's provenance, from 0."""
        number = self._values.get(id(value))
        if number is None:
            number = self._values[id(value)] = len(self._facts)
            self._kept.append(value)
            self._facts.append((self._case_of(value), _own_facts(value)))
        return number

    def series_of(self, line: Line, x: str) -> int:
        """Return the number of a line's provenance, from 0.

        :param x: what is across, see :class:`fabric_checks.report.drawing.Panel`.
        """
        value = line.values[0]
        quantity = value.quantity if x == "size" else str(value.record["metric"])
        cases = {self._case_of(each) for each in line.values}
        self._series.append((min(cases) if len(cases) == 1 else -1, x, clean(quantity), value.unit, line))
        return len(self._series) - 1

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
        """The facts of each case by label, with the dates of its runs."""
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
        series = [self._series_data(each, numbers) for each in self._series]
        return {
            "cases": [numbers(facts) for facts in self._case_facts],
            "values": values,
            "series": series,
            "texts": list(texts),
        }

    def _series_data(self, series: tuple[int, str, str, str, Line], numbers: Callable[[Facts], list[int]]) -> list[Any]:
        """Return a line for the page's script.

        That is: its name, quantity, unit, axis across, positions, values, the case, the facts that all its points
        share, and by point the others: its case where cases differ, and facts.
        """
        case, x, quantity, unit, line = series
        facts = [dict(_own_facts(value)) for value in line.values]
        own = ("metric", "computed") if x == "time" else ("metric",)
        shared = {
            key: text for key, text in facts[0].items() if key not in own and all(f.get(key) == text for f in facts)
        }
        points = {}
        for at, (its, value) in enumerate(zip(facts, line.values, strict=True)):
            rest = tuple((key, text) for key, text in its.items() if key not in shared and key != "metric")
            if rest or case < 0:
                points[at] = [self._case_of(value) if case < 0 else case, *numbers(rest)]
        places = [int(x) if x == int(x) else round(x, 5) for x, _ in line.points]
        medians = [float(f"{y:.5g}") for _, y in line.points]
        return [clean(line.label), quantity, unit, x, places, medians, case, numbers(tuple(shared.items())), points]


def _own_facts(value: Value) -> Facts:
    record = value.record
    unit = f" {value.unit}" if value.unit != "1" else ""
    values = [value_of_run for _, _, value_of_run in value.runs]
    runs = count_text(len(values), "run") + (", median" if len(values) > 1 else "")
    spread = ""
    if value.low is not None and value.high is not None:
        spread = f"{value_text(value.low)} to {value_text(value.high)}{unit}"
    elif len(values) > 1:
        spread = f"too few runs; {value_text(min(values))} to {value_text(max(values))}{unit} seen"
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
        ("nodes", names_text(record["nodelist"] or [], _MOST_NODES)),
        ("collection", f"{record['collection'] or ''}, ReFrame {record['reframe'] or ''}"),
    )
    return tuple((label, clean(text)) for label, text in facts if text)
