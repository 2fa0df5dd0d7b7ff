# SPDX-License-Identifier: BSD-3-Clause
"""The origin of every value of the page: kept once for each case, and once for all values that share the
rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric_checks.core.text import clean, count_text, names_text, value_text
from fabric_checks.report.svg_panels import Line
from fabric_checks.report.values import Value, bounds_text, case_text

#: More nodes than this are counted.
_MOST_NODES = 8

#: The fields of a record that say where a value comes from.
_OF_CASE = (
    *("program", "program_version", "stack", "mpi", "compiler", "environ", "spec_hash"),
    *("container", "image", "image_digest", "layout", "tasks", "binding", "nodelist"),
    *("collection", "reframe"),
)

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
    times = sorted(time for time, _, _ in value.runs if time)
    dates = dict.fromkeys(
        f"{time:%Y-%m-%d %H:%M}" for time in (*times[:1], *times[-1:])
    )
    judged_by = bounds_text(record) or record["no_reference"] or "none"
    facts = {
        "metric": value.quantity,
        "meaning": record["meaning"],
        "runs": _runs_text(value),
        "date (UTC)": " to ".join(dates),
        "session": names_text(list(sessions), 2),
        "computed": value.derived,
        "evidence": value.evidence,
        "reference": "" if value.derived else judged_by,
        "verdict": value.verdict,
        "source": record["reference_source"],
    }
    return _known(facts)


def _case_facts(value: Value) -> Facts:
    facts = {"machine": value.machine, "test": case_text(value.record)}
    return _known(facts | {name: value.record[name] for name in _OF_CASE})


def _known(facts: Mapping[str, Any]) -> Facts:
    return tuple((name, clean(_text(each))) for name, each in facts.items() if each)


def _text(fact: Any) -> str:
    return names_text(fact, _MOST_NODES) if isinstance(fact, list) else str(fact)


def _runs_text(value: Value) -> str:
    """Return how many runs a median is of, and their range; empty for one run."""
    if len(value.runs) < 2:
        return ""
    values = [each for _, _, each in value.runs]
    within = f"{value_text(min(values))} to {value_text(max(values))}"
    unit = f" {value.unit}" if value.unit != "1" else ""
    return f"{count_text(len(values), 'run')}, median; {within}{unit}"
