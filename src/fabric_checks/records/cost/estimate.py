# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a run before it is made: what its cases cost before, and what a run takes beside them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from fabric_checks.records.cost import past
from fabric_checks.records.cost.past import Past
from fabric_checks.records.cost.plan import Plan, level_of
from fabric_checks.records.cost.recorded import MEASURED

#: Of how many runs the median of what they take beside their jobs is taken: the latest of those of like size.
_LATEST_RUNS = 5


@dataclass(frozen=True)
class Beside:
    """What a run takes beside its jobs and what they leave, for each job: loading, building, submitting, judging.

    :param runs: how many past runs say so; with none, both are 0.
    """

    seconds: float = 0.0
    disk_B: float = 0.0
    runs: int = 0


@dataclass(frozen=True)
class Share:
    """What runs on a partition; :param of: how many nodes the checks may use there, None if that is not said."""

    name: str
    jobs: int
    nodes: int
    of: int | None
    max_jobs: int


@dataclass(frozen=True)
class Estimate:
    """The computed cost of a run.

    :param nodes: the most that a job has. :param node_minutes: allocated nodes times minutes, without the queue.
    :param bounded_node_minutes: the part of them, and :param bounded_minutes: of the minutes, that is of jobs of which
        only the time limit is known: they take less.
    :param wall_minutes: jobs one after the other, and what goes with them; without the queue.
    :param disk_B: what they leave, None unless it is known of each.
    :param rests: for each of :data:`fabric_checks.records.cost.past.COSTS`, how many jobs rest on what.
    """

    command: str
    level: str | None
    system: str
    passes: int
    jobs: int
    nodes: int
    partitions: tuple[Share, ...]
    node_minutes: float
    job_minutes: float
    wall_minutes: float
    bounded_node_minutes: float
    bounded_minutes: float
    disk_B: int | None
    rests: Mapping[str, Mapping[str, int]]
    beside: Beside

    @property
    def untimed(self) -> int:
        """Of how many jobs the time is not known at all, so that the sums lack them."""
        return self.rests["elapsed_s"].get(past.UNKNOWN, 0)

    def as_line(self) -> dict[str, Any]:
        """Return it as :func:`fabric_checks.records.cost.recorded.append` takes it."""
        return asdict(self)


def estimate(plan: Plan, known: Past, beside: Beside) -> Estimate:
    """Compute the cost of a run.

    :param known: what cases cost before. :param beside: as :func:`beside_jobs` returns it.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    rests: dict[str, Counter[str]] = {cost: Counter() for cost in past.COSTS}
    for case in plan.cases:
        for cost in past.COSTS:
            expected = known.find(case, cost)
            rests[cost][expected.basis] += plan.passes
            value = (expected.value or 0) * plan.passes
            sums[cost] += value
            if cost == "elapsed_s":
                sums["node_s"] += value * case.nodes
                if expected.basis == past.BOUND:
                    sums["bounded_s"] += value
                    sums["bounded_node_s"] += value * case.nodes
    return Estimate(
        command=plan.command,
        level=level_of(plan.command),
        system=plan.system,
        passes=plan.passes,
        jobs=plan.jobs,
        nodes=max((case.nodes for case in plan.cases), default=0),
        partitions=tuple(_shares(plan)),
        node_minutes=round(sums["node_s"] / 60, 3),
        job_minutes=round(sums["elapsed_s"] / 60, 3),
        wall_minutes=round((sums["elapsed_s"] + plan.jobs * beside.seconds) / 60, 3),
        bounded_node_minutes=round(sums["bounded_node_s"] / 60, 3),
        bounded_minutes=round(sums["bounded_s"] / 60, 3),
        disk_B=None if rests["disk_B"][past.UNKNOWN] else round(sums["disk_B"] + plan.jobs * beside.disk_B),
        rests={cost: {basis: of[basis] for basis in past.BASES if of[basis]} for cost, of in rests.items()},
        beside=beside,
    )


def _shares(plan: Plan) -> list[Share]:
    found = []
    for partition in plan.partitions:
        nodes = [case.nodes for case in plan.cases if case.partition == partition.name]
        found.append(Share(partition.name, len(nodes) * plan.passes, max(nodes), partition.nodes, partition.max_jobs))
    return found


def beside_jobs(lines: Sequence[Mapping[str, Any]], system: str, jobs: int) -> Beside:
    """Return what runs of about as many jobs took beside them, for each job.

    A run has costs of its own, such as loading the checks, that a short one spreads over few jobs.

    :param lines: as :func:`fabric_checks.records.cost.recorded.read` returns them.
    """
    told = [
        line
        for line in lines
        if line["kind"] == MEASURED
        and line["system"] == system
        and line["jobs"] == line["timed_jobs"] > 0
        and line["wall_minutes"] is not None
        and line["wall_minutes"] > line["job_minutes"]
    ]
    if not told or not jobs:
        return Beside()
    steps = [abs(math.log2(line["jobs"] / jobs)) for line in told]
    like = [line for line, step in zip(told, steps, strict=True) if step <= min(steps) + 0.5][-_LATEST_RUNS:]
    return Beside(
        seconds=median(60 * (line["wall_minutes"] - line["job_minutes"]) / line["jobs"] for line in like),
        disk_B=median(max(line["disk_B"] - line["cases_disk_B"], 0) / line["jobs"] for line in like),
        runs=len(like),
    )
