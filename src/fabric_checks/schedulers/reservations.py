# SPDX-License-Identifier: BSD-3-Clause
"""Reservations that jobs run in, as while a cluster is in maintenance, and the nodes that a vet confines its jobs to.

FABRIC_RESERVATION, which `ci/run --reservation` and `ci/nightly --reservation` set, names one for all partitions; a
system's file names its own among the options in `access`. Slurm's is tested; the others follow the manuals: `bsub -U`
of LSF, and of PBS the queue that it makes for each reservation. Flux has none: use a queue of its own there.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

from fabric_checks.core.errors import FabricError, quoted

VARIABLE = "FABRIC_RESERVATION"
#: Names of nodes with commas between: the largest layout is on these, and jobs on no other. For a vet.
NODES = "FABRIC_NODES"
#: The option of each scheduler; it replaces the same option in `access`.
_OPTIONS = dict.fromkeys(("slurm", "squeue", "fabric-slurm"), "--reservation=") | {
    "pbs": "-q ",
    "lsf": "-U ",
    "fabric-lsf": "-U ",
}


def asked_for() -> str | None:
    """Return the reservation that the environment names, None without one.

    :raises FabricError: if it is no name.
    """
    name = os.environ.get(VARIABLE)
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.#-]*", name):
        raise FabricError(f"--reservation: {quoted(name)} is not a name: use letters, digits, . _ # and -")
    return name or None


def access_with(access: Sequence[str], scheduler: str, name: str) -> list[str]:
    """Return the options of a partition that make its jobs run in a reservation; the same where it can have none."""
    option = _OPTIONS.get(scheduler)
    if option is None:
        return list(access)
    return [*(each for each in access if not each.startswith(option)), f"{option}{name}"]


def nodes_asked_for() -> list[str]:
    """Return the nodes that the environment names; none without any.

    :raises FabricError: if one is not the name of a node.
    """
    nodes = [name for name in os.environ.get(NODES, "").split(",") if name]
    for name in nodes:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            raise FabricError(f"{NODES}: {quoted(name)} is not the name of a node")
    return nodes


def confine(partition: dict[str, Any], nodes: Sequence[str]) -> None:
    """Change a partition of ReFrame's configuration, so that its largest layout is on these nodes.

    Only Slurm takes their names; other partitions get no environment, and thus no case.
    """
    if not is_slurm(str(partition["scheduler"])):
        partition["environs"] = []
        return
    partition["access"] = [*partition.get("access", []), f"--nodelist={','.join(nodes)}"]
    partition["extras"] = partition.get("extras", {}) | {"nodes": len(nodes)}


def apply(partition: dict[str, Any]) -> None:
    """Change a partition of ReFrame's configuration as the environment asks for a reservation and for nodes.

    :raises FabricError: if either is no name.
    """
    if reservation := asked_for():
        access = partition.get("access", [])
        partition["access"] = access_with(access, partition["scheduler"], reservation)
    if nodes := nodes_asked_for():
        confine(partition, nodes)


def is_slurm(scheduler: str) -> bool:
    """Tell whether a scheduler of ReFrame's configuration is Slurm."""
    return "slurm" in scheduler or scheduler == "squeue"


def of_access(access: Sequence[str], scheduler: str) -> str | None:
    """Return the reservation that the options of a partition of Slurm name; None without one."""
    if not is_slurm(scheduler):
        return None
    words = [word for each in access for word in shlex.split(each)]
    found = [word.partition("=")[2] for word in words if word.startswith("--reservation=")]
    found += [after for word, after in itertools.pairwise(words) if word == "--reservation"]
    return found[-1] if found else None


def require(name: str, system: str, partitions: Sequence[dict[str, object]]) -> None:
    """Refuse to run in a reservation where a partition of a system knows none.

    :param partitions: as ReFrame's configuration has them.
    :raises FabricError: with the partition and its scheduler.
    """
    for partition in partitions:
        if (scheduler := str(partition.get("scheduler"))) not in _OPTIONS:
            raise FabricError(
                f"--reservation {name}: {system}:{partition.get('name')} is run by {scheduler!r}, which has no "
                "reservations; leave the option out, or choose a system whose scheduler has them"
            )
