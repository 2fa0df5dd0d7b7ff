# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a vet, and its end where the budget is spent."""

import pytest

from fabric_checks.nightly.vetting import budget
from fabric_checks.nightly.vetting.budget import Spent, spend, spend_as_free
from fabric_checks.nightly.vetting.group_tests import Outcome, Word
from fabric_checks.nightly.vetting.machine import Machine, Switches
from tests.nightly.vetting.test_group_tests import names


def simulated(faulty, pass_minutes, fail_minutes):
    """Return a runner on a machine where a job hangs that has one of these nodes."""

    def run(groups):
        bad = [any(node in faulty for node in group) for group in groups]
        return [(Outcome(not each, why="it hung"), fail_minutes if each else pass_minutes) for each in bad]

    return run


@pytest.mark.parametrize(
    ("count", "faults", "cost"),
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
    verdicts, spent = spend(names(count), simulated(faulty, 2.0, 5.0), float("inf"), 5.0)
    assert spent == cost and set(verdicts.of(Word.FAULTY)) == faulty


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


def test_a_budget_that_is_just_enough_is_spent():
    assert spend(names(8), simulated((), 5.0, 5.0), 40, 5.0)[1] == Spent(1, 1, 40.0, 5.0)


class Clock:
    """A clock that goes on when somebody sleeps, and a machine on which other jobs have nodes until some
    minute.

    :param busy_until: by node, in minutes; :param down_at: the minute at which a node goes down, by node.
    """

    def __init__(self, monkeypatch, count, busy_until, down_at=()):
        self.now_s, self.nodes = 0.0, tuple(names(count))
        self.busy_until, self.down_at = busy_until, dict(down_at)
        self.groups = []
        monkeypatch.setattr(budget.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(budget.time, "sleep", self.sleep)

    def sleep(self, seconds):
        assert seconds > 0
        self.now_s += seconds

    def look(self):
        minute = self.now_s / 60
        down = {node: f"{node} is down" for node, at in self.down_at.items() if minute >= at}
        nodes = tuple(node for node in self.nodes if node not in down)
        busy = frozenset(node for node in nodes if self.busy_until.get(node, 0) > minute)
        return Machine("oak:p", "mpich", "fabric-slurm", nodes, down, Switches(), frozenset(down), 8, busy)

    def run(self, groups):
        self.groups += groups
        return simulated({"n6"}, 1.0, 1.0)(groups)

    def vet(self, wait_minutes, budget=1000):
        return spend_as_free(
            self.look(), self.look, self.run, budget=budget, step_minutes=1.0, wait_minutes=wait_minutes
        )


def test_nodes_that_are_busy_are_vetted_when_they_are_free(monkeypatch):
    clock = Clock(monkeypatch, 8, {"n3": 2, "n6": 3, "n7": 60})
    verdicts, spent = clock.vet(10)
    assert clock.groups[0] == ("n0", "n1", "n2", "n4", "n5")
    assert clock.groups[1] == ("n3", "n0", "n1", "n2", "n4", "n5")  # with good ones
    assert verdicts.of(Word.FAULTY) == ["n6"] and verdicts.of(Word.NOT_SEEN) == ["n7"]
    assert verdicts.reasons["n7"] == "other jobs have it; --wait MINUTES goes on when it is free"
    assert clock.now_s == 600 and spent.jobs == len(clock.groups)


def test_a_machine_that_is_free_is_vetted_without_waiting(monkeypatch):
    clock = Clock(monkeypatch, 4, {})
    verdicts, spent = clock.vet(10)
    assert len(verdicts.of(Word.GOOD)) == 4 and clock.now_s == 0 and spent == Spent(1, 1, 4.0, 1.0)


def test_a_machine_that_stays_busy_is_not_seen(monkeypatch):
    clock = Clock(monkeypatch, 3, dict.fromkeys(names(3), 99))
    assert clock.vet(0)[0].of(Word.NOT_SEEN) == names(3) and not clock.groups


def test_a_node_that_goes_down_while_it_is_busy_is_faulty(monkeypatch):
    verdicts, _ = Clock(monkeypatch, 4, {"n3": 99}, {"n3": 1}).vet(2)
    assert verdicts.of(Word.FAULTY) == ["n3"] and verdicts.reasons["n3"] == "n3 is down"


def test_jobs_that_never_begin_are_tried_again_until_the_wait_is_over(monkeypatch):
    clock = Clock(monkeypatch, 4, {})

    def run(groups):
        clock.groups += groups
        begins = len(clock.groups) > 2
        return [
            (Outcome(begins, why="" if begins else "job 7 is still waiting", waited=not begins), 0.0)
            for _ in groups
        ]

    clock.run = run
    verdicts, _ = clock.vet(10)
    assert verdicts.of(Word.GOOD) == names(4) and len(clock.groups) == 3
    clock.groups.clear()
    verdicts, _ = clock.vet(0)
    assert verdicts.of(Word.NOT_SEEN) == names(4) and set(verdicts.reasons.values()) == {
        "job 7 is still waiting"
    }


def test_a_spent_budget_ends_the_wait(monkeypatch):
    clock = Clock(monkeypatch, 4, {"n3": 1})
    verdicts, spent = clock.vet(10, budget=3)
    assert spent.node_minutes == 3 and clock.now_s < 120
    assert (
        verdicts.of(Word.NOT_SEEN) == ["n3"]
        and "the budget of 3 node-minutes is too small: 3 are" in verdicts.reasons["n3"]
    )
