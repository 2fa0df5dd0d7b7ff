# SPDX-License-Identifier: BSD-3-Clause
"""Keep a vet within its budget, and go on with nodes that were busy as they become free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    vet, spent = Vet(nodes, switches), Spent()
    rounds = vet.rounds()
    answers: Any = None  # which begins the first round
    while True:
        try:
            groups = rounds.send(answers)
        except StopIteration:
            return vet.verdicts, spent
        bound = step_minutes * sum(map(len, groups))
        if spent.node_minutes + bound > budget:
            why = f"the budget of {budget:g} node-minutes is too small: {spent.node_minutes:.3g} are spent"
            vet.stop(
                f"{why}, and {count_text(len(groups), 'more job')} may need {bound:g}"
            )
            if not vet.verdicts.of(Word.NOT_SEEN):
                vet.verdicts.paths.append(f"not all paths were tested: {why}")
            return vet.verdicts, spent
        done = run(groups)
        answers = [outcome for outcome, _ in done]
        spent.jobs += len(groups)
        spent.rounds += 1
        spent.node_minutes += sum(
            len(group) * minutes
            for group, (_, minutes) in zip(groups, done, strict=True)
        )
        spent.minutes += max(minutes for _, minutes in done)
