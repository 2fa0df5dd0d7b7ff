# SPDX-License-Identifier: BSD-3-Clause
"""The planner, on machines whose faults are known: nodes and ways that fail, named by the scheduler or not."""

import math
import random
from dataclasses import replace

import pytest

from fabric_checks.nightly.vetting.planning import Outcome, Word, started


def names(count):
    return [f"n{number}" for number in range(count)]


class Machine:
    """A machine that answers as it is made, and counts; every round has to be of disjoint groups of two and more."""

    def __init__(self, count, faulty=(), paths=(), slow=(), named=(), least=4):
        #: Of fewer nodes than `least` a slow one has too few others that it could be held to.
        self.least = least
        self.nodes, self.faulty, self.slow, self.named = names(count), set(faulty), slow, set(named)
        self.paths = [set(path) for path in paths]
        self.jobs = self.rounds = 0

    def outcome(self, group):
        assert len(group) >= 2 and len(set(group)) == len(group)
        hit = self.faulty & set(group)
        bad = bool(hit) or any(path <= set(group) for path in self.paths)
        told = {node: "is down" for node in hit & self.named}
        seen = not bad and len(group) >= self.least
        slow = {node: f"{node} sends at 0.5" for node in group if node in self.slow} if seen else {}
        return Outcome(not bad, told, slow, why="it hung")

    def vet(self):
        _, rounds = started(self.nodes)
        answers = None
        while True:
            try:
                groups = rounds.send(answers)
            except StopIteration as end:
                return end.value
            assert len({node for group in groups for node in group}) == sum(map(len, groups))
            self.jobs += len(groups)
            self.rounds += 1
            answers = [self.outcome(group) for group in groups]


def test_a_healthy_machine_takes_one_job():
    machine = Machine(9)
    found = machine.vet()
    assert found.of(Word.GOOD) == machine.nodes and machine.jobs == 1 and not found.paths and not found.reasons


@pytest.mark.parametrize("count", [3, 5, 8, 64, 232])
def test_every_single_faulty_node_is_named_in_so_many_jobs(count):
    for node in names(count):
        machine = Machine(count, [node])
        found = machine.vet()
        assert found.of(Word.FAULTY) == [node] and len(found.of(Word.GOOD)) == count - 1 and not found.paths
        assert "it hung" in found.reasons[node] and "with the healthy n" in found.reasons[node]
        # And one of all good ones together.
        assert machine.jobs <= 1 + 2 * math.ceil(math.log2(count)) + 1
        assert machine.rounds <= 4 + math.ceil(math.log(count, 4)) + 1


@pytest.mark.parametrize("count", [6, 8, 50])
def test_a_slow_node_is_named_although_another_hangs(count):
    """In the small jobs that find the one, the other looks like its partner."""
    for node in names(count)[1:]:
        found = Machine(count, ["n0"], slow=[node]).vet()
        assert found.of(Word.FAULTY) == ["n0"] and found.of(Word.SLOW) == [node] and not found.paths


class Noisy(Machine):
    """A machine on which so many jobs that pass do not tell who is slow."""

    def __init__(self, *how, unsure, **more):
        super().__init__(*how, **more)
        self.unsure = unsure

    def outcome(self, group):
        found = super().outcome(group)
        if not found.passed or self.unsure <= 0:
            return found
        self.unsure -= 1
        return replace(found, slow={}, unsure="a pair differs by 8 %")


def test_jobs_are_repeated_that_do_not_tell_who_is_slow():
    machine = Noisy(8, slow=["n4"], unsure=2)
    found = machine.vet()
    assert found.of(Word.SLOW) == ["n4"] and len(found.of(Word.GOOD)) == 7 and not found.paths
    assert machine.jobs == 3
    beside = Noisy(8, ["n0"], slow=["n4"], unsure=5)
    found = beside.vet()
    assert (found.of(Word.FAULTY), found.of(Word.SLOW)) == (["n0"], ["n4"]) and len(found.of(Word.GOOD)) == 6


def test_no_node_is_good_whose_jobs_are_all_unsure():
    machine = Noisy(8, slow=["n4"], unsure=99)
    found = machine.vet()
    assert found.of(Word.NOT_SEEN) == machine.nodes and not found.paths and machine.jobs == 4
    assert found.reasons["n4"] == "its jobs pass, but do not show whether it is slow: a pair differs by 8 %"
    found = Noisy(8, ["n3"], unsure=99).vet()
    assert found.of(Word.FAULTY) == ["n3"] and len(found.of(Word.NOT_SEEN)) == 7


def test_nodes_not_tested_all_together_are_noted():
    """Where a path fails, no job of all nodes can pass; those before the one and the one itself did."""
    found = Machine(8, paths=[("n1", "n6")]).vet()
    assert found.paths and any("at most 6 at a time" in note for note in found.notes), found.notes


def test_nodes_that_are_good_in_small_jobs_only_are_no_path():
    """One node hangs, and no job of seven nodes or more comes to its end."""

    class Large(Machine):
        def outcome(self, group):
            found = super().outcome(group)
            return found if len(group) < 7 else Outcome(False, why="it is too large")

    found = Large(16, ["n3"]).vet()
    assert found.of(Word.FAULTY) == ["n3"] and len(found.of(Word.GOOD)) == 15
    assert any("it is too large" in path for path in found.paths), found.paths


@pytest.mark.parametrize("seed", range(40))
def test_several_faulty_nodes_are_all_named_and_nobody_else(seed):
    random_ = random.Random(seed)
    count = random_.randrange(6, 300)
    faulty = set(random_.sample(names(count), random_.randrange(2, 1 + min(6, count // 3))))
    named = {node for node in faulty if random_.random() < 0.3}
    machine = Machine(count, faulty, named=named)
    found = machine.vet()
    assert set(found.of(Word.FAULTY)) == faulty and len(found.of(Word.GOOD)) == count - len(faulty)
    assert machine.jobs <= 1 + 3 * len(faulty) * math.ceil(math.log2(count))


@pytest.mark.parametrize("count", [2, 3, 8, 50])
def test_a_faulty_path_between_two_nodes_blames_neither(count):
    for one, other in [("n0", f"n{count - 1}"), ("n0", "n1"), (f"n{count // 2}", f"n{count - 1}")]:
        if one == other:
            continue
        machine = Machine(count, paths=[(one, other)])
        found = machine.vet()
        if count == 2:
            assert found.of(Word.NOT_SEEN) == ["n0", "n1"]  # nobody is healthy for certain
            continue
        (path,) = found.paths
        assert f"the path between {one} and {other} fails" in path and "each side passes by itself" in path
        assert found.of(Word.GOOD) == machine.nodes


@pytest.mark.parametrize("count", [5, 6, 13, 64, 232])
def test_every_faulty_path_is_found_wherever_it_is(count):
    """Also between two parts of one half, which four parts that all pass do not tell."""
    random_ = random.Random(count)
    for _ in range(20):
        one, other = random_.sample(range(count), 2)
        machine = Machine(count, paths=[(f"n{one}", f"n{other}")])
        found = machine.vet()
        (path,) = found.paths
        assert f"between n{min(one, other)} and n{max(one, other)} fails" in path
        assert found.of(Word.GOOD) == machine.nodes
        assert machine.rounds <= 6 + 2 * math.ceil(math.log2(count))


def test_a_failure_that_does_not_come_back_blames_nobody():
    verdicts, rounds = started(names(8))
    groups = next(rounds)
    first = True
    try:
        while True:
            groups = rounds.send([Outcome(passed=not first, why="it hung") for _ in groups])
            first = False
    except StopIteration:
        pass
    assert verdicts.of(Word.GOOD) == names(8)
    assert verdicts.paths == [
        "a job on n0, n1, n2, n3, n4, n5, n6, n7 failed, but not when it was repeated: nothing is blamed"
    ]


def test_jobs_that_fail_because_they_are_large_blame_nobody_and_say_why():
    """As where a job of all nodes takes longer than its limit."""

    class Large(Machine):
        def outcome(self, group):
            return Outcome(len(group) < 6, why="it ran over its time limit")

    found = Large(8).vet()
    assert found.of(Word.GOOD) == names(8)
    (path,) = found.paths
    assert "some paths fail only together" in path and path.endswith("its last failure was: it ran over its time limit")


def test_where_all_fail_nobody_is_blamed():
    machine = Machine(6, names(6))
    found = machine.vet()
    assert found.of(Word.NOT_SEEN) == names(6) and "no healthy node was found" in found.reasons["n3"]


def test_nodes_that_the_scheduler_names_are_believed_and_the_rest_retested():
    machine = Machine(100, ["n7"], named=["n7"])
    found = machine.vet()
    assert found.of(Word.FAULTY) == ["n7"] and machine.jobs == 2 and found.reasons["n7"] == "is down"


def test_the_notes_of_each_passing_job_are_kept():
    verdicts, rounds = started(names(3))
    next(rounds)
    with pytest.raises(StopIteration):
        rounds.send([Outcome(True, notes=("a tenth it would not have seen",))])
    assert verdicts.notes == ["on n0, n1, n2: a tenth it would not have seen"]


def test_a_slow_node_is_no_faulty_one_and_not_good_either():
    machine = Machine(8, ["n2"], slow=["n5"])
    found = machine.vet()
    assert (found.of(Word.FAULTY), found.of(Word.SLOW)) == (["n2"], ["n5"])
    assert found.reasons["n5"] == "n5 sends at 0.5" and len(found.of(Word.GOOD)) == 6


def test_a_slow_node_is_nobodys_healthy_partner():
    machine = Machine(3, ["n2"], slow=["n0"], least=2)
    found = machine.vet()
    assert (
        found.of(Word.FAULTY) == ["n2"]
        and found.of(Word.SLOW) == ["n0"]
        and "fail with n1, the only healthy" in found.reasons["n2"]
    )
