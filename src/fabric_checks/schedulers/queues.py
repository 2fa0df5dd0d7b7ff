# SPDX-License-Identifier: BSD-3-Clause
"""A queue of a scheduler, and what its nodes are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Queue:
    """Nodes that jobs can be sent to together: Slurm's partition, a queue of PBS, LSF or Flux.

    :param name: what jobs ask for; empty where there is only one and it has no name.
    :param nodes: how many it has; :param most_nodes: how many one job may have, if that is less.
    :param cores: physical cores of a node, the fewest if they differ; None if the tool does not tell.
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
    gpus: str = ""

    @property
    def usable(self) -> int:
        """How many nodes one job may have."""
        return self.nodes if self.most_nodes is None else min(self.nodes, self.most_nodes)


def joined(queues: Iterable[Queue]) -> list[Queue]:
    """Return one queue for each name, with the nodes of all that have it, in the order of their first."""
    found: dict[str, Queue] = {}
    for queue in queues:
        before = found.get(queue.name)
        if before is None:
            found[queue.name] = queue
            continue
        cores = [one for one in (before.cores, queue.cores) if one is not None]
        found[queue.name] = replace(
            before,
            nodes=before.nodes + queue.nodes,
            cores=min(cores, default=None),
            differ=before.differ or queue.differ or len(set(cores)) > 1,
            gpus=before.gpus or queue.gpus,
            takes_jobs=before.takes_jobs or queue.takes_jobs,
        )
    return list(found.values())
