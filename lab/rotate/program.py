# SPDX-License-Identifier: BSD-3-Clause
"""The procedure of ``rotate --pattern round-robin --confirm``, and its output, after the program's source.

All models of the laboratory measure by it. What is measured again is chosen by ``suspects``, which the
program is held against.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from fabric_checks.parsers import rotate_patterns
from fabric_checks.parsers.rotate import Transfers
from lab.rotate import exchanges, patterns, suspects
from lab.rotate.leaf_flows import leaf_flows
from lab.rotate.suspects import REPEATS, Pair

#: The MB/s of each pair of a round: best test, perhaps the median one, and slowest.
Rates = Sequence[tuple[float, ...]]
#: Measures rounds one after the other, the pairs of each at once: phase, (sender, receiver)... of each round.
Measure = Callable[[str, Sequence[Sequence[Pair]]], Sequence[Rates]]
SHARE, PAUSE_S, SIZE_B, MESSAGES, TESTS = 0.06, 3.0, 8 << 20, 10, 3
PHASES = ("scan", "leaf", "together", "control", "alone", "both", "both-alone")


class Measured(NamedTuple):
    """A measurement of a pair: the MB/s of its best test, perhaps of the median one, and of the slowest."""

    phase: str
    number: int
    pair: Pair
    MBps: tuple[float, ...]

    @property
    def row(self) -> str:
        """The row that the program prints."""
        best, *median, slowest = self.MBps
        row = f"{self.number} {self.pair[0]} {self.pair[1]} {best:.6g} {slowest:.6g} {self.phase}"
        return row + "".join(f" {each:.6g}" for each in median)


def pairs_of(nodes: int, number: int) -> list[Pair]:
    """Return the pairs of a round of the tournament, by sender."""
    sides = patterns.pairs("round-robin", nodes, np.array([number]))
    sender, receiver = (side[0].tolist() for side in sides)
    return list(zip(sender, receiver, strict=True))


def in_turn(measure: Callable[[str, Sequence[Pair], float], Rates]) -> Measure:
    """Return what measures rounds by a function of a phase, a round, and the progress of the scan."""

    def measure_rounds(phase: str, rounds: Sequence[Sequence[Pair]]) -> list[Rates]:
        done = (
            np.arange(len(rounds)) / len(rounds)
            if phase == "scan"
            else np.ones(len(rounds))
        )
        return [
            measure(phase, pairs, share)
            for pairs, share in zip(rounds, done.tolist(), strict=True)
        ]

    return measure_rounds


@dataclass
class Run:
    """One run: its rows and what it decides.

    :param nodes: ranks. :param rails: of ``--rails``; the ranks of a node follow each other. :param share:
        those of an adapter.
    :param groups: of ``--groups``, by rank; none without it. :param pause: called before the last repeat
        alone.
    """

    nodes: int
    shifts: int
    measure: Measure
    groups: Sequence[int] = ()
    pause: Callable[[float], None] = lambda seconds: None
    rails: int = 1
    share: int = 1
    measured: list[Measured] = field(default_factory=list)
    suspects: str = "none"

    def __post_init__(self) -> None:
        """Run all phases."""
        of_nodes = patterns.round_robin_rounds(self.nodes // self.rails, self.shifts)
        self.numbers = [
            number * self.share + turn
            for number in of_nodes
            for turn in range(self.share)
        ]
        self.scan = self._scan()
        leaf = groupby(leaf_flows(self.groups), lambda flow: flow[0])
        for number, flows in leaf:
            self._round("leaf", number, [flow[1:] for flow in flows])
        self.found = suspects.find(self.scan, self.nodes, SHARE)
        listed = suspects.listed(self.found, self.scan, self.nodes, rails=self.rails)
        if listed:
            self._confirm(listed)
        exchanges.measure(
            self.found,
            SHARE,
            (self.nodes, self.rails, self.share),
            self._exchange,
            lambda number, pair: self._round("both-alone", number, [pair]),
            lambda: self.pause(PAUSE_S),
        )

    def _exchange(
        self, phase: str, number: int, pairs: Sequence[Pair]
    ) -> Sequence[float]:
        """Measure exchanges at once; return the rate of each one's slower direction."""
        both = sorted(
            each for one, other in pairs for each in ((one, other), (other, one))
        )
        rates = dict(zip(both, self._round(phase, number, both), strict=True))
        return [min(rates[one, other], rates[other, one]) for one, other in pairs]

    def _pairs_of(self, number: int) -> list[Pair]:
        rails = self.rails
        pairs = pairs_of(self.nodes // self.rails, number // self.share)
        own = range(number % self.share, rails, self.share)
        return [
            (one * rails + rail, other * rails + rail)
            for one, other in pairs
            for rail in own
        ]

    def _rounds(
        self, phase: str, numbers: Sequence[int], rounds: Sequence[Sequence[Pair]]
    ) -> list[list[float]]:
        """Measure rounds, and return the best tests of each."""
        rates = self.measure(phase, rounds)
        for number, pairs, values in zip(numbers, rounds, rates, strict=True):
            order = sorted(range(len(pairs)), key=lambda at, pairs=pairs: pairs[at][0])
            self.measured += [
                Measured(phase, number, pairs[at], tuple(values[at])) for at in order
            ]
        return [[best for best, *_ in values] for values in rates]

    def _round(self, phase: str, number: int, pairs: Sequence[Pair]) -> list[float]:
        return self._rounds(phase, [number], [pairs])[0]

    def _scan(self) -> Transfers:
        rounds = [self._pairs_of(number) for number in self.numbers]
        self._rounds("scan", self.numbers, rounds)
        return self.phase("scan")

    # --------------------------------------------------------------- measured again

    def _confirm(self, listed: list[Pair]) -> None:
        budget = suspects.budget(self.nodes)
        self.rounds, self.again = 0, 0
        slow = suspects.sift(self.found, listed, SHARE, budget, self._together)
        alone = suspects.choose_alone(self.found, slow, budget.alone, budget.of_others)
        used = -(-self.rounds // REPEATS) + len(alone)
        if alone:
            self._alone(alone, slow, max(budget.total - used, budget.controls))
        pairs = self.nodes * (self.nodes // self.rails - 1)
        senders, receivers = len(self.found.senders), len(self.found.receivers)
        self.suspects = (
            f"{len(listed)} pairs of {pairs}, {senders} senders, {receivers} receivers;"
            f" {self.again} measured again, {len(alone)} alone"
        )

    def _together(self, rounds: list[list[Pair]], _: int) -> dict[Pair, float]:
        """Measure suspects in rounds, at first with the pairs of the next ranks beside them."""
        own = (
            rounds if self.rounds else [self._with_neighbours(here) for here in rounds]
        )
        numbers = range(self.rounds, self.rounds + len(rounds))
        reached = dict[Pair, float]()
        for here, rates in zip(
            rounds, self._rounds("together", numbers, own), strict=True
        ):
            # Neighbours come after them.
            reached |= dict(zip(here, rates, strict=False))
        self.rounds += len(rounds)
        self.again = self.again or len(reached)
        return reached

    def _with_neighbours(self, here: list[Pair]) -> list[Pair]:
        pairs = list(here)
        busy = {rank for pair in pairs for rank in pair}
        for sender, receiver in here:
            for step in (-1, 1):
                pair = (sender + step, receiver + step)
                if min(pair) >= 0 and max(pair) < self.nodes and not busy & {*pair}:
                    busy |= {*pair}
                    pairs.append(pair)
        return pairs

    def _alone(self, alone: list[Pair], slow: Mapping[Pair, float], most: int) -> None:
        """Measure controls, then suspects, and all of it for every repeat; more controls if one is slow."""
        few, many = (
            suspects.controls(
                self.found,
                self.scan,
                slow,
                alone,
                most,
                rails=self.rails,
                is_slow=is_slow,
            )
            for is_slow in (False, True)
        )
        controls, best = few, dict[tuple[str, Pair], float]()

        def each(phase: str, first: int, pairs: Sequence[Pair]) -> None:
            numbers = range(first, first + len(pairs))
            rates = self._rounds(phase, numbers, [[pair] for pair in pairs])
            for pair, (rate,) in zip(pairs, rates, strict=True):
                best[phase, pair] = max(best.get((phase, pair), 0.0), rate)

        def is_any_slow() -> bool:
            usual = [best["control", pair] for pair in controls]
            reference = np.median(usual) if usual else self.found.overall_MBps
            return any(best["alone", pair] < (1 - SHARE) * reference for pair in alone)

        for repeat in range(REPEATS):
            if repeat == REPEATS - 1 and is_any_slow():
                self.pause(PAUSE_S)
            each("control", repeat * len(controls), controls)
            each("alone", repeat * len(alone), alone)
            if repeat == 0 and is_any_slow():
                controls = many
                each("control", len(few), many[len(few) :])

    # ----------------------------------------------------------------------- output

    def phase(self, name: str) -> Transfers:
        """Return what was measured in a phase: the best test of each pair."""
        own = [each for each in self.measured if each.phase == name]
        number = np.array([each.number for each in own], dtype=np.int32)
        sender, receiver = (
            np.array([each.pair for each in own], dtype=np.int32).reshape(-1, 2).T
        )
        return Transfers(
            number, sender, receiver, np.array([each.MBps[0] for each in own])
        )

    def text(self, hosts: Sequence[str], transfers_s: float, elapsed_s: float) -> str:
        """Return the output of the program."""
        ranks, nodes = self.nodes, self.nodes // self.rails
        turns = rotate_patterns.turns(nodes) * self.share
        memory = "cuda" if self.rails > 1 else "host"
        devices = [f"0000:{rank % self.rails:02x}:00.0" for rank in range(ranks)]
        few = ", evenly spread" if len(self.numbers) < 2 * turns else ""
        sides = (self.scan.sender.tolist(), self.scan.receiver.tolist())
        pairs = len(set(zip(*sides, strict=True)))
        never = [_ranges(sorted(set(range(ranks)) - set(side))) for side in sides]
        return whole([
            *head("rotate", hosts,
                   f"size {SIZE_B} messages {MESSAGES} tests {TESTS} pattern round-robin "
                   f"shifts {self.shifts} seed 1 "
                   f"rails {self.rails} adapters {self.rails // self.share} memory {memory} "
                   f"no-warm-up no confirm yes both-ways yes suspect-share {SHARE} confirm-repeats {REPEATS} "
                   "confirm-limit 0 confirm-pause 3"),
            f"# memory: {memory}", *([f"# devices: {' '.join(devices)}"] if self.rails > 1 else []),
            f"# nodes: {nodes}", "# left out: none",
            f"# groups: {' '.join(map(str, self.groups)) if self.groups else 'none'}",
            "# pattern: round-robin",
            f"# shifts: {len(self.numbers)} of {2 * turns}{few}",
            "# method: after a barrier all pairs of a round stream messages MPI_Isend of size bytes at once; "
            "MBps is messages * size / (time to the acknowledgement of all), best of tests, and slowest_MBps "
            "that of the slowest; phase scan is the pattern, the other phases measure suspects again",
            "# columns: round sender receiver MBps slowest_MBps phase"
            + (" median_MBps" if len(self.measured[0].MBps) > 2 else ""),
            *(each.row for each in self.measured),
            f"# ordered pairs: {pairs} of {ranks * (nodes - 1)}", f"# never sender: {never[0]}",
            f"# never receiver: {never[1]}", f"# suspects: {self.suspects}",
            f"# transfers: {transfers_s:.6g} s",
            f"# elapsed: {elapsed_s:.6g} s", f"# elapsed over transfers: {elapsed_s / transfers_s:.3f}",
        ], len(self.measured))  # fmt: skip


def head(program: str, hosts: Sequence[str], options: str) -> list[str]:
    """Return the first lines of a program's output."""
    return [
        f"# fabric-checks {program} 1", "# mpi: MPICH Version:      4.3.0", "# compiler: gcc 12.2.0",
        "# clock resolution: 2e-08 s (MPI_Wtick 1e-09 s)", "# progress thread: no setting asks for one",
        f"# ranks: {len(hosts)}", *(f"# rank {rank}: host {host}" for rank, host in enumerate(hosts)),
        f"# options: {options}",
    ]  # fmt: skip


def whole(lines: Sequence[str], rows: int) -> str:
    """Return an output with its last line, which has the check sum of the others."""
    text = "".join(f"{line}\n" for line in lines)
    return f"{text}# complete: {rows} rows, crc32 {zlib.crc32(text.encode()):08x}\n"


def _ranges(ranks: list[int]) -> str:
    runs = [
        [rank for _, rank in run]
        for _, run in groupby(enumerate(ranks), lambda each: each[1] - each[0])
    ]
    named = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"ranks {','.join(named)}" if named else "none"
