# SPDX-License-Identifier: BSD-3-Clause
"""Read PBS's listings of jobs, nodes and queues, and tell why a job failed.

The forms are those of ``qstat -x -f -F json`` of OpenPBS 23.06.06, and of ``pbsnodes -a`` and ``qstat -Qf``
of PBS Professional and OpenPBS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import clean
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
    "unresolvable": "has a name that cannot be resolved",
    "offline": "is offline",
    "stale": "is stale",
    "maintenance": "is in maintenance",
}
#: States of a node that the server itself has lost.
LOST = {"down", "state-unknown", "unresolvable"}
#: States of a node that has a job, or is being made ready for one. One that sleeps is woken for a job, and is
#: free.
BUSY = {
    "job-exclusive",
    "job-busy",
    "resv-exclusive",
    "provisioning",
    "wait-provisioning",
}
#: How attributes of a queue begin that say what its jobs ask for by default.
_CHUNK = "default_chunk."

#: The attributes of a vnode or a queue, by name, such as ``state`` or ``resources_available.ncpus``.
Attributes = Mapping[str, str]
#: The vnodes of each host.
Hosts = dict[str, list[Attributes]]


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
        return {
            jobid: _job(job) for jobid, job in json.loads(text).get("Jobs", {}).items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(
            f"qstat printed no list of jobs ({error!r}): {quoted(text[:200])}"
        ) from None


def _job(printed: Mapping[str, Any]) -> Job:
    letter, began, status = (
        str(printed["job_state"]),
        printed.get("stime"),
        printed.get("Exit_status"),
    )
    substate, has_ended = int(printed.get("substate") or 0), letter in ENDED
    # As n1/0*2+n2/0*2; a host of which the job has several chunks is there several times.
    hosts = re.findall(r"(?:^|\+)([^/+]+)", printed.get("exec_host") or "")
    comment = clean(printed.get("comment") or "")
    return Job(
        state=_final(status, substate) if has_ended else STATES.get(letter, letter),
        waits=letter in WAITING,
        has_ended=has_ended,
        exit_status=status,
        nodes=tuple(dict.fromkeys(hosts)),
        least_nodes=int((printed.get("Resource_List") or {}).get("nodect") or 0),
        began=_time(began) if began else None,
        reason=_reason(letter, comment, printed),
        substate=substate,
        comment=comment,
    )


def _time(text: str) -> str:
    """Return a time of the server's host with its time zone."""
    return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").astimezone().isoformat()


def _reason(letter: str, comment: str, printed: Mapping[str, Any]) -> str:
    """Return why a job waits; empty if it does not, or PBS gives no reason."""
    if letter != "H":
        return comment.removeprefix("Not Running: ") if letter in WAITING else ""
    if waits_for := printed.get("depend"):
        return f"it waits for {clean(waits_for)}"
    return f"it is held (Hold_Types {clean(printed.get('Hold_Types'))})"


def _final(status: int | None, substate: int) -> str:
    """Return the state of a job that has ended."""
    if status is not None and status < 0:
        return "TIMEOUT" if CAUSES.get(status) == model.OVER_LIMIT else "FAILED"
    if substate == DELETED or status is None:
        return "CANCELLED"
    return "COMPLETED" if substate == FINISHED else "FAILED"


def exit_reason(jobid: str, job: Job, nodes: Sequence[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now.
    """
    status, own = job.exit_status, "PBS ended it"
    if status is not None and status < 0:
        cause = CAUSES.get(status, own)
    elif job.substate == FINISHED:
        return None
    elif model.faults(nodes, job.nodes):  # the status may be 0 even so
        cause = model.NODE_FAILED
    elif job.state == "CANCELLED":
        cause = model.CANCELLED
    elif status == 0:
        cause = own
    else:
        return None
    known = "" if status is None else f"Exit_status {status}"
    detail = "; ".join(filter(None, (known, job.comment)))
    return model.terminated(
        jobid, job.nodes, cause, detail or f"substate {job.substate}", nodes
    )


def blocks(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each entry: a line with its name, and below it indented lines ``key = value``.

    :raises OutputError: for an attribute without an entry.
    """
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for number, line in enumerate(
        re.sub(r"\n\t", "", text).splitlines(), 1
    ):  # qstat wraps what is long
        key, _, value = line.strip().partition(" = ")
        if not key:
            continue
        if not line[0].isspace():
            current = found.setdefault(key.removeprefix("Queue: "), {})
        elif current is None:
            raise OutputError(
                f"an attribute that belongs to nothing: {quoted(line)}", number
            )
        else:
            current[key] = value
    return found


def _hosts(text: str) -> Hosts:
    """Return the vnodes of each host of ``pbsnodes -a``.

    A vnode that has none of its host's CPUs, as where others have them, is left out.

    :raises OutputError: if it lists no node.
    """
    hosts: Hosts = {}
    for name, vnode in blocks(text).items():
        if "state" in vnode:
            host = vnode.get("resources_available.host", name)
            hosts.setdefault(host, []).append(vnode)
    if not hosts:
        raise OutputError(f"no node: {quoted(text)}")
    return {host: list(filter(_cores, of)) or of for host, of in hosts.items()}


def parse_nodes(text: str) -> list[Node]:
    """Return the hosts of ``pbsnodes -a``; one with several vnodes is in service as long as one of these is.

    :raises OutputError: if it lists no node.
    """
    return [_node(host, vnodes) for host, vnodes in _hosts(text).items()]


def _node(name: str, vnodes: Sequence[Attributes]) -> Node:
    faults = [_fault(vnode) for vnode in vnodes]
    is_busy = any(vnode.get("jobs") or _states(vnode) & BUSY for vnode in vnodes)
    is_lost = all(_states(vnode) & LOST for vnode in vnodes)
    return Node(
        name, f"{name} {faults[0]}" if all(faults) else None, is_busy, is_lost=is_lost
    )


def _states(vnode: Attributes) -> set[str]:
    return set(_words(vnode["state"]))


def _fault(vnode: Attributes) -> str | None:
    """Return what keeps a vnode from taking jobs, with the administrator's comment; None if nothing does."""
    states = _states(vnode)
    meaning = next(
        (UNAVAILABLE[state] for state in UNAVAILABLE if state in states), None
    )
    comment = clean(vnode.get("comment", ""))
    # The server's own note on a node that is down adds nothing.
    has_comment = meaning and comment and not comment.startswith("node down")
    return f"{meaning} ({comment})" if has_comment else meaning


def queues(nodes_text: str, queues_text: str, default: str = "") -> list[Queue]:
    """Return the queues that users can submit to, each with the hosts that its jobs can run on.

    Where a queue takes only what is routed to it, the one that routes is there in its place, with the hosts
    of all that it routes to. CPUs are cores (``pcpus``) or, where PBS is configured so, hardware threads.

    :param default: the server's default queue, if that is known.
    :raises OutputError: if ``pbsnodes`` lists no node.
    """
    hosts, attributes = _hosts(nodes_text), blocks(queues_text)
    return [
        _queue(
            name, queue, _of_ends(name, attributes, hosts), is_default=name == default
        )
        for name, queue in attributes.items()
        if _is_for_users(name, attributes)
    ]


def nodes_of(queue: str, nodes_text: str, queues_text: str) -> list[Node]:
    """Return the hosts that jobs of a queue can run on; of one that routes jobs, those of all queues behind
    it.

    :raises OutputError: if ``pbsnodes`` lists no node, or ``qstat -Qf`` no such queue.
    """
    hosts, attributes = _hosts(nodes_text), blocks(queues_text)
    if queue not in attributes:
        raise OutputError(f"qstat -Qf lists no queue {quoted(queue)}")
    found = _of_ends(queue, attributes, hosts)
    return [_node(host, vnodes) for host, vnodes in found.items()]


def _is_for_users(name: str, attributes: Mapping[str, Attributes]) -> bool:
    """Return whether users submit to a queue: not where another routes to it, or it to what they can name."""
    if _is_behind(attributes[name]):
        return False
    ends = _ends(name, attributes)
    return ends == [name] or any(_is_behind(attributes[end]) for end in ends)


def _ends(name: str, attributes: Mapping[str, Attributes]) -> list[str]:
    """Return the queues that jobs of a queue run in: itself, or those that it routes to."""
    if attributes[name].get("queue_type") != "Route":
        return [name]
    ends = _words(attributes[name].get("route_destinations", ""))
    return [end for end in ends if end in attributes]


def _is_behind(queue: Attributes) -> bool:
    """Return whether a queue takes only jobs that another routes to it."""
    return queue.get("from_route_only") == "True"


def _queue(name: str, queue: Attributes, hosts: Hosts, *, is_default: bool) -> Queue:
    in_service = ([vnode for vnode in of if not _fault(vnode)] for of in hosts.values())
    working = list(filter(None, in_service))
    most = queue.get("resources_max.nodect", "")
    gpus = (sum(int(_offer(vnode, "ngpus") or 0) for vnode in of) for of in working)
    some = next(filter(None, gpus), 0)
    return Queue.of_cores(
        name,
        len(working),
        (sum(map(_cores, of)) for of in working),
        is_default=is_default,
        takes_jobs=queue.get("enabled") == queue.get("started") == "True",
        most_nodes=int(most) if most.isdecimal() else None,
        out_of_service=len(hosts) - len(working),
        gpus=f"ngpus={some}" if some else "",
    )


def _of_ends(name: str, attributes: Mapping[str, Attributes], hosts: Hosts) -> Hosts:
    """Return the hosts of the queues that jobs of a queue run in."""
    found: Hosts = {}
    for end in _ends(name, attributes):
        found |= _of_queue(end, attributes[end], hosts)
    return found


def _of_queue(name: str, queue: Attributes, hosts: Hosts) -> Hosts:
    """Return the hosts whose vnodes jobs of a queue can have.

    Those that name it in their attribute ``queue``; without one, those with all that its jobs ask for by
    default: a site's own resources (``default_chunk.NAME``).
    """
    everything = [vnode for vnodes in hosts.values() for vnode in vnodes]
    is_named = any(name in _words(vnode.get("queue", "")) for vnode in everything)
    asked = _asked(queue, everything)

    def is_of(vnode: Attributes) -> bool:
        own = _words(vnode.get("queue", ""))
        if is_named or own:
            return name in own
        return all(_has(vnode, resource, value) for resource, value in asked.items())

    found = {host: list(filter(is_of, vnodes)) for host, vnodes in hosts.items()}
    return {host: vnodes for host, vnodes in found.items() if vnodes}


def _asked(queue: Attributes, vnodes: Sequence[Attributes]) -> Attributes:
    """Return what jobs of a queue ask for by default, as far as any vnode has it."""
    chunk = {
        key.removeprefix(_CHUNK): value
        for key, value in queue.items()
        if key.startswith(_CHUNK)
    }
    return {
        resource: value
        for resource, value in chunk.items()
        if any(_offer(vnode, resource) for vnode in vnodes)
    }


def _has(vnode: Attributes, resource: str, value: str) -> bool:
    """Return whether a vnode has a resource; of one that is an amount, whether it has any."""
    offer = _offer(vnode, resource) or "False"
    if re.fullmatch(r"\d+\w*", value):
        return offer not in ("0", "False")
    return value.lower() in _words(offer.lower())


def _offer(vnode: Attributes, resource: str) -> str:
    """Return what a vnode has of a resource; empty if it has none."""
    return vnode.get(f"resources_available.{resource}", "")


def _words(text: str) -> list[str]:
    return re.findall(r"[^,\s]+", text)


def _cores(vnode: Attributes) -> int:
    count = vnode.get("resources_available.ncpus", vnode.get("pcpus", ""))
    return int(count) if count.isdecimal() else 0
