# SPDX-License-Identifier: BSD-3-Clause
"""Whether a system takes jobs at all, as far as that can be known before a run."""

from __future__ import annotations

import json
import shutil
import subprocess

from fabric_checks.core.errors import FabricError, OutputError
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import faults, listed
from fabric_checks.schedulers.slurm import output as slurm

#: So long a scheduler may take to answer; then the run finds out itself.
PATIENCE_S = 30


def nobody_in_service(system: str) -> str | None:
    """Return why no job of a system can start: what keeps each node of its Slurm out of service, as maintenance.

    Jobs that run in a reservation do so also while it is for maintenance; only its nodes count for them.

    None if one node is in service, or if that cannot be told: the system has no Slurm, or it does not answer.
    """
    if shutil.which("scontrol") is None:
        return None
    causes = [_nobody(reservation) for reservation in sorted(_reservations(system))]
    return causes[0] if causes and all(causes) else None


def _nobody(reservation: str) -> str | None:
    """Return why no job in a reservation can start, or outside of any where its name is empty."""
    said = _said(["scontrol", "-a", "-o", "show", "node"])
    try:
        nodes = slurm.parse_nodes(said or "")
        if reservation and nodes:
            kept = slurm.parse_reservation(_said(["scontrol", "-a", "-o", "show", "reservation", reservation]) or "")
            if not kept.active:
                return f"the reservation {reservation} is not active: it begins at {kept.begins}"
            nodes = slurm.parse_nodes(_said(["scontrol", "-a", "-o", "show", "node", kept.nodes]) or "", reserved=True)
    except OutputError:
        known = bool(reservation and said)
        return f"Slurm shows no reservation {reservation}; `scontrol show reservation` lists all" if known else None
    if not nodes or any(node.fault is None for node in nodes):
        return None
    where = f" of the reservation {reservation}" if reservation else ""
    return f"no node{where} is in service: {listed(faults(nodes))}"


def system_here() -> str:
    """Return the system that ReFrame takes on this host where none is named.

    :raises FabricError: if it does not say.
    """
    said = _said(["reframe", "--show-config=systems/0/name"])
    try:
        return str(json.loads(said or ""))
    except ValueError:
        raise FabricError(
            "reframe --show-config=systems/0/name does not say which system this host is; run it by hand to see why, "
            "or name one with --system"
        ) from None


def _reservations(system: str) -> set[str]:
    """Return the reservations that the jobs of a system's Slurm run in, an empty name for none; nothing without Slurm.

    The run says what is wrong with its configuration.
    """
    said = _said(["reframe", "--system", system, "--show-config=systems/0/partitions"])
    try:
        partitions = json.loads(said or "")
        return {
            reservations.of_access(partition.get("access", ()), str(partition["scheduler"])) or ""
            for partition in partitions
            if "slurm" in str(partition["scheduler"])
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()


def _said(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
