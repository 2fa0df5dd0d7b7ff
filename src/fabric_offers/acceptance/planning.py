# SPDX-License-Identifier: BSD-3-Clause
"""Plan the runs of a contract, and refuse clauses that a system's checks do not measure or its links cannot carry."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric_checks.core.errors import quoted
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import names_text
from fabric_checks.records.record import Record
from fabric_checks.references import cases, line_rate
from fabric_checks.references.cases import Case
from fabric_offers.acceptance.clauses import LINE_RATE, Clause, ClauseError, Contract
from fabric_offers.acceptance.observations import matches, number_text

HEADER = ("clause", "unit", "fixed", "at most", "mean, good", "mean, bad", "found from", "node-hours, at most")


@dataclass(frozen=True)
class Row:
    """Hold the cost of a clause.

    :param fixed: units of a test of a fixed size; :param most: those of this one; :param mean_good, mean_bad: on
        average. :param found_from: the smallest violation that is found with all but the buyer's risk.
    :param node_hours: of all its runs at most; None if no case like it was run yet.
    """

    name: str
    unit: str
    fixed: int
    most: int
    mean_good: float
    mean_bad: float
    found_from: str
    node_hours: float | None
    note: str

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        hours = "?" if self.node_hours is None else f"{self.node_hours:.3g}"
        means = (f"{self.mean_good:.1f}", f"{self.mean_bad:.1f}")
        return (self.name, self.unit, str(self.fixed), str(self.most), *means, self.found_from, hours)


def rows(contract: Contract, records: Sequence[Record]) -> list[Row]:
    """Return what each clause takes.

    :param records: of earlier runs, which have the durations.
    """
    return [_row(clause, records) for clause in contract.clauses]


def _row(clause: Clause, records: Sequence[Record]) -> Row:
    plan, model = clause.design, clause.model
    good, bad = plan.at(model.good).mean, plan.at(model.bad).mean
    alike = [each for each in records if each["elapsed_s"] and matches(each, clause.select, metric=False)]
    node_s = [each["elapsed_s"] * (each["nodes"] or 1) for each in alike]
    runs = plan.most_units * clause.sessions * clause.runs
    share = (good + bad) / 2 / clause.fixed_units
    note = (
        f"on average {100 * share:.0f} % of a fixed test: allow more {clause.unit}s to end earlier"
        if share > 0.6 and clause.fixed_units > 2 * clause.least
        else ""
    )
    found = number_text(clause, plan.detectable(clause.buyer))
    hours = float(np.median(node_s)) * runs / 3600 if node_s else None
    return Row(clause.name, clause.unit, clause.fixed_units, plan.most_units, good, bad, found, hours, note)


def require_measured(contract: Contract, system: str) -> None:
    """Raise :class:`ClauseError` for a clause that no case of a system measures, or whose bound its links cannot carry.

    :raises ReferenceError: if the system does not exist.
    """
    names = {name for clause in contract.clauses for name in clause.select.get("parameters", {})}
    known = cases.of_system(system, sorted(names))
    for clause in contract.clauses:
        where = f"{contract.path}: clause {quoted(clause.name)}"
        found = list(known.cases)
        for name, values in (("check", known.checks), ("parameters", ()), ("layout", ()), ("metric", ())):
            if name not in clause.select:
                continue
            kept = [case for case in found if _fits(case, name, clause)]
            if not kept:
                wanted = clause.select[name]
                there = values or tuple(dict.fromkeys(each for case in found for each in _values(case, name)))
                near = difflib.get_close_matches(str(wanted), there, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {names_text(sorted(there))}"
                raise ClauseError(f"{where}: nothing on {system} measures {name} {wanted}: {hint}")
            found = kept
        _require_reachable(where, clause, found[0])


def _values(case: Case, name: str) -> list[str]:
    if name == "metric":
        return [metric.name for metric in case.metrics]
    return [f"{key}={value}" for key, value in case.attributes.items()] if name == "parameters" else [case.facts[name]]


def _fits(case: Case, name: str, clause: Clause) -> bool:
    wanted = clause.select[name]
    if name == "parameters":
        return all(case.attributes.get(key) == value for key, value in wanted.items())
    return any(re.fullmatch(wanted, value) for value in _values(case, name))


def _require_reachable(where: str, clause: Clause, case: Case) -> None:
    """Raise :class:`ClauseError` for a bound beyond the line rate of all nodes, or of one for a pair."""
    metric = next((each for each in case.metrics if re.fullmatch(clause.select.get("metric", "$"), each.name)), None)
    rate = clause.line_rate_MBps or case.extras.get("link_MBps", 0) * case.extras.get("nics", 1)
    by = {"": 1.0, "value": clause.of_value, LINE_RATE: rate}.get(clause.of)
    is_rate = clause.over != "runs" or (metric is not None and metric.unit == line_rate.UNIT)
    if by is None or not rate or not is_rate or clause.quantity in ("share", "drift"):
        return
    why = line_rate.why_unreachable(clause.good * by, None, line_rate.UNIT, case.layout, case.extras)
    if not why and clause.over != "runs" and Layout.of(case.layout).nodes > 1 and clause.good * by > rate:
        why = f"unreachable: {clause.good * by:g} MB/s is beyond the line rate of a node, {rate:g} MB/s"
    if why:
        raise ClauseError(f"{where}: {why}")
