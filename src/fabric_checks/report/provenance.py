# SPDX-License-Identifier: BSD-3-Clause
"""The origin of every value of the page: kept once for each case, and once for all values that share the
rest."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from fabric_checks.core.text import clean, count_text, names_text, value_text
from fabric_checks.records.record import Record
from fabric_checks.report.svg_panels import Line
from fabric_checks.report.values import Value, bounds_text, case_text

#: More nodes than this are counted.
_MOST_NODES = 8

#: Labels and texts.
Facts = tuple[tuple[str, str], ...]


class Provenance:
    """The provenance of a page's values; each is kept once and referred to by its number."""

    def __init__(self) -> None:
        self._cases: dict[Facts, int] = {}
        self._facts: dict[Facts, int] = {}
        self._values: dict[tuple[int, int], int] = {}
        self._series: list[list[Any]] = []

    def number_of(self, value: Value) -> int:
        """Return the number of a value's provenance, from 0."""
        case = self._cases.setdefault(_case_facts(value), len(self._cases))
        facts = self._facts.setdefault(_value_facts(value), len(self._facts))
        return self._values.setdefault((case, facts), len(self._values))

    def series_of(self, line: Line, x: str) -> int:
        """Return the number of a line's provenance, from 0.

        :param x: the axis across, see :class:`fabric_checks.report.svg_panels.Panel`.
        """
        across = [int(x) if x == int(x) else round(x, 5) for x, _ in line.points]
        medians = [float(f"{y:.5g}") for _, y in line.points]
        numbers = list(map(self.number_of, line.values))
        names = map(clean, (line.label, line.values[0].unit))
        self._series.append([*names, x, across, medians, numbers])
        return len(self._series) - 1

    def data(self) -> dict[str, list[Any]]:
        """Return everything for the page's script.

        A value has the numbers of its case and of its facts. A series has its name, unit, axis across,
        positions, values, and the numbers of their provenance.
        """
        return {
            "cases": list(map(dict, self._cases)),
            "facts": list(map(dict, self._facts)),
            "values": list(self._values),
            "series": self._series,
        }


def _value_facts(value: Value) -> Facts:
    record = value.record
    sessions = dict.fromkeys(name for _, name, _ in value.runs if name)
    simulated = f"{value.evidence}, not measured on a machine"
    facts = (
        ("metric", value.quantity),
        ("meaning", record["meaning"]),
        ("runs", _runs_text(value)),
        ("date (UTC)", _dates([time for time, _, _ in value.runs if time])),
        ("session", names_text(list(sessions), 2)),
        ("computed", value.derived),
        ("kind", simulated if value.evidence else ""),
        ("reference", "" if value.derived else _reference_text(record)),
        ("verdict", value.verdict),
        ("source", record["reference_source"]),
    )
    return _known(facts)


def _known(facts: Iterable[tuple[str, str | None]]) -> Facts:
    return tuple((label, clean(text)) for label, text in facts if text)


def _runs_text(value: Value) -> str:
    """Return how many runs a median is of, and their range; empty for one run."""
    if len(value.runs) < 2:
        return ""
    values = [each for _, _, each in value.runs]
    within = f"{value_text(min(values))} to {value_text(max(values))}"
    unit = f" {value.unit}" if value.unit != "1" else ""
    return f"{count_text(len(values), 'run')}, median; {within}{unit}"


def _reference_text(record: Record) -> str:
    why = record["no_reference"]
    return bounds_text(record) or (f"none: {why}" if why else "none")


def _dates(known: list[datetime]) -> str:
    """Return from when to when, in UTC."""
    ends = (min(known), max(known)) if known else ()
    return " to ".join(dict.fromkeys(f"{time:%Y-%m-%d %H:%M}" for time in ends))


def _case_facts(value: Value) -> Facts:
    record = {name: text or "" for name, text in value.record.items()}
    program = f"{record['program'] or 'not known'} {record['program_version']}"
    image = (record[name] for name in ("container", "image", "image_digest"))
    binding = record["binding"] or "not known"
    facts = (
        ("machine", value.machine),
        ("test", case_text(value.record)),
        ("program", f"{program}, {record['stack']}"),
        ("MPI", record["mpi"]),
        ("compiler", record["compiler"]),
        ("environment", record["environ"]),
        ("Spack", record["spec_hash"]),
        ("image", " ".join(image).strip()),
        ("layout", f"{value.layout}, {record['tasks']} processes, binding {binding}"),
        ("nodes", names_text(record["nodelist"] or [], _MOST_NODES)),
        ("collection", f"{record['collection']}, ReFrame {record['reframe']}"),
    )
    return _known(facts)
