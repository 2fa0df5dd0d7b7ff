# SPDX-License-Identifier: BSD-3-Clause
"""Plan the runs of a contract, and refuse clauses that a system's checks do not measure or its links cannot
carry."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fabric_checks.core.errors import quoted
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import names_text
from fabric_checks.records.record import Record
from fabric_checks.references import cases, line_rate
from fabric_checks.references.cases import Case
from fabric_offers.acceptance.clauses import LINE_RATE, Clause, ClauseError, Contract, number_text
from fabric_offers.acceptance.observations import matches

#: The attribute of a check with the time limit of its job, in seconds.
_LIMIT = "time_limit"
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


def rows(contract: Contract, records: Sequence[Record], measured: Mapping[str, Case]) -> list[dict[str, Any]]:
    """Return what each clause takes: a value for each column of :data:`HEADER`, and a note.

    ``fixed`` are the units of a test of a fixed size, ``most`` those of this one; ``found_from`` is the
    smallest violation that is found with all but the buyer's risk; ``node_hours`` are None if nothing says
    how long a run takes.

    :param records: of earlier runs, which have the durations. :param measured: the case of each clause, if
        known.
    """
    own = [each for each in records if each["system"] == contract.system]
    return [_row(clause, own, measured.get(clause.name)) for clause in contract.clauses]


def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a row of the table as text."""
    shown = [value for key, value in row.items() if key != "note"]
    return tuple(
        "?" if each is None else f"{each:.3g}" if isinstance(each, float) else str(each) for each in shown
    )


def _row(clause: Clause, records: Sequence[Record], case: Case | None) -> dict[str, Any]:
    plan, model = clause.design, clause.model
    good, bad = plan.at(model.good).mean, plan.at(model.bad).mean
    share = (good + bad) / 2 / clause.fixed_units
    notes = []
    if share > 0.6 and clause.fixed_units > 2 * clause.least and not model.is_drift:
        notes.append(
            f"on average {100 * share:.0f} % of a fixed test: allow more {clause.unit}s to end earlier"
        )
    alike = [each for each in records if each["elapsed_s"] and matches(each, clause.select, metric=False)]
    node_h: float | None = None
    if alike:
        node_h = float(np.median([each["elapsed_s"] * (each["nodes"] or 1) for each in alike])) / 3600
    elif case and (limit := case.attributes.get(_LIMIT, "None")) != "None":
        node_h = float(limit) * Layout.of(case.layout).nodes / 3600
        notes.append(
            f"no run of it is known: node-hours by the time limit of its job, {float(limit) / 60:g} minutes"
        )
    runs = plan.most_units * clause.sessions * clause.runs
    return {
        **{"name": clause.name, "unit": clause.unit, "fixed": clause.fixed_units, "most": plan.most_units},
        **{
            "mean_good": good,
            "mean_bad": bad,
            "found_from": number_text(clause, plan.detectable(clause.buyer)),
        },
        **{"node_hours": None if node_h is None else node_h * runs, "note": "; ".join(notes)},
    }


def measured_by(contract: Contract, system: str) -> dict[str, Case]:
    """Return the case of a system that measures each clause, by the clause's name.

    :raises ClauseError: for a clause that no case measures, or whose bound the links cannot carry.
    :raises ReferenceError: if the system does not exist.
    """
    names = {name for clause in contract.clauses for name in clause.parameters}
    known = cases.of_system(system, sorted(names | {_LIMIT}))
    measured = {}
    for clause in contract.clauses:
        where = f"{contract.path}: clause {quoted(clause.name)}"
        case = _case_of(clause, known, f"{where}: nothing on {system} measures")
        _require_reachable(where, clause, case)
        measured[clause.name] = case
    return measured


def _case_of(clause: Clause, known: cases.Catalogue, nothing: str) -> Case:
    """Return the first case that a clause selects; ``nothing`` begins the message if there is none."""
    found = list(known.cases)
    for name in ("check", "parameters", "layout", "metric"):
        wanted = clause.select.get(name)
        if wanted is None:
            continue
        kept = [case for case in found if _fits(case, name, wanted)]
        if not kept:
            there = (
                known.checks if name == "check" else {each for case in found for each in _values(case, name)}
            )
            near = difflib.get_close_matches(str(wanted), there, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {names_text(sorted(there))}"
            raise ClauseError(f"{nothing} {name} {wanted}: {hint}")
        found = kept
    return found[0]


def _values(case: Case, name: str) -> list[str]:
    if name == "metric":
        return [metric.name for metric in case.metrics]
    if name == "parameters":
        return [f"{key}={value}" for key, value in case.attributes.items() if key != _LIMIT and key[0] != "$"]
    return [case.facts[name]]


def _fits(case: Case, name: str, wanted: Any) -> bool:
    if name == "parameters":
        return all(case.attributes.get(key) == value for key, value in wanted.items())
    return any(re.fullmatch(wanted, value) for value in _values(case, name))


def _require_reachable(where: str, clause: Clause, case: Case) -> None:
    """Raise :class:`ClauseError` for a bound beyond the line rate of all nodes, or of one for a pair."""
    rate = clause.line_rate_MBps or (case.extras.link_MBps or 0) * case.extras.nics
    by = clause.divisor.value if clause.divisor else {"": 1.0, LINE_RATE: rate}.get(str(clause.of or ""))
    if by is None or not rate or not _is_rate(clause, case) or clause.quantity in ("share", "drift"):
        return
    good = clause.good * by
    why = line_rate.why_unreachable(good, None, line_rate.UNIT, case.layout, case.extras)
    if not why and clause.over != "runs" and Layout.of(case.layout).nodes > 1 and good > rate:
        why = f"unreachable: {good:g} MB/s is beyond the line rate of a node, {rate:g} MB/s"
    if why:
        raise ClauseError(f"{where}: {why}")


def _is_rate(clause: Clause, case: Case) -> bool:
    """Return whether what a clause judges is a bandwidth."""
    metric = next((each for each in case.metrics if re.fullmatch(clause.metric, each.name)), None)
    return clause.over != "runs" or (metric is not None and metric.unit == line_rate.UNIT)
