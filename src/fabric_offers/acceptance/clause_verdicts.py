# SPDX-License-Identifier: BSD-3-Clause
"""Judge the clauses of a contract: met, violated or open, with what the verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from fabric_checks.records.record import Record
from fabric_offers.acceptance import sequential
from fabric_offers.acceptance.clauses import Clause, Contract
from fabric_offers.acceptance.observations import Observed, observe
from fabric_offers.acceptance.sequential import (
    MET,
    OPEN,
    VIOLATED,
    Design,
    Model,
    State,
)

#: Values are this much wider spread than agreed only by chance in one of so many cases.
_CHANCE = 0.01


@dataclass(frozen=True)
class Judged:
    """A clause, judged.

    :param plan: its test; :param state: where that stands.
    :param estimate: the median of the units used that have a value, of shares their mean; None without any.
    :param notes: why it is still open, or what the verdict had to allow for.
    """

    clause: Clause
    observed: Observed
    plan: Design
    state: State
    estimate: float | None
    notes: tuple[str, ...]

    @property
    def word(self) -> str:
        """The verdict: met, violated or open."""
        return self.state.word

    @property
    def left(self) -> int:
        """How many more units it takes at most."""
        return self.plan.most_units - self.state.units if self.word == OPEN else 0

    @property
    def data(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "clause": self.clause.name,
            "verdict": self.word,
            "units": [asdict(unit) for unit in self.observed.units],
            "excluded": self.observed.lines,
            "estimate": self.estimate,
            "left": self.left,
            "notes": self.notes,
            "evidence": self.state.path,
        }


def judge(contract: Contract, records: Sequence[Record], folder: Path) -> list[Judged]:
    """Judge all clauses.

    :param folder: of the results, with the outputs.
    :raises ClauseError: if a clause does not fit the records.
    """
    return [
        judge_clause(each, observe(contract, each, records, folder))
        for each in contract.clauses
    ]


def judge_clause(clause: Clause, observed: Observed) -> Judged:
    """Judge a clause by its units."""
    values = [unit.value for unit in observed.units]
    plan = clause.design
    spread = _spread(clause.model, [value for value in values if value is not None])
    state = sequential.follow(plan, values)
    notes: list[str] = []
    if spread is not None and spread > clause.model.spread:
        plan, state, notes = _by_spread(clause, spread, values)
    if observed.excluded > clause.most_excluded:
        state = replace(state, word=OPEN)
        notes.append(
            f"{observed.excluded} units do not count, more than the {clause.most_excluded} allowed: repeat"
            " them"
        )
    if not observed.records:
        notes.append("no run of this case has a value yet")
    known = [value for value in values[: state.units] if value is not None]
    middle = np.mean if clause.quantity == "share" else np.median
    estimate = float(middle(known)) if known else None
    return Judged(clause, observed, plan, state, estimate, tuple(notes))


def _by_spread(
    clause: Clause, spread: float, values: Sequence[float | None]
) -> tuple[Design, State, list[str]]:
    """Judge a clause by a spread that is larger than agreed; return its test, where that stands, and what to
    say."""
    notes = [
        f"its units scatter by {spread:.3g}, not the agreed {clause.model.spread:.3g}; judged by that"
    ]
    asked = (
        replace(clause.model, spread=spread),
        clause.seller_risk,
        clause.buyer_risk,
        clause.most,
        clause.least,
    )
    fitting = sequential.design(*asked)
    plan = fitting or sequential.without_end(*asked)
    state = sequential.follow(plan, values)
    if not fitting and state.word != OPEN and plan.lower < state.path[-1] < plan.upper:
        state = replace(state, word=OPEN)
        notes.append(
            "with so much scatter the units allowed do not decide: find its cause, or agree on more"
        )
    return plan, state, notes


def _spread(model: Model, known: Sequence[float]) -> float | None:
    """Return the spread of units; the agreed one unless theirs is larger by more than chance.

    Single wild units are clipped, as in the test.
    """
    if not model.spread or len(known) < 3:
        return None
    middle = float(np.median(known))
    near = np.clip(known, middle - 3 * model.spread, middle + 3 * model.spread)
    squares = float(((near - near.mean()) ** 2).sum()) / model.spread**2
    is_wider = squares > stats.chi2.isf(_CHANCE, len(known) - 1)
    seen = float(np.std(known, ddof=1))
    return seen if is_wider else min(seen, model.spread)


def overall(judged: Sequence[Judged]) -> str:
    """Return the verdict on the contract: violated if one clause is, met if all are, else open."""
    words = {each.word for each in judged}
    return VIOLATED if VIOLATED in words else MET if words == {MET} else OPEN


def joint_risks(contract: Contract) -> tuple[float, float]:
    """Return bounds of the risks that a good machine fails any clause, and that one bad in one clause passes.

    By Bonferroni's inequality the first is at most the sum over all clauses; the second is that of the clause
    itself.
    """
    seller = sum(clause.seller_risk for clause in contract.clauses)
    return min(1.0, seller), max(
        (clause.buyer_risk for clause in contract.clauses), default=math.nan
    )
