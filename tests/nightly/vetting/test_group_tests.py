# SPDX-License-Identifier: BSD-3-Clause
"""The planner, on machines whose faults are known: nodes and ways that fail, named by the scheduler or
not."""

import math
import random

import pytest

from fabric_checks.nightly.vetting.group_tests import Outcome, Vet, Word


def names(count):
    return [f"n{number}" for number in range(count)]


class Machine:
    """A machine that answers as it is made, and counts; every round has to be of disjoint groups of two and
    more.

    :param paths: pairs of nodes that fail together; :param named: faulty nodes that the scheduler names.
    :param slow: nodes that are seen among ``least`` nodes and more.
    :param largest: a larger job runs over its limit; :param unsure: so many jobs do not show who is slow.
    :param block: so many nodes are a block: Slurm accepts named nodes only if they fit one of the smallest
        size, that or twice it and so on, that holds as many.
    """

    def __init__(
        self,
        count,
        faulty=(),
        paths=(),
        slow=(),
        named=(),
        least=4,
        largest=math.inf,
        unsure=0,
        block=None,
    ):
        self.block = block
        self.nodes, self.faulty, self.slow, self.named = (
            names(count),
            set(faulty),
            set(slow),
            set(named),
        )
        self.paths = [set(path) for path in paths]
        self.least, self.largest, self.unsure = least, largest, unsure
        self.jobs = self.rounds = 0

    def accepts(self, group):
        size = self.block or len(self.nodes)
        while size < len(group):
            size *= 2
        return len({int(node[1:]) // size for node in group}) == 1

    def outcome(self, group):
        assert len(group) >= 2 and len(set(group)) == len(group)
        if not self.accepts(group):
            return Outcome(
                False, why="Requested node configuration is not available", refused=True
            )
        hit = self.faulty & set(group)
        if len(group) > self.largest:
            return Outcome(False, why="it ran over its time limit")
        if hit or any(path <= set(group) for path in self.paths):
            return Outcome(
                False, {node: "is down" for node in hit & self.named}, why="it hung"
            )
        self.unsure -= 1
        if self.unsure >= 0:
            return Outcome(True, unsure="a pair differs by 8 %")
        seen = self.slow.intersection(group) if len(group) >= self.least else ()
        return Outcome(
            True,
            slow={node: f"{node} sends at 0.5" for node in seen},
            notes=("it sees a tenth",),
        )

    def vet(self):
        blocks = (
            {node: f"b{int(node[1:]) // self.block}" for node in self.nodes}
            if self.block
            else None
        )
        vet = Vet(self.nodes, self.run, blocks)
        vet.judge()
        return vet.verdicts

    def run(self, groups):
        assert len({node for group in groups for node in group}) == sum(
            map(len, groups)
        )
        self.jobs += len(groups)
        self.rounds += 1
        return [self.outcome(group) for group in groups]


def answered(nodes, *outcomes):
    """Return the verdicts, and the rounds that were run, given the outcomes of each, of which the last counts
    for all that follow."""
    rounds = []

    def run(groups):
        rounds.append(groups)
        found = outcomes[min(len(rounds), len(outcomes)) - 1]
        return found if len(found) == len(groups) else found * len(groups)

    vet = Vet(nodes, run)
    vet.judge()
    return vet.verdicts, rounds


def test_a_healthy_machine_takes_one_job():
    machine = Machine(9)
    found = machine.vet()
    assert (found.of(Word.GOOD), machine.jobs, found.paths) == (machine.nodes, 1, [])
    assert found.notes == ["9 nodes at once: it sees a tenth"] and not found.reasons


def test_what_the_job_that_saw_the_most_would_have_named_is_noted():
    """A smaller job, or one that is not sure, changes nothing."""
    found = Machine(8, ["n0"], unsure=0).vet()
    assert found.notes == ["7 nodes at once: it sees a tenth"]


@pytest.mark.parametrize("count", [3, 5, 8, 64, 232])
def test_every_single_faulty_node_is_named_in_so_many_jobs(count):
    for node in names(count):
        machine = Machine(count, [node])
        found = machine.vet()
        assert (
            found.of(Word.FAULTY) == [node]
            and len(found.of(Word.GOOD)) == count - 1
            and not found.paths
        )
        assert (
            "it hung" in found.reasons[node]
            and "with the healthy n" in found.reasons[node]
        )
        # And one of all good ones together.
        assert machine.jobs <= 1 + 2 * math.ceil(math.log2(count)) + 1
        assert machine.rounds <= 4 + math.ceil(math.log(count, 4)) + 1


@pytest.mark.parametrize("count", [6, 8, 50])
def test_a_slow_node_is_named_although_another_hangs(count):
    """In the small jobs that find the one, the other looks like its partner."""
    for node in names(count)[1:]:
        found = Machine(count, ["n0"], slow=[node]).vet()
        assert (
            found.of(Word.FAULTY) == ["n0"]
            and found.of(Word.SLOW) == [node]
            and not found.paths
        )
        assert found.reasons[node] == f"{node} sends at 0.5"


@pytest.mark.parametrize("faulty, unsure, jobs", [([], 2, 3), (["n0"], 5, 9)])
def test_jobs_are_repeated_that_do_not_show_who_is_slow(faulty, unsure, jobs):
    machine = Machine(8, faulty, slow=["n4"], unsure=unsure)
    found = machine.vet()
    assert (found.of(Word.FAULTY), found.of(Word.SLOW), machine.jobs) == (
        faulty,
        ["n4"],
        jobs,
    )
    assert len(found.of(Word.GOOD)) == 7 - len(faulty) and not found.paths


@pytest.mark.parametrize("faulty", [[], ["n3"]])
def test_no_node_is_good_whose_jobs_are_all_unsure(faulty):
    found = Machine(8, faulty, slow=["n4"], unsure=99).vet()
    assert (
        found.of(Word.FAULTY) == faulty
        and len(found.of(Word.NOT_SEEN)) == 8 - len(faulty)
        and not found.paths
    )
    assert (
        found.reasons["n4"]
        == "its jobs pass, but do not show whether it is slow: a pair differs by 8 %"
    )


def test_nodes_not_tested_all_together_are_noted():
    """Where a path fails, no job of all nodes can pass; those before the one and the one itself did."""
    found = Machine(8, paths=[("n1", "n6")]).vet()
    assert found.paths and any("at most 6 at a time" in note for note in found.notes), (
        found.notes
    )


@pytest.mark.parametrize("seed", range(40))
def test_several_faulty_nodes_are_all_named_and_nobody_else(seed):
    random_ = random.Random(seed)
    count = random_.randrange(6, 300)
    faulty = set(
        random_.sample(names(count), random_.randrange(2, 1 + min(6, count // 3)))
    )
    named = {node for node in faulty if random_.random() < 0.3}
    machine = Machine(count, faulty, named=named)
    found = machine.vet()
    assert set(found.of(Word.FAULTY)) == faulty and len(
        found.of(Word.GOOD)
    ) == count - len(faulty)
    assert machine.jobs <= 1 + 3 * len(faulty) * math.ceil(math.log2(count))


@pytest.mark.parametrize("count", [3, 5, 6, 8, 13, 64, 232])
def test_every_faulty_path_is_found_wherever_it_is_and_blames_no_node(count):
    random_ = random.Random(count)
    drawn = [sorted(random_.sample(range(count), 2)) for _ in range(20)]
    for one, other in [(0, 1), (0, count - 1), (count - 2, count - 1), *drawn]:
        machine = Machine(count, paths=[(f"n{one}", f"n{other}")])
        found = machine.vet()
        (path,) = found.paths
        assert (
            f"the path between n{one} and n{other} fails: each side passes by itself"
            in path
            and "it hung" in path
        )
        assert found.of(Word.GOOD) == machine.nodes
        assert machine.rounds <= 6 + 2 * math.ceil(math.log2(count))


@pytest.mark.parametrize(
    "count, faulty, paths", [(2, [], [("n0", "n1")]), (6, names(6), [])]
)
def test_where_no_node_is_healthy_nobody_is_blamed(count, faulty, paths):
    found = Machine(count, faulty, paths).vet()
    assert found.of(Word.NOT_SEEN) == names(count) and not found.paths
    assert (
        found.reasons["n1"]
        == "its jobs fail, and no healthy node was found to test it with: it hung"
    )


def test_a_failure_that_does_not_come_back_blames_nobody():
    verdicts, _ = answered(names(8), [Outcome(False, why="it hung")], [Outcome(True)])
    assert verdicts.of(Word.GOOD) == names(8)
    assert verdicts.paths == [
        "a job on n0, n1, n2, n3, n4, n5, n6, n7 failed, but not when it was repeated: nothing is blamed"
    ]


@pytest.mark.parametrize("count, faulty, largest", [(8, [], 5), (16, ["n3"], 6)])
def test_jobs_that_fail_because_they_are_large_blame_nobody_and_say_why(
    count, faulty, largest
):
    found = Machine(count, faulty, largest=largest).vet()
    assert found.of(Word.FAULTY) == faulty and len(found.of(Word.GOOD)) == count - len(
        faulty
    )
    (path,) = found.paths
    assert "some paths fail only together" in path and path.endswith(
        "failure was: it ran over its time limit"
    )


def test_a_node_that_is_named_when_the_job_is_repeated_is_no_path():
    verdicts, rounds = answered(
        names(4),
        [Outcome(False, why="it hung")],
        [Outcome(True), Outcome(True)],
        [Outcome(False, {"n1": "is down"}, why="n1 is down")],
        [Outcome(True)],
    )
    assert rounds == [
        [tuple(names(4))],
        [("n0", "n1"), ("n2", "n3")],
        [tuple(names(4))],
        [("n0", "n2", "n3")],
    ]
    assert verdicts.of(Word.FAULTY) == ["n1"] and not verdicts.paths


def test_two_good_nodes_are_tested_again_if_unsure_and_one_never_alone():
    _, rounds = answered(
        names(2),
        [Outcome(True, unsure="noise")],
        [Outcome(True, slow={"n1": "n1 sends at 0.5"}, unsure="noise")],
    )
    assert rounds == [[("n0", "n1")]] * 2


@pytest.mark.parametrize("job", [1, 2, 3, 6])
def test_a_vet_ends_at_a_job_that_never_began_and_blames_nobody_for_it(job):
    """Whichever job it is; what was seen before stays."""
    machine = Machine(8, ["n2"], slow=["n5"])
    whole, count = machine.outcome, [0]

    def outcome(group):
        count[0] += 1
        return (
            Outcome(False, why="job 7 is still waiting", waited=True)
            if count[0] >= job
            else whole(group)
        )

    machine.outcome = outcome
    found = machine.vet()
    assert not found.paths
    assert set(found.of(Word.FAULTY)) <= {"n2"} and set(found.of(Word.SLOW)) <= {"n5"}
    assert {found.reasons[node] for node in found.of(Word.NOT_SEEN)} <= {
        "job 7 is still waiting"
    }
    assert (job > 1) or found.of(Word.NOT_SEEN) == machine.nodes


@pytest.mark.parametrize("seed", range(80))
def test_no_node_is_blamed_for_jobs_that_the_scheduler_refuses(seed):
    """Named nodes have to fit one block: healthy ones were called faulty, and a command would drain them."""
    draw = random.Random(seed)
    if seed < 40:
        block = draw.choice([2, 3, 4, 9, 18])
        count = block * 2 ** draw.randrange(2, 7)
    else:  # 72 to 1,152 nodes, and numbers of blocks that are no power of two
        block = draw.randrange(2, 19)
        count = block * draw.randrange(math.ceil(72 / block), 1152 // block + 1)
    faulty = draw.sample(names(count), draw.randrange(1, 4))
    machine = Machine(count, faulty, block=block)
    found = machine.vet()
    assert set(found.of(Word.FAULTY)) <= set(faulty)
    # A faulty node is found where its block has two healthy ones, which pass with each other.
    blocks = [set(machine.nodes[at : at + block]) for at in range(0, count, block)]
    shown = set().union(*(own for own in blocks if len(own - set(faulty)) > 1))
    assert set(faulty) & shown == set(found.of(Word.FAULTY))
    assert shown.isdisjoint(found.of(Word.NOT_SEEN))
