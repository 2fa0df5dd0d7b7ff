# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a machine by switch, and what is bad at each: whether it is the nodes or what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.diagnosis.fabric_map import names, slurm_topology, topology_files
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
from fabric_checks.nightly.vetting.planning import Verdicts, Word


@dataclass(frozen=True)
class Switches:
    """Which node is at which switch.

    :param members: the nodes of each switch that has any of them. :param unknown: the nodes whose switch is not known.
    :param why: why nothing is known, in a line; empty if something is.
    """

    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    why: str = ""


def look(nodes: Sequence[str], files: Sequence[str], ask: Callable[[], str]) -> Switches:
    """Return the switches of nodes, as the files of the system say or else Slurm.

    :param files: the names in the partition's ``extras['topology']``, relative ones below ``config/systems``.
    :param ask: returns what ``scontrol show topology`` prints, or raises FabricError.
    """
    try:
        known = (
            topology_files.read([ROOT / "config" / "systems" / name for name in files]) if files else _of_slurm(ask())
        )
    except FabricError as error:
        return Switches(unknown=tuple(nodes), why=str(error))
    except OSError as error:
        return Switches(unknown=tuple(nodes), why=f"{error.filename}: {error.strerror}")
    if known is None:
        return Switches(unknown=tuple(nodes), why="Slurm knows of no switches")
    members: dict[str, tuple[str, ...]] = {}
    unknown = []
    places, _ = names.places(nodes, known.hosts)
    for node, place in zip(nodes, places.tolist(), strict=True):
        at = NONE if place == NONE else int(known.at[place])
        if at == NONE:
            unknown.append(node)
        else:
            switch = known.switches[at]
            members[switch] = (*members.get(switch, ()), node)
    return Switches(members, tuple(unknown), "" if members else f"{known.source} has none of these nodes")


def _of_slurm(said: str) -> FabricMap | None:
    return topology_files.of_slurm(slurm_topology.parse(said)) if slurm_topology.is_topology(said) else None


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
