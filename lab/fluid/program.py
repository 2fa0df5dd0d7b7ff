# SPDX-License-Identifier: BSD-3-Clause
"""The procedure of ``rotate --pattern round-robin --confirm``, and its output, after the program's source.

Rules, names and numbers are those of ``checks/fabric/src/rotate.c`` and ``cross_section``; each node is its
own host.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby

#: Measures pairs that run at once: phase, (sender, receiver)..., progress of the scan; returns the MB/s of
#: each, best test and slowest.
Measure = Callable[
    [str, Sequence[tuple[int, int]], float], Sequence[tuple[float, float]]
]
SHARE, REPEATS, PAUSE_S, SIZE_B, MESSAGES, TESTS = 0.06, 4, 3.0, 8 << 20, 10, 3
_LOWEST, _BOTH, _NEAR, _FAR = 32, 4, 4, 8
_PARTNERS = _NEAR + _FAR
_KIND = 3
_FASTEST_FIRST = (2, 1)  # of the passes over the suspects of slow nodes


def spread(index: int, wanted: int, count: int) -> int:
    """Return the position of one of ``wanted`` evenly spread among ``count``."""
    return (2 * index + 1) * count // (2 * wanted)


def median(values: Sequence[float]) -> float:
    """Return the median."""
    ordered, half = sorted(values), len(values) // 2
    return (
        ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])
    )


def rounds_of(nodes: int, shifts: int) -> list[int]:
    """Return the numbers of the rounds of the tournament that ``--shifts`` selects, 0 for all."""
    turns = nodes - 1 + nodes % 2
    rounds = shifts if 0 < shifts < 2 * turns else 2 * turns

    def even(index: int, wanted: int, count: int) -> int:
        return index * (count - 1) // max(wanted - 1, 1)

    if rounds <= turns:
        return [even(index, rounds, turns) for index in range(rounds)]
    return [
        *range(turns),
        *(
            turns + even(index, rounds - turns, turns)
            for index in range(rounds - turns)
        ),
    ]


@cache
def pairs_of(nodes: int, number: int) -> Sequence[tuple[int, int]]:
    """Return the pairs of a round of the tournament, by sender."""
    seats = nodes - 1 + nodes % 2
    back, turn = number >= seats, number % seats
    middle = turn // 2 if turn % 2 == 0 else turn // 2 + seats // 2 + 1

    def rank(seat: int) -> int:
        return seat + 1 if nodes % 2 == 0 and seat >= nodes // 2 else seat

    pairs = []
    for away in range(1, seats // 2 + 1):
        upper, lower = (middle + away) % seats, (middle - away) % seats
        turned = nodes >= 16 and min(upper, lower) % 2 == 1 and (upper ^ lower) % 2 == 1
        sends = ((away % 2 == 1) != back) != turned
        pairs.append(
            (rank(upper), rank(lower)) if sends else (rank(lower), rank(upper))
        )
    if nodes % 2 == 0:
        one, other = nodes // 2, rank(middle)
        pairs.append((one, other) if (middle % 2 == 1) != back else (other, one))
    return sorted(pairs)


def leaf_rounds(groups: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return the flows of each round of the phase ``leaf``: half of the groups to the other half, and back.

    :param groups: of each rank, numbered by their lowest ranks, -1 for none.
    """
    count, nodes = max(groups, default=-1) + 1, len(groups)
    places: dict[int, int] = defaultdict(int)
    seats = []
    for rank, group in enumerate(groups):
        if group >= 0:
            seats.append((places[group], group, rank))
            places[group] += 1
    rounds = []
    for turn in range(min(max(nodes // 8, 3), 8) if count >= 2 else 0):
        halves: tuple[list[int], list[int]] = ([], [])
        for _, group, rank in sorted(seats):
            place = (
                group if turn % 3 < 2 else group // 2 + group % 2 * ((count + 1) // 2)
            )
            side = (place - turn) % count // (count // 2)
            if side < 2:
                halves[side].append(rank)
        active = min(len(halves[0]), len(halves[1]))
        width = min(active, 8)
        flows = [
            (halves[0][i], halves[1][(i + k + turn * width) % active])
            for i in range(active)
            for k in range(width)
        ]
        rounds += [flows, [(other, one) for one, other in flows]]
    return rounds


@dataclass
class Suspect:
    """A pair that is measured again."""

    order: int
    sender: int
    receiver: int
    round: int = -1
    sum: float = 0.0
    best: float = 0.0

    @property
    def pair(self) -> tuple[int, int]:
        """Sender and receiver."""
        return self.sender, self.receiver


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
    rows: list[str] = field(default_factory=list)
    suspects: str = "none"

    def __post_init__(self) -> None:
        """Run all phases."""
        self.numbers = [number * self.share + turn
                        for number in rounds_of(self.nodes // self.rails, self.shifts)
                        for turn in range(self.share)]  # fmt: skip
        self.lines: tuple[dict[int, list[tuple[int, float]]], ...] = (
            defaultdict(list),
            defaultdict(list),
        )
        self._scan()
        for number, flows in enumerate(leaf_rounds(self.groups)):
            self._round("leaf", number, flows)
        self._find_levels()
        listed = self._list_suspects()
        if listed:
            self._confirm(listed)

    def _pairs_of(self, number: int) -> list[tuple[int, int]]:
        rails, pairs = (
            self.rails,
            pairs_of(self.nodes // self.rails, number // self.share),
        )
        own = range(number % self.share, rails, self.share)
        return [
            (one * rails + rail, other * rails + rail)
            for one, other in pairs
            for rail in own
        ]

    def _round(
        self,
        phase: str,
        number: int,
        pairs: Sequence[tuple[int, int]],
        progress: float = 1.0,
    ) -> list[float]:
        order = sorted(range(len(pairs)), key=lambda index: pairs[index][0])
        values = list(self.measure(phase, pairs, progress))
        self.rows += [
            f"{number} {pairs[i][0]} {pairs[i][1]} {values[i][0]:.6g} {values[i][1]:.6g} {phase}"
            for i in order
        ]
        return [best for best, _ in values]

    def _scan(self) -> None:
        medians = []
        for index, number in enumerate(self.numbers):
            pairs = self._pairs_of(number)
            values = self._round("scan", number, pairs, index / len(self.numbers))
            medians.append(median(values))
            for (sender, receiver), value in zip(pairs, values, strict=True):
                self.lines[0][sender].append((receiver, value))
                self.lines[1][receiver].append((sender, value))
        self.overall = median(medians)

    # ------------------------------------------------------------- what looks slow

    def _find_levels(self) -> None:
        self.levels: list[dict[int, float]] = [{}, {}]
        for side in (0, 1):
            for rank, met in self.lines[side].items():
                values = sorted(value for _, value in met)
                self.levels[side][rank] = values[(85 * len(values) + 99) // 100 - 1]
        self.usual = [self._usual(sorted(levels.values())) for levels in self.levels]
        self.slow_nodes = [{rank for rank in levels if self._share(rank, side) < 1 - SHARE}
                           for side, levels in enumerate(self.levels)]  # fmt: skip

    def _usual(self, levels: Sequence[float]) -> float:
        high = levels[(75 * len(levels) + 99) // 100 - 1]
        return max(median(levels), (1 - SHARE / 2) * high)

    def _share(self, rank: int, side: int) -> float:
        return self.levels[side][rank] / self.usual[side]

    def _is_single(self, rank: int, side: int) -> bool:
        own = self._share(rank, side)
        alike = [
            other
            for other in self.levels[side]
            if abs(self._share(other, side) - own) < SHARE / 2
        ]
        return rank in self.slow_nodes[side] and len(alike) < _KIND

    def _expected(self, pair: tuple[int, int]) -> float:
        usual = max(self.overall, *((1 - SHARE) * level for level in self.usual))
        slow = [
            self._share(pair[side], side)
            for side in (0, 1)
            if pair[side] in self.slow_nodes[side]
        ]
        return usual * min([1.0, *slow])

    def _is_slow_again(self, at: Suspect) -> bool:
        held = [level if at.pair[side] in self.slow_nodes[side] else (1 - SHARE) * level
                for side, level in enumerate(self.usual)]  # fmt: skip
        return at.best < (1 - SHARE) * max(self.overall, *held)

    def _partners(self, rank: int) -> list[int]:
        at, rail = divmod(rank, self.rails)
        return [partner * self.rails + rail for partner in self._partners_of_node(at)]

    def _partners_of_node(self, node: int) -> list[int]:
        nodes = self.nodes // self.rails
        window = min(nodes, _NEAR + 1)
        first = min(max(node - _NEAR // 2, 0), nodes - window)
        rest = nodes - window
        far = min(rest, _FAR)
        chosen = [near for near in range(first, first + window) if near != node]
        for i in range(far):
            at = i * rest // far + i * (i + 1) // 2 % (rest // far)
            chosen.append(at if at < first else at + window)
        return chosen

    def _list_suspects(self) -> list[Suspect]:
        offers = []
        for sender in range(self.nodes):
            reached = [
                (value / self._expected((sender, to)), to)
                for to, value in self.lines[0].get(sender, ())
            ]
            lowest = sorted(
                (each for each in reached if each[0] < 1 - SHARE),
                key=lambda each: each[0],
            )[:_LOWEST]
            offers += [(_PARTNERS + i, sender, to) for i, (_, to) in enumerate(lowest)]
            for side in (0, 1):
                if sender in self.slow_nodes[side]:
                    pairs = [
                        (sender, to) if side == 0 else (to, sender)
                        for to in self._partners(sender)
                    ]
                    offers += [(i, *pair) for i, pair in enumerate(pairs)]
        offers += [
            (order, to, sender)
            for order, sender, to in offers
            if order < _PARTNERS + _BOTH
        ]
        least: dict[tuple[int, int], int] = {}
        for order, sender, receiver in offers:
            least[sender, receiver] = min(order, least.get((sender, receiver), order))
        return [
            Suspect(order, *pair)
            for order, pair in sorted((order, pair) for pair, order in least.items())
        ]

    # --------------------------------------------------------------- measured again

    def _confirm(self, listed: list[Suspect]) -> None:
        bits = self.nodes.bit_length() - 1
        all_rounds = (self.nodes // 2 + 80 * bits) // 4
        self.limit = 8 * bits + self.nodes // 16
        self.of_others = 4 * bits
        rest = all_rounds - self.limit - self.of_others
        controls = min(8, rest // 3)
        self.again = 0
        slow, rounds = self._together(listed, rest - controls)
        alone = self._choose_alone(slow)
        used = -(-rounds // REPEATS) + len(alone) + controls
        self.slow_pairs = {at.pair for at in slow}
        chosen = (
            self._choose_controls(alone, controls + max(all_rounds - used, 0))
            if alone
            else []
        )
        self._alone(alone, chosen)
        self.suspects = (
            f"{len(listed)} pairs of {self.nodes * (self.nodes // self.rails - 1)}, {len(self.slow_nodes[0])}"
            f" senders, {len(self.slow_nodes[1])} receivers; {self.again} measured again, {len(alone)} alone"
        )

    def _pack(
        self, slow: list[Suspect], most: int, per_round: int
    ) -> list[list[Suspect]]:
        waiting, rounds = slow, list[list[Suspect]]()
        for at in slow:
            at.round = -1
        while waiting and len(rounds) < most:
            busy: set[int] = set()
            here, later = list[Suspect](), list[Suspect]()
            for index, at in enumerate(waiting):
                if len(busy) >= self.nodes - 1:
                    later += waiting[index:]
                    break
                if (
                    len(here) < per_round
                    and at.sender not in busy
                    and at.receiver not in busy
                ):
                    busy |= {at.sender, at.receiver}
                    at.round = len(rounds)
                    here.append(at)
                else:
                    later.append(at)
            waiting = later
            rounds.append(here)
        return rounds

    def _with_neighbours(self, here: list[Suspect]) -> list[tuple[int, int]]:
        pairs = [at.pair for at in here]
        busy = {rank for pair in pairs for rank in pair}
        for at in here:
            for step in (-1, 1):
                one, other = at.sender + step, at.receiver + step
                if (
                    min(one, other) >= 0
                    and max(one, other) < self.nodes
                    and not {one, other} & busy
                ):
                    busy |= {one, other}
                    pairs.append((one, other))
        return pairs

    def _together(
        self, slow: list[Suspect], most_rounds: int
    ) -> tuple[list[Suspect], int]:
        left, done, number = most_rounds * REPEATS, 0, 0
        while True:
            most = (left + 1) // 2
            if not slow or most == 0 or (number >= 4 and len(slow) <= self.limit):
                break
            rounds = self._pack(
                slow, most, len(slow) if number < 4 else -(-len(slow) // most)
            )
            for index, here in enumerate(rounds):
                pairs = (
                    self._with_neighbours(here)
                    if number == 0
                    else [at.pair for at in here]
                )
                values = self._round("together", done + index, pairs)
                for at, value in zip(
                    here, values, strict=False
                ):  # neighbours come after them
                    at.best = max(at.best, value)
            done += len(rounds)
            left -= len(rounds)
            if number == 0:
                self.again = sum(at.round >= 0 for at in slow)
                slow = [at for at in slow if at.round >= 0]
            slow = [at for at in slow if self._is_slow_again(at)]
            number += 1
        return sorted(slow, key=lambda at: (at.best, at.pair)), done

    def _choose_alone(self, slow: list[Suspect]) -> list[Suspect]:
        limit, taken, chosen = self.limit, set(), []
        of_nodes = {
            at.pair: (at.sender in self.slow_nodes[0])
            + (at.receiver in self.slow_nodes[1])
            for at in slow
        }
        of_node = {pair for pair, count in of_nodes.items() if count}
        others = [at for at in slow if at.pair not in of_node]
        above = {at.pair: at.best - before.best if before else 0.0
                 for before, at in zip([None, *others], others, strict=False)}  # fmt: skip

        def take(at: Suspect) -> None:
            taken.add(at.pair)
            chosen.append(at)

        sent: dict[int, int] = defaultdict(int)
        received: dict[int, int] = defaultdict(int)
        single = {
            at.pair
            for at in slow
            if any(self._is_single(rank, side) for side, rank in enumerate(at.pair))
        }

        def take_of_nodes(passes: Sequence[tuple[bool, int, int]], most: int) -> None:
            for of_single, quota, most_suspects in passes:
                for at in (
                    slow[::-1] if (quota, most_suspects) == _FASTEST_FIRST else slow
                ):
                    free = (
                        0 < of_nodes[at.pair] <= most_suspects
                        and at.pair not in taken
                        and len(chosen) < most
                    )
                    free = free and (not of_single or at.pair in single)
                    if (
                        free
                        and sent[at.sender] < quota
                        and received[at.receiver] < quota
                    ):
                        sent[at.sender] += 1
                        received[at.receiver] += 1
                        take(at)

        quotas = ((1, 1), (2, 1), (2, 2))
        first = [(True, *each) for each in quotas]
        first += [(False, *each) for each in (*quotas, (4, 2), (6, 2))]
        take_of_nodes(first, max(limit - len(others), limit * 3 // 4))
        wanted = min(limit + self.of_others - len(chosen), len(others))
        for at in sorted(others, key=lambda at: (-above[at.pair], at.pair))[
            : wanted // 2
        ]:
            take(at)
        rest, count = (
            [at for at in others if at.pair not in taken],
            wanted - wanted // 2,
        )
        for index in range(count):
            take(rest[spread(index, count, len(others) - wanted // 2)])
        take_of_nodes([(False, 1 << 30, 2)], limit)
        return chosen

    # -------------------------------------------------------------- controls, alone

    def _eligible(self) -> list[tuple[int, int]]:
        return [
            pair for number in self.numbers for pair in self._pairs_of(number)
            if pair[0] not in self.slow_nodes[0] and pair[1] not in self.slow_nodes[1]
            and pair not in self.slow_pairs
        ]  # fmt: skip

    def _spread_controls(self, wanted: int, into: list[Suspect]) -> None:
        have = {at.pair for at in into}
        positions = [
            spread(index, wanted, len(self.eligible)) for index in range(wanted)
        ]
        for position in positions:
            pair = self.eligible[position]
            if pair not in have and len(into) < self.most_controls:
                have.add(pair)
                into.append(Suspect(0, *pair))

    def _choose_controls(self, alone: list[Suspect], most: int) -> list[Suspect]:
        self.most_controls = min(most, 32)
        self.eligible = self._eligible()
        controls: list[Suspect] = []
        self._spread_controls(min(8, self.most_controls, len(self.eligible)), controls)
        counts: dict[int, int] = defaultdict(int)
        for at in alone:
            counts[at.sender] += 1
            counts[at.receiver] += 1
        sends = {rank for rank, count in counts.items() if count >= 2}
        receives = set(sends)
        have = {at.pair for at in controls}
        for pair in self.eligible:
            if (pair[0] in sends or pair[1] in receives) and pair not in have:
                sends.discard(pair[0])
                receives.discard(pair[1])
                have.add(pair)
                if len(controls) < self.most_controls:
                    controls.append(Suspect(0, *pair))
        self._add_controls_of_ends(alone, controls)
        return controls

    def _add_controls_of_ends(
        self, alone: list[Suspect], controls: list[Suspect]
    ) -> None:
        most = min(self.most_controls, len(controls) + 8)
        for least in (2, 1):
            for side, rank in [
                (side, at.pair[side]) for at in alone for side in (0, 1)
            ]:
                measured = [at.pair for at in [*alone, *controls]]
                met = sum(pair[side] == rank for pair in measured)
                if met < least or rank in self.slow_nodes[side]:
                    continue
                for away in range(1, self.nodes // self.rails):
                    if away > 1 and met >= 3:
                        break
                    for partner in (rank - away * self.rails, rank + away * self.rails):
                        pair = (rank, partner) if side == 0 else (partner, rank)
                        sick = (
                            pair[0] in self.slow_nodes[0]
                            or pair[1] in self.slow_nodes[1]
                            or pair in self.slow_pairs
                        )
                        known = (
                            sick or pair in measured or not 0 <= partner < self.nodes
                        )
                        if not known and len(controls) < most:
                            met += 1
                            controls.append(Suspect(0, *pair))

    def _is_any_slow(self, alone: list[Suspect], controls: list[Suspect]) -> bool:
        reference = median([at.best for at in controls]) if controls else self.overall
        return any(at.best < (1 - SHARE) * reference for at in alone)

    def _each(self, phase: str, first: int, pairs: list[Suspect]) -> None:
        for index, at in enumerate(pairs):
            at.best = max(at.best, self._round(phase, first + index, [at.pair])[0])

    def _alone(self, alone: list[Suspect], controls: list[Suspect]) -> None:
        for at in alone:
            at.best = 0.0
        for repeat in range(REPEATS):
            if repeat == REPEATS - 1 and self._is_any_slow(alone, controls):
                self.pause(PAUSE_S)
            self._each("control", repeat * len(controls), controls)
            self._each("alone", repeat * len(alone), alone)
            if repeat == 0:
                first = len(controls)
                if self._is_any_slow(alone, controls):
                    self._spread_controls(
                        min(24, self.most_controls, len(self.eligible)), controls
                    )
                self._each("control", first, controls[first:])

    # ----------------------------------------------------------------------- output

    def text(self, hosts: Sequence[str], transfers_s: float, elapsed_s: float) -> str:
        """Return the output of the program."""
        ranks, nodes = self.nodes, self.nodes // self.rails
        turns = (nodes - 1 + nodes % 2) * self.share
        memory = "cuda" if self.rails > 1 else "host"
        devices = [f"0000:{rank % self.rails:02x}:00.0" for rank in range(ranks)]
        few = ", evenly spread" if len(self.numbers) < 2 * turns else ""
        measured = sum(len({to for to, _ in met}) for met in self.lines[0].values())
        never = [
            _ranges([rank for rank in range(ranks) if rank not in line])
            for line in self.lines
        ]
        return whole([
            *head("rotate", hosts,
                   f"size {SIZE_B} messages {MESSAGES} tests {TESTS} pattern round-robin "
                   f"shifts {self.shifts} seed 1 "
                   f"rails {self.rails} adapters {self.rails // self.share} memory {memory} "
                   f"no-warm-up no confirm yes suspect-share {SHARE} confirm-repeats {REPEATS} "
                   "confirm-limit 0 confirm-pause 3"),
            f"# memory: {memory}", *([f"# devices: {' '.join(devices)}"] if self.rails > 1 else []),
            f"# nodes: {nodes}", "# left out: none",
            f"# groups: {' '.join(map(str, self.groups)) if self.groups else 'none'}",
            "# pattern: round-robin",
            f"# shifts: {len(self.numbers)} of {2 * turns}{few}",
            "# method: after a barrier all pairs of a round stream messages MPI_Isend of size bytes at once; "
            "MBps is messages * size / (time to the acknowledgement of all), best of tests, and slowest_MBps "
            "that of the slowest; phase scan is the pattern, the other phases measure suspects again",
            "# columns: round sender receiver MBps slowest_MBps phase", *self.rows,
            f"# ordered pairs: {measured} of {ranks * (nodes - 1)}", f"# never sender: {never[0]}",
            f"# never receiver: {never[1]}", f"# suspects: {self.suspects}",
            f"# transfers: {transfers_s:.6g} s",
            f"# elapsed: {elapsed_s:.6g} s", f"# elapsed over transfers: {elapsed_s / transfers_s:.3f}",
        ], len(self.rows))  # fmt: skip


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
