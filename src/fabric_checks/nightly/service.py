# SPDX-License-Identifier: BSD-3-Clause
"""Ask ReFrame for a system's configuration and Slurm for its nodes, before a run."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence

from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import one_line
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import Node, faults, listed
from fabric_checks.schedulers.slurm import output as slurm

#: How long a command may take.
TIMEOUT_S = 60


def printed(command: Sequence[str]) -> str:
    """Return the standard output of a command.

    :raises FabricError: if it fails, cannot be started or does not answer.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FabricError(f"{command[0]}: {getattr(error, 'strerror', None) or 'it does not answer'}") from None
    if done.returncode:
        cause = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()[-1]
        raise FabricError(f"{' '.join(command)}: {one_line(cause)}")
    return done.stdout


def nodes_of(kept: slurm.Reservation | None) -> list[Node]:
    """Return the nodes of Slurm, or those of a reservation as its own jobs find them.

    :raises FabricError: if Slurm does not say.
    """
    show = ["scontrol", "-a", "-o", "show", "node"]
    return slurm.parse_nodes(printed([*show, kept.nodes]), reserved=True) if kept else slurm.parse_nodes(printed(show))


def reservation(name: str) -> slurm.Reservation:
    """Return a reservation of Slurm.

    :raises FabricError: if Slurm knows none of this name.
    """
    return slurm.parse_reservation(printed(["scontrol", "-a", "-o", "show", "reservation", name]))


def why_no_job_can_start(system: str) -> str | None:
    """Return why no job of a system can start: what keeps each node of its Slurm out of service, as maintenance.

    Jobs that run in a reservation do so also while it is for maintenance; only its nodes count for them.

    None if one node is in service, or if that is unknown: the system has no Slurm, or it does not answer.
    """
    if shutil.which("scontrol") is None:
        return None
    causes = [_why_none_starts(name) for name in sorted(_reservations(system))]
    return causes[0] if causes and all(causes) else None


def _why_none_starts(name: str) -> str | None:
    """Return why no job in a reservation can start, or outside of any where the name is empty."""
    try:
        nodes = nodes_of(None)
    except FabricError:
        return None  # the run finds out itself
    if name and nodes:
        try:
            kept = reservation(name)
            nodes = nodes_of(kept)
        except FabricError:
            return f"Slurm shows no reservation {name}; `scontrol show reservation` lists all"
        if not kept.active:
            return f"the reservation {name} is not active: it begins at {kept.begins}"
    if not nodes or any(node.fault is None for node in nodes):
        return None
    where = f" of the reservation {name}" if name else ""
    return f"no node{where} is in service: {listed(faults(nodes))}"


def system_here() -> str:
    """Return the system that ReFrame takes on this host where none is named.

    :raises FabricError: if it does not say.
    """
    try:
        return str(json.loads(printed(["reframe", "--show-config=systems/0/name"])))
    except (ValueError, FabricError):
        raise FabricError(
            "reframe --show-config=systems/0/name does not say which system this host is; run it by hand to see why, "
            "or name one with --system"
        ) from None


def _reservations(system: str) -> set[str]:
    """Return the reservations that the jobs of a system's Slurm run in, an empty name for none; nothing without Slurm.

    A broken configuration is reported by the run.
    """
    try:
        partitions = json.loads(printed(["reframe", "--system", system, "--show-config=systems/0/partitions"]))
        return {
            reservations.of_access(partition.get("access", ()), str(partition["scheduler"])) or ""
            for partition in partitions
            if reservations.is_slurm(str(partition["scheduler"]))
        }
    except (ValueError, KeyError, TypeError, AttributeError, FabricError):
        return set()
