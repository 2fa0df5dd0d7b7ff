# SPDX-License-Identifier: BSD-3-Clause
"""Whether a system takes jobs at all, as far as that can be known before a run."""

from __future__ import annotations

import json
import shutil
import subprocess

from fabric_checks.errors import FabricError, OutputError
from fabric_checks.parsers import slurm

#: So long a scheduler may take to answer; then the run finds out itself.
PATIENCE_S = 30


def nobody_in_service(system: str) -> str | None:
    """Return why no job of a system can start: what keeps each node of its Slurm out of service, as maintenance.

    None if one node is in service, or if that cannot be told: the system has no Slurm, or it does not answer.
    """
    if shutil.which("scontrol") is None or not _has_slurm(system):
        return None
    said = _said(["scontrol", "-a", "-o", "show", "node"])
    try:
        nodes = slurm.parse_nodes(said or "")
    except OutputError:
        return None
    if not nodes or any(node.fault is None for node in nodes):
        return None
    return f"no node is in service: {slurm.listed(slurm.faults(nodes))}"


def system_here() -> str:
    """Return the system that ReFrame takes on this host where none is named.

    :raises FabricError: if it does not say.
    """
    said = _said(["reframe", "--show-config=systems/0/name"])
    try:
        return str(json.loads(said or ""))
    except ValueError:
        raise FabricError(
            "reframe --show-config=systems/0/name does not say which system this host is; called by hand it says why, "
            "and --system names one"
        ) from None


def _has_slurm(system: str) -> bool:
    """Tell whether the partitions of a system go through Slurm; the run says what is wrong with its configuration."""
    said = _said(["reframe", "--system", system, "--show-config=systems/0/partitions"])
    try:
        partitions = json.loads(said or "")
        return any("slurm" in str(partition["scheduler"]) for partition in partitions)
    except (ValueError, KeyError, TypeError):
        return False


def _said(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
