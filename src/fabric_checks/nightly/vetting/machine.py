# SPDX-License-Identifier: BSD-3-Clause
"""Find the nodes of a system that a vet is to test, and the switch of each. With Slurm only."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.diagnosis.fabric_map import names, slurm_topology, topology_files
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.nightly import service
from fabric_checks.nightly.service import printed
from fabric_checks.nightly.vetting.planning import Verdicts, Word
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import Node, faults


@dataclass(frozen=True)
class Switches:
    """The nodes of a machine by switch.

    :param members: the nodes of each switch that has any of them. :param unknown: the nodes whose switch is not known.
    :param why: why nothing is known, in a line; empty if something is.
    """

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Machine:
    """The nodes to vet.

    :param partition: ``SYSTEM:PARTITION`` of ReFrame; :param environ: the environment that its jobs run in.
    :param nodes: those in service; :param away: the others, with what keeps them from taking jobs.
    :param switches: the switch of each.
    """

    partition: str
    environ: str
    nodes: tuple[str, ...]
    away: Mapping[str, str]
    switches: Switches


def look(system: str | None, only: Sequence[str] = ()) -> Machine:
    """Return the nodes of a system.

    :param system: a name of ReFrame's configuration, perhaps with a partition behind a colon; None for this host's.
    :param only: the nodes to vet, all if empty.
    :raises FabricError: if it has no Slurm or no environment, or lacks a node of ``only``.
    """
    chosen = ["--system", system] if system else []
    found = json.loads(printed(["reframe", *chosen, "--show-config=systems/0"]))
    name = found["name"]
    partition = next((each for each in found["partitions"] if each["environs"]), None)
    if partition is None:
        raise FabricError(f"{name}: no partition has an environment; list one in `environs`, or choose another --mpi")
    scheduler, access = str(partition["scheduler"]), list(partition.get("access", ()))
    if not reservations.is_slurm(scheduler):
        raise FabricError(
            f"{name}:{partition['name']} is run by {scheduler!r}; a vet needs Slurm, which names its nodes"
        )
    nodes = _nodes(reservations.of_access(access, scheduler), access)
    if unknown := [node for node in only if node not in {each.name for each in nodes}]:
        raise FabricError(f"--only: {', '.join(unknown)}: no such node; `sinfo -N` lists them")
    meant = [node for node in nodes if not only or node.name in only]
    return Machine(
        f"{name}:{partition['name']}",
        partition["environs"][0],
        tuple(node.name for node in meant if node.fault is None),
        faults(meant),
        switches_of(
            [node.name for node in meant],
            partition.get("extras", {}).get("topology", []),
            lambda: printed(["scontrol", "show", "topology"]),
        ),
    )


def _nodes(reservation: str | None, access: Sequence[str]) -> list[Node]:
    queue = _queue(access)
    nodes = service.nodes_of(service.reservation(reservation) if reservation else None)
    return [node for node in nodes if queue in node.partitions]


def _queue(access: Sequence[str]) -> str:
    """Return Slurm's partition: the one that `access` names, or the one that is marked as the default."""
    words = [word for each in access for word in shlex.split(each)]
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--partition="):
            return word.partition("=")[2]
        if word in ("-p", "--partition"):
            return after
    queues = printed(["sinfo", "-h", "-o", "%P"]).split()
    marked = [queue.rstrip("*") for queue in queues if queue.endswith("*")]
    if not marked:
        raise FabricError("Slurm has no default partition; name one in `access` of the system's partition")
    return marked[0]


def switches_of(nodes: Sequence[str], files: Sequence[str], ask: Callable[[], str]) -> Switches:
    """Return the switches of nodes, from the files of the system or else from Slurm.

    :param files: the names in the partition's ``extras['topology']``, relative ones below ``config/systems``.
    :param ask: returns what ``scontrol show topology`` prints, or raises FabricError.
    """
    try:
        known = _of_files(files) if files else _of_slurm(ask())
    except FabricError as error:
        return Switches(unknown=tuple(nodes), why=str(error))
    except OSError as error:
        return Switches(unknown=tuple(nodes), why=f"{error.filename}: {error.strerror}")
    if known is None:
        return Switches(unknown=tuple(nodes), why="Slurm knows of no switches")
    members: dict[str, tuple[str, ...]] = {}
    unknown = []
    places, _ = names.positions(nodes, known.hosts)
    for node, place in zip(nodes, places.tolist(), strict=True):
        at = NONE if place == NONE else int(known.at[place])
        if at == NONE:
            unknown.append(node)
        else:
            switch = known.switches[at]
            members[switch] = (*members.get(switch, ()), node)
    return Switches(members, tuple(unknown), "" if members else f"{known.source} has none of these nodes")


def _of_files(files: Sequence[str]) -> FabricMap:
    return topology_files.read([ROOT / "config" / "systems" / name for name in files])


def _of_slurm(text: str) -> FabricMap | None:
    return slurm_topology.parse(text) if slurm_topology.is_topology(text) else None


def rows(switches: Switches, verdicts: Verdicts) -> list[tuple[str, int, int, str]]:
    """Return a row for each switch with a node that is not good: its name, its nodes, the good of them, the others.

    The worst come first, by the share that is not good.
    """
    found = []
    for name, nodes in switches.members.items():
        bad = [f"{node} {verdicts.words[node].value}" for node in nodes if verdicts.words[node] is not Word.GOOD]
        if bad:
            found.append((name, len(nodes), len(nodes) - len(bad), ", ".join(bad)))
    return sorted(found, key=lambda row: (row[2] / row[1], row[0]))


def drain_command(nodes: Sequence[str], why: str) -> str:
    """Return the command by which Slurm's administrator takes nodes out of service; it is printed and never run."""
    return shlex.join(["scontrol", "update", f"nodename={','.join(nodes)}", "state=drain", f"reason={why}"])


def as_data(machine: Machine) -> dict[str, Any]:
    """Return it as plain data."""
    return {
        "partition": machine.partition,
        "environ": machine.environ,
        "away": dict(machine.away),
        "switches": {name: list(nodes) for name, nodes in machine.switches.members.items()},
    }
