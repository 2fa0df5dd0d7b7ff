# SPDX-License-Identifier: BSD-3-Clause
"""What PBS says of jobs and nodes, and why a job did not end as it should.

The forms are those of ``qstat -x -f -F json`` and ``pbsnodes -a -F json`` of OpenPBS 23.06.06.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import one_line
from fabric_checks.schedulers import endings
from fabric_checks.schedulers.endings import Ending

#: What the letters of states are called in records, as ReFrame calls them.
STATES = {
    "Q": "QUEUED",
    "H": "HELD",
    "W": "WAITING",
    "T": "MOVED",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "E": "EXITING",
    "B": "RUNNING",
    "F": "COMPLETED",
    "X": "COMPLETED",
    "M": "MOVED",
}
#: Exit statuses that PBS itself gives (JOB_EXEC_* in its job.h).
MEANT = {
    -14: endings.NODE_FAILED,
    -20: endings.NODE_FAILED,
    -26: endings.OUT_OF_MEMORY,
    -27: endings.OUT_OF_MEMORY,
    -29: endings.OVER_LIMIT,
    -30: endings.NODE_FAILED,
}
#: Substates of a job that has ended: by a request to delete it, and by itself with success.
DELETED, FINISHED = 91, 92
#: What PBS says of a job that no set of its nodes could ever run.
NEVER = "Can Never Run"
#: States of a node in which it takes no job, with what they mean; of several the first here is shown.
UNAVAILABLE = {
    "down": "is down",
    "state-unknown": "is in an unknown state",
    "offline": "is offline",
    "stale": "is stale",
    "provisioning": "is being provisioned",
    "maintenance": "is in maintenance",
    "sleep": "sleeps",
}
_TIME = "%a %b %d %H:%M:%S %Y"


@dataclass(frozen=True)
class Job:
    """A job as PBS knows it.

    :param state: a letter, such as ``Q``; :param substate: PBS's number for more of it.
    :param exit_status: of the batch script, or a negative number of PBS's own; None before its end, or if it never ran.
    :param hosts: its hosts; :param least_nodes: how many nodes it needs, 0 if it does not say.
    :param began: when it began, as a time of the server's host; None if it has not.
    :param reason: why it waits, in words; empty if PBS says nothing; :param comment: PBS's own line on it.
    """

    state: str
    substate: int
    exit_status: int | None
    hosts: tuple[str, ...]
    least_nodes: int
    began: datetime | None
    reason: str
    comment: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.state in ("Q", "H", "W", "T")

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in ("F", "X", "M")


@dataclass(frozen=True)
class Node:
    """A node as PBS knows it: ``fault`` is what keeps it from taking jobs, as in ``n2 is down``; None if nothing."""

    name: str
    fault: str | None
    is_busy: bool


def parse_jobs(text: str) -> dict[str, Job]:
    """Read the jobs, by their ids; there is none if none is known.

    :raises OutputError: if it is no such list.
    """
    try:
        return {str(jobid): _job(job) for jobid, job in json.loads(text).get("Jobs", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"qstat printed no list of jobs ({error!r}): {quoted(text[:200])}") from None


def _job(of: Mapping[str, Any]) -> Job:
    status, began = of.get("Exit_status"), of.get("stime")
    # As n1/0*2+n2/0*2; a host of which the job has several chunks is there several times.
    hosts = dict.fromkeys(part.partition("/")[0] for part in str(of.get("exec_host") or "").split("+"))
    comment = one_line(str(of.get("comment") or ""))
    return Job(
        state=str(of["job_state"]),
        substate=int(of.get("substate") or 0),
        exit_status=None if status is None else int(status),
        hosts=tuple(filter(None, hosts)),
        least_nodes=int((of.get("Resource_List") or {}).get("nodect") or 0),
        began=datetime.strptime(str(began), _TIME) if began else None,
        reason=_reason(of, comment),
        comment=comment,
    )


def _reason(of: Mapping[str, Any], comment: str) -> str:
    if of["job_state"] == "H":
        if of.get("depend"):
            return f"it waits for {one_line(str(of['depend']))}"
        return f"it is held (Hold_Types {one_line(str(of.get('Hold_Types')))})"
    return comment.removeprefix("Not Running: ") if of["job_state"] in ("Q", "W", "T") else ""


def parse_nodes(text: str) -> list[Node]:
    """Read the nodes.

    :raises OutputError: if it is no list of them.
    """
    try:
        return [_node(str(name), node) for name, node in json.loads(text)["nodes"].items()]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"pbsnodes printed no list of nodes ({error!r}): {quoted(text[:200])}") from None


def _node(name: str, of: Mapping[str, Any]) -> Node:
    states = re.split(r"[,\s]+", str(of["state"]))
    meant = next((meaning for state, meaning in UNAVAILABLE.items() if state in states), None)
    # What the server notes of a node that is down says nothing more.
    said = one_line(str(of.get("comment") or ""))
    why = f" ({said})" if said and not said.startswith("node down") else ""
    is_busy = bool(of.get("jobs")) or "job-exclusive" in states or "job-busy" in states
    return Node(name, f"{name} {meant}{why}" if meant else None, is_busy)


def faults(nodes: Sequence[Node]) -> dict[str, str]:
    """Return what keeps nodes from taking jobs, by name; those that take some are left out."""
    return {node.name: node.fault for node in nodes if node.fault}


def too_few(job: Job, nodes: Sequence[Node]) -> bool:
    """Tell whether a job cannot start, because fewer nodes are in service than it needs."""
    return bool(nodes) and sum(node.fault is None for node in nodes) < job.least_nodes


def ending(jobid: str, job: Job, nodes: Sequence[Node]) -> Ending | None:
    """Say why a job that has ended has failed, or return None if its output says it better.

    :param nodes: the nodes as they are now.
    """
    wrong = faults([node for node in nodes if node.name in job.hosts])
    status = "" if job.exit_status is None else f"Exit_status {job.exit_status}"
    said = "; ".join(filter(None, (status, job.comment))) or f"substate {job.substate}"
    if job.exit_status is not None and job.exit_status < 0:
        return endings.ended(jobid, job.hosts, MEANT.get(job.exit_status, "PBS ended it"), said, wrong)
    if wrong and job.substate != FINISHED:  # the status may be 0 even so
        return endings.ended(jobid, job.hosts, endings.NODE_FAILED, said, wrong)
    if job.substate == DELETED or job.exit_status is None:
        return endings.ended(jobid, job.hosts, endings.CANCELLED, said, wrong)
    if job.exit_status == 0 and job.substate != FINISHED:
        return endings.ended(jobid, job.hosts, "PBS ended it", said, wrong)
    return None


def waiting(jobid: str, seconds: float, reason: str, nodes: Sequence[Node], hopeless: bool = False) -> Ending:
    """Say that a job waited for too long, why, and for which nodes.

    :param hopeless: it was not to start at all: too few nodes are in service, or PBS says so.
    """
    says = f"PBS says: {reason}" if reason else "PBS gives no reason"
    busy = [node.name for node in nodes if node.is_busy and not node.fault]
    return endings.waited(jobid, seconds, says, wrong=faults(nodes), busy=busy, known=len(nodes), hopeless=hopeless)
