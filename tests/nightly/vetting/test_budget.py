# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a vet, and its end where the budget is spent."""

import pytest

from fabric_checks.nightly.vetting.budget import Spent, spend
from fabric_checks.nightly.vetting.group_tests import Outcome, Word
from tests.nightly.vetting.test_group_tests import names


def simulated(faulty, pass_minutes, fail_minutes):
    """Return a runner on a machine where a job hangs that has one of these nodes."""

    def run(groups):
        bad = [any(node in faulty for node in group) for group in groups]
        return [
            (Outcome(not each, why="it hung"), fail_minutes if each else pass_minutes)
            for each in bad
        ]

    return run


@pytest.mark.parametrize(
    "count, faults, cost",
    [
        (232, 0, Spent(1, 1, 464.0, 2.0)),
        # All; halves; its half's nodes, each with a healthy one; the good ones.
        (4, 1, Spent(6, 4, 4 * 5 + 2 * 5 + 2 * 2 + 2 * 5 + 2 * 2 + 3 * 2, 17.0)),
        (232, 5, Spent(62, 7, 3803.0, 32.0)),
        (2000, 5, Spent(92, 8, 32200.0, 37.0)),
    ],
)
def test_costs_by_hand_and_of_large_machines(count, faults, cost):
    """Faulty nodes are as far from each other as can be: there a vet needs the most jobs."""
    faulty = {names(count)[number * count // faults] for number in range(faults)}
    verdicts, spent = spend(
        names(count), simulated(faulty, 2.0, 5.0), float("inf"), 5.0
    )
    assert spent == cost and set(verdicts.of(Word.FAULTY)) == faulty


@pytest.mark.parametrize("budget", [0, 39, 40, 60, 79, 100, 1000])
def test_no_budget_is_exceeded_and_unseen_nodes_are_named(budget):
    """A round is begun only if its jobs fit, should each last to its limit; one that just does is run."""
    verdicts, spent = spend(names(8), simulated({"n2"}, 1.0, 5.0), budget, 5.0)
    unseen = verdicts.of(Word.NOT_SEEN)
    assert (
        spent.node_minutes <= budget
        and bool(unseen) is (budget < 100)
        and (spent.jobs > 0) is (budget >= 40)
    )
    assert (
        len(verdicts.of(Word.GOOD)) + len(verdicts.of(Word.FAULTY)) + len(unseen) == 8
    )
    for node in unseen:
        assert (
            f"the budget of {budget} node-minutes is too small"
            in verdicts.reasons[node]
        )
    assert unseen or verdicts.of(Word.FAULTY) == ["n2"]


def test_nodes_are_not_good_if_the_budget_ends_unsure():
    def run(groups):
        return [(Outcome(True, unsure="a pair differs by 8 %"), 1.0) for _ in groups]

    verdicts, spent = spend(names(8), run, 50, 5.0)
    assert (
        spent.jobs == 2
        and verdicts.of(Word.NOT_SEEN) == names(8)
        and not verdicts.paths
    )
    (why,) = set(verdicts.reasons.values())
    assert (
        why
        == "its jobs pass, but do not show whether it is slow: a pair differs by 8 %"
    )
