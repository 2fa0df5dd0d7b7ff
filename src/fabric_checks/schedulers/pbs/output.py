# SPDX-License-Identifier: BSD-3-Clause
"""Read PBS's listings of queues, nodes and jobs, and tell why a job failed.

The forms are those of ``qstat -x -f -F json`` and ``pbsnodes -a -F json`` of OpenPBS 23.06.06, and, for
queues, of ``pbsnodes -a`` and ``qstat -Qf`` of PBS Professional and OpenPBS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    "unresolvable": "has a name that cannot be resolved",
    "offline": "is offline",
    "stale": "is stale",
    "maintenance": "is in maintenance",
}
#: States of a node that the server itself has lost.
LOST = {"down", "state-unknown", "unresolvable"}
#: States of a node that has a job, or is being made ready for one. One that sleeps is woken for a job, and is
#: free.
BUSY = {"job-exclusive", "job-busy", "resv-exclusive", "provisioning", "wait-provisioning"}

#: The attributes of a vnode, by name, such as ``state`` or ``resources_available.ncpus``.
Vnode = Mapping[str, str]


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
        began=datetime.strptime(str(began), "%a %b %d %H:%M:%S %Y").astimezone().isoformat()
        if began
        else None,
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
    """Return the hosts; one with several vnodes is in service as long as one of these is.

    :raises OutputError: if the text is no list of nodes.
    """
    try:
        vnodes = {str(name): _attributes(printed) for name, printed in json.loads(text)["nodes"].items()}
        return [_node(host, of_host) for host, of_host in _by_host(vnodes).items()]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"pbsnodes printed no list of nodes ({error!r}): {quoted(text[:200])}") from None


def _attributes(printed: Mapping[str, Any]) -> Vnode:
    """Return the attributes of a vnode in JSON as the text of ``pbsnodes -a`` has them."""
    resources = (printed.get("resources_available") or {}).items()
    flat = {**printed, **{f"resources_available.{name}": value for name, value in resources}}
    return {name: str(value) for name, value in flat.items() if value not in (None, [])}


def _by_host(vnodes: Mapping[str, Vnode]) -> dict[str, list[Vnode]]:
    """Return the vnodes of each host; one that has none of its host's CPUs, as where others have them, is
    left out."""
    hosts: dict[str, list[Vnode]] = {}
    for name, vnode in vnodes.items():
        hosts.setdefault(_host(name, vnode), []).append(vnode)
    return {host: [vnode for vnode in of_host if _cores(vnode)] or of_host for host, of_host in hosts.items()}


def _host(name: str, vnode: Vnode) -> str:
    return vnode.get("resources_available.host") or name


def _states(vnode: Vnode) -> list[str]:
    return re.split(r"[,\s]+", vnode["state"])


def _why_unavailable(vnode: Vnode) -> str | None:
    """Return what keeps a vnode from taking jobs, with the administrator's comment; None if nothing does."""
    meaning = next((meaning for state, meaning in UNAVAILABLE.items() if state in _states(vnode)), None)
    # The server's own note on a node that is down adds nothing.
    comment = one_line(vnode.get("comment", ""))
    return (
        f"{meaning} ({comment})" if meaning and comment and not comment.startswith("node down") else meaning
    )


def _node(name: str, vnodes: Sequence[Vnode]) -> Node:
    faults = [_why_unavailable(vnode) for vnode in vnodes]
    is_busy = any(vnode.get("jobs") or BUSY.intersection(_states(vnode)) for vnode in vnodes)
    is_lost = all(LOST.intersection(_states(vnode)) for vnode in vnodes)
    return Node(name, f"{name} {faults[0]}" if all(faults) else None, is_busy, is_lost=is_lost)


def exit_reason(jobid: str, job: Job, nodes: Sequence[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now.
    """
    wrong = model.faults(node for node in nodes if node.name in job.nodes)
    if cause := _cause(job, is_faulty=bool(wrong)):
        status = "" if job.exit_status is None else f"Exit_status {job.exit_status}"
        detail = "; ".join(filter(None, (status, job.comment))) or f"substate {job.substate}"
        return model.terminated(jobid, job.nodes, cause, detail, wrong)
    return None


def _cause(job: Job, *, is_faulty: bool) -> str:
    """Return why a job was ended; an empty text if it ended by itself. :param is_faulty: whether a node of it
    is."""
    status = job.exit_status
    if status is not None and status < 0:
        return CAUSES.get(status, "PBS ended it")
    if is_faulty and job.substate != FINISHED:  # the status may be 0 even so
        return model.NODE_FAILED
    if job.substate == DELETED or status is None:
        return model.CANCELLED
    return "PBS ended it" if status == 0 and job.substate != FINISHED else ""


def blocks(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each entry: a line with its name, and below it indented lines ``key = value``.

    :raises OutputError: for an attribute without an entry.
    """
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    last = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if not line[0].isspace():
            current, last = found.setdefault(line.strip().removeprefix("Queue: "), {}), ""
        elif current is None:
            raise OutputError(f"an attribute that belongs to nothing: {quoted(line)}", number)
        elif match := re.fullmatch(r"\s+([\w.-]+) = (.*)", line):
            last, current[match[1]] = match[1], match[2].strip()
        elif last:
            current[last] += line.strip()  # qstat wraps what is long
    return found


def queues(nodes_text: str, queues_text: str, default: str = "") -> list[Queue]:
    """Return the queues that users can submit to, each with the hosts that its jobs can run on.

    Where a queue takes only what is routed to it, the one that routes is there in its place. CPUs are cores
    (``pcpus``) or, where PBS is configured so, hardware threads.

    :param default: the server's default queue, if that is known.
    :raises OutputError: if ``pbsnodes`` lists no node.
    """
    vnodes, attributes, lists = _listed(nodes_text, queues_text)
    found = []
    for name, queue in attributes.items():
        if queue.get("queue_type", "").lower()[:1] == "r":
            ends = [
                end
                for end in _words(queue.get("route_destinations", ""))
                if _is_behind(attributes.get(end, {}))
            ]
            behind = [_queue(end, attributes[end], vnodes, lists) for end in ends]
            found += (
                [replace(max(behind, key=lambda end: end.usable), name=name)]
                if behind and _is_open(queue)
                else []
            )
        elif not _is_behind(queue):
            found.append(_queue(name, queue, vnodes, lists))
    return [replace(queue, is_default=queue.name == default) for queue in found]


def nodes_of(queue: str, nodes_text: str, queues_text: str) -> list[Node]:
    """Return the hosts that jobs of a queue can run on; of one that routes jobs, those of all queues behind
    it.

    :raises OutputError: if ``pbsnodes`` lists no node, or ``qstat -Qf`` no such queue.
    """
    vnodes, attributes, lists = _listed(nodes_text, queues_text)
    if queue not in attributes:
        raise OutputError(f"qstat -Qf lists no queue {quoted(queue)}")
    found: dict[str, Vnode] = {}
    for end in _words(attributes[queue].get("route_destinations", "")) or [queue]:
        found |= _of_queue(end, attributes[end], vnodes, lists) if end in attributes else {}
    return [_node(host, of_host) for host, of_host in _by_host(found).items()]


def _listed(nodes_text: str, queues_text: str) -> tuple[dict[str, Vnode], dict[str, Vnode], list[str]]:
    """Return the vnodes and the queues, by name, and the resources that list queues and that no queue asks
    for."""
    listed = blocks(nodes_text).items()
    vnodes: dict[str, Vnode] = {
        name: node for name, node in listed if "state" in node or "resources_available.ncpus" in node
    }
    if not vnodes:
        raise OutputError(f"no node: {quoted(nodes_text)}")
    attributes = blocks(queues_text)
    chunks = {key.lower() for queue in attributes.values() for key in queue}
    return vnodes, dict(attributes), [each for each in _LISTS if f"default_chunk.{each}" not in chunks]


def _is_behind(queue: Vnode) -> bool:
    """Return whether a queue takes only jobs that another routes to it."""
    return queue.get("from_route_only", "").lower() == "true"


def _queue(name: str, queue: Vnode, vnodes: Mapping[str, Vnode], lists: Sequence[str]) -> Queue:
    hosts = _by_host(_of_queue(name, queue, vnodes, lists)).values()
    working = list(filter(None, ([vnode for vnode in host if not _why_unavailable(vnode)] for host in hosts)))
    most = queue.get("resources_max.nodect", "")
    gpus = [sum(_count(vnode, "ngpus") for vnode in host) for host in working]
    return Queue.of_cores(
        name,
        len(working),
        (sum(_cores(vnode) or 0 for vnode in host) for host in working),
        takes_jobs=_is_open(queue),
        most_nodes=int(most) if most.isdecimal() else None,
        out_of_service=len(hosts) - len(working),
        gpus=next((f"ngpus={count}" for count in gpus if count), ""),
    )


def _is_open(queue: Vnode) -> bool:
    return queue.get("enabled") == queue.get("started") == "True"


#: Resources in which sites list the queues of a node by their names, in lower case, also where no queue's
#: default chunk asks for one of them, as a hook of the site may do.
_LISTS = ("qlist", "queue_list", "queues")
_SIZE = re.compile(r"(?i)\d+(?:[kmgtp]?[bw]|[kmgtp])")


def _of_queue(name: str, queue: Vnode, vnodes: Mapping[str, Vnode], lists: Sequence[str]) -> dict[str, Vnode]:
    """Return the vnodes that jobs of a queue can have.

    Those that name it in their attribute ``queue``; without one, those of its ``partition`` with all that its
    jobs ask for by default: a site's own resources (``default_chunk.NAME``).

    :param lists: the resources that list queues by name, and that no queue asks for.
    """
    if own := {key: vnode for key, vnode in vnodes.items() if name in _words(vnode.get("queue", ""))}:
        return own
    partition = queue.get("partition")
    fit = {key: v for key, v in vnodes.items() if not v.get("queue") and v.get("partition") == partition}
    for key, value in queue.items():
        resource = key.removeprefix("default_chunk.")
        if resource != key and any(_offer(vnode, resource) for vnode in vnodes.values()):
            fit = _offering(fit, resource, value)
    return _by_name(name, fit, lists)


def _by_name(name: str, vnodes: dict[str, Vnode], lists: Sequence[str]) -> dict[str, Vnode]:
    """Return the vnodes that list a queue by its name, or else those that list none."""
    listed = {key: [word for each in lists for word in _words(_offer(v, each))] for key, v in vnodes.items()}
    named = {key: vnode for key, vnode in vnodes.items() if name in listed[key]}
    return named or {key: vnode for key, vnode in vnodes.items() if not listed[key]}


def _offering(vnodes: dict[str, Vnode], resource: str, value: str) -> dict[str, Vnode]:
    """Return the vnodes with a resource that is asked for; of a number, it is that of the whole host."""
    if _SIZE.fullmatch(value):
        return vnodes
    total: dict[str, int] = {}
    for key, vnode in vnodes.items():
        total[_host(key, vnode)] = total.get(_host(key, vnode), 0) + _count(vnode, resource)

    def offers(key: str, vnode: Vnode) -> bool:
        if value.isdecimal():
            return total[_host(key, vnode)] >= int(value)
        if value.lower() in ("true", "false"):
            return (_offer(vnode, resource).lower() == "true") == (value.lower() == "true")
        return value in _words(_offer(vnode, resource))

    return {key: vnode for key, vnode in vnodes.items() if offers(key, vnode)}


def _offer(vnode: Vnode, resource: str) -> str:
    """Return what a vnode has of a resource, whose name PBS takes in any case; empty if it has none."""
    wanted = f"resources_available.{resource}".lower()
    return next((value for key, value in vnode.items() if key.lower() == wanted), "")


def _count(vnode: Vnode, resource: str) -> int:
    text = _offer(vnode, resource)
    return int(text) if text.isdecimal() else 0


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _cores(node: Vnode) -> int | None:
    counts = (node.get(key, "") for key in ("resources_available.ncpus", "pcpus"))
    return next((int(count) for count in counts if count.isdecimal()), None)
