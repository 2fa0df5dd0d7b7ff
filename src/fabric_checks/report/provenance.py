# SPDX-License-Identifier: BSD-3-Clause
"""The origin of every value of the page: kept once for each case, and for each value the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from fabric_checks.core.text import clean, count_text, names_text, value_text
from fabric_checks.report.svg_panels import Line
from fabric_checks.report.values import Value, bounds_text, case_text

#: More nodes than this are counted.
_MOST_NODES = 8

Facts = tuple[tuple[str, str], ...]


class Provenance:
    """The provenance of a page's values; each is kept once and referred to by its number."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}  # by the identity of the value
        self._kept: list[Value] = []  # their identities have to stay theirs
        self._texts: dict[str, int] = {}
        self._facts: dict[Facts, int] = {}
        self._values: list[list[int]] = []
        self._cases: dict[
            Facts, tuple[int, dict[str, datetime | None]]
        ] = {}  # its number, and times by session
        self._series: list[list[Any]] = []

    def number_of(self, value: Value) -> int:
        """Return the number of a value's provenance, from 0."""
        if id(value) not in self._numbers:
            self._kept.append(value)
            unit = f" {value.unit}" if value.unit != "1" else ""
            metric = clean(f"{value.record['metric']} = {value_text(value.median)}{unit}")
            self._numbers[id(value)] = self._add(value, (("metric", metric),))
        return self._numbers[id(value)]

    def series_of(self, line: Line, x: str) -> int:
        """Return the number of a line's provenance, from 0.

        :param x: the axis across, see :class:`fabric_checks.report.svg_panels.Panel`.
        """
        value = line.values[0]
        quantity = value.quantity if x == "size" else str(value.record["metric"])
        across = [int(x) if x == int(x) else round(x, 5) for x, _ in line.points]
        medians = [float(f"{y:.5g}") for _, y in line.points]
        numbers = [self._add(each) for each in line.values]
        self._series.append([clean(line.label), clean(quantity), value.unit, x, across, medians, numbers])
        return len(self._series) - 1

    def _add(self, value: Value, own: Facts = ()) -> int:
        case, runs = self._cases.setdefault(_case_facts(value), (len(self._cases), {}))
        runs.update((session, time) for time, session, _ in value.runs)
        facts = self._facts.setdefault(_value_facts(value), len(self._facts))
        self._values.append([case, facts, *self._texts_of(own)])
        return len(self._values) - 1

    def _texts_of(self, facts: Facts) -> list[int]:
        return [self._texts.setdefault(text, len(self._texts)) for pair in facts for text in pair]

    @property
    def cases(self) -> list[Mapping[str, str]]:
        """The facts of each case by label, with its number and the dates of its runs."""
        return [
            {
                **dict(facts),
                "case": f"{at + 1}",
                "when": f"{_dates(runs.values())}; {clean(_sessions(sorted(runs)))}",
            }
            for facts, (at, runs) in self._cases.items()
        ]

    def data(self) -> dict[str, list[Any]]:
        """Return everything for the page's script, as lists of numbers of texts, which are there once.

        A case, and the facts that values share, are labels and texts in turn. A value has the number of its
        case, that of its facts, and label and text of its own. A series has its name, quantity, unit, axis
        across, positions, values, and the numbers of their provenance.
        """
        cases = [
            self._texts_of((("case", f"{number}"), *facts)) for number, facts in enumerate(self._cases, 1)
        ]
        facts = [self._texts_of(facts) for facts in self._facts]
        texts = list(self._texts)
        return {
            "cases": cases,
            "facts": facts,
            "values": self._values,
            "series": self._series,
            "texts": texts,
        }


def _value_facts(value: Value) -> Facts:
    count = len(value.runs)
    reference = bounds_text(value)
    if not reference and not value.derived:
        why = value.record["no_reference"]
        reference = f"none: {why}" if why else "none"
    facts = (
        ("runs", count_text(count, "run") + (", median" if count > 1 else "")),
        ("date (UTC)", _dates(time for time, _, _ in value.runs)),
        ("session", _sessions(session for _, session, _ in value.runs)),
        ("95 % interval", _spread(value)),
        ("computed", value.derived),
        ("kind", f"{value.evidence}, not measured on a machine" if value.evidence else ""),
        ("reference", reference),
        ("verdict", value.verdict),
        ("source", value.record["reference_source"] or ""),
    )
    return tuple((label, clean(text)) for label, text in facts if text)


def _spread(value: Value) -> str:
    """Return the interval of a value, or the range of its runs where these are too few; empty for one run."""
    unit = f" {value.unit}" if value.unit != "1" else ""
    if value.low is not None and value.high is not None:
        return f"{value_text(value.low)} to {value_text(value.high)}{unit}"
    values = [of_run for _, _, of_run in value.runs]
    if len(values) < 2:
        return ""
    return f"too few runs; {value_text(min(values))} to {value_text(max(values))}{unit} seen"


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
    record = {name: text or "" for name, text in value.record.items()}
    program = (record["program"] or "not known", record["program_version"])
    image = (record[name] for name in ("container", "image", "image_digest"))
    facts = (
        ("machine", value.machine),
        ("test", case_text(value.record)),
        ("program", f"{' '.join(program)}, {record['stack'] or 'unknown'}"),
        ("MPI", record["mpi"]),
        ("compiler", record["compiler"]),
        ("environment", record["environ"]),
        ("Spack", record["spec_hash"]),
        ("image", " ".join(image).strip()),
        (
            "layout",
            f"{value.layout}, {record['tasks']} processes, binding {record['binding'] or 'not known'}",
        ),
        ("nodes", names_text(record["nodelist"] or [], _MOST_NODES)),
        ("collection", f"{record['collection']}, ReFrame {record['reframe']}"),
    )
    return tuple((label, clean(text)) for label, text in facts if text)
