# SPDX-License-Identifier: BSD-3-Clause
"""Plan the runs of a contract, and refuse clauses that a system's checks do not measure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fabric_checks.core import schema
from fabric_checks.core.errors import quoted
from fabric_checks.records.record import Record
from fabric_checks.references import cases
from fabric_checks.references.cases import Case
from fabric_offers.acceptance.clauses import Clause, ClauseError, Contract, number_text
from fabric_offers.acceptance.observations import matches

HEADER = (
    "clause",
    "unit",
    "fixed",
    "at most",
    "mean, good",
    "mean, bad",
    "found from",
    "node-hours, at most",
)


def rows(contract: Contract, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return what each clause takes: a value for each column of :data:`HEADER`.

    ``fixed`` are the units of a test of a fixed size, ``most`` those of this one; ``found_from`` is the
    smallest violation that is found with all but the buyer's risk; ``node_hours`` are None if nothing says
    how long a run takes.

    :param records: of earlier runs, which have the durations.
    """
    own = [
        each
        for each in records
        if each["system"] == contract.system and each["elapsed_s"]
    ]
    return [_row(clause, own) for clause in contract.clauses]


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a row of the table as text."""
    return tuple(
        "?" if each is None else f"{each:.3g}" if isinstance(each, float) else str(each)
        for each in row.values()
    )


def _row(clause: Clause, records: Sequence[Record]) -> dict[str, Any]:
    plan, model = clause.design, clause.model
    alike = [
        each["elapsed_s"] * (each["nodes"] or 1) / 3600
        for each in records
        if matches(each, clause.select, metric=False)
    ]
    runs = plan.most_units * clause.runs
    return {
        "name": clause.name,
        "unit": clause.unit,
        "fixed": clause.fixed_units,
        "most": plan.most_units,
        "mean_good": plan.at(model.good).mean,
        "mean_bad": plan.at(model.bad).mean,
        "found_from": number_text(clause, plan.detectable(clause.buyer_risk)),
        "node_hours": float(np.median(alike)) * runs if alike else None,
    }


def require_measured(contract: Contract, system: str) -> None:
    """Raise :class:`ClauseError` for a clause that no case of a system measures.

    :raises FabricError: if the system does not exist.
    """
    known = cases.of_system(
        system, sorted({name for each in contract.clauses for name in each.parameters})
    )
    for clause in contract.clauses:
        found: Sequence[Case] = known
        for name in ("check", "parameters", "layout", "metric"):
            wanted = clause.select.get(name)
            there = {each for case in found for each in _values(case, name)}
            found = [case for case in found if not wanted or _fits(case, name, wanted)]
            if not found:
                where = f"{contract.path}: clause {quoted(clause.name)}"
                hint = schema.near(str(wanted), sorted(there))
                raise ClauseError(
                    f"{where}: nothing on {system} measures {name} {wanted}; {hint}"
                )


def _values(case: Case, name: str) -> list[str]:
    if name == "metric":
        return list(case.metrics)
    if name == "parameters":
        return [f"{key}={value}" for key, value in case.attributes.items()]
    return [getattr(case, name)]


def _fits(case: Case, name: str, wanted: Any) -> bool:
    if name == "parameters":
        return all(case.attributes.get(key) == value for key, value in wanted.items())
    return any(re.fullmatch(wanted, value) for value in _values(case, name))
