# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a vet, and its end where the budget is spent."""

import pytest

from fabric_checks.nightly.vetting.budget import Spent, planned, simulated, spend
from fabric_checks.nightly.vetting.planning import Outcome, Word
from tests.nightly.vetting.test_planning import names


def test_the_costs_of_a_healthy_machine_are_those_of_one_job():
    assert planned(232, 0, 2.0, 5.0) == Spent(1, 1, 464.0, 2.0)


def test_the_costs_by_hand():
    """Four nodes of which one hangs: all; halves; its half's nodes, each with a healthy one; the good ones."""
    assert planned(4, 1, 1.0, 5.0) == Spent(6, 4, 4 * 5 + 2 * 5 + 2 * 1 + 2 * 5 + 2 * 1 + 3 * 1, 16.0)


@pytest.mark.parametrize(("count", "faults"), [(232, 5), (2000, 5), (2000, 20)])
def test_large_machines(count, faults, report_table):
    found, dead = planned(count, faults, 2.0, 5.0), planned(count, faults, 2.0, 5.0, named=True)
    report_table(f"vet of {count} nodes, {faults} faulty", [f"hanging: {found}", f"dead: {dead}"])
    assert dead.jobs == 2 and found.jobs <= 1 + 3 * faults * count.bit_length()


@pytest.mark.parametrize("budget", [0, 39, 40, 60, 79, 100, 1000])
def test_no_budget_is_exceeded_and_unseen_nodes_are_named(budget):
    verdicts, spent = spend(names(8), simulated({"n2"}, 1.0, 5.0), budget, 5.0)
    assert spent.node_minutes <= budget
    seen = len(verdicts.of(Word.GOOD)) + len(verdicts.of(Word.FAULTY))
    assert seen + len(verdicts.of(Word.NOT_SEEN)) == 8
    if seen < 8:
        (why,) = {verdicts.reasons[node] for node in verdicts.of(Word.NOT_SEEN)}
        assert f"the budget of {budget} node-minutes is too small" in why
    else:
        assert verdicts.of(Word.FAULTY) == ["n2"]
    assert (seen == 8) is (budget >= 100)


def test_nodes_are_not_good_if_the_budget_ends_unsure():
    def run(groups):
        return [(Outcome(True, unsure="a pair differs by 8 %"), 1.0) for _ in groups]

    verdicts, spent = spend(names(8), run, 50, 5.0)
    assert spent.jobs == 2 and verdicts.of(Word.NOT_SEEN) == names(8) and not verdicts.paths
    assert set(verdicts.reasons.values()) == {
        "its jobs pass, but do not show whether it is slow: a pair differs by 8 %"
    }  # fmt: skip
