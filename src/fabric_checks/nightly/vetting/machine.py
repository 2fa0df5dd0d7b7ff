# SPDX-License-Identifier: BSD-3-Clause
"""Find the nodes of a system that a vet is to test, and the switch of each. With Slurm, Flux and PBS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import first_of, names_text
from fabric_checks.diagnosis.fabric_map import names, slurm_topology, topology_files
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.nightly import service
from fabric_checks.nightly.service import printed
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import faults


@dataclass(frozen=True)
class Switches:
    """The nodes of a machine by switch.

    :param members: the nodes of each switch that has any of them. :param unknown: the nodes whose switch is
        not known.
    :param why: why nothing is known, in a line; empty if something is.
    """

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Machine:
    """The nodes to vet.

    :param partition: ``SYSTEM:PARTITION`` of ReFrame; :param environ: the environment that its jobs run in.
    :param scheduler: its name in ReFrame's configuration.
    :param nodes: those in service; :param away: the others, with what keeps them from taking jobs.
    :param lost: those of the others that the scheduler has lost, which are faulty.
    :param busy: those in service that other jobs have.
    :param switches: the switch of each.
    :param size: how many nodes the whole of it has, whichever are vetted.
    """

    partition: str
    environ: str
    scheduler: str
    nodes: tuple[str, ...]
    away: Mapping[str, str]
    switches: Switches
    lost: frozenset[str] = frozenset()
    size: int = 0
    busy: frozenset[str] = frozenset()


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
    if unknown := [node for node in only if node not in nodes]:
        raise FabricError(
            f"--only: {', '.join(unknown)}: no such node; there are {', '.join(first_of(list(nodes)))}"
        )
    meant = [node for node in nodes.values() if not only or node.name in only]
    files = partition.get("extras", {}).get("topology", [])
    return Machine(
        f"{found['name']}:{partition['name']}",
        partition["environs"][0],
        scheduler,
        tuple(node.name for node in meant if node.fault is None),
        faults(meant),
        switches_of([node.name for node in meant], files, asks_slurm=reservations.is_slurm(scheduler)),
        frozenset(node.name for node in meant if node.is_lost),
        len(nodes),
        frozenset(node.name for node in meant if node.is_busy and node.fault is None),
    )


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


def switches_of(nodes: Sequence[str], files: Sequence[str], *, asks_slurm: bool = True) -> Switches:
    """Return the switches of nodes, from the files of the system or else from Slurm.

    :param files: the names in the partition's ``extras['topology']``, relative ones below ``config/systems``.
    :param asks_slurm: whether Slurm has these nodes.
    """
    try:
        known = _fabric(files, asks_slurm=asks_slurm)
    except FabricError as error:
        return Switches(unknown=tuple(nodes), why=str(error))
    except OSError as error:
        return Switches(unknown=tuple(nodes), why=f"{error.filename}: {error.strerror}")
    positions = names.positions(nodes, known.hosts)[0].tolist()
    found: dict[str, list[str]] = {}
    unknown: list[str] = []
    for node, position in zip(nodes, positions, strict=True):
        at = NONE if position == NONE else int(known.at[position])
        (unknown if at == NONE else found.setdefault(known.switches[at], [])).append(node)
    members = {switch: tuple(found[switch]) for switch in known.switches if switch in found}
    return Switches(members, tuple(unknown), "" if members else f"{known.source} has none of these nodes")


def _fabric(files: Sequence[str], *, asks_slurm: bool) -> FabricMap:
    """Return the fabric of the files of a system, or else of Slurm.

    :raises FabricError, OSError: if there is none.
    """
    if files:
        return topology_files.read([ROOT / "config" / "systems" / name for name in files])
    if not asks_slurm:
        raise FabricError("the partition names no files under extras['topology']")
    text = printed(["scontrol", "show", "topology"])
    if not slurm_topology.is_topology(text):
        raise FabricError("Slurm knows of no switches")
    return slurm_topology.parse(text)


def rows(switches: Switches, verdicts: Verdicts) -> list[tuple[str, int, int, str]]:
    """Return a row for each switch with a node that is not good: its name, its nodes, the good of them, the
    others.

    The worst come first, by the share that is not good.
    """
    found = []
    for name, nodes in switches.members.items():
        by_word = {word: [node for node in nodes if verdicts.words[node] is word] for word in Word}
        good = len(by_word.pop(Word.GOOD))
        if good < len(nodes):
            bad = [f"{names_text(of_word, 8)} {word.value}" for word, of_word in by_word.items() if of_word]
            found.append((name, len(nodes), good, "; ".join(bad)))
    return sorted(found, key=lambda row: (row[2] / row[1], row[0]))
