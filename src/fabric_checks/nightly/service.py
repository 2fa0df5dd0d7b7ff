# SPDX-License-Identifier: BSD-3-Clause
"""Ask ReFrame for a system's configuration and the scheduler for its nodes, before a run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from typing import Any

from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError, RequestError, unknown_name
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.flux import output as flux
from fabric_checks.schedulers.model import Node, faults, listed
from fabric_checks.schedulers.pbs import output as pbs
from fabric_checks.schedulers.slurm import output as slurm


class ReservationError(FabricError):
    """A reservation that no job can run in."""


def configuration(system: str | None) -> dict[str, Any]:
    """Return a system of ReFrame's configuration as ReFrame shows it.

    :param system: its name, perhaps with a partition after a colon; None for the one that ReFrame takes on
        this host.
    :raises RequestError: if there is no such system or partition, with those that there are.
    :raises FabricError: if ReFrame does not show it.
    """
    named = ["--system", system] if system else []
    try:
        text = printed(["reframe", *named, "--show-config=systems/0"])
    except FabricError as error:
        if unknown := unknown_name(str(error)):
            raise RequestError(f"--system: {unknown}") from None
        raise
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        raise FabricError(
            "reframe --show-config=systems/0 shows no system; run it by hand to see why, or name one with"
            " --system"
        ) from None


def nodes_of(reservation: str | None) -> list[Node]:
    """Return the nodes of Slurm, or those of a reservation as its own jobs find them.

    :raises ReservationError: if there is none of this name, or it is not active.
    :raises FabricError: if Slurm does not answer.
    """
    show = ["scontrol", "-a", "-o", "show"]
    if reservation is None:
        return slurm.parse_nodes(printed([*show, "node"]))
    try:
        nodes, begins, is_active = slurm.parse_reservation(
            printed([*show, "reservation", reservation])
        )
    except FabricError:
        raise ReservationError(
            f"Slurm shows no reservation {reservation}; `scontrol show reservation` lists all"
        ) from None
    if not is_active:
        raise ReservationError(
            f"the reservation {reservation} is not active: it begins at {begins}"
        )
    return slurm.parse_nodes(printed([*show, "node", nodes]), reserved=True)


def nodes_for(scheduler: str, access: Sequence[str]) -> list[Node]:
    """Return the nodes that jobs of a partition of ReFrame's configuration can have.

    :param scheduler: one that :func:`.reservations.takes_nodes`. :param access: options of its jobs, which
        may name a queue or a reservation.
    :raises FabricError: if the scheduler does not answer, or has neither that queue nor a default one.
    """
    if reservations.is_slurm(scheduler):
        partition = reservations.option(access, "-p", "--partition")
        if partition is None:  # sinfo marks the default by an asterisk
            partition = next(
                iter(
                    re.findall(r"(?m)^(\S+)\*$", printed(["sinfo", "-h", "-o", "%P"]))
                ),
                None,
            )
        if partition is None:
            raise FabricError(
                "Slurm has no default partition; name one in `access` of the system's partition"
            )
        return [
            node
            for node in nodes_of(reservations.of_access(access, scheduler))
            if partition in node.partitions
        ]
    queue = reservations.option(access, "-q", "--queue")
    if scheduler == reservations.FLUX:
        return flux.ask_nodes(*([f"--queue={queue}"] if queue else []))
    queue = queue or next(
        iter(re.findall(r"(?m)^\s+default_queue = (\S+)", printed(["qstat", "-Bf"]))),
        None,
    )
    if queue is None:
        raise FabricError(
            "PBS has no default queue; name one with -q in `access` of the system's partition"
        )
    return pbs.nodes_of(queue, printed(["pbsnodes", "-a"]), printed(["qstat", "-Qf"]))


def drain_command(scheduler: str, nodes: Sequence[str], reason: str) -> list[str]:
    """Return the command by which an administrator takes nodes out of service."""
    if reservations.is_slurm(scheduler):
        return [
            "scontrol",
            "update",
            f"nodename={','.join(nodes)}",
            "state=drain",
            f"reason={reason}",
        ]
    if scheduler == reservations.FLUX:
        return ["flux", "resource", "drain", ",".join(nodes), reason]
    return ["pbsnodes", "-o", "-C", reason, *nodes]


def why_no_job_can_start(system: str) -> str | None:
    """Return why no job of a system can start: what keeps each node of its partitions out of service, as
    maintenance.

    Jobs that run in a reservation do so also while it is for maintenance; only its nodes count for them.

    None if one node is in service, or if that is unknown: the nodes of a partition are not listed, or ReFrame
    or the scheduler does not answer, which the run reports.
    """
    if not any(map(shutil.which, ("scontrol", "flux", "pbsnodes"))):
        return None
    try:
        partitions = configuration(system).get("partitions", [])
    except FabricError:
        return None
    causes = [
        _why_none_starts(each["scheduler"], each.get("access", ()))
        for each in partitions
    ]
    return causes[0] if causes and all(causes) else None


def _why_none_starts(scheduler: str, access: Sequence[str]) -> str | None:
    try:
        nodes = (
            nodes_for(scheduler, access) if reservations.takes_nodes(scheduler) else []
        )
    except ReservationError as error:
        return str(error)
    except FabricError:
        return None
    if not nodes or any(node.fault is None for node in nodes):
        return None
    reservation = reservations.of_access(access, scheduler)
    where = f" of the reservation {reservation}" if reservation else ""
    return f"no node{where} is in service: {listed(faults(nodes))}"
