# SPDX-License-Identifier: BSD-3-Clause
"""What Flux says of jobs and nodes, and why a job did not end as it should.

The forms are those of ``flux jobs --json`` and ``flux resource status`` of Flux 0.88.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import one_line
from fabric_checks.schedulers import endings
from fabric_checks.schedulers.endings import Ending

#: What ``flux resource status --no-header`` is to be asked for.
NODES_FORMAT = "{state}|{nodelist}|{status}|{reason}"
#: Columns before the reason, which may have bars of its own.
_COLUMNS = 3

#: What the type of an exception means; of others, Flux's own words have to do.
MEANT = {
    "cancel": endings.CANCELLED,
    "timeout": endings.OVER_LIMIT,
    "alloc": "Flux cannot schedule it",
}
#: What the notes of Flux begin with if a node is to blame, whatever type they have.
NODE_NOTES = ("node failure on ", "lost contact with job shell", "node-failure")

WAITING = ("NEW", "DEPEND", "PRIORITY", "SCHED")


@dataclass(frozen=True)
class Job:
    """A job as Flux knows it.

    :param state: such as ``SCHED``, ``RUN``, ``INACTIVE``; :param result: such as ``COMPLETED``, empty before its end.
    :param exit_status: of the batch script, or 128 and the signal that ended it; None before its end.
    :param nodelist: its nodes in Flux's notation, empty if it has none.
    :param least_nodes: how many nodes it needs, 0 if it does not say.
    :param began: when it began, in seconds since 1970; None if it has not.
    :param reason: why it waits, in words; empty if Flux says nothing.
    :param kind: the type of its exception, empty without one; :param severity: 0 if that ended it.
    :param note: what Flux says of the exception.
    """

    state: str
    result: str
    exit_status: int | None
    nodelist: str
    least_nodes: int
    began: float | None
    reason: str
    kind: str
    severity: int
    note: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun."""
        return self.state in WAITING

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state == "INACTIVE"


@dataclass(frozen=True)
class Node:
    """A node as Flux knows it: ``fault`` is what keeps it from taking jobs, as in ``n2 is down``; None if nothing."""

    name: str
    fault: str | None


def parse_jobs(text: str) -> dict[str, Job]:
    """Read the jobs, by their ids in decimal.

    :raises OutputError: if it is no such list.
    """
    try:
        said = json.loads(text)
        # Of one job, asked for by its id, there is the job itself and no list.
        jobs = said.get("jobs", [said])
        return {str(int(job["id"])): _job(job) for job in jobs}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise OutputError(f"flux jobs printed no list of jobs ({error!r}): {quoted(text[:200])}") from None


def _job(of: Mapping[str, Any]) -> Job:
    exception = of.get("exception") or {}
    status, began = of.get("returncode"), of.get("t_run")
    return Job(
        state=str(of["state"]),
        result=str(of.get("result") or ""),
        exit_status=int(status) if isinstance(status, int | str) and str(status).lstrip("-").isdecimal() else None,
        nodelist=str(of.get("nodelist") or ""),
        least_nodes=int(of.get("nnodes") or 0),
        began=float(began) if began else None,
        reason=_reason(of),
        kind=one_line(str(exception.get("type") or "")) if exception.get("occurred") else "",
        severity=int(exception.get("severity") or 0),
        note=one_line(str(exception.get("note") or "")),
    )


def _reason(of: Mapping[str, Any]) -> str:
    if of["state"] == "DEPEND":
        return f"it waits for {one_line(', '.join(map(str, of.get('dependencies') or ['a dependency'])))}"
    if of["state"] == "PRIORITY":
        return "it has no priority yet"
    if of["state"] == "SCHED" and of.get("urgency") == 0:
        return "it is held (urgency 0)"
    if of["state"] == "SCHED" and of.get("priority") == 0:
        return "it is held (priority 0)"
    said = ((of.get("annotations") or {}).get("sched") or {}).get("reason_pending")
    return one_line(str(said)) if said else ""


def parse_nodes(text: str, expand: Callable[[str], Sequence[str]]) -> list[Node]:
    """Read the lines of :data:`NODES_FORMAT`; nodes that Flux is told not to use are left out.

    :param expand: turns Flux's notation of nodes into their names.
    :raises OutputError: if a line is not one of these.
    """
    nodes = []
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
        nodes += [Node(name, f"{name} {' and '.join(wrong)}" if wrong else None) for name in expand(names)]
    return nodes


def faults(nodes: Sequence[Node]) -> dict[str, str]:
    """Return what keeps nodes from taking jobs, by name; those that take some are left out."""
    return {node.name: node.fault for node in nodes if node.fault}


def too_few(job: Job, nodes: Sequence[Node]) -> bool:
    """Tell whether a job cannot start, because fewer nodes are in service than it needs."""
    return bool(nodes) and sum(node.fault is None for node in nodes) < job.least_nodes


def ending(jobid: str, job: Job, names: Sequence[str], nodes: Sequence[Node]) -> Ending | None:
    """Say why a job that has ended has failed, or return None if its output says it better.

    :param names: the nodes that it had, if any; :param nodes: the nodes as they are now.
    """
    if job.result == "COMPLETED" or not (job.kind or job.result == "CANCELED"):
        return None
    wrong = faults([node for node in nodes if node.name in names])
    said = ": ".join(filter(None, (job.kind, job.note)))
    if job.kind == "node-failure" or job.note.startswith(NODE_NOTES):
        return endings.ended(jobid, names, endings.NODE_FAILED, said, wrong)
    if job.severity > 0:
        return None
    what = MEANT.get(job.kind or "cancel", "Flux ended it")
    return endings.ended(jobid, names, what, said or job.result, wrong)


def waiting(
    jobid: str, seconds: float, reason: str, nodes: Sequence[Node], *, busy: Sequence[str], hopeless: bool = False
) -> Ending:
    """Say that a job waited for too long, why, and for which nodes.

    :param busy: the nodes that other jobs have.
    :param hopeless: it was not to start at all: too few nodes are in service.
    """
    says = f"Flux says: {reason}" if reason else "Flux gives no reason"
    return endings.waited(jobid, seconds, says, wrong=faults(nodes), busy=busy, known=len(nodes), hopeless=hopeless)
