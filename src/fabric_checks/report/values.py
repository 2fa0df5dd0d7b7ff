# SPDX-License-Identifier: BSD-3-Clause
"""The model of a report: every series of records as one value, with its runs, spread, reference and
origin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from fabric_checks.core import families
from fabric_checks.core.finding import Severity
from fabric_checks.core.text import clean, range_text, value_text
from fabric_checks.records.record import bounds
from fabric_checks.report.headlines import Row, Values

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """One value of one machine: all runs of a series.

    :param machine: the name of the machine.
    :param record: the latest record; text in it is as it was written, not yet :func:`clean`.
    :param parameters: the parameters of its test but the layout, by name.
    :param median: of the runs, in ``unit``.
    :param low, high: the ends of its confidence interval at 95 % (bootstrap), None where there are too few
        runs.
    :param runs: the value of each run in the order of time, as (time, session, value).
    :param derived: how it was computed from measured values; empty for a value of a record.
    """

    machine: str
    record: Record
    parameters: Mapping[str, str]
    median: float
    low: float | None
    high: float | None
    runs: tuple[tuple[datetime | None, str, float], ...]
    derived: str = ""

    @property
    def last(self) -> float:
        """The value of the last run, which is the one that is judged."""
        return self.runs[-1][2]

    @property
    def unit(self) -> str:
        """The unit as it is printed."""
        return clean(self.record["unit"])

    @property
    def quantity(self) -> str:
        """The name of the curve it is a point of, or its own."""
        return str(self.record["quantity"] or self.record["metric"])

    @property
    def size_B(self) -> int | None:
        """The message size in bytes, of a point of a curve."""
        size: int | None = self.record["size_B"]
        return size

    @property
    def family(self) -> str:
        """The family of its check, see :mod:`fabric_checks.core.families`."""
        return clean(self.record["family"] or families.OTHERS)

    @property
    def layout(self) -> str:
        """Nodes x processes a node."""
        return clean(self.record["layout"])

    @property
    def evidence(self) -> str:
        """The kind of a simulated value: fitted, predicted, said or simulated; empty for a measured one."""
        return clean(self.record["evidence"] or "")

    @property
    def verdict(self) -> str:
        """The comparison with its reference: met, missed, expected miss, unexpectedly met, or empty without
        one."""
        if self.derived or self.record["reference"] is None or self.record["no_reference"]:
            return ""
        words = {"pass": "met", "fail": "missed", "xfail": "expected miss", "xpass": "unexpectedly met"}
        return words.get(str(self.record["result"]), "")


@dataclass(frozen=True)
class Failure:
    """A case that failed, with or without values.

    :param case: machine, test and layout in words; :param why: ReFrame's reason; :param when: of its last
        run.
    """

    machine: str
    case: str
    why: str
    when: datetime | None
    expected: bool = False


class Seen(NamedTuple):
    """A finding of a case, for the page: its text, and the key by which it is the same as another's."""

    case: str
    severity: Severity
    text: str
    key: str


@dataclass
class Results:
    """The values, failures and findings of a report.

    :param machines: their names, in the order of the tables; :param values: one for each series.
    :param failures: the cases whose last run failed; :param cases: (cases, of these failed) by machine.
    :param sessions: the sessions by machine, in the order of time.
    :param not_offered: by machine the suites that its environment does not have, and why.
    :param findings: by machine the findings of its last runs.
    :param faults: the records and files that could not be read.
    """

    machines: tuple[str, ...]
    values: tuple[Value, ...]
    failures: tuple[Failure, ...] = ()
    cases: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    sessions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    not_offered: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    findings: Mapping[str, tuple[Seen, ...]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    records: int = 0

    def __post_init__(self) -> None:
        """Sort the values by machine and quantity."""
        self._simulated = {value.machine for value in self.values if value.evidence}
        self._by_machine: dict[str, list[Value]] = {machine: [] for machine in self.machines}
        self._by_quantity: dict[tuple[str, str], list[Value]] = {}
        for value in self.values:
            self._by_machine.setdefault(value.machine, []).append(value)
            self._by_quantity.setdefault((value.machine, value.quantity), []).append(value)

    def of(
        self,
        machine: str,
        quantity: str,
        layout: str = "",
        *,
        check: str = "",
        family: str = "",
        **parameters: str,
    ) -> list[Value]:
        """Return the values of a quantity on a machine, those of a curve by size.

        :param layout: such as ``2x1``; empty for all, as are check and family.
        """
        found = [
            value
            for value in self._by_quantity.get((machine, quantity), ())
            if layout in ("", value.layout)
            and check in ("", value.record["check"])
            and family in ("", value.family)
            and parameters.items() <= value.parameters.items()
        ]
        return sorted(found, key=lambda value: value.size_B or 0)

    def of_machine(self, machine: str) -> list[Value]:
        """Return all values of a machine."""
        return self._by_machine.get(machine, [])

    @cached_property
    def headlines(self) -> list[Row]:
        """The headline values of the last runs; the records of their cells have the value as ``value_of``."""
        records = (
            {**value.record, "parameters": value.parameters, "value": value.last, "value_of": value}
            for value in self.values
        )
        return Values(records, lambda record: str(record["value_of"].machine)).rows()

    def simulated(self, machine: str) -> bool:
        """Tell whether a machine's values are those of a simulation."""
        return machine in self._simulated


def parameters_of(text: str | None) -> dict[str, str]:
    """Return the parameters of a test from the JSON text of its records.

    >>> parameters_of('{"queue_depth": 8}')
    {'queue_depth': '8'}
    """
    return {clean(name): clean(value) for name, value in json.loads(text or "{}").items()}


def case_text(row: Mapping[str, Any]) -> str:
    """Return the name of a case: its check, its parameters and its layout."""
    shown = [f"{name}={value}" for name, value in parameters_of(row["parameters"]).items()]
    return clean(" ".join([str(row["check"]), *shown, str(row["layout"] or "")]))


def bounds_text(value: Value) -> str:
    """Return the reference of a value and its bounds, in the value's unit; empty without one."""
    record = value.record
    if value.derived or record["reference"] is None or record["no_reference"]:
        return ""
    within = range_text(*bounds(record))
    return value_text(float(record["reference"])) + (f" ({within})" if within else "")
