# SPDX-License-Identifier: BSD-3-Clause
"""Plan a vet: which groups of nodes to test next, and the verdict on each node.

All nodes are one group at first. A group whose job fails without a node being named is split into four parts,
which are tested at once, and so on; a node that is left alone is tested with a partner that is known to be
healthy. That takes at most about ``2 log2 N`` jobs for each faulty node, as many as with halves, in half as
many rounds: where a node hangs, each round lasts as long as a job may.

A group that failed although all of its nodes turn out to be good is tested again; if it fails again, two
bisections find the two nodes that fail together: the shortest part of the list that fails ends with one of
them, and the shortest part of that in reverse order with the other.

A slow node is seen only among good ones: if these passed in several jobs, all are tested together at the end,
at most three times if measurements differ so much that nothing is certain of nodes that look slow.

A job that the scheduler does not accept says nothing of its nodes: with blocks (topology/block), Slurm
refuses named nodes that do not fit one of the smallest size that holds as many. So groups are cut along
switches or blocks, and a partner of the same one comes first.

Nothing here starts anything: :class:`Vet` is given what tests a round of groups.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, pairwise

from fabric_checks.core.grouping import by_key
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
    :param slow: nodes that the program measured and blames, with the reason; :param paths: the same for
        paths.
    :param why: why it failed, in a line; :param notes: the smallest faults that the program would have seen.
    :param unsure: why it does not show which nodes are slow, in a line; empty if it does.
    :param waited: whether it never began, and no node is the cause: others have the nodes, and nothing is
        known.
    :param refused: whether the scheduler did not accept it, which says nothing of the nodes either.
    """

    passed: bool
    faulty: Mapping[str, str] = field(default_factory=dict)
    slow: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    why: str = ""
    notes: tuple[str, ...] = ()
    unsure: str = ""
    waited: bool = False
    refused: bool = False

    @property
    def failed(self) -> bool:
        """Whether it ran, and not to its end."""
        return not (self.passed or self.refused)


@dataclass
class Verdicts:
    """The verdicts so far.

    :param words: of each node, in order; :param reasons: why, for those that are not good.
    :param paths: paths that are slow or faulty, and failures that did not repeat, a line each.
    :param notes: how slow a node had to be to be seen, by the job that saw the most nodes, and what was left
        out.
    :param unsure: why no job of a good node shows whether it is slow.
    """

    words: dict[str, Word]
    reasons: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unsure: dict[str, str] = field(default_factory=dict)

    def note(self, node: str, word: Word, reason: str = "") -> None:
        """Note the verdict on a node; a fault is never taken back."""
        if self.words[node] is Word.FAULTY or (
            self.words[node] is Word.SLOW and word is not Word.FAULTY
        ):
            return
        self.words[node] = word
        self.reasons.pop(node, None)
        if reason:
            self.reasons[node] = reason

    def take(self, group: Group, outcome: Outcome) -> None:
        """Note the verdicts that the outcome of a group gives."""
        for word, named in ((Word.FAULTY, outcome.faulty), (Word.SLOW, outcome.slow)):
            for node in named.keys() & set(group):
                self.note(node, word, named[node])
        self.paths += [path for path in outcome.paths if path not in self.paths]
        if not outcome.passed:
            return
        for node in group:
            self.note(node, Word.GOOD)
            if outcome.unsure:
                self.unsure.setdefault(node, outcome.unsure)
            else:
                self.unsure.pop(node, None)

    def settle(self) -> None:
        """Withdraw the verdict ``good`` on nodes whose jobs do not show whether they are slow."""
        for node, why in self.unsure.items():
            self.note(
                node,
                Word.NOT_SEEN,
                f"its jobs pass, but do not show whether it is slow: {why}",
            )

    def of(self, word: Word) -> list[str]:
        """Return the nodes with a verdict."""
        return [node for node, verdict in self.words.items() if verdict is word]


class _Waited(Exception):
    """A job that never began: the nodes are not free."""


Round = list[Group]
#: Tests groups at once, and returns the outcome of each.
Test = Callable[[Round], Sequence[Outcome]]

#: Into so many parts a group is split.
PARTS = 4
#: With so many partners at other switches the scheduler may refuse a node before it is given up.
MOST_REFUSED = 8
#: How often nodes are paired without knowing one that is healthy.
MOST_BLIND = 3
#: How often all good nodes are tested together, if that leaves open which are slow.
MOST_TOGETHER = 3


@dataclass
class _Suspect:
    """A node to be tested by itself.

    :param group: the group in which it failed last.
    :param failed: the healthy partners with which it failed; :param refused: those with which the scheduler
        did not accept it.
    """

    group: Group
    failed: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def partner(self, healthy: Iterable[str]) -> str | None:
        """Return one of some nodes that it has not had.

        One that was not in the group which failed comes first: then the node is all that both have in common.
        """
        had = (*self.failed, *self.refused)
        found = None
        for other in healthy:
            if other in had:
                continue
            if other not in self.group:
                return other
            found = found or other
        return found


class Vet:
    """A vet of nodes, at least two, each once.

    ``verdicts`` are whole whenever the vet ends. ``failed`` are the groups whose jobs failed, ``why`` the
    last reason for each node. ``suspects`` are the nodes to be tested by themselves. ``largest`` is the
    largest group that passed, of those whose job shows which nodes are slow.

    :param run: tests disjoint groups of two nodes or more at once.
    :param switches: the switch or block of each node, as far as it is known.
    """

    def __init__(
        self,
        nodes: Sequence[str],
        run: Test,
        switches: Mapping[str, str] | None = None,
    ) -> None:
        self.run = run
        self.switches = switches or {}
        self.verdicts = Verdicts(dict.fromkeys(nodes, Word.NOT_SEEN))
        self.failed: list[Group] = []
        self.why: dict[str, str] = {}
        self.suspects: dict[str, _Suspect] = {}
        self.largest: Group = ()

    def judge(self) -> None:
        """Test the nodes until each has a verdict, or a job never began."""
        try:
            self.find_faulty_nodes(tuple(chain(*self._by_switch(self.verdicts.words))))
            self.find_faulty_paths()
            self.test_together()
            self.verdicts.settle()
        except _Waited as error:
            self.stop(str(error))

    def _by_switch(self, nodes: Iterable[str]) -> list[Group]:
        """Return nodes by their switches or blocks."""
        by_switch = by_key(nodes, lambda node: self.switches.get(node, ""))
        return list(map(tuple, by_switch.values()))

    def stop(self, why: str) -> None:
        """Note on the nodes that are not seen why the vet ends before its time."""
        for node in self.verdicts.of(Word.NOT_SEEN):
            self.verdicts.note(node, Word.NOT_SEEN, why)
        self.verdicts.settle()

    def test(self, groups: Round) -> list[Outcome]:
        """Test a round of groups, note the verdicts that their outcomes give, and return the outcomes."""
        outcomes = list(self.run(groups))
        for group, outcome in zip(groups, outcomes, strict=True):
            self._take(group, outcome)
        if waited := [outcome.why for outcome in outcomes if outcome.waited]:
            raise _Waited(waited[0])
        return outcomes

    def _take(self, group: Group, outcome: Outcome) -> None:
        self.verdicts.take(group, outcome)
        if not outcome.passed:
            self.why |= dict.fromkeys(group, outcome.why)
        if outcome.failed:
            self.failed.append(group)
        shows_slow = outcome.passed and not outcome.unsure
        if shows_slow and len(group) >= len(self.largest):
            self.largest = group
            self.verdicts.notes = [
                f"{len(group)} nodes at once: {note}" for note in outcome.notes
            ]

    def find_faulty_nodes(self, nodes: Group) -> None:
        """Split groups that fail until each node has passed, is named, or has failed with a healthy
        partner."""
        groups: Round = [nodes]
        blind_left = MOST_BLIND
        while True:
            pairs = self._with_partners()
            if blind_left and not (groups or pairs):
                pairs = self._blind_pairs()
                blind_left -= 1
            if not (groups or pairs):
                break
            outcomes = self.test(groups + pairs)
            for pair, outcome in zip(pairs, outcomes[len(groups) :], strict=True):
                self._judge(pair[0], pair[1], outcome)
            groups = self._split(groups, outcomes[: len(groups)])
        for node in self.suspects:
            note = f"its jobs fail, and no healthy node was found to test it with: {self.why[node]}"
            self.verdicts.note(node, Word.NOT_SEEN, note)

    def _split(self, groups: Round, outcomes: Sequence[Outcome]) -> Round:
        """Return the parts of groups to be tested next; a node that is left alone becomes a suspect."""
        several: Round = []
        for group, outcome in zip(groups, outcomes, strict=True):
            for part in self._parts(group, outcome):
                if len(part) > 1:
                    several.append(part)
                else:
                    self.suspects[part[0]] = _Suspect(group)
        return several

    def _parts(self, group: Group, outcome: Outcome) -> Round:
        """Return the parts of a group to be tested next: none if it passed.

        Of nodes at several switches each switch is in one part.
        """
        if outcome.passed:
            return []
        left = tuple(node for node in group if node not in outcome.faulty)
        if left != group:
            return [left] if left else []
        units = self._by_switch(group)
        count = min(PARTS, len(units))
        if len(units) == 1:
            # Nodes alone need a healthy partner, which four parts of four nodes may not leave.
            units = [(node,) for node in group]
            count = max(2, min(PARTS, len(group) // 2))
        edges = [-(-len(units) * number // count) for number in range(count + 1)]
        return [tuple(chain(*units[start:end])) for start, end in pairwise(edges)]

    def _with_partners(self) -> Round:
        """Return the suspects that are left with a healthy partner each that they have not had, as far as
        there are any; one at the same switch comes first."""
        left = filter(self.suspects.__contains__, self.verdicts.of(Word.NOT_SEEN))
        self.suspects = {node: self.suspects[node] for node in left}
        # By switch, so that no suspect looks at all nodes of a large machine.
        healthy = defaultdict[str, dict[str, None]](dict)
        for node in self.verdicts.of(Word.GOOD):
            healthy[self.switches.get(node, "")][node] = None
        pairs: Round = []
        for node, suspect in self.suspects.items():
            partner = suspect.partner(healthy[self.switches.get(node, "")])
            if partner is None and len(suspect.refused) < MOST_REFUSED:
                partner = suspect.partner(chain(*healthy.values()))
            if partner is not None:
                del healthy[self.switches.get(partner, "")][partner]
                pairs.append((node, partner))
        return pairs

    def _blind_pairs(self) -> Round:
        """Return disjoint pairs of suspects that have not failed together: one that passes is two healthy
        nodes. First those at the same switch."""
        failed = {frozenset(group) for group in self.failed if len(group) == 2}
        pairs, single = [], list[str]()
        for group in self._by_switch(self.suspects):
            near, rest = _pairs_of(group, failed)
            pairs += near
            single += rest
        return pairs + _pairs_of(single, failed)[0]

    def _judge(self, node: str, partner: str, outcome: Outcome) -> None:
        """Note how a suspect did with a partner, and blame it if it failed with healthy ones, unless the way
        to the only one may be to blame as well."""
        suspect = self.suspects[node]
        if outcome.refused:
            suspect.refused.append(partner)
        if not outcome.failed or self.verdicts.words[partner] is not Word.GOOD:
            return
        suspect.failed.append(partner)
        if len(suspect.failed) > 1 or partner not in suspect.group:
            reason = f"its jobs fail, also with the healthy {' and '.join(suspect.failed)}: {outcome.why}"
            self.verdicts.note(node, Word.FAULTY, reason)
        elif self.verdicts.of(Word.GOOD) == [partner]:
            only = f"its jobs fail with {partner}, the only healthy node: {outcome.why}"
            self.verdicts.note(node, Word.FAULTY, f"{only}; the node or the path to it")

    def find_faulty_paths(self) -> None:
        """Look into each group that failed although jobs on all of its nodes pass, the smallest first."""
        while True:
            passing = {*self.verdicts.of(Word.GOOD), *self.verdicts.of(Word.SLOW)}
            groups = [group for group in self.failed if passing.issuperset(group)]
            if not groups:
                return
            self._narrow(min(groups, key=len))

    def _narrow(self, group: Group) -> None:
        """Find the two nodes of a group that fail together, and report the path between them."""
        members = set(group)
        group = tuple(node for node in self.verdicts.words if node in members)
        (again,) = self.test([group])
        if self._has_faulty(group):
            return  # one has been named since: it is not a path
        if again.refused:
            failed = f"a job on {names_text(group, 8)} failed, and the scheduler refuses to repeat it"
            self._explain(group, f"{failed}: {again.why}")
            return
        if again.passed:
            self._explain(
                group,
                f"a job on {names_text(group, 8)} failed, but not when it was repeated: nothing is blamed",
            )
            return
        ends = group
        for _ in range(2):
            shortest = self._shortest_that_fails(ends)
            ends = shortest[::-1]
        pair = (ends[0], ends[-1])
        names = " and ".join(pair)
        (last,) = self.test([pair])
        if not last.failed:
            text = (
                "some paths fail only together: nodes that pass in smaller groups fail with each other, but"
                f" no single pair fails; the last tried is {names}, and its last failure was:"
                f" {self.why[pair[0]]}"
            )
            self._explain(ends, text)
        else:
            fails = "fails: each side passes by itself, both together do not"
            self._explain(pair, f"the path between {names} {fails} ({last.why})")

    def _explain(self, group: Group, text: str) -> None:
        explained = set(group).issubset
        self.failed = [each for each in self.failed if not explained(each)]
        if not self._has_faulty(group):  # one may have been named since
            self.verdicts.paths.append(text)

    def _has_faulty(self, group: Group) -> bool:
        return any(self.verdicts.words[node] is Word.FAULTY for node in group)

    def _shortest_that_fails(self, group: Group) -> Group:
        """Return the shortest beginning of a group that still fails; the whole is known to."""
        passes, fails = 1, len(group)
        while fails - passes > 1:
            middle = (passes + fails) // 2
            (outcome,) = self.test([group[:middle]])
            passes, fails = (passes, middle) if outcome.failed else (middle, fails)
        return group[:fails]

    def test_together(self) -> None:
        """Test all good nodes in one job, unless a job did that, or some are known to fail together."""
        for _ in range(MOST_TOGETHER):
            good = tuple(self.verdicts.of(Word.GOOD))
            if len(good) < 2 or set(good) <= set(self.largest):
                return
            if self.verdicts.paths:
                self.verdicts.notes.append(
                    f"the good nodes were not tested all together, but at most {len(self.largest)} at a time:"
                    " among few nodes a slow one may look like the others"
                )
                return
            (outcome,) = self.test([good])
            if outcome.refused:
                parts = [group for group in self._by_switch(good) if len(group) > 1]
                self.verdicts.notes.append(
                    "the good nodes were tested switch by switch, for the scheduler refuses them together:"
                    f" {outcome.why}"
                )
                self.test(parts)
                return
            self.find_faulty_paths()


def _pairs_of(
    nodes: Iterable[str], failed: Set[frozenset[str]]
) -> tuple[Round, list[str]]:
    """Return pairs of nodes that have not failed together, and the nodes that are left."""
    pairs: Round = []
    left, rest = deque(nodes), []
    while left:
        one = left.popleft()
        other = next((node for node in left if {one, node} not in failed), None)
        if other:
            left.remove(other)
            pairs.append((one, other))
        else:
            rest.append(one)
    return pairs, rest
