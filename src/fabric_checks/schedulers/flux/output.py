# SPDX-License-Identifier: BSD-3-Clause
"""Read Flux's listings of resources, nodes and jobs, and tell why a job failed.

The forms are those of ``flux jobs --json``, ``flux resource status`` and ``flux resource R`` (RFC 20) of Flux
0.88.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException
from ClusterShell.RangeSet import RangeSet, RangeSetException

from fabric_checks.core.commands import printed
from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import clean
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node, Queue

#: The format that ``flux resource status --no-header`` is asked for.
NODES_FORMAT = "{state}|{nodelist}|{status}|{reason}"

#: The meanings of types of exceptions; others are explained in Flux's own words.
CAUSES = {
    "": model.CANCELLED,
    "cancel": model.CANCELLED,
    "timeout": model.OVER_LIMIT,
    "alloc": "Flux cannot schedule it",
}
#: Beginnings of Flux's notes that blame a node, whatever type the exception has.
NODE_NOTES = ("node failure on ", "lost contact with job shell", "node-failure")

WAITING = ("NEW", "DEPEND", "PRIORITY", "SCHED")

#: What a text raises that is not of the form that is read.
_MALFORMED = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    NodeSetException,
    RangeSetException,
)


@dataclass(frozen=True)
class Job(model.Job):
    """A job as Flux knows it.

    :param exit_status: of the batch script, or 128 and the signal that ended it.
    :param kind: the type of its exception, empty without one; :param severity: 0 if that ended it.
    :param note: Flux's text of the exception.
    """

    kind: str
    severity: int
    note: str


def parse_jobs(text: str) -> dict[str, Job]:
    """Return the jobs, by their ids in decimal.

    :raises OutputError: if the text is no list of jobs.
    """
    try:
        printed = json.loads(text)
        # For a single id, Flux prints the job itself and no list.
        return {
            str(int(job["id"])): _job(job) for job in printed.get("jobs", [printed])
        }
    except _MALFORMED as error:
        raise OutputError(
            f"flux jobs printed no list of jobs ({error!r}): {quoted(text[:200])}"
        ) from None


def _job(printed: Mapping[str, Any]) -> Job:
    exception: Mapping[str, Any] = printed.get("exception") or {}
    state, began = str(printed["state"]), printed.get("t_run")
    waits, has_ended = state in WAITING, state == "INACTIVE"
    result = str(printed.get("result")).replace("CANCELED", "CANCELLED")
    return Job(
        state="PENDING" if waits else result if has_ended else "RUNNING",
        waits=waits,
        has_ended=has_ended,
        exit_status=printed.get("returncode"),
        nodes=tuple(_names(printed.get("nodelist"))),
        least_nodes=int(printed.get("nnodes") or 0),
        began=datetime.fromtimestamp(began, timezone.utc).isoformat(timespec="seconds")
        if began
        else None,
        reason=_reason(printed),
        kind=clean(exception.get("type", "")),
        severity=int(exception.get("severity", 0)),
        note=clean(exception.get("note", "")),
    )


def _names(text: str | None) -> list[str]:
    """Return the names of nodes in Flux's notation."""
    return list(NodeSet(text, resolver=RESOLVER_NOGROUP))


def _reason(printed: Mapping[str, Any]) -> str:
    match printed:
        case {"state": "DEPEND", "dependencies": [*names]}:
            return f"it waits for {clean(', '.join(map(str, names)))}"
        case {"state": "SCHED", "urgency": 0}:
            return "it is held (urgency 0)"
        case {"annotations": {"sched": {"reason_pending": reason}}}:
            return clean(reason)
    return ""


def ask_nodes(*of_queue: str) -> list[Node]:
    """Return the nodes as Flux lists them.

    :param of_queue: an option that names a queue, for the nodes of that.
    :raises FabricError: if Flux does not answer.
    """
    ask, lines = ["flux", "resource"], "--no-header"
    nodes = printed([*ask, "status", lines, *of_queue, f"--format={NODES_FORMAT}"])
    busy = printed([*ask, "list", "--states=allocated", lines, "--format={nodelist}"])
    return parse_nodes(nodes, busy.strip())


def parse_nodes(text: str, busy: str = "") -> list[Node]:
    """Return the nodes in lines of :data:`NODES_FORMAT`, without those that Flux is configured not to use.

    :param busy: the nodes that jobs have, in Flux's notation; empty if none has any.
    :raises OutputError: if a line is not in this format.
    """
    nodes = []
    try:
        allocated = frozenset(_names(busy))
        for line in text.splitlines():
            state, names, status, reason = line.split(
                "|", 3
            )  # the reason may have bars of its own
            if state != "exclude":
                fault = _fault(state.strip("*"), status, clean(reason))
                nodes += [
                    Node(
                        name,
                        f"{name} {fault}" if fault else None,
                        name in allocated,
                        is_lost=status == "offline",
                    )
                    for name in _names(names)
                ]
    except _MALFORMED:
        raise OutputError(
            f"flux resource status printed {quoted(text.strip())} for {NODES_FORMAT}"
        ) from None
    return nodes


def _fault(state: str, status: str, reason: str) -> str:
    wrong = ["is down"] if status == "offline" else []
    if state != "avail":
        wrong.append(f"is {state} ({reason})" if reason else f"is {state}")
    return " and ".join(wrong)


def exit_reason(jobid: str, job: Job, nodes: Sequence[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now.
    """
    if job.kind == "node-failure" or job.note.startswith(NODE_NOTES):
        cause = model.NODE_FAILED
    elif job.severity > 0 or not (job.kind or job.state == "CANCELLED"):
        return None
    else:
        cause = CAUSES.get(job.kind, "Flux ended it")
    detail = ": ".join(filter(None, (job.kind, job.note))) or job.state
    return model.terminated(jobid, job.nodes, cause, detail, nodes)


def queues(text: str) -> list[Queue]:
    """Return the queues of ``flux resource R``: properties of nodes, or one without a name, of all nodes.

    :raises OutputError: if the text is no set of resources of version 1.
    """
    try:
        resources = json.loads(text)["execution"]
        sizes = [
            _size(group["rank"], **group["children"]) for group in resources["R_lite"]
        ]
        properties = resources.get("properties") or {}
        ranks_of = {name: _ids(ranks) for name, ranks in properties.items()}
    except _MALFORMED:
        raise OutputError(f"not a list of Flux resources: {quoted(text)}") from None
    everywhere = set().union(*(ranks for ranks, _, _ in sizes))
    if not everywhere:
        raise OutputError("Flux has no node")
    ranks_of = ranks_of or {"": everywhere}
    return [_queue(name, ranks, sizes) for name, ranks in ranks_of.items()]


def _size(
    rank: object, core: object = None, gpu: object = None, **_: object
) -> tuple[set[str], int, int]:
    """Return the ranks of a group, and how many cores and GPUs each of them has."""
    return _ids(rank), len(_ids(core)), len(_ids(gpu))


def _queue(
    name: str, ranks: set[str], sizes: Sequence[tuple[set[str], int, int]]
) -> Queue:
    """Return a queue of some ranks; :param sizes: ranks, and how many cores and GPUs each of them has."""
    own = [(cores, gpus) for members, cores, gpus in sizes if members & ranks]
    gpus = max((gpus for _, gpus in own), default=0)
    return Queue.of_cores(
        name,
        len(ranks),
        [cores for cores, _ in own],
        is_default=not name,
        gpus=f"gpu:{gpus}" if gpus else "",
    )


def _ids(text: object) -> set[str]:
    """Return the numbers of an idset, such as ``0-3,7``; none of one that is missing.

    :raises ValueError: if it is none, or has more than any machine.
    """
    words = "" if text is None else str(text).strip("[]")
    if not re.fullmatch(r"(\d{1,6}(-\d{1,6})?(,|$))*", words):
        raise ValueError(words)
    return set(RangeSet(words or None))
