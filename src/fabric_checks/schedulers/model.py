# SPDX-License-Identifier: BSD-3-Clause
"""Queues, nodes and jobs as all schedulers have them, and why a job failed. Imports no ReFrame."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core.text import count_text, first_of

#: The largest number of nodes that a message names.
MOST_SHOWN = 8

CANCELLED = "it was cancelled, but not by this session"
NODE_FAILED = "a node of it failed"
OUT_OF_MEMORY = "it ran out of memory"
OVER_LIMIT = "it ran over its time limit"


@dataclass(frozen=True)
class Queue:
    """Nodes that jobs are submitted to together: Slurm's partition, a queue of PBS or Flux.

    :param name: what jobs ask for; empty where there is only one and it has no name.
    :param nodes: how many it has that take jobs; :param out_of_service: how many it has that are down or
        drained.
    :param most_nodes: how many nodes one job may have, if that is less.
    :param cores: physical cores of a node, the fewest if they differ; None if unknown.
    :param differ: whether its nodes have different numbers of cores.
    :param is_default: whether jobs that name none go there; :param takes_jobs: whether it is open.
    :param gpus: as the tool writes them, such as ``gpu:a100:4``; empty if there are none.
    """

    name: str
    nodes: int
    cores: int | None = None
    differ: bool = False
    is_default: bool = False
    takes_jobs: bool = True
    most_nodes: int | None = None
    out_of_service: int = 0
    gpus: str = ""

    @classmethod
    def of_cores(
        cls,
        name: str,
        nodes: int,
        cores: Iterable[int | None],
        *,
        differ: bool = False,
        **more: Any,
    ) -> Queue:
        """Return a queue of so many nodes, from the numbers of their cores as far as these are known."""
        known = {count for count in cores if count}
        return cls(
            name, nodes, min(known, default=None), differ or len(known) > 1, **more
        )

    @property
    def usable(self) -> int:
        """Return how many nodes one job may have."""
        return (
            self.nodes if self.most_nodes is None else min(self.nodes, self.most_nodes)
        )


@dataclass(frozen=True)
class Node:
    """A node as its scheduler knows it.

    :param fault: what keeps it from taking jobs, as in ``n2 is drained (broken cable)``; None if nothing
        does.
    :param is_lost: whether the scheduler itself has lost it, as when it does not respond; nobody has taken it
        away.
    :param is_busy: whether other jobs have it; :param partitions: of Slurm, those that it belongs to.
    :param comes_back: whether its fault passes by itself, as when it reboots, so that a job may wait for it.
    """

    name: str
    fault: str | None = None
    is_busy: bool = False
    partitions: frozenset[str] = frozenset()
    is_lost: bool = False
    comes_back: bool = False


@dataclass(frozen=True)
class Job:
    """A job as its scheduler knows it now.

    :param state: in the words that records have, such as ``PENDING`` or ``COMPLETED``.
    :param waits: whether it has not begun; :param has_ended: whether its state is final.
    :param exit_status: of the batch script, or a number of the scheduler's own; None before its end.
    :param nodes: the names of its nodes, empty before it has any; :param least_nodes: how many it needs, 0 if
        unknown.
    :param began: when it began, ISO 8601 with time zone; None if it has not.
    :param reason: why it waits, in words; empty if the scheduler gives no reason.
    """

    state: str
    waits: bool
    has_ended: bool
    exit_status: int | None
    nodes: tuple[str, ...]
    least_nodes: int
    began: str | None
    reason: str


@dataclass(frozen=True)
class ExitReason:
    """Why a job did not end as it should.

    :param text: in a line; :param node_faults: what keeps its nodes, or those that it waited for, from taking
        jobs.
    """

    text: str
    node_faults: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_cause(self) -> bool:
        """Whether what the job printed is an effect of it: it was cancelled, or it is the failure of nodes
        that are known, where launchers name others, too."""
        return CANCELLED in self.text or (
            NODE_FAILED in self.text and bool(self.node_faults)
        )


def faults(
    nodes: Iterable[Node], names: Collection[str] | None = None
) -> dict[str, str]:
    """Return what keeps nodes from taking jobs, by name, without the nodes in service.

    :param names: the nodes that count; None for all.
    """
    counted = (node for node in nodes if names is None or node.name in names)
    return {node.name: node.fault for node in counted if node.fault}


def too_few(nodes: Sequence[Node], needed: int) -> bool:
    """Tell whether fewer nodes are in service, or about to be, than a job needs; not where no node is
    known."""
    usable = [node for node in nodes if node.fault is None or node.comes_back]
    return bool(nodes) and len(usable) < needed


def listed(node_faults: Mapping[str, str]) -> str:
    """Return faults of nodes for a message, the first few of many."""
    return "; ".join(first_of(list(node_faults.values()), most=MOST_SHOWN))


def terminated(
    jobid: str, names: Sequence[str], cause: str, detail: str, nodes: Iterable[Node]
) -> ExitReason:
    """Return the exit reason of a job that was ended.

    :param names: its nodes, if it had any; :param cause: such as :data:`OVER_LIMIT`; :param detail: the
        scheduler's own words for it; :param nodes: the nodes as they are now.
    """
    node_faults = faults(nodes, names)
    history = f"ran on {', '.join(names)}" if names else "had not started"
    blame = f": {listed(node_faults)}" if node_faults else ""
    return ExitReason(f"job {jobid} {history}; {cause} ({detail}){blame}", node_faults)


def timed_out(
    jobid: str,
    seconds: float,
    scheduler: str,
    reason: str,
    nodes: Sequence[Node],
    *,
    unschedulable: bool = False,
) -> ExitReason:
    """Return the exit reason of a job that was cancelled because it waited for too long.

    :param seconds: how long it was in the queue; :param scheduler: its name; :param reason: the one that it
        gives.
    :param nodes: those that the job could have had.
    :param unschedulable: whether it could not have started, because too few nodes are in service.
    """
    node_faults = faults(nodes)
    busy = [node.name for node in nodes if node.is_busy and not node.fault]
    blame = [listed(node_faults)] if node_faults else []
    if busy:
        some = ", ".join(busy[:MOST_SHOWN])
        blame.append(
            f"{some} taken by other jobs ({len(busy)} of {count_text(len(nodes), 'node')})"
        )
    state = "cannot start" if unschedulable else "is still waiting"
    given = f"says: {reason}" if reason else "gives no reason"
    text = f"job {jobid} {state} after {seconds:.0f} s in the queue and was cancelled; {scheduler} {given}"
    return ExitReason(f"{text}: {'; '.join(blame)}" if blame else text, node_faults)
