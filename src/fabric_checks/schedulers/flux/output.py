# SPDX-License-Identifier: BSD-3-Clause
"""Read Flux's listings of resources, nodes and jobs, and tell why a job failed.

The forms are those of ``flux jobs --json``, ``flux resource status`` and ``flux resource R`` (RFC 20) of Flux
0.88.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import one_line
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node, Queue

#: The format that ``flux resource status --no-header`` is asked for.
NODES_FORMAT = "{state}|{nodelist}|{status}|{reason}"
#: Columns before the reason, which may have bars of its own.
_COLUMNS = 3

#: The meanings of types of exceptions; others are explained in Flux's own words.
CAUSES = {
    "cancel": model.CANCELLED,
    "timeout": model.OVER_LIMIT,
    "alloc": "Flux cannot schedule it",
}
#: Beginnings of Flux's notes that blame a node, whatever type the exception has.
NODE_NOTES = ("node failure on ", "lost contact with job shell", "node-failure")

WAITING = ("NEW", "DEPEND", "PRIORITY", "SCHED")

#: Expands Flux's notation of nodes into their names.
Expand = Callable[[str], Sequence[str]]


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


def parse_jobs(text: str, expand: Expand) -> dict[str, Job]:
    """Return the jobs, by their ids in decimal.

    :raises OutputError: if the text is no list of jobs.
    """
    try:
        printed = json.loads(text)
        # For a single id, Flux prints the job itself and no list.
        return {str(int(job["id"])): _job(job, expand) for job in printed.get("jobs", [printed])}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"flux jobs printed no list of jobs ({error!r}): {quoted(text[:200])}") from None


def _job(printed: Mapping[str, Any], expand: Expand) -> Job:
    exception = printed.get("exception") or {}
    state, began, names = str(printed["state"]), printed.get("t_run"), printed.get("nodelist")
    return Job(
        state=_state(state, str(printed.get("result") or "")),
        waits=state in WAITING,
        has_ended=state == "INACTIVE",
        exit_status=_number(printed.get("returncode")),
        nodes=tuple(expand(names)) if names else (),
        least_nodes=_number(printed.get("nnodes")) or 0,
        began=(
            datetime.fromtimestamp(float(began), timezone.utc).isoformat(timespec="seconds")
            if began
            else None
        ),
        reason=_reason(printed),
        kind=_text(exception.get("type")) if exception.get("occurred") else "",
        severity=_number(exception.get("severity")) or 0,
        note=_text(exception.get("note")),
    )


def _state(state: str, result: str) -> str:
    if state == "INACTIVE":
        return result.replace("CANCELED", "CANCELLED")
    return "PENDING" if state in WAITING else "RUNNING"


def _number(value: object) -> int | None:
    return int(str(value)) if re.fullmatch(r"-?\d+", str(value)) else None


def _text(value: object) -> str:
    return one_line(str(value or ""))


def _reason(printed: Mapping[str, Any]) -> str:
    match printed:
        case {"state": "DEPEND"}:
            return (
                "it waits for"
                f" {one_line(', '.join(map(str, printed.get('dependencies') or ['a dependency'])))}"
            )
        case {"state": "SCHED", "urgency": 0}:
            return "it is held (urgency 0)"
        case {"annotations": {"sched": {"reason_pending": str(reason)}}}:
            return one_line(reason)
    return ""


def parse_nodes(text: str, expand: Expand, busy: str = "") -> list[Node]:
    """Return the nodes in lines of :data:`NODES_FORMAT`, without those that Flux is configured not to use.

    :param busy: the nodes that jobs have, in Flux's notation; empty if none has any.
    :raises OutputError: if a line is not in this format.
    """
    nodes, allocated = [], frozenset(expand(busy)) if busy else frozenset()
    for line in filter(None, map(str.strip, text.splitlines())):
        parts = line.split("|", _COLUMNS)
        if len(parts) != _COLUMNS + 1:
            raise OutputError(f"flux resource status printed {quoted(line)} for {NODES_FORMAT}")
        state, names, status, reason = parts[0].strip("*"), parts[1], parts[2], one_line(parts[3])
        if state == "exclude":
            continue
        wrong = ["is down"] if status == "offline" else []
        if state != "avail":
            wrong.append(f"is {state}{f' ({reason})' if reason else ''}")
        nodes += [
            Node(
                name,
                f"{name} {' and '.join(wrong)}" if wrong else None,
                is_busy=name in allocated,
                is_lost=status == "offline",
            )
            for name in expand(names)
        ]
    return nodes


def exit_reason(jobid: str, job: Job, nodes: Sequence[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now.
    """
    if job.state == "COMPLETED" or not (job.kind or job.state == "CANCELLED"):
        return None
    wrong = model.faults(node for node in nodes if node.name in job.nodes)
    detail = ": ".join(filter(None, (job.kind, job.note))) or job.state
    if job.kind == "node-failure" or job.note.startswith(NODE_NOTES):
        return model.terminated(jobid, job.nodes, model.NODE_FAILED, detail, wrong)
    if job.severity > 0:
        return None
    return model.terminated(
        jobid, job.nodes, CAUSES.get(job.kind or "cancel", "Flux ended it"), detail, wrong
    )


def queues(text: str) -> list[Queue]:
    """Return the queues of ``flux resource R``: properties of nodes, or one without a name, of all nodes.

    :raises OutputError: if the text is no set of resources of version 1.
    """
    try:
        resources = json.loads(text)["execution"]
        groups = [
            (
                _ids(group["rank"]),
                len(_ids(group["children"].get("core"))),
                len(_ids(group["children"].get("gpu"))),
            )
            for group in resources["R_lite"]
        ]
        properties = {str(name): _ids(ranks) for name, ranks in (resources.get("properties") or {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise OutputError(f"not a list of Flux resources: {quoted(text)}") from None
    everywhere = {rank for ranks, _, _ in groups for rank in ranks}
    if not everywhere:
        raise OutputError("Flux has no node")
    named = {name: ranks for name, ranks in properties.items() if ranks}
    return [_queue(name, ranks, groups) for name, ranks in (named or {"": everywhere}).items()]


def _queue(name: str, ranks: set[int], groups: list[tuple[set[int], int, int]]) -> Queue:
    """Return a queue of some ranks, from groups of them with the cores and the GPUs of each."""
    cores = [cores for members, cores, _ in groups if members & ranks]
    gpus = max((gpus for members, _, gpus in groups if members & ranks), default=0)
    return Queue.of_cores(name, len(ranks), cores, is_default=not name, gpus=f"gpu:{gpus}" if gpus else "")


#: More nodes, or cores of a node, than any machine has.
_MOST_IDS = 1_000_000


def _ids(text: object) -> set[int]:
    """Return the numbers of an idset, such as ``0-3,7``; none of one that is missing.

    :raises ValueError: if it is no idset.
    """
    found: set[int] = set()
    for part in filter(None, ("" if text is None else str(text)).strip("[]").split(",")):
        first, _, last = part.partition("-")
        if int(last or first) > _MOST_IDS:
            raise ValueError(part)
        found.update(range(int(first), int(last or first) + 1))
    return found
