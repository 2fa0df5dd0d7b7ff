# SPDX-License-Identifier: BSD-3-Clause
"""What Slurm says of jobs and nodes, and why a job did not end as it should.

The forms are those of ``scontrol -d -o show job`` and ``scontrol -o show node`` of Slurm 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.schedulers import endings
from fabric_checks.schedulers.endings import Ending

#: States of a node in which it takes no job, with what they mean; of several the first here is shown.
UNAVAILABLE = {
    "NOT_RESPONDING": "does not respond",
    "NO_RESPOND": "does not respond",  # as older releases call it
    "DOWN": "is down",
    "FAIL": "is about to fail",
    "ERROR": "is in error",
    "DRAIN": "is drained",
    "MAINTENANCE": "is in maintenance",
    "MAINT": "is in maintenance",
    "REBOOT_ISSUED": "reboots",
    "POWERED_DOWN": "is powered down",
    "INVALID_REG": "registered with less than its configuration says",
    "UNKNOWN": "is in an unknown state",
}

#: States of a node that works for somebody.
BUSY = {"ALLOCATED", "MIXED", "COMPLETING", "RESERVED"}

#: What a final state of a job means, where it does not speak for itself through the program's output.
ENDINGS = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": endings.CANCELLED,
    "DEADLINE": "it reached its deadline",
    "NODE_FAIL": endings.NODE_FAILED,
    "OUT_OF_MEMORY": endings.OUT_OF_MEMORY,
    "PREEMPTED": "it was preempted",
    "TIMEOUT": endings.OVER_LIMIT,
}


@dataclass(frozen=True)
class Job:
    """A job as the controller knows it.

    :param state: such as ``PENDING``; :param reason: why it is pending, in words; empty if Slurm says none.
    :param exit_status: of the batch script, or 128 and the signal that ended it.
    :param nodelist: its nodes in Slurm's notation, empty before it has any.
    :param partitions: the partitions that it was submitted to; :param least_nodes: how many nodes it needs.
    :param began: when it began, ISO 8601 in the time of this host, or is to begin; empty if that is not known.
    :param reservation: the one that it runs in, empty without one.
    """

    state: str
    reason: str
    exit_status: int
    nodelist: str
    partitions: frozenset[str]
    least_nodes: int
    began: str = ""
    reservation: str = ""


@dataclass(frozen=True)
class Reservation:
    """Nodes that are kept for some jobs.

    :param nodes: in Slurm's notation, empty if it has none; :param begins: ISO 8601 in the time of this host.
    :param active: whether it has begun and not ended.
    """

    nodes: str
    begins: str
    active: bool


@dataclass(frozen=True)
class Node:
    """A node as the controller knows it; ``reason`` is what whoever took it out of service gave, or empty."""

    name: str
    states: frozenset[str]
    partitions: frozenset[str]
    reason: str

    @property
    def fault(self) -> str | None:
        """What keeps the node from taking jobs, as in ``n2 is drained (broken cable)``; None if nothing does."""
        for state, meaning in UNAVAILABLE.items():
            if state in self.states:
                # Slurm's own reason of a silent node says nothing more.
                reason = "" if self.reason in ("", "Not responding") else f" ({self.reason})"
                return f"{self.name} {meaning}{reason}"
        return None


def _value(text: str, key: str, pattern: str = r"\S*") -> str:
    """Return the value of ``key=value`` in one line of scontrol."""
    match = re.search(rf"(?:^|\s){key}=({pattern})", text)
    if match is None:
        raise OutputError(f"scontrol says no {key}: {quoted(text)}")
    return "" if match[1] in ("(null)", "None") else match[1]


def parse_job(text: str) -> Job:
    """Read the line of one job.

    :raises OutputError: if it is none.
    """
    status, signal = _value(text, "ExitCode", r"\d+:\d+").split(":")
    # NodeList shrinks while a job that has ended is tidied up: it is the nodes that are still at it. The details, one
    # for each kind of allocation, have them all.
    allocated = ",".join(re.findall(r"\sNodes=(\S+)", text))
    return Job(
        state=_value(text, "JobState"),
        reason=_value(text, "Reason").replace("_", " "),
        exit_status=int(status) or (128 + int(signal) if int(signal) else 0),
        nodelist=allocated or _value(text, "NodeList"),
        partitions=frozenset(_value(text, "Partition").split(",")),
        least_nodes=int(_value(text, "NumNodes", r"\d+")),
        began=(re.search(r"\sStartTime=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s", text) or ["", ""])[1],
        reservation=_value(text, "Reservation") if " Reservation=" in text else "",
    )


def parse_reservation(text: str) -> Reservation:
    """Read the line of one reservation, of ``scontrol -o show reservation``.

    :raises OutputError: if it is none.
    """
    _value(text, "ReservationName")
    return Reservation(_value(text, "Nodes"), _value(text, "StartTime"), _value(text, "State") == "ACTIVE")


def within(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes of a reservation as its own jobs find them: they run there also while it is for maintenance."""
    return [replace(node, states=node.states - {"MAINT", "MAINTENANCE", "RESERVED"}) for node in nodes]


def parse_nodes(text: str) -> list[Node]:
    """Read a line for each node.

    :raises OutputError: if a line is no node's.
    """
    return [
        Node(
            name=_value(line, "NodeName"),
            # A star, tilde or the like behind a state is how some releases write further states.
            states=frozenset(re.sub(r"[^A-Z_+]", "", _value(line, "State")).split("+"))
            | ({"NOT_RESPONDING"} if "*" in _value(line, "State") else set()),
            partitions=frozenset(_value(line, "Partitions").split(",")) if " Partitions=" in line else frozenset(),
            # Behind the reason is who gave it and when.
            reason=(re.search(r" Reason=(.*?)(?: \[\S+@\S+\])?(?: Comment=.*)?$", line) or ["", ""])[1].strip(),
        )
        for line in text.splitlines()
        if line.strip()
    ]


def faults(nodes: Iterable[Node]) -> dict[str, str]:
    """Return what keeps nodes from taking jobs, by name; those that take some are left out."""
    return {node.name: node.fault for node in nodes if node.fault}


def too_few(job: Job, nodes: Sequence[Node]) -> bool:
    """Tell whether a job cannot start, because its partitions have fewer nodes in service than it needs."""
    fit = [node for node in nodes if job.partitions & node.partitions]
    return bool(fit) and sum(node.fault is None for node in fit) < job.least_nodes


def ending(jobid: str, state: str, names: Sequence[str], nodes: Sequence[Node]) -> Ending | None:
    """Say why a job that has ended has failed, or return None if its output says it better.

    :param state: its final state, or several with commas; :param names: the nodes that it had, if any.
    :param nodes: the nodes as they are now.
    """
    wrong = faults(node for node in nodes if node.name in names)
    meant = [ENDINGS[part] for part in state.split(",") if part in ENDINGS]
    if meant:
        return endings.ended(jobid, names, meant[0], state, wrong)
    if "FAILED" in state and wrong:
        return Ending(f"job {jobid} failed on {', '.join(names)}: {endings.listed(wrong)}", wrong)
    return None


def waiting(jobid: str, seconds: float, reason: str, nodes: Sequence[Node], hopeless: bool = False) -> Ending:
    """Say that a job waited for too long, why, and for which nodes.

    :param hopeless: it was not to start at all: too few nodes are in service.
    """
    says = f"Slurm says: {reason}" if reason else "Slurm gives no reason"
    busy = [node.name for node in nodes if node.states & BUSY and not node.fault]
    return endings.waited(jobid, seconds, says, wrong=faults(nodes), busy=busy, known=len(nodes), hopeless=hopeless)


def last_words(stderr: str | None, default: str) -> str:
    """Return the last line of what a command wrote to standard error, without the command's own name."""
    lines = [line for line in (stderr or "").splitlines() if line.strip()]
    return re.sub(r"^\w+: error: ", "", lines[-1].strip()) if lines else default
