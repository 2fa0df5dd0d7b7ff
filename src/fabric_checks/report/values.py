# SPDX-License-Identifier: BSD-3-Clause
"""The model of a report: every series of records as one value, with its runs, spread, reference and
origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from fabric_checks.core import families
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import range_text, test_text, value_text
from fabric_checks.records.record import UNCONFIRMED, Record, bounds
from fabric_checks.records.runs import Session
from fabric_checks.report.headlines import Row, Values

#: The words for the result of a value that has a reference, the worst first.
VERDICTS = {
    "fail": "missed",
    "xpass": "unexpectedly met",
    UNCONFIRMED: "missed once, not confirmed",
    "xfail": "expected miss",
    "pass": "met",
}


@dataclass(frozen=True)
class Value:
    """One value of one machine: all runs of a series.

    :param machine: the name of the machine.
    :param record: the latest record; text in it is as it was written; templates make it printable.
    :param median: of the runs, in ``unit``.
    :param runs: the value of each run in the order of time, as (time, session, value).
    :param derived: how it was computed from measured values; empty for a value of a record.
    """

    machine: str
    record: Record
    median: float
    runs: tuple[tuple[datetime | None, str, float], ...]
    derived: str = ""

    @property
    def last(self) -> float:
        """The value of the last run, which is the one that is judged."""
        return self.runs[-1][2]

    @property
    def unit(self) -> str:
        """The unit as it is printed."""
        return str(self.record["unit"])

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of its test but the layout, by name."""
        found = self.record["parameters"] or {}
        return {name: str(value) for name, value in found.items()}

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
        return str(self.record["family"] or families.OTHERS)

    @property
    def layout(self) -> str:
        """Nodes x processes a node."""
        return str(self.record["layout"])

    @property
    def evidence(self) -> str:
        """The kind of a simulated value: fitted, predicted, said or simulated; empty for a measured one."""
        return str(self.record["evidence"] or "")

    @property
    def verdict(self) -> str:
        """The comparison with its reference: met, missed, expected miss, unexpectedly met, or empty without
        one."""
        if self.derived or not is_judged(self.record):
            return ""
        return VERDICTS.get(str(self.record["result"]), "")


@dataclass
class Results:
    """The values of a report, and the last run of each case.

    :param machines: their names, in the order of the tables; :param values: one for each series.
    :param last: the last run of each case of all machines, as one session.
    :param runs: by machine the names of its sessions, in the order of time.
    :param faults: the records and files that could not be read.
    :param session: the name of the run that is reported first, if it is one: see :meth:`begin_with`.
    """

    machines: tuple[str, ...]
    values: tuple[Value, ...]
    last: Session
    runs: Mapping[str, Sequence[str]]
    faults: tuple[str, ...] = ()
    session: str = ""

    def __post_init__(self) -> None:
        """Sort the values by machine and quantity."""
        self._simulated = {value.machine for value in self.values if value.evidence}
        self._by_quantity = by_key(
            self.values, lambda value: (value.machine, value.quantity)
        )

    def begin_with(self, session: Session) -> None:
        """Report what one run measured and met before all else, in place of the last run of each case."""
        self.last, self.session = session, session.name

    def of(
        self,
        machine: str,
        quantity: str,
        layout: str = "",
        *,
        family: str = "",
    ) -> list[Value]:
        """Return the values of a quantity on a machine, those of a curve by size.

        :param layout: such as ``2x1``; empty for all, as is the family.
        """
        found = [
            value
            for value in self._by_quantity.get((machine, quantity), ())
            if layout in ("", value.layout) and family in ("", value.family)
        ]
        return sorted(found, key=lambda value: value.size_B or 0)

    def of_machine(self, machine: str) -> list[Value]:
        """Return all values of a machine."""
        return [value for value in self.values if value.machine == machine]

    @cached_property
    def headlines(self) -> list[Row]:
        """The headline values of the last runs; the records of their cells have the value as ``value_of``."""
        records = (
            {**value.record, "value_of": value}
            for value in self.values
            if self.session in ("", value.runs[-1][1])
        )
        return Values(records, lambda record: str(record["value_of"].machine)).rows()

    def label(self, machine: str, more: str = "") -> str:
        """Return the name of a line: the machine, more about the line, and whether it is simulated."""
        name = f"{machine}, {more}" if more else machine
        return f"{name} (simulated)" if self.simulated(machine) else name

    def simulated(self, machine: str) -> bool:
        """Tell whether a machine's values are those of a simulation."""
        return machine in self._simulated


def case_text(row: Record) -> str:
    """Return the name of a case: its check, its parameters and its layout."""
    return f"{test_text(row['check'], row['parameters'])} {row['layout'] or ''}"


def is_judged(record: Record) -> bool:
    """Tell whether a value is held to a reference."""
    return record["reference"] is not None and not record["no_reference"]


def bounds_text(record: Record) -> str:
    """Return the reference of a value and its bounds, in the value's unit; empty without one."""
    if not is_judged(record):
        return ""
    within = range_text(*bounds(record))
    return value_text(float(record["reference"])) + (f" ({within})" if within else "")
