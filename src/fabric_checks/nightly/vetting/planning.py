# SPDX-License-Identifier: BSD-3-Clause
"""Plan a vet: which groups of nodes to test next, and the verdict on each node.

All nodes are one group at first. A group whose job fails without a node being named is split into four parts, which are
tested at once, and so on; a node that is left alone is tested with a partner that is known to be healthy. That takes at
most about ``2 log2 N`` jobs for each faulty node, as many as with halves, in half as many rounds: where a node hangs,
each round lasts as long as a job may. If all parts of a group that failed pass, its halves are tested; if both halves
of a group pass, the group is tested again; if it fails again, the fault is on a way between the halves, which is
narrowed by halving one side and then the other.

A slow node is seen only among good ones: if these passed in several jobs, all are tested together at the end, at most
three times if measurements differ so much that nothing is certain of nodes that look slow.

Nothing here starts anything: :func:`started` gives a generator of rounds, which is sent their outcomes.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from fabric_checks.core.text import names_text

Group = tuple[str, ...]


class Word(Enum):
    """The verdict on a node."""

    GOOD = "good"
    SLOW = "slow"
    FAULTY = "faulty"
    NOT_SEEN = "not seen"


@dataclass(frozen=True)
class Outcome:
    """The outcome of the job of a group.

    :param passed: whether the program ran to its end on all nodes, at any speed.
    :param faulty: nodes that the scheduler or the job names as the cause of its failure, with the reason.
    :param slow: nodes that the program measured and blames, with the reason; :param paths: the same for paths.
    :param why: why it failed, in a line; :param notes: the smallest faults that the program would have seen.
    :param unsure: why it does not show which nodes are slow, in a line; empty if it does.
    """

    passed: bool
    faulty: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    unsure: str = ""


@dataclass
class Verdicts:
    """The verdicts so far.

    :param words: of each node, in order; :param reasons: why, for those that are not good.
    :param paths: paths that are slow or faulty, and failures that did not repeat, a line each.
    :param notes: how slow a node had to be to be seen, a line for each job that reports it.
    :param unsure: why no job of a good node shows whether it is slow.
    """

    words: dict[str, Word]
    reasons: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unsure: dict[str, str] = field(default_factory=dict)

    def note(self, node: str, word: Word, reason: str = "") -> None:
        """Note the verdict on a node; a fault is never taken back."""
        if self.words[node] is Word.FAULTY or (self.words[node] is Word.SLOW and word is not Word.FAULTY):
            return
        self.words[node] = word
        self.reasons.pop(node, None)
        if reason:
            self.reasons[node] = reason

    def settle(self) -> None:
        """Withdraw the verdict ``good`` on nodes whose jobs do not show whether they are slow."""
        for node, why in self.unsure.items():
            self.note(node, Word.NOT_SEEN, f"its jobs pass, but do not show whether it is slow: {why}")

    def of(self, word: Word) -> list[str]:
        """Return the nodes with a verdict."""
        return [node for node, verdict in self.words.items() if verdict is word]


@dataclass
class _Task:
    """A group to be tested.

    ``parts`` are those that it was split into; with ``by_halves`` that is into two. ``tried`` are the partners with
    which a node alone has failed already.
    """

    members: Group
    passed: bool | None = None
    parent: _Task | None = None
    parts: list[_Task] = field(default_factory=list)
    by_halves: bool = False
    partner: str | None = None
    tried: list[str] = field(default_factory=list)

    @property
    def group(self) -> Group:
        return (*self.members, self.partner) if self.partner else self.members


@dataclass
class _Cross:
    """Two groups that pass by themselves and fail together.

    ``stage`` is which side is being halved, ``why`` what a job on both failed of last.
    """

    left: Group
    right: Group
    stage: str = "again"
    tried: Group = ()
    why: str = ""

    def next_group(self) -> Group:
        if self.stage == "left":
            self.tried = self.left[: len(self.left) // 2]
            return self.tried + self.right
        if self.stage == "right":
            self.tried = self.right[: len(self.right) // 2]
            return self.left + self.tried
        return self.left + self.right


Round = list[Group]


def started(nodes: Sequence[str]) -> tuple[Verdicts, Generator[Round, list[Outcome], Verdicts]]:
    """Return the verdicts, which grow, and a generator of rounds: disjoint groups of two nodes or more to test at once.

    The generator is sent an outcome for each group of a round, in their order, and returns the verdicts. Closed before
    its end, it leaves its notes in them.

    :param nodes: at least two, each once.
    """
    verdicts = Verdicts(dict.fromkeys(nodes, Word.NOT_SEEN))
    return verdicts, _rounds(verdicts, tuple(nodes))


def _rounds(verdicts: Verdicts, nodes: Group) -> Generator[Round, list[Outcome], Verdicts]:
    tasks: list[_Task] = [_Task(nodes)]
    crosses: list[_Cross] = []
    blind = _Blind()
    largest: Group = ()
    why: dict[str, str] = {}
    while True:
        ready, tasks = _with_partners(verdicts, tasks, crosses)
        pairs = blind.pairs(tasks) if not ready and not crosses else []
        groups = [task.group for task in ready] + [cross.next_group() for cross in crosses] + pairs
        if not groups:
            yield from _together(verdicts, largest)
            break
        outcomes = yield groups
        for group, outcome in zip(groups, outcomes, strict=True):
            _note(verdicts, group, outcome)
            blind.note(group, outcome)
            why |= dict.fromkeys(() if outcome.passed else group, outcome.why)
            largest = max(largest, group, key=len) if outcome.passed and not outcome.unsure else largest
        of_tasks, others = outcomes[: len(ready)], outcomes[len(ready) :]
        crosses = [
            cross
            for cross, outcome in zip(crosses, others, strict=False)
            if not _narrowed(verdicts, cross, outcome)
        ]  # fmt: skip
        for task, outcome in zip(ready, of_tasks, strict=True):
            tasks += _after(verdicts, task, outcome)
            _go_on(task, tasks, crosses)
        tasks = _without_settled(verdicts, tasks, crosses)
    for task in tasks:
        for node in task.members:
            last = f": {why[node]}" if why.get(node) else ""
            verdicts.note(node, Word.NOT_SEEN, f"its jobs fail, and no healthy node was found to test it with{last}")
    verdicts.settle()
    return verdicts


#: How often all good nodes are tested together, if that leaves open which are slow.
MOST_TOGETHER = 3


def _together(verdicts: Verdicts, largest: Group) -> Generator[Round, list[Outcome]]:
    """Test all good nodes in one job, unless a job did that, or some are known to fail together.

    :param largest: the largest group that has passed, of those whose job shows which nodes are slow.
    """
    for _ in range(MOST_TOGETHER):
        good = tuple(verdicts.of(Word.GOOD))
        if len(good) < 2 or set(good) <= set(largest):
            return
        if verdicts.paths:
            verdicts.notes.append(
                f"the good nodes were not tested all together, but at most {len(largest)} at a time: among few nodes a "
                "slow one may look like the others"
            )
            return
        (outcome,) = yield [good]
        _note(verdicts, good, outcome)
        if not outcome.passed and not outcome.faulty:
            verdicts.paths.append(
                f"a job on all nodes that passed in smaller ones, {_listed(good)}, failed: {outcome.why}"
            )
        if not outcome.passed or not outcome.unsure:
            return


#: Into so many parts a group is split.
PARTS = 4
#: How often nodes are paired without knowing one that is healthy.
MOST_BLIND = 3


class _Blind:
    """Pairs of nodes alone where none is known to be healthy: one that passes is two that are."""

    def __init__(self) -> None:
        self.failed: set[frozenset[str]] = set()
        self.left = MOST_BLIND

    def note(self, group: Group, outcome: Outcome) -> None:
        if not outcome.passed:
            self.failed.add(frozenset(group))

    def pairs(self, tasks: Sequence[_Task]) -> list[Group]:
        """Return disjoint pairs that have not failed yet; none if that was tried often enough."""
        free = [task.members[0] for task in tasks]
        found: list[Group] = []
        while self.left and free:
            one = free.pop(0)
            other = next((node for node in free if {one, node} not in self.failed), None)
            if other:
                free.remove(other)
                found.append((one, other))
        self.left -= bool(found)
        return found


def _without_settled(verdicts: Verdicts, tasks: Sequence[_Task], crosses: list[_Cross]) -> list[_Task]:
    """Return the tasks that are left without single nodes that have a verdict, as partners may, and what follows."""
    left: list[_Task] = []
    for task in tasks:
        word = verdicts.words[task.members[0]] if len(task.members) == 1 else Word.NOT_SEEN
        if word in (Word.GOOD, Word.SLOW) and not task.tried:
            task.passed = True
            _go_on(task, left, crosses)
        elif word is not Word.FAULTY:
            left.append(task)
    return left


def _with_partners(
    verdicts: Verdicts, tasks: list[_Task], crosses: Sequence[_Cross]
) -> tuple[list[_Task], list[_Task]]:
    """Return the tasks that can be tested in this round, nodes alone with a healthy partner, and the rest.

    A partner that was not in the group which failed comes first: then the node is all that both have in common.
    """
    busy = {node for task in tasks for node in task.members}
    busy |= {node for cross in crosses for node in cross.left + cross.right}
    healthy = [node for node in verdicts.of(Word.GOOD) if node not in busy]
    ready, rest = [], []
    for task in tasks:
        if len(task.members) == 1:
            fit = [node for node in healthy if node not in task.tried]
            if not fit:
                rest.append(task)
                continue
            before = task.parent.members if task.parent else ()
            task.partner = next((node for node in fit if node not in before), fit[0])
            healthy.remove(task.partner)
        ready.append(task)
    return ready, rest


def _note(verdicts: Verdicts, group: Group, outcome: Outcome) -> None:
    for node, why in outcome.faulty.items():
        if node in group:
            verdicts.note(node, Word.FAULTY, why)
    for node, why in outcome.slow.items():
        if node in group:
            verdicts.note(node, Word.SLOW, why)
    verdicts.paths += [path for path in outcome.paths if path not in verdicts.paths]
    if outcome.passed:
        verdicts.notes += [f"on {_listed(group)}: {note}" for note in outcome.notes]
        for node in group:
            verdicts.note(node, Word.GOOD)
            if outcome.unsure:
                verdicts.unsure.setdefault(node, outcome.unsure)
            else:
                verdicts.unsure.pop(node, None)


def _after(verdicts: Verdicts, task: _Task, outcome: Outcome) -> list[_Task]:
    """Return the tasks that follow a task."""
    task.passed = outcome.passed
    if outcome.passed:
        return []
    named = [node for node in task.group if node in outcome.faulty]
    if named:
        left = tuple(node for node in task.members if node not in named)
        return [_Task(left)] if left else []
    if len(task.members) == 1 and task.partner:
        return _alone(verdicts, task, task.partner, outcome)
    # Nodes alone need a healthy partner, which four parts of four nodes may not leave.
    return _split(task, max(2, min(PARTS, len(task.members) // 2)))


def _split(task: _Task, parts: int) -> list[_Task]:
    """Return the parts of a task, as even as can be."""
    parts = 2 if task.by_halves else parts
    edges = [-(-len(task.members) * number // parts) for number in range(parts + 1)]
    task.parts = [
        _Task(task.members[start:end], parent=task, by_halves=task.by_halves) for start, end in pairwise(edges)
    ]
    return list(task.parts)


def _alone(verdicts: Verdicts, task: _Task, partner: str, outcome: Outcome) -> list[_Task]:
    """Blame a node that failed with a healthy partner, unless the way between the two may be to blame as well."""
    node = task.members[0]
    task.tried.append(partner)
    in_common = task.parent is not None and partner in task.parent.members
    if len(task.tried) > 1 or not in_common:
        with_ = " and ".join(task.tried)
        verdicts.note(node, Word.FAULTY, f"its jobs fail, also with the healthy {with_}: {outcome.why}")
        return []
    others = [other for other in verdicts.of(Word.GOOD) if other not in task.tried]
    if others:
        return [task]
    verdicts.note(
        node,
        Word.FAULTY,
        f"its jobs fail with {partner}, the only healthy node: {outcome.why}; the node or the path to it",
    )
    return []


def _go_on(task: _Task, tasks: list[_Task], crosses: list[_Cross]) -> None:
    """Add the tests that follow a group all of whose parts have passed, once: when the last of them is done."""
    parent = task.parent
    if parent is None or not parent.parts or not all(part.passed for part in parent.parts):
        return
    parts, parent.parts = parent.parts, []
    if len(parts) == 2:
        crosses.append(_Cross(parts[0].members, parts[1].members))
    else:
        parent.by_halves = True
        tasks += _split(parent, 2)


def _narrowed(verdicts: Verdicts, cross: _Cross, outcome: Outcome) -> bool:
    """Narrow two groups that fail together; return whether that is finished."""
    one = f"{_listed(cross.left)} and {_listed(cross.right)}"
    if outcome.faulty:
        return True  # a node of them has a name now
    if not outcome.passed:
        cross.why = outcome.why
    if cross.stage == "again":
        if outcome.passed:
            verdicts.paths.append(f"a job on {one} failed, but not when it was repeated: nothing is blamed")
            return True
    elif cross.stage == "left":
        cross.left = cross.left[len(cross.tried) :] if outcome.passed else cross.tried
    elif cross.stage == "right":
        cross.right = cross.right[len(cross.tried) :] if outcome.passed else cross.tried
    elif cross.stage == "last":
        fails = f"the path between {one} fails: each side passes by itself, both together do not"
        verdicts.paths.append(
            f"{fails} ({outcome.why})" if not outcome.passed else
            "some paths fail only together: groups of nodes that pass by themselves fail with each other, but no "
            f"single pair fails; the last tried is {one}, and the last failure said: {cross.why}"
        )  # fmt: skip
        return True
    cross.stage = "left" if len(cross.left) > 1 else "right" if len(cross.right) > 1 else "last"
    return False


def _listed(group: Group, most: int = 8) -> str:
    return names_text(group, most)
