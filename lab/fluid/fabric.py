# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics: a graph of switches, its routes, and the levels of its parts in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .flows import Floats, Ints

RATE_MBps = 12_000.0
#: Of adaptive routing: the least share of the sum of its ways that a switch fills; it differs between rounds.
_EFFICIENCY = 0.92
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Level:
    """Some links have ``factor`` of their capacity, always, between two times, or for a share of each period.

    :param begin, end: in s. :param begin_at, end_at: instead of these the share of the scan that is done.
    :param period: of flapping, in s; 0: none. :param on: the share of a period at which they are slow.
    """

    links: Sequence[int]
    factor: float
    begin: float = 0.0
    end: float = np.inf
    begin_at: float | None = None
    end_at: float | None = None
    period: float = 0.0
    phase: float = 0.0
    on: float = 0.5

    @property
    def changes(self) -> bool:
        """Whether the level differs between times."""
        return (
            self.begin > 0
            or self.end < np.inf
            or self.period > 0
            or self.begin_at is not None
        )

    def reach(self, progress: float, step: float, now: float, round_s: float) -> None:
        """Turn the shares of the scan that this round reaches into times.

        :param progress: the share that is done; :param step: that of this round; :param round_s: how long it
            takes.
        """
        for name, at in (("begin", self.begin_at), ("end", self.end_at)):
            if at is not None:
                is_now = progress + step > at
                within = max(at - progress, 0.0) / step if step else 0.0
                setattr(self, name, now + within * round_s if is_now else np.inf)
                setattr(self, f"{name}_at", None if is_now else at)

    def at(self, now: float) -> tuple[float, float]:
        """Return the factor at a time, and the time of its next change."""
        if now < self.begin:
            return 1.0, self.begin
        if now >= self.end or not self.period:
            return (1.0, np.inf) if now >= self.end else (self.factor, self.end)
        share = (now + self.phase) / self.period % 1.0
        change = (
            now + ((self.on if share < self.on else 1.0) - share) * self.period + 1e-9
        )
        return (self.factor if share < self.on else 1.0), min(change, self.end)


@dataclass
class Fabric:
    """Nodes at switches, and cables between switches; shortest ways only.

    :param leaf: the switch of each node. :param groups: the names of switches by the group above them.
    :param cables: both switches of each. :param dead: cables that are not used.
    :param routing: ``static``: by tables; ``adaptive``: flows spread over the ways that are least loaded, so
        that all that may take a hop shares the sum of its ways; ``spray``: in equal parts over all ways,
        whatever their load; ``hash``: a way for each connection; ``message``: for each message.
    :param table: the way to destination d is number d, modulo the ways there are (``modulo``), or any
        (``random``).
    """

    leaf: Ints
    switches: list[str]
    groups: list[list[int]]
    cables: list[tuple[int, int]]
    routing: str = "static"
    table: str = "modulo"
    seed: int = 0
    dead: frozenset[int] = frozenset()
    levels: list[Level] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Number the links: of nodes that send, that receive, then both directions of each cable."""
        self.nodes = len(self.leaf)
        self.names = [f"cn{node + 1:04d}" for node in range(self.nodes)]
        self.leaves = sorted(set(self.leaf.tolist()))
        self.base = np.full(2 * self.nodes + 2 * len(self.cables), RATE_MBps)
        self.virtual: dict[tuple[int, ...], int] = {}
        self.rng = np.random.default_rng([self.seed, 17])
        self.out = self.make_table(self.table)

    def host(self, node: int, side: str = "both") -> list[int]:
        """Return the links on which a node ``sends``, ``receives``, or both."""
        return {"sends": [node], "receives": [self.nodes + node]}.get(
            side, [node, self.nodes + node]
        )

    def cable(self, cable: int) -> list[int]:
        """Return both directions of a cable."""
        return [2 * self.nodes + 2 * cable, 2 * self.nodes + 2 * cable + 1]

    def cables_of(self, switch: int) -> list[int]:
        """Return the cables of a switch."""
        return [number for number, ends in enumerate(self.cables) if switch in ends]

    def pair(self, sender: int, receiver: int) -> int:
        """Return the link of the traffic of one ordered pair alone, such as an entry of a table."""
        return self._virtual_link((-1, sender, receiver))

    def _virtual_link(self, key: tuple[int, ...]) -> int:
        return self.virtual.setdefault(key, len(self.base) + len(self.virtual))

    # ----------------------------------------------------------------------- routes

    @cached_property
    def _ends(self) -> Ints:
        """The switch at the end of each direction of a cable."""
        return np.array(self.cables, dtype=np.int64)[:, ::-1].ravel()

    @cached_property
    def ways(self) -> dict[tuple[int, int], Ints]:
        """The links that lead nearer, by switch and switch of the destination."""
        first = 2 * self.nodes
        alive = [
            number
            for number in range(2 * len(self.cables))
            if number // 2 not in self.dead
        ]
        leaving: list[list[int]] = [[] for _ in self.switches]
        for number in alive:
            leaving[self.cables[number // 2][number % 2]].append(number)
        ways = {}
        for target in self.leaves:
            far = {target: 0}
            edge = [target]
            while edge:
                edge = [at for near in edge for number in leaving[near]
                        if (at := int(self._ends[number])) not in far
                        and far.setdefault(at, far[near] + 1)]  # fmt: skip
            for switch, distance in far.items():
                nearer = [
                    first + number
                    for number in leaving[switch]
                    if far[int(self._ends[number])] < distance
                ]
                ways[switch, target] = np.array(nearer, dtype=np.int64)
        return ways

    def make_table(self, kind: str) -> Ints:
        """Return the link by switch and destination, -1 where it is at the switch; as a subnet manager
        would."""
        out = np.full((len(self.switches), self.nodes), -1)
        for (switch, target), ways in self.ways.items():
            here = np.flatnonzero(self.leaf == target)
            if len(ways):
                stride = (
                    1
                    if switch in self.leaves
                    else max(len(self.cables_of(self.leaves[0])), 1)
                )
                choice = (
                    here // stride
                    if kind == "modulo"
                    else self.rng.integers(1 << 30, size=len(here))
                )
                out[switch, here] = ways[choice % len(ways)]
        return out

    def begin_round(self) -> None:
        """Let adaptive routing fill its ways anew, not equally well at each switch."""
        self._filled = self.rng.uniform(_EFFICIENCY, 1.0, len(self.virtual))

    def paths(
        self, pairs: Sequence[tuple[int, int]], numbers: Ints
    ) -> tuple[Ints, Floats]:
        """Return the links of flows and the share of each that they carry, for :func:`.flows.max_min`.

        :param numbers: of the message of each flow, for a hash for each message.
        """
        sender, receiver = np.array(pairs).T
        if self.routing in ("adaptive", "spray"):
            spread = [self._spread(int(one), int(other))
                      for one, other in zip(self.leaf[sender], self.leaf[receiver], strict=True)]  # fmt: skip
            width = max(len(links) for links, _ in spread)
            path = np.array(
                [[*links, *[-1] * (width - len(links))] for links, _ in spread],
                dtype=np.int64,
            )
            weight = np.array(
                [[*shares, *[0.0] * (width - len(shares))] for _, shares in spread]
            )
        else:
            path = self._walk(sender, receiver, numbers)
            weight = np.ones(path.shape)
        own = np.array([self.virtual.get((-1, *pair), -1) for pair in pairs])
        path = np.column_stack(
            [path.reshape(len(pairs), -1), sender, self.nodes + receiver, own]
        )
        weight = np.column_stack(
            [weight.reshape(len(pairs), -1), np.ones((len(pairs), 3))]
        )
        weight[path < 0] = 0.0
        path[path < 0] = len(self.base) + len(self.virtual)
        return path, weight

    def _walk(self, sender: Ints, receiver: Ints, numbers: Ints) -> Ints:
        key = (
            (sender * 1_000_003 + receiver) * 4099 + numbers * 7919 + self.seed
        ).astype(np.uint64) * _MIX
        at, target, columns = self.leaf[sender], self.leaf[receiver], []
        while (at != target).any():
            key = (key ^ (key >> np.uint64(29))) * _MIX
            if self.routing == "static":
                link = np.where(at == target, -1, self.out[at, receiver])
            else:
                drawn = (key >> np.uint64(33)).astype(np.int64)
                choices = [
                    self.ways[one, other]
                    for one, other in zip(at.tolist(), target.tolist(), strict=True)
                ]
                link = np.array([ways[draw % len(ways)] if len(ways) else -1
                                 for ways, draw in zip(choices, drawn.tolist(), strict=True)])  # fmt: skip
            columns.append(link)
            at = np.where(
                link < 0, at, self._ends[np.maximum(link - 2 * self.nodes, 0)]
            )
        return np.array(columns, dtype=np.int64).reshape(len(columns), len(sender)).T

    def _spread(self, one: int, other: int) -> tuple[list[int], list[float]]:
        """Return the links between two switches that all ways use, or the pool of each hop, and their
        shares."""
        key = (one, other)
        if key not in self._spreads:
            links, shares, here = list[int](), list[float](), {one: 1.0}
            while set(here) != {other}:
                hop = {int(link): share / len(self.ways[at, other]) for at, share in here.items()
                       for link in self.ways[at, other]}  # fmt: skip
                adaptive = self.routing == "adaptive"
                links += (
                    [self._virtual_link(tuple(sorted(hop)))] if adaptive else list(hop)
                )
                shares += [1.0] if adaptive else list(hop.values())
                here = {}
                for link, share in hop.items():
                    end = int(self._ends[link - 2 * self.nodes])
                    here[end] = here.get(end, 0.0) + share
            self._spreads[key] = links, shares
        return self._spreads[key]

    @cached_property
    def _spreads(self) -> dict[tuple[int, int], tuple[list[int], list[float]]]:
        return {}

    def state(self, now: float) -> tuple[Floats, float]:
        """Return the capacity of all links at a time, the last infinite, and the time of the next change."""
        factors, change = np.ones(len(self.base) + len(self.virtual) + 1), np.inf
        for level in self.levels:
            factor, until = level.at(now)
            factors[list(level.links)] *= factor
            change = min(change, until)
        real = self.base * factors[: len(self.base)]
        # A pair at fault is slower than its two nodes, which may be of a slower kind.
        pools = [min(self.base[key[1]], self.base[self.nodes + key[2]]) if key[0] < 0
                 else real[list(key)].sum() * share
                 for key, share in zip(self.virtual, self._filled, strict=True)]  # fmt: skip
        return np.concatenate(
            [real, pools * factors[len(self.base) : -1], [np.inf]]
        ), change


def fat_tree(
    nodes: int, per_leaf: int, spines: int, pods: int = 1, cores: int = 0, **of: object
) -> Fabric:
    """Return a fat tree: each leaf of a pod has a cable to each of its spines, of spine j to cores of j."""
    leaves = -(-nodes // per_leaf)
    of_pod = -(-leaves // pods)
    switches = [f"leaf-{leaf + 1}" for leaf in range(leaves)]
    switches += [f"spine-{pod + 1}-{spine + 1}" if pods > 1 else f"spine-{spine + 1}"
                 for pod in range(pods) for spine in range(spines)]  # fmt: skip
    switches += [
        f"core-{spine + 1}-{core + 1}"
        for spine in range(spines)
        for core in range(cores)
    ]
    cables = [
        (leaf, leaves + leaf // of_pod * spines + spine)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    cables += [(leaves + pod * spines + spine, leaves + pods * spines + spine * cores + core)
               for pod in range(pods) for spine in range(spines) for core in range(cores)]  # fmt: skip
    groups = [
        list(range(at, min(at + of_pod, leaves))) for at in range(0, leaves, of_pod)
    ]
    return Fabric(np.arange(nodes) // per_leaf, switches, groups, cables, **of)  # type: ignore[arg-type]


def dragonfly(nodes: int, per_router: int, routers: int, **of: object) -> Fabric:
    """Return groups of fully connected routers, with cables between each two groups, spread over their
    routers."""
    count = -(-nodes // (per_router * routers))
    groups = [
        list(range(group * routers, (group + 1) * routers)) for group in range(count)
    ]
    switches = [
        f"router-{group + 1}-{router + 1}"
        for group in range(count)
        for router in range(routers)
    ]
    cables = [
        (one, other)
        for group in groups
        for one in group
        for other in group
        if one < other
    ]
    each = max(1, 2 * routers // max(count - 1, 1))  # two cables a router
    between = {(groups[one][(k * (count - 1) + other - 1) % routers],
                groups[other][(k * (count - 1) + one) % routers])
               for one in range(count) for other in range(one + 1, count) for k in range(each)}  # fmt: skip
    cables += sorted(between)
    return Fabric(np.arange(nodes) // per_router, switches, groups, cables, **of)  # type: ignore[arg-type]
