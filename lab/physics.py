# SPDX-License-Identifier: BSD-3-Clause
"""Try faults as they happen on a third model, whose physics shares no code with ``faults`` and ``fluid``.

A fat tree of leaves of eight nodes, below four spines. A test of a flow takes the time that the fairest share
of each resource on its way gives it; what is wrong changes resources, or the time of a test:

- ``loss``: each transfer takes 1 + Exp(mean) of its time, through a node or a cable;
- ``both``: sending and receiving of a node share the rate of one direction (an adapter at x8);
- ``collapse``: more than four flows into a leaf reach a fifth each;
- ``heat``: a node loses a fifth of its rate while it is busy, and regains it;
- ``other job``: each of a third of the nodes streams to the next of them, for the whole run;
- ``rail leaf``: one of the two leaves of one rail is at 0.7 of what its adapters ask for;
- ``uplinks``: half of a leaf's uplinks are dead, routing is adaptive; ``slow cable``, ``slow spine``: half
  the rate;
- ``far``: a node sends at 0.7 to other leaves only.

    python -m lab.physics --trials 20 --first-seed 7700000 --nodes 32

prints the table: runs whose fault was named by a finding of severity fault, those where an observation had
it, those in which any sentence named a node or cable that is well, in which the map was called wrong, and
exit statuses of 3. What the program measures again is that of ``rotate.program``, which is held against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from lab import harness
from lab.files import ibnetdiscover, lfts, slurm
from lab.rotate import program

LEAF, SPINES, RATE_MBPS, NOISE = 8, 4, 12800.0, 0.03
#: Seconds in which a busy node loses most of what heat takes.
HEAT_S = 0.2
Flow = tuple[int, int]


@dataclass
class Fabric:
    """Hold resources by name, and what is wrong.

    :param capacity: of resources, 1 for those that are not here. :param truth: the names that a sentence may
        have; :param wanted: those that have to be in the one that blames.
    """

    nodes: int
    rng: np.random.Generator
    rails: int = 1
    adaptive: bool = False
    capacity: dict[tuple[object, ...], float] = field(default_factory=dict)
    loss: dict[tuple[object, ...], float] = field(default_factory=dict)
    both: int = -1
    collapse: int = -1
    hot: int = -1
    far: int = -1
    others: list[Flow] = field(default_factory=list)
    truth: set[str] = field(default_factory=set)
    wanted: str = ""
    heat: float = 0.0
    now: float = 0.0

    def __post_init__(self) -> None:
        """Draw the forwarding tables: of each leaf the spine to each node."""
        units = self.nodes // self.rails
        self.leaves = -(-units // LEAF)
        self.spine = self.rng.integers(SPINES, size=(self.leaves, self.nodes))
        self.names = [
            f"cn{number // self.rails + 1:04d}" for number in range(self.nodes)
        ]

    def leaf(self, rank: int) -> int:
        """Return the leaf of a node."""
        return rank // self.rails // LEAF

    def way(self, flow: Flow) -> list[tuple[object, ...]]:
        """Return the resources that a flow takes."""
        one, other = flow
        start, end, rail = self.leaf(one), self.leaf(other), one % self.rails
        found: list[tuple[object, ...]] = [("out", one), ("in", other)]
        if self.both in flow:
            found.append(("bus", self.both))
        for leaf in {start, end}:
            found.append(("leaf", rail, leaf, one, other))
        if start != end and self.rails == 1:
            spine = -1 if self.adaptive else int(self.spine[start, other])
            found += [("up", start, spine), ("down", end, spine)]
        return found

    def room(self, resource: tuple[object, ...]) -> float:
        """Return the capacity of a resource."""
        if resource[0] in ("out", "in") and resource[1] == self.hot:
            return 1 - 0.2 * self.heat
        usual = SPINES if self.adaptive and resource[0] in ("up", "down") else 1.0
        return self.capacity.get(resource[:3], usual)

    def rates(self, flows: Sequence[Flow]) -> NDArray[np.float64]:
        """Return the fairest rates: the resource with the least for each of its flows fixes these first."""
        ways = [self.way(flow) for flow in flows]
        left = {each: self.room(each) for way in ways for each in way}
        rates, open_ = np.zeros(len(flows)), set(range(len(flows)))
        while open_:
            users: dict[tuple[object, ...], list[int]] = {}
            for number in open_:
                for each in ways[number]:
                    users.setdefault(each, []).append(number)
            least = min(users, key=lambda each: left[each] / len(users[each]))
            share = left[least] / len(users[least])
            for number in users[least]:
                rates[number] = share
                open_.discard(number)
                for each in ways[number]:
                    left[each] -= share
        return rates

    def tests(self, flows: Sequence[Flow]) -> NDArray[np.float64]:
        """Return the MB/s of flows at once, a row for each of three tests."""
        every = [*flows, *self.others]
        found = np.empty((program.TESTS, len(flows)))
        into = [
            flow
            for flow in flows
            if self.leaf(flow[1]) == self.collapse != self.leaf(flow[0])
        ]
        for test in found:
            rates = self.rates(every)[: len(flows)]
            if len(into) > 4:
                rates[[flows.index(flow) for flow in into]] *= 0.2
            for number, flow in enumerate(flows):
                if flow[0] == self.far and self.leaf(flow[1]) != self.leaf(flow[0]):
                    rates[number] = min(rates[number], 0.7)
                means = [self.loss.get(each, 0.0) for each in self.way(flow)]
                rates[number] /= 1 + self.rng.exponential(max(means))
            test[:] = rates * RATE_MBPS
            self._pass(flows, float(84e6 / test.min() / 1e6))
        return found * np.exp(NOISE * self.rng.standard_normal(found.shape))

    def _pass(self, flows: Sequence[Flow], seconds: float) -> None:
        is_busy = any(self.hot in flow for flow in flows)
        self.heat += (is_busy - self.heat) * (1 - np.exp(-seconds / HEAT_S))
        self.now += seconds

    def measure(
        self, phase: str, pairs: Sequence[Flow], progress: float
    ) -> list[tuple[float, ...]]:
        """Return best, median and slowest test of pairs that stream at once."""
        found = np.sort(self.tests(pairs), axis=0)[::-1]
        return [tuple(column) for column in found.T]

    def pause(self, seconds: float) -> None:
        """Let time pass in which nothing streams."""
        self._pass((), seconds)


# ------------------------------------------------------------------------------------- what is wrong


def _blame(at: Fabric, *names: str, text: str = "") -> None:
    at.truth |= set(names)
    at.wanted = text or "|".join(map(re.escape, names))


def _cable(at: Fabric) -> tuple[int, int, str]:
    leaf, spine = int(at.rng.integers(at.leaves)), int(at.rng.integers(SPINES))
    return leaf, spine, f"leaf{leaf + 1:02d}"


def _loss_node(at: Fabric, mean: float) -> None:
    rank = int(at.rng.integers(at.nodes))
    at.loss |= {("out", rank): mean, ("in", rank): mean}
    _blame(at, at.names[rank])


def _loss_cable(at: Fabric, mean: float) -> None:
    leaf, spine, name = _cable(at)
    at.loss |= {("up", leaf, spine): mean, ("down", leaf, spine): mean}
    _blame(at, name, f"spine{spine + 1:02d}", text=f"{name} port {LEAF + 1 + spine} ")


def _both(at: Fabric) -> None:
    at.both = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.both])


def _collapse(at: Fabric) -> None:
    at.collapse, _, name = _cable(at)
    _blame(at, name)


def _heat(at: Fabric) -> None:
    at.hot = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.hot])


def _other_job(at: Fabric) -> None:
    ranks = at.rng.permutation(at.nodes)[: at.nodes // 3].tolist()
    at.others = list(zip(ranks, [*ranks[1:], ranks[0]], strict=True))
    _blame(at, *(at.names[rank] for rank in ranks), text="traffic of others")


def _rail_leaf(at: Fabric) -> None:
    rail, leaf = int(at.rng.integers(at.rails)), int(at.rng.integers(at.leaves))
    of_leaf = [
        rank
        for rank in range(at.nodes)
        if at.leaf(rank) == leaf and rank % at.rails == rail
    ]
    for rank in of_leaf:
        at.capacity |= {("out", rank): 0.7, ("in", rank): 0.7}
    _blame(at, *(at.names[rank] for rank in of_leaf), text=f"rail {rail}\\b")


def _uplinks(at: Fabric) -> None:
    leaf, _, name = _cable(at)
    at.capacity |= {("up", leaf, -1): SPINES / 2, ("down", leaf, -1): SPINES / 2}
    _blame(at, name)


def _slow(at: Fabric, *, spine: bool) -> None:
    leaf, number, name = _cable(at)
    for each in range(at.leaves) if spine else [leaf]:
        at.capacity |= {("up", each, number): 0.5, ("down", each, number): 0.5}
    of_spine = f"spine{number + 1:02d}"
    text = of_spine if spine else f"{name} port {LEAF + 1 + number} "
    _blame(at, of_spine, *([] if spine else [name]), text=text)


def _far(at: Fabric) -> None:
    at.far = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.far])


@dataclass(frozen=True)
class Row:
    """A kind of fault, and what the verb is told: ``routes``, ``switches`` (routing not told) or nothing.

    :param untold: whether adaptive routing is not told.
    :param text: what has to be in a sentence where no part can be named; empty for the part.
    """

    fault: Callable[[Fabric], None]
    told: str = "routes"
    rails: int = 1
    adaptive: bool = False
    groups: bool = False
    untold: bool = False
    text: str = ""


ROWS = {
    "healthy, routes": Row(lambda at: None),
    "healthy, switches": Row(lambda at: None, "switches", groups=True),
    "healthy, adaptive": Row(lambda at: None, "switches", adaptive=True, groups=True),
    "healthy, rails": Row(lambda at: None, "", rails=4),
    "loss of a node, 0.25": Row(partial(_loss_node, mean=0.25)),
    "loss of a node, 1.0": Row(partial(_loss_node, mean=1.0)),
    "loss of a node, 0.5, no map": Row(partial(_loss_node, mean=0.5), ""),
    "loss of a cable, 0.25": Row(partial(_loss_cable, mean=0.25)),
    "loss of a cable, 1.0": Row(partial(_loss_cable, mean=1.0)),
    "loss of a cable, 0.5, routing not told": Row(
        partial(_loss_cable, mean=0.5), "switches", text="."
    ),
    "both directions": Row(_both),
    "both directions, no map": Row(_both, ""),
    "collapse, routing not told": Row(_collapse, "switches", groups=True),
    "collapse, adaptive": Row(_collapse, "switches", adaptive=True, groups=True),
    "heat": Row(_heat),
    "heat, no map": Row(_heat, ""),
    "other job": Row(_other_job),
    "rail's leaf": Row(_rail_leaf, "", rails=4),
    "half of the uplinks": Row(_uplinks, "switches", adaptive=True, groups=True),
    "half of the uplinks, routing not told": Row(
        _uplinks, "switches", adaptive=True, groups=True, untold=True
    ),
    "slow cable, routing not told": Row(
        partial(_slow, spine=False), "switches", text="."
    ),
    "slow spine, routing not told": Row(
        partial(_slow, spine=True), "switches", text="."
    ),
    "slow to other leaves": Row(_far),
    "slow to other leaves, no map": Row(_far, ""),
}


# ------------------------------------------------------------------------------------- files and verdicts


def _printed(at: Fabric) -> SimpleNamespace:
    """Return the fabric as :mod:`lab.files` writes one."""
    leaves, spines = range(at.leaves), range(SPINES)
    out = np.zeros((at.leaves + SPINES, at.nodes), dtype=np.int64)
    for rank in range(at.nodes):
        for leaf in leaves:
            out[leaf, rank] = 2 * (leaf * SPINES + at.spine[leaf, rank])
        for spine in spines:
            out[at.leaves + spine, rank] = 2 * (at.leaf(rank) * SPINES + spine) + 1
    return SimpleNamespace(
        nodes=at.nodes, names=at.names, leaf=np.array([at.leaf(rank) for rank in range(at.nodes)]),
        leaves=list(leaves), groups=[list(leaves)], dead=(), out=out + 2 * at.nodes,
        switches=[f"leaf{leaf + 1:02d}" for leaf in leaves] + [f"spine{spine + 1:02d}" for spine in spines],
        cables=[(leaf, at.leaves + spine) for leaf in leaves for spine in spines],
    )  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a run came to, see the module."""

    named: bool
    observed: bool
    healthy: bool
    doubted: bool
    status: int
    said: tuple[str, ...]


COLUMNS = ("named", "observed", "healthy named", "map doubted", "exit 3")
#: Notes that describe values, and limits.
_VALUES = (
    "slowest pair",
    "plateaus",
    "by switch",
    "by leaf",
    "not measured",
    "node classes",
)


def trial(name: str, seed: int, nodes: int, keep: str = "") -> Outcome:
    """Measure one fabric and hold what is said against what is wrong."""
    row, rng = ROWS[name], np.random.default_rng(seed)
    at = Fabric(nodes * row.rails, rng, row.rails, row.adaptive)
    row.fault(at)
    groups = [at.leaf(rank) for rank in range(at.nodes)] if row.groups else ()
    done = program.Run(
        at.nodes,
        (nodes + 1) // 2,
        program.in_turn(at.measure),
        groups,
        at.pause,
        row.rails,
    )
    with harness.folder_of(f"{name}-{seed}", keep) as folder:
        (folder / "output.txt").write_text(done.text(at.names, at.now, 1.02 * at.now))
        files, options = {}, []
        if row.told == "switches":
            files = {"slurm.txt": slurm(_printed(at))}
            options = (
                ["--routing", "adaptive"] if row.adaptive and not row.untold else []
            )
        elif row.told == "routes":
            files = {
                "net.txt": ibnetdiscover(_printed(at)),
                "lfts.txt": lfts(_printed(at)),
            }
            options = ["--routing", "static"]
        for name, text in files.items():
            (folder / name).write_text(text)
        document, status = harness.verb(
            [folder / "output.txt"], [folder / name for name in files], options
        )
    (run,) = document["runs"].values()
    findings = run["findings"]
    return judged(findings, status, at, row.text or at.wanted)


def judged(
    findings: Sequence[dict[str, object]], status: int, at: Fabric, wanted: str
) -> Outcome:
    """Hold findings against what is wrong."""
    said, named, observed, healthy, doubted = [], False, False, False, False
    for each in findings:
        if each["kind"] in _VALUES:
            continue
        text = f"{each['text']} | {' | '.join(map(str, each.get('details') or ()))}"
        is_fault = each["severity"] == "fault"
        said.append(f"{each['severity']}: {text}")
        doubted |= each["kind"] == "map"
        has_it = bool(at.truth) and bool(re.search(wanted, text))
        named |= is_fault and has_it
        observed |= has_it
        healthy |= _is_of_healthy(each, at)
    return Outcome(named, observed, healthy, doubted, status, tuple(said))


def _is_of_healthy(finding: dict[str, object], at: Fabric) -> bool:
    """Return whether a sentence names one part, and that is well; lists of pairs name no part."""
    subject = str(finding.get("part") or "")
    if finding["kind"] in ("group", "pair", "map") and at.truth:
        return False
    parts = set(re.findall(r"cn\d+|leaf\d+|spine\d+", subject))
    return bool(parts) and not parts & at.truth


def counted(name: str, seed: int, nodes: int, keep: str) -> tuple[list[str], str]:
    """Return the outcome of a trial as the table counts it."""
    found = trial(name, seed, nodes, keep)
    holds = (
        found.named,
        found.observed,
        found.healthy,
        found.doubted,
        found.status == 3,
    )
    columns = [column for column, is_so in zip(COLUMNS, holds, strict=True) if is_so]
    return columns, "\n      ".join(found.said)


def main() -> None:
    """Print the table."""
    parser = harness.options("lab.physics", __doc__)
    parser.add_argument("--nodes", type=int, default=32)
    harness.keeping(parser)
    given = parser.parse_args()
    harness.table(
        given, ROWS, COLUMNS, partial(counted, nodes=given.nodes, keep=given.keep)
    )


if __name__ == "__main__":
    main()
