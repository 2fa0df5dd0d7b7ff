# SPDX-License-Identifier: BSD-3-Clause
"""Find the nodes of a system that a vet is to test, and the switch of each. With Slurm, Flux and PBS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import first_of
from fabric_checks.fabric_map import names, slurm_topology
from fabric_checks.fabric_map.model import NONE
from fabric_checks.nightly import service
from fabric_checks.records import fabric_maps
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import Node


@dataclass(frozen=True)
class Machine:
    """The nodes to vet.

    :param partition: ``SYSTEM:PARTITION`` of ReFrame; :param environ: the environment that its jobs run in.
    :param scheduler: its name in ReFrame's configuration.
    :param nodes: those that take jobs now; :param away: the others, with what keeps them from that.
    :param lost: those of the others that the scheduler has lost, which are faulty.
    :param switches: the switch of each, as far as it is known.
    :param size: how many nodes the whole of it has, whichever are vetted.
    """

    partition: str
    environ: str
    scheduler: str
    nodes: tuple[str, ...]
    away: Mapping[str, str]
    switches: Mapping[str, str] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    size: int = 0


def look(system: str | None, only: Sequence[str] = ()) -> Machine:
    """Return the nodes of a system.

    :param system: as that of :func:`fabric_checks.nightly.service.configuration`; the first partition that
        has an environment is vetted.
    :param only: the nodes to vet, all if empty.
    :raises FabricError: if its jobs cannot be given their nodes, it has no environment, or lacks a node of
        ``only``.
    """
    found = service.configuration(system)
    partition = _partition(found)
    scheduler, access = str(partition["scheduler"]), partition.get("access", ())
    nodes = {node.name: node for node in service.nodes_for(scheduler, access)}
    meant = _meant(nodes, only)
    away = _away(meant)
    files = partition.get("extras", {}).get("topology", [])
    return Machine(
        f"{found['name']}:{partition['name']}",
        partition["environs"][0],
        scheduler,
        tuple(node.name for node in meant if node.name not in away),
        away,
        switches_of(
            [node.name for node in meant],
            files,
            asks_slurm=reservations.is_slurm(scheduler),
        ),
        frozenset(node.name for node in meant if node.is_lost),
        len(nodes),
    )


def _meant(nodes: Mapping[str, Node], only: Sequence[str]) -> list[Node]:
    """Return the nodes that are named, all if none is.

    :raises FabricError: if there is none of a name.
    """
    if unknown := [name for name in only if name not in nodes]:
        raise FabricError(
            f"--only: {', '.join(unknown)}: no such node; there are {', '.join(first_of(list(nodes)))}"
        )
    names = {*only} or nodes.keys()
    return [node for node in nodes.values() if node.name in names]


def _away(nodes: Sequence[Node]) -> dict[str, str]:
    """Return what keeps nodes from taking jobs now."""
    busy = "other jobs have it; name it in --only when it is free"
    return {
        node.name: node.fault or busy for node in nodes if node.fault or node.is_busy
    }


def _partition(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first partition that has an environment.

    :raises FabricError: if there is none, or its jobs cannot be given their nodes.
    """
    name = system["name"]
    partition = next((each for each in system["partitions"] if each["environs"]), None)
    if partition is None:
        raise FabricError(
            f"{name}: no partition has an environment; list one in `environs`, or choose another --mpi"
        )
    if not reservations.takes_nodes(str(partition["scheduler"])):
        raise FabricError(
            f"{name}:{partition['name']} is run by {partition['scheduler']!r}, whose jobs cannot be given"
            " their nodes; a vet needs fabric-slurm, fabric-flux or fabric-pbs"
        )
    return dict(partition)


def switches_of(
    nodes: Sequence[str], files: Sequence[str], *, asks_slurm: bool = True
) -> dict[str, str]:
    """Return the switch of each node, as far as it is known: by the files of the system, or else by Slurm.

    :param files: the names in the partition's ``extras['topology']``, relative ones below ``config/systems``.
    :param asks_slurm: whether Slurm has these nodes.
    :raises FabricError, OSError: if a file cannot be read.
    """
    if files:
        known = fabric_maps.of_files(
            [ROOT / "config" / "systems" / name for name in files]
        )
    else:
        try:
            text = printed(["scontrol", "show", "topology"]) if asks_slurm else ""
        except FabricError:
            text = ""
        if not slurm_topology.is_topology(text):
            return {}
        known = slurm_topology.parse(text)
    found: dict[str, str] = {}
    for node, host in zip(
        nodes, names.positions(nodes, known.hosts)[0].tolist(), strict=True
    ):
        if host != NONE and known.at[host] != NONE:
            found[node] = known.switches[known.at[host]]
    return found
