# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a system that there are to vet, and the command that takes nodes out of service. With Slurm only."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import one_line
from fabric_checks.nightly.vetting import switches
from fabric_checks.nightly.vetting.switches import Switches
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import Node, faults
from fabric_checks.schedulers.slurm import output as slurm

#: So long a command may take.
PATIENCE_S = 60


@dataclass(frozen=True)
class Machine:
    """What is to be vetted.

    :param partition: ``SYSTEM:PARTITION`` of ReFrame; :param environ: the environment that its jobs run in.
    :param nodes: the nodes that take jobs; :param away: those that do not, with what keeps them.
    :param switches: which switch each of them is at.
    """

    partition: str
    environ: str
    nodes: tuple[str, ...]
    away: Mapping[str, str]
    switches: Switches


def look(system: str | None, only: Sequence[str] = ()) -> Machine:
    """Return what there is of a system.

    :param system: a name of ReFrame's configuration, perhaps with a partition behind a colon; None for this host's.
    :param only: the nodes that are meant, all if empty.
    :raises FabricError: if it has no Slurm or no environment, or a node that is meant is none of it.
    """
    told = ["--system", system] if system else []
    found = json.loads(_said(["reframe", *told, "--show-config=systems/0"]))
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
        switches.look(
            [node.name for node in meant],
            partition.get("extras", {}).get("topology", []),
            lambda: _said(["scontrol", "show", "topology"]),
        ),
    )


def _nodes(reservation: str | None, access: Sequence[str]) -> list[Node]:
    queue = _queue(access)
    if reservation:
        kept = slurm.parse_reservation(_said(["scontrol", "-a", "-o", "show", "reservation", reservation]))
        nodes = slurm.parse_nodes(_said(["scontrol", "-a", "-o", "show", "node", kept.nodes]), reserved=True)
    else:
        nodes = slurm.parse_nodes(_said(["scontrol", "-a", "-o", "show", "node"]))
    return [node for node in nodes if queue in node.partitions]


def _queue(access: Sequence[str]) -> str:
    """Return Slurm's partition: the one that `access` names, or the one that is marked as the default."""
    words = [word for each in access for word in shlex.split(each)]
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("--partition="):
            return word.partition("=")[2]
        if word in ("-p", "--partition"):
            return after
    queues = _said(["sinfo", "-h", "-o", "%P"]).split()
    marked = [queue.rstrip("*") for queue in queues if queue.endswith("*")]
    if not marked:
        raise FabricError("Slurm has no default partition; name one in `access` of the system's partition")
    return marked[0]


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FabricError(f"{command[0]}: {getattr(error, 'strerror', None) or 'it does not answer'}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        raise FabricError(f"{' '.join(command)}: {one_line(said)}")
    return done.stdout


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
