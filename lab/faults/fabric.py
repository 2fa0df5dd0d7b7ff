# SPDX-License-Identifier: BSD-3-Clause
"""A simulated fabric in numpy: flows share cables max-min fairly, and measuring them has noise."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from fabric_checks.analysis.max_min import max_min
from fabric_checks.fabric_map.model import arcs_of
from fabric_twins.model import fabric_map
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import Dragonfly, FatTree, Routing

LINK_MBps = 1000.0
#: What a pair may be slowed down by at most when others' traffic is there.
BURST_SHARES = (0.35, 0.8)
#: How many rounds a burst takes on average, and how many before the run bursts may begin.
BURST_ROUNDS, BURSTS_BEFORE = 25, 250
#: Rounds times resources that are computed at once: of thousands of nodes all rounds need too much memory.
MOST_AT_ONCE = 20_000_000


def topology(name, nodes):
    """Return one of the shapes of the laboratory with so many nodes."""
    if name == "fat tree 3":
        ports = 8 if nodes <= 128 else 16
        return FatTree(nodes, ports, 3, ports // 2, ports // 2, LINK_MBps)
    if name == "dragonfly":
        # Two hosts at each of eight routers; each two groups have as many cables as four of every router's
        # ports make.
        return Dragonfly(nodes, max(-(-nodes // 16), 2), 8, 2, 4, LINK_MBps, LINK_MBps)
    ports = {16: 8, 32: 8, 64: 16}.get(nodes, 32)
    return FatTree(nodes, ports, 2, ports // 2, ports // 2, LINK_MBps)


def routing(name):
    """Return `d-mod-k` or `random`, as a twin's description would have it."""
    return Routing("destination-table" if name == "random" else name, 7, "laboratory")


@lru_cache(maxsize=64)
def wired(shape, nodes, table):
    """Return wiring and map of a fabric."""
    wiring = topology(shape, nodes).wiring()
    return wiring, fabric_map.of_routes(
        wiring, routes(wiring, routing(table)), LINK_MBps
    )


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms: of each measurement, of a pair and of a host as they stay for a run,
    of the drift of all over a run; the number of bursts of other people's traffic that are under way at a
    time; and the share of measurements that are at half."""

    each: float = 0.0
    pair: float = 0.0
    host: float = 0.0
    drift: float = 0.0
    bursts: float = 0.0
    tail: float = 0.0


@dataclass(frozen=True)
class History:
    """The rounds in which the faults are there: from `begin` to `end`, and if they flap in half of each
    `period`."""

    begin: float = -np.inf
    end: float = np.inf
    period: float = 0.0

    def on(self, times):
        """Return for each time, in rounds, whether the faults are there."""
        there = (times >= self.begin) & (times < self.end)
        return there & (times % self.period < self.period / 2) if self.period else there


@dataclass
class Fabric:
    """Rates of flows; `senders`, `receivers`, `arcs` and `pairs` have the share of its rate that each has at
    fault.

    `kinds` has the share of the rate that healthy hosts of another kind have both ways, by rank.
    """

    wiring: object
    known: object
    noise: Noise
    seed: int
    senders: dict = field(default_factory=dict)
    receivers: dict = field(default_factory=dict)
    arcs: dict = field(default_factory=dict)
    pairs: dict = field(default_factory=dict)
    kinds: dict = field(default_factory=dict)
    history: History = History()

    def __post_init__(self):
        nodes, cables = len(self.wiring.hosts), self.wiring.cables
        rates = np.repeat([cable.rate_MBps for cable in cables], 2).astype(float)
        self.nodes = nodes
        #: Sending sides, receiving sides, arcs, and one that is never in the way.
        self.capacity = np.concatenate([np.full(2 * nodes, LINK_MBps), rates, [np.inf]])
        for rank, share in self.kinds.items():
            self.capacity[[rank, nodes + rank]] *= share
        self.faulty = self.capacity.copy()
        for first, shares in (
            (0, self.senders),
            (nodes, self.receivers),
            (2 * nodes, self.arcs),
        ):
            for number, share in shares.items():
                self.faulty[first + number] *= share
        self.random = np.random.default_rng([self.seed, 77])
        own = np.random.default_rng([self.seed, 78])
        self.of_host = np.exp(self.noise.host * own.standard_normal((2, nodes)))
        self.own_seed = int(own.integers(2**31))
        phases = own.uniform(0, 2 * np.pi, 3)
        self._drift = phases
        self.time = 0
        self.busy = []  # (begin, end, resource, share)
        # As many as ever are under way when the run begins.
        self.next_burst = -BURSTS_BEFORE if self.noise.bursts else np.inf

    def ways(self, sender, receiver):
        """Return the resources of each flow: its two sides and its arcs."""
        arcs = arcs_of(
            self.known, sender.astype(np.int64), receiver.astype(np.int64)
        ).astype(np.int64)
        assert (arcs[:, 0] >= -1).all(), "the laboratory knows all its ways"
        arcs = np.where(arcs < 0, len(self.capacity) - 1, arcs + 2 * self.nodes)
        return np.column_stack((sender, receiver + self.nodes, arcs))

    def measure(self, round_, sender, receiver):
        """Return measured rates in MB/s; flows of a round, which are numbered in order, run at once."""
        round_, sender, receiver = (
            np.asarray(each, dtype=np.int64) for each in (round_, sender, receiver)
        )
        if not len(round_):
            return np.empty(0)
        numbers, place = np.unique(round_, return_inverse=True)
        if len(numbers) * len(self.capacity) > MOST_AT_ONCE and len(numbers) > 1:
            is_early = place < len(numbers) // 2
            halves = [
                self.measure(round_[part], sender[part], receiver[part])
                for part in (is_early, ~is_early)
            ]
            return np.concatenate(halves)
        ways = self.ways(sender, receiver)
        times = self.time + np.arange(len(numbers))
        on = self.history.on(times)
        capacity = np.where(on[:, None], self.faulty, self.capacity)
        self._disturb(capacity, times)
        most = np.full(len(round_), np.inf)
        for (one, other), share in self.pairs.items():
            most[(sender == one) & (receiver == other) & on[place]] = share * LINK_MBps
        rate = max_min(
            ways + place[:, None] * capacity.shape[1], capacity.ravel(), most
        )
        noise = self.noise
        if noise.pair:
            rate = rate * np.exp(noise.pair * self._own(sender, receiver))
        rate = rate * np.minimum(self.of_host[0][sender], self.of_host[1][receiver])
        when = (self.time + place) / max(self.nodes, 16)
        waves = sum(
            np.sin(when * speed + phase)
            for speed, phase in zip((1.3, 3.1, 7.7), self._drift, strict=True)
        )
        rate = rate * np.exp(
            noise.drift * waves / 1.22
            + noise.each * self.random.standard_normal(len(rate))
        )
        if noise.tail:
            rate = np.where(self.random.random(len(rate)) < noise.tail, rate / 2, rate)
        self.time += len(numbers)
        return rate

    def _own(self, sender, receiver):
        """Return what each pair has of its own: normal numbers by a hash of the pair."""
        key = (sender * self.nodes + receiver).astype(np.uint64) + np.uint64(
            self.own_seed * 0x9E3779B97F4A7C15 % 2**64
        )
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
        key ^= key >> np.uint64(31)
        one = ((key >> np.uint64(32)).astype(float) + 0.5) / 2**32
        two = ((key & np.uint64(0xFFFFFFFF)).astype(float) + 0.5) / 2**32
        return np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * two)

    def _disturb(self, capacity, times):
        """Take other people's traffic off what is there: on a host's side or a cable, for some rounds."""
        if not self.noise.bursts:
            return
        while self.next_burst < times[-1] + 1:
            length = 1 + self.random.exponential(BURST_ROUNDS)
            share = self.random.uniform(*BURST_SHARES)
            resource = int(self.random.integers(capacity.shape[1] - 1))
            self.busy.append(
                (self.next_burst, self.next_burst + length, resource, share)
            )
            self.next_burst += self.random.exponential(BURST_ROUNDS / self.noise.bursts)
        for begin, end, resource, share in self.busy:
            capacity[(times >= begin) & (times < end), resource] *= share
        self.busy[:] = [each for each in self.busy if each[1] > times[-1]]


class ManyWays(Fabric):
    """A fat tree of two levels in which no pair depends on a cable: `routing` is adaptive or hashed.

    With adaptive routing all uplinks of a leaf are one resource, and so are all into it. With hashed routing
    each pair has one of the spines that both its leaves reach; `arcs` with a share of 0 are dead.
    """

    def __init__(self, routing, *arguments, **keywords):
        self.routing = routing
        super().__init__(*arguments, **keywords)
        self.cables = {
            (int(a), int(b)): 2 * self.nodes + arc
            for arc, (a, b) in enumerate(
                zip(self.known.starts, self.known.ends, strict=True)
            )
            if self.faulty[2 * self.nodes + arc] > 0
        }
        self.switches = len(self.wiring.switches)
        if routing == "adaptive":
            self.capacity = self._pooled(self.capacity)
            self.faulty = self._pooled(self.faulty)

    def _pooled(self, capacity):
        """Return the sides of nodes, all uplinks of each switch together, and all into it."""
        arcs = capacity[2 * self.nodes : -1]
        up, down = (
            np.bincount(side, weights=arcs, minlength=self.switches)
            for side in (self.known.starts, self.known.ends)
        )
        return np.concatenate([capacity[: 2 * self.nodes], up, down, [np.inf]])

    def ways(self, sender, receiver):
        here, there = self.known.at[sender], self.known.at[receiver]
        none = len(self.capacity) - 1
        within = here == there
        if self.routing == "adaptive":
            first = 2 * self.nodes + here
            second = 2 * self.nodes + self.switches + there
        else:
            first, second = np.array(
                [
                    self._hashed(*pair)
                    for pair in zip(sender, receiver, here, there, strict=True)
                ]
            ).T
        return np.column_stack(
            (
                sender,
                receiver + self.nodes,
                np.where(within, none, first),
                np.where(within, none, second),
            )
        )

    def _hashed(self, sender, receiver, here, there):
        spines = [
            spine
            for leaf, spine in self.cables
            if leaf == here and (spine, there) in self.cables
        ]
        if here == there:
            return 0, 0
        number = int(
            np.random.default_rng([self.own_seed, sender, receiver]).integers(
                len(spines)
            )
        )
        return self.cables[here, spines[number]], self.cables[spines[number], there]
