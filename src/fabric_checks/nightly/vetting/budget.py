# SPDX-License-Identifier: BSD-3-Clause
"""Keep a vet within its budget, and go on with nodes that were busy as they become free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.text import count_text
from fabric_checks.nightly.vetting.group_tests import (
    Group,
    Outcome,
    Verdicts,
    Vet,
    Word,
)

#: Runs the jobs of a round, and returns for each its outcome and for how many minutes it had its nodes.
Runner = Callable[[Sequence[Group]], Sequence[tuple[Outcome, float]]]


class _OverBudgetError(Exception):
    """The jobs of a round do not fit into the budget."""


@dataclass
class Spent:
    """The cost of a vet: jobs, rounds of them, node-minutes, and minutes if the jobs of a round run at
    once."""

    jobs: int = 0
    rounds: int = 0
    node_minutes: float = 0.0
    minutes: float = 0.0


def spend(
    nodes: Sequence[str],
    run: Runner,
    budget: float,
    step_minutes: float,
    switches: Mapping[str, str] | None = None,
) -> tuple[Verdicts, Spent]:
    """Vet nodes; a round begins only if its jobs fit into the budget, should each last to its limit.

    :param budget: in node-minutes; :param step_minutes: the limit of one job. :param switches: of each node.
    """
    spent = Spent()

    def within_budget(groups: Sequence[Group]) -> list[Outcome]:
        bound = step_minutes * sum(map(len, groups))
        if spent.node_minutes + bound > budget:
            raise _OverBudgetError(
                f"the budget of {budget:g} node-minutes is too small: {spent.node_minutes:.3g} are spent, and"
                f" {count_text(len(groups), 'more job')} may need {bound:g}"
            )
        done = run(groups)
        spent.jobs += len(groups)
        spent.rounds += 1
        for group, (_, minutes) in zip(groups, done, strict=True):
            spent.node_minutes += len(group) * minutes
        spent.minutes += max(minutes for _, minutes in done)
        return [outcome for outcome, _ in done]

    vet = Vet(nodes, within_budget, switches)
    try:
        vet.judge()
    except _OverBudgetError as error:
        vet.stop(str(error))
        if not vet.verdicts.of(Word.NOT_SEEN):
            vet.verdicts.paths.append(f"not all paths were tested: {error}")
    return vet.verdicts, spent
