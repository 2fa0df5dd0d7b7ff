# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.fluid.rails --trials N --first-seed S``: how often the part at fault between GPUs is named.

Nodes have four or eight GPUs, with an adapter each or one for two, and each adapter number has a fabric of
its own, a rail. What `rotate --rails` measures there is analysed as the check does it. ``named``: all parts
at fault and nothing else; ``among``: the same, with others that explain as much, or with some of what is in
it; ``symptom``: some of what is in it, or one of two; ``healthy``: something that is not at fault is blamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.parsers import rotate, rotate_patterns
from lab import harness
from lab.rotate import program

from . import flows
from .fabric import RATE_MBps
from .machine import Machine, noisy
from .scenarios import Random, tree

FAULTS = (
    "healthy",
    "GPU .8",
    "GPU sends .8",
    "GPU receives .8",
    "adapter .8",
    "rail .8",
    "node .8",
    "two GPUs .8",
)
COLUMNS = ("named", "among", "symptom", "missed", "healthy")
CONDITIONS = ("plain", "1 % at half", "two kinds of nodes")


@dataclass
class Gpus(Machine):
    """GPUs whose adapters are hosts of a fabric for each rail.

    :param fabric: of the first rail. :param gpus: of a node; :param share: of an adapter.
    """

    gpus: int = 8
    share: int = 1

    def __post_init__(self) -> None:
        """Give each rail a fabric, and each GPU two sides."""
        rails = self.gpus // self.share
        self.fabrics = [self.fabric, *(replace(self.fabric, levels=[], seed=self.fabric.seed + rail)
                                       for rail in range(1, rails))]  # fmt: skip
        for fabric in self.fabrics:
            fabric.base[:] = self.fabric.base
        self.sides = np.full((2, self.fabric.nodes * self.gpus), RATE_MBps)

    def measure(
        self, phase: str, pairs: Sequence[tuple[int, int]], progress: float
    ) -> list[tuple[float, float]]:
        """Return the MB/s of pairs that stream at once, in the best test and the slowest, and let the time
        pass."""
        megabytes, ends = program.SIZE_B * program.MESSAGES / 1e6, np.array(pairs)
        took = np.empty(len(pairs))
        adapter = ends[:, 0] % self.gpus // self.share
        for number in np.unique(adapter):
            own, fabric = np.flatnonzero(adapter == number), self.fabrics[number]
            nodes = [(int(one), int(other)) for one, other in ends[own] // self.gpus]
            path, weight = fabric.paths(nodes, np.zeros(len(own), dtype=np.int64))
            fabric.begin_round()
            capacity, _ = fabric.state(0.0)
            sides = self.sides[[0, 1], ends[own]]
            # The two sides of each GPU are links, before the one without a limit.
            first, count = len(capacity) - 1, len(own)
            path = np.where(path == first, first + 2 * count, path)
            path = np.hstack((path, first + np.arange(2 * count).reshape(count, 2)))
            weight = np.hstack((weight, np.ones((count, 2))))
            limits = np.concatenate((capacity[:-1], sides.ravel(), [np.inf]))
            took[own] = flows.finish(
                path,
                weight,
                np.full(count, megabytes),
                0.0,
                lambda _, limits=limits: (limits, np.inf),
            )
        rates = noisy(
            self.rng,
            np.tile(megabytes / took, (program.TESTS, 1)),
            self.noise,
            self.tail,
        )
        passed = float((megabytes / rates).max(axis=1).sum())
        self.transfers_s += passed
        self.now += passed + 3e-4
        return list(
            zip(rates.max(axis=0).tolist(), rates.min(axis=0).tolist(), strict=True)
        )

    def text(self) -> str:
        """Return the output of the check's run."""
        shifts = rotate_patterns.nightly_rounds(self.fabric.nodes)
        ranks = self.fabric.nodes * self.gpus
        run = program.Run(
            ranks,
            shifts,
            program.in_turn(self.measure),
            (),
            self._pause,
            rails=self.gpus,
            share=self.share,
        )
        hosts = [name for name in self.fabric.names for _ in range(self.gpus)]
        return run.text(hosts, self.transfers_s, self.now - self.paused_s)


Truth = list[tuple[str, set[int]]]


def build(seed: int, fault: str, nodes: int = 0) -> tuple[Gpus, Truth]:
    """Return the machine of a seed, and the name and the ranks of each part at fault."""
    rng = np.random.default_rng([seed, FAULTS.index(fault), 45])
    nodes = nodes or int(rng.choice([4, 8, 12, 16, 24, 32]))
    condition = CONDITIONS[seed % len(CONDITIONS)]
    share = 2 if fault == "adapter .8" or rng.uniform() < 0.3 else 1
    routing = str(rng.choice(["static", "adaptive"]))
    fabric = tree(rng, nodes, routing=routing)
    if condition == "two kinds of nodes":
        for node in (
            rng.permutation(nodes)[: nodes // 4].tolist() if nodes >= 16 else ()
        ):  # fewer look as faults do
            fabric.base[fabric.host(node)] *= 0.65
    tail = 0.01 if condition == "1 % at half" else 0.0
    machine = Gpus(fabric, rng, tail=tail, gpus=int(rng.choice([4, 8])), share=share)
    return machine, _break(rng, machine, fault)


def _break(rng: Random, machine: Gpus, fault: str) -> Truth:
    """Slow a part down, or two; return the names and the ranks."""
    gpus, fabric = machine.gpus, machine.fabric
    node, gpu = int(rng.integers(fabric.nodes)), int(rng.integers(gpus))
    name = fabric.names[node]
    if fault.startswith("GPU"):
        sides = {"sends": [0], "receives": [1]}.get(fault.split()[1], [0, 1])
        machine.sides[sides, node * gpus + gpu] *= _slower(machine, node)
        return [(f"node {name}, GPU {gpu}", {node * gpus + gpu})]
    if fault == "two GPUs .8":
        both = rng.choice(fabric.nodes * gpus, 2, replace=False).tolist()
        for rank in both:
            machine.sides[:, rank] *= _slower(machine, rank // gpus)
        return [
            (f"node {fabric.names[rank // gpus]}, GPU {rank % gpus}", {rank})
            for rank in both
        ]
    if fault == "rail .8":
        machine.sides[:, gpu::gpus] *= 0.8
        return [
            (
                f"rail {gpu} (GPU {gpu} of all nodes)",
                set(range(gpu, fabric.nodes * gpus, gpus)),
            )
        ]
    if fault == "node .8":
        for each in machine.fabrics:
            each.base[each.host(node)] *= 0.8
        return [
            (f"node {name} (all its GPUs)", set(range(node * gpus, node * gpus + gpus)))
        ]
    if fault == "adapter .8":
        own = machine.fabrics[gpu // 2]
        own.base[own.host(node)] *= 0.8
        first = gpu // 2 * 2
        ranks = {node * gpus + first, node * gpus + first + 1}
        return [(f"node {name}, the adapter of GPUs {first}, {first + 1}", ranks)]
    return []


def _slower(machine: Gpus, node: int) -> float:
    """Return 0.8 of the rate of a node's adapter, as a share of a GPU's."""
    return 0.8 * float(machine.fabric.base[node]) / RATE_MBps


def trial(seed: int, fault: str, nodes: int = 0) -> tuple[str, list[str], str]:
    """Return the outcome of a trial, what is at fault, and what is said."""
    machine, truth = build(seed, fault, nodes)
    output = rotate.parse(machine.text())
    blamed = [
        finding for finding in evaluation.of_run(output).findings if finding.is_fault
    ]
    texts = "; ".join(finding.text for finding in blamed)
    names = [name for name, _ in truth]
    slow = set[int]().union(*(ranks for _, ranks in truth))
    other = [each for each in blamed if not {each.part, *each.others} & set(names)]
    if not all(set(each.ranks) & slow if each.kind == "pair" else each.ranks and set(each.ranks) <= slow
               for each in other):  # fmt: skip
        return "healthy", names, texts
    if not all(
        any(part in (each.part, *each.others) for each in blamed) for part in names
    ):
        return ("symptom" if blamed else "missed"), names, texts
    return (
        ("named" if all(each.part in names for each in blamed) else "among"),
        names,
        texts,
    )


def counted(fault: str, seed: int, nodes: int) -> tuple[list[str], str]:
    """Return the outcome of a trial as the table counts it."""
    outcome, truth, texts = trial(seed, fault, nodes)
    return [outcome], f"{truth}: {texts}"


def main() -> None:
    """Print a line for each fault."""
    parser = harness.options("lab.fluid.rails", __doc__)
    parser.add_argument("--nodes", type=int, default=0, help="default: 4 to 32")
    given = parser.parse_args()
    harness.table(given, FAULTS, COLUMNS, partial(counted, nodes=given.nodes))


if __name__ == "__main__":
    main()
