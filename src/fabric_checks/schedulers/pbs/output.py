# SPDX-License-Identifier: BSD-3-Clause
"""Read PBS's listings of queues, nodes and jobs, and tell why a job failed.

The forms are those of ``qstat -x -f -F json`` and ``pbsnodes -a -F json`` of OpenPBS 23.06.06, and, for queues, of
``pbsnodes -a`` and ``qstat -Qf`` of PBS Professional, OpenPBS and Torque.
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
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node, Queue

#: The states of jobs that have not ended, as ReFrame calls them.
STATES = {
    "Q": "QUEUED",
    "H": "HELD",
    "W": "WAITING",
    "T": "MOVED",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "E": "EXITING",
    "B": "RUNNING",
}
WAITING, ENDED = ("Q", "H", "W", "T"), ("F", "X", "M")
#: Exit statuses that PBS itself gives (JOB_EXEC_* in its job.h).
CAUSES = {
    -14: model.NODE_FAILED,
    -20: model.NODE_FAILED,
    -26: model.OUT_OF_MEMORY,
    -27: model.OUT_OF_MEMORY,
    -29: model.OVER_LIMIT,
    -30: model.NODE_FAILED,
}
#: Substates of a job that has ended: by a request to delete it, and by itself with success.
DELETED, FINISHED = 91, 92
#: How PBS's comment begins on a job that no set of its nodes could ever run.
NEVER = "Can Never Run"
#: States of a node in which it takes no job, with their meanings; of several the first here is shown.
UNAVAILABLE = {
    "down": "is down",
    "state-unknown": "is in an unknown state",
    "offline": "is offline",
    "stale": "is stale",
    "provisioning": "is being provisioned",
    "maintenance": "is in maintenance",
    "sleep": "sleeps",
}


@dataclass(frozen=True)
class Job(model.Job):
    """A job as PBS knows it.

    :param exit_status: of the batch script, or a negative number of PBS's own; None also if it never ran.
    :param substate: PBS's number; :param comment: PBS's own line on the job.
    """

    substate: int
    comment: str


def parse_jobs(text: str) -> dict[str, Job]:
    """Return the jobs, by their ids; none if PBS lists none.

    :raises OutputError: if the text is no list of jobs.
    """
    try:
        return {str(jobid): _job(job) for jobid, job in json.loads(text).get("Jobs", {}).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"qstat printed no list of jobs ({error!r}): {quoted(text[:200])}") from None


def _job(printed: Mapping[str, Any]) -> Job:
    letter, began = str(printed["job_state"]), printed.get("stime")
    status = None if printed.get("Exit_status") is None else int(printed["Exit_status"])
    substate = int(printed.get("substate") or 0)
    # As n1/0*2+n2/0*2; a host of which the job has several chunks is there several times.
    hosts = dict.fromkeys(part.partition("/")[0] for part in str(printed.get("exec_host") or "").split("+"))
    comment = one_line(str(printed.get("comment") or ""))
    return Job(
        state=_final(status, substate) if letter in ENDED else STATES.get(letter, letter),
        waits=letter in WAITING,
        has_ended=letter in ENDED,
        exit_status=status,
        nodes=tuple(filter(None, hosts)),
        least_nodes=int((printed.get("Resource_List") or {}).get("nodect") or 0),
        # In the time of the server's host.
        began=datetime.strptime(str(began), "%a %b %d %H:%M:%S %Y").astimezone().isoformat() if began else None,
        reason=_reason(printed, comment),
        substate=substate,
        comment=comment,
    )


def _final(status: int | None, substate: int) -> str:
    """Return the state of a job that has ended."""
    if status is not None and status < 0:
        return "TIMEOUT" if CAUSES.get(status) == model.OVER_LIMIT else "FAILED"
    if substate == DELETED or status is None:
        return "CANCELLED"
    return "COMPLETED" if substate == FINISHED else "FAILED"


def _reason(printed: Mapping[str, Any], comment: str) -> str:
    if printed["job_state"] == "H":
        if printed.get("depend"):
            return f"it waits for {one_line(str(printed['depend']))}"
        return f"it is held (Hold_Types {one_line(str(printed.get('Hold_Types')))})"
    return comment.removeprefix("Not Running: ") if printed["job_state"] in WAITING else ""


def parse_nodes(text: str) -> list[Node]:
    """Return the nodes.

    :raises OutputError: if the text is no list of nodes.
    """
    try:
        return [_node(str(name), node) for name, node in json.loads(text)["nodes"].items()]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"pbsnodes printed no list of nodes ({error!r}): {quoted(text[:200])}") from None


def _node(name: str, printed: Mapping[str, Any]) -> Node:
    states = re.split(r"[,\s]+", str(printed["state"]))
    meaning = next((meaning for state, meaning in UNAVAILABLE.items() if state in states), None)
    # The server's own note on a node that is down adds nothing.
    comment = one_line(str(printed.get("comment") or ""))
    why = f" ({comment})" if comment and not comment.startswith("node down") else ""
    is_busy = bool(printed.get("jobs")) or "job-exclusive" in states or "job-busy" in states
    return Node(name, f"{name} {meaning}{why}" if meaning else None, is_busy)


def exit_reason(jobid: str, job: Job, nodes: Sequence[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now.
    """
    wrong = model.faults(node for node in nodes if node.name in job.nodes)
    status = "" if job.exit_status is None else f"Exit_status {job.exit_status}"
    detail = "; ".join(filter(None, (status, job.comment))) or f"substate {job.substate}"
    if job.exit_status is not None and job.exit_status < 0:
        cause = CAUSES.get(job.exit_status, "PBS ended it")
    elif wrong and job.substate != FINISHED:  # the status may be 0 even so
        cause = model.NODE_FAILED
    elif job.substate == DELETED or job.exit_status is None:
        cause = model.CANCELLED
    elif job.exit_status == 0 and job.substate != FINISHED:
        cause = "PBS ended it"
    else:
        return None
    return model.terminated(jobid, job.nodes, cause, detail, wrong)


def blocks(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each entry: a line with its name, and below it indented lines ``key = value``.

    :raises OutputError: for an attribute without an entry.
    """
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if not line[0].isspace():
            current = found.setdefault(line.strip().removeprefix("Queue: "), {})
        elif current is None:
            raise OutputError(f"an attribute that belongs to nothing: {quoted(line)}", number)
        elif match := re.fullmatch(r"\s+([A-Za-z_.]+) = (.*)", line):
            current[match[1]] = match[2].strip()
    return found


def queues(nodes_text: str, queues_text: str, default: str = "") -> list[Queue]:
    """Return the execution queues, each with the nodes that it may use.

    A node that names its queue (``queue``, or ``resources_available.Qlist``) is of that one, any other is of all. CPUs
    are cores (``pcpus``) or, where PBS is configured so, hardware threads.

    :param default: the server's default queue, if that is known.
    :raises OutputError: if ``pbsnodes`` lists no node.
    """
    nodes = [node for node in blocks(nodes_text).values() if "state" in node or "resources_available.ncpus" in node]
    if not nodes:
        raise OutputError(f"no node: {quoted(nodes_text)}")
    found = []
    for name, queue in blocks(queues_text).items():
        if queue.get("queue_type", "").lower()[:1] == "r":
            continue  # it routes to other queues
        own = [node for node in nodes if name in _queues_of(node)] or [node for node in nodes if not _queues_of(node)]
        most = queue.get("resources_max.nodect", "")
        gpus = (node.get("resources_available.ngpus", "0") for node in own)
        found.append(
            Queue.of_cores(
                name,
                len(own),
                map(_cores, own),
                is_default=name == default,
                takes_jobs=queue.get("enabled") == queue.get("started") == "True",
                most_nodes=int(most) if most.isdigit() else None,
                gpus=next((f"ngpus={count}" for count in gpus if count not in ("0", "")), ""),
            )
        )
    return found


def _queues_of(node: dict[str, str]) -> list[str]:
    text = node.get("queue") or node.get("resources_available.Qlist") or ""
    return [name.strip() for name in text.split(",") if name.strip()]


def _cores(node: dict[str, str]) -> int | None:
    counts = (node.get(key, "") for key in ("resources_available.ncpus", "pcpus", "np"))
    return next((int(count) for count in counts if count.isdigit()), None)
