# SPDX-License-Identifier: BSD-3-Clause
"""Reservations of Slurm that jobs run in, as during maintenance, and the nodes to which a vet confines its
jobs.

FABRIC_RESERVATION, which `ci/run --reservation` and `ci/nightly --reservation` set, names one for all
partitions; a system's file names its own among the options in `access`. Other schedulers take theirs by
options of their own: write PBS's queue of a reservation (``-q``) or LSF's ``-U`` in `access`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.records.folding import unfolded
from fabric_checks.schedulers import in_job

VARIABLE = "FABRIC_RESERVATION"
#: Names of nodes, folded or separated by commas: the largest layout is on these, and jobs on no other. A vet
#: sets it.
NODES = "FABRIC_NODES"
FLUX = "fabric-flux"
_SLURM = ("slurm", "squeue", "fabric-slurm")
#: How the option begins that gives jobs of a scheduler their nodes by name. PBS has no such option: its job
#: scripts have a chunk for each node.
_NODES_OPTION = {
    **dict.fromkeys(_SLURM, "--nodelist="),
    FLUX: "--requires=host:",
    "fabric-pbs": "",
}
_OPTION = "--reservation"


def asked_for() -> str | None:
    """Return the reservation that the environment names, None without one.

    :raises FabricError: if it is no name.
    """
    name = os.environ.get(VARIABLE)
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.#-]*", name):
        raise FabricError(
            f"--reservation: {quoted(name)} is not a name: use letters, digits, . _ # and -"
        )
    return name or None


def apply(partition: dict[str, Any]) -> None:
    """Change a partition of ReFrame's configuration as the environment asks for a reservation and for nodes.

    With nodes, its largest layout is on these; a partition whose scheduler cannot be given their names gets
    no environment, and thus no case. :func:`require` refuses a reservation without Slurm.

    :raises FabricError: if the reservation is no name.
    """
    reservation, nodes, scheduler = (
        asked_for(),
        nodes_asked_for(),
        partition["scheduler"],
    )
    access = list(partition.get("access", []))
    if reservation and is_slurm(scheduler):
        access = [each for each in access if not each.startswith(f"{_OPTION}=")]
        access.append(f"{_OPTION}={reservation}")
    if nodes and takes_nodes(scheduler):
        if begin := _NODES_OPTION[scheduler]:
            access.append(begin + ",".join(nodes))
        partition["extras"] = partition.get("extras", {}) | {"nodes": len(nodes)}
    elif nodes:
        partition["environs"] = []
    partition |= {"access": access} if access else {}
    in_job.apply(partition)


def nodes_asked_for() -> list[str]:
    """Return the nodes that the environment names; none if jobs may be on any."""
    text = os.environ.get(NODES, "")
    return unfolded(text) if "[" in text else list(filter(None, text.split(",")))


def takes_nodes(scheduler: object) -> bool:
    """Tell whether jobs of a scheduler of ReFrame's configuration can be given their nodes by name."""
    return scheduler in _NODES_OPTION


def is_slurm(scheduler: object) -> bool:
    """Tell whether a scheduler of ReFrame's configuration is Slurm."""
    return scheduler in _SLURM


def of_access(access: Sequence[str], scheduler: str) -> str | None:
    """Return the reservation that the options of a partition of Slurm name; None without one."""
    return option(access, _OPTION) if is_slurm(scheduler) else None


def option(access: Sequence[str], *names: str) -> str | None:
    """Return the value of an option among those of a partition, by its names; None without it."""
    parser = argparse.ArgumentParser(
        add_help=False
    )  # sbatch accepts abbreviations, too
    parser.add_argument(*names, dest="value", nargs="?")
    known, _ = parser.parse_known_args(shlex.split(" ".join(access)))
    value: str | None = known.value
    return value


def require(name: str, system: str, partitions: Sequence[dict[str, object]]) -> None:
    """Refuse to run in a reservation where a partition of a system is not run by Slurm.

    :param partitions: as ReFrame's configuration has them.
    :raises FabricError: with the partition and its scheduler.
    """
    for partition in partitions:
        if not is_slurm(partition.get("scheduler")):
            raise FabricError(
                f"--reservation {name}: {system}:{partition.get('name')} is run by"
                f" {partition.get('scheduler')!r}, and only Slurm's reservations are supported; leave the"
                " option out, and name its own in `access`"
            )
