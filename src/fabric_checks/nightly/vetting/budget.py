# SPDX-License-Identifier: BSD-3-Clause
"""Keep a vet within its budget, and go on with nodes that were busy as they become free."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fabric_checks.core.text import count_text
from fabric_checks.nightly.vetting.group_tests import Group, Outcome, Verdicts, Vet, Word
from fabric_checks.nightly.vetting.machine import Machine

#: Runs the jobs of a round, and returns for each its outcome and for how many minutes it had its nodes.
Runner = Callable[[Sequence[Group]], Sequence[tuple[Outcome, float]]]
#: The interval between looks at nodes that are not free.
LOOK_S = 15.0
#: At most so many good nodes are tested again, with nodes that have become free: a slow one is seen among
#: good ones.
PARTNERS = 7


@dataclass
class Spent:
    """The cost of a vet: jobs, rounds of them, node-minutes, and minutes if the jobs of a round run at
    once."""

    jobs: int = 0
    rounds: int = 0
    node_minutes: float = 0.0
    minutes: float = 0.0


def spend(
    nodes: Sequence[str], run: Runner, budget: float, step_minutes: float, spent: Spent | None = None
) -> tuple[Verdicts, Spent]:
    """Vet nodes; a round begins only if its jobs fit into the budget, should each last to its limit.

    :param budget: in node-minutes; :param step_minutes: the limit of one job.
    :param spent: what was spent before, which grows.
    """
    vet, spent = Vet(nodes), spent or Spent()
    rounds = vet.rounds()
    answers: list[Outcome] | None = None
    while True:
        try:
            groups = rounds.send(answers) if answers is not None else next(rounds)
        except StopIteration:
            return vet.verdicts, spent
        bound = step_minutes * sum(map(len, groups))
        if spent.node_minutes + bound > budget:
            why = f"the budget of {budget:g} node-minutes is too small: {spent.node_minutes:.3g} are spent"
            vet.stop(f"{why}, and {count_text(len(groups), 'more job')} may need {bound:g}")
            if not vet.verdicts.of(Word.NOT_SEEN):
                vet.verdicts.paths.append(f"not all paths were tested: {why}")
            return vet.verdicts, spent
        done = run(groups)
        answers = [outcome for outcome, _ in done]
        spent.jobs += len(groups)
        spent.rounds += 1
        spent.node_minutes += sum(
            len(group) * minutes for group, (_, minutes) in zip(groups, done, strict=True)
        )
        spent.minutes += max(minutes for _, minutes in done)


def spend_as_free(
    found: Machine,
    look: Callable[[], Machine | None],
    run: Runner,
    *,
    budget: float,
    step_minutes: float,
    wait_minutes: float,
) -> tuple[Verdicts, Spent]:
    """Vet the nodes that are free, and the others as they become free, these together with some good ones.

    :param look: returns the machine as it is now, or None if that is not known.
    :param wait_minutes: for how long to look for nodes that have become free.
    """
    verdicts, spent = Verdicts(dict.fromkeys(found.nodes, Word.NOT_SEEN)), Spent()
    until, due = time.monotonic() + 60 * wait_minutes, list(found.nodes)
    now: Machine | None = found
    while True:
        group = _free_group(due, verdicts, now)
        if len(group) > 1:
            part, spent = spend(group, run, budget, step_minutes, spent)
            verdicts.add(part)
            due = [
                node
                for node in due
                if node not in group or (part.waited and part.words[node] is Word.NOT_SEEN)
            ]
        if not due or time.monotonic() >= until:
            break
        time.sleep(min(LOOK_S, max(0.0, until - time.monotonic())))
        now = look()
    for node in due:
        _note_unseen(node, verdicts, now)
    return verdicts, spent


def _free_group(due: Sequence[str], verdicts: Verdicts, now: Machine | None) -> tuple[str, ...]:
    """Return the nodes that are due and free, and some good ones that are free with them."""
    free = {node for node in now.nodes if node not in now.busy} if now else set()
    group = [node for node in due if node in free]
    partners = [node for node in verdicts.of(Word.GOOD) if node in free][:PARTNERS] if group else []
    return (*group, *partners)


def _note_unseen(node: str, verdicts: Verdicts, now: Machine | None) -> None:
    """Note why a node was not seen: it is away or lost, or other jobs have it."""
    gone = now.away.get(node) if now else None
    why = gone or verdicts.reasons.get(node, "other jobs have it; --wait MINUTES goes on when it is free")
    verdicts.note(node, Word.FAULTY if now and node in now.lost else Word.NOT_SEEN, why)
