# SPDX-License-Identifier: BSD-3-Clause
"""Read Slurm's listings of partitions, nodes and jobs, and tell why a job failed.

The forms are those of ``scontrol -d -o show job`` and ``scontrol -o show node`` of Slurm 22.05, and, for
partitions, of ``sinfo``, ``scontrol show partition | config`` and ``srun --mpi=list`` of several
releases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import filterfalse

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.records.folding import unfolded
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node, Queue

#: How states of a node begin in which it takes no job until somebody sees to it, with their meanings; of
#: several the first here is shown. ``scontrol`` prints all states of a node (``IDLE+DRAIN``), ``sinfo`` one
#: (``drained``).
UNAVAILABLE = {
    "NOT_RESPONDING": "does not respond",
    "NO_RESPOND": "does not respond",  # as older releases call it
    "DOWN": "is down",
    "FAIL": "is about to fail",
    "ERR": "is in error",
    "DRAIN": "is drained",
    "MAINT": "is in maintenance",
    "INVAL": "registered with less than its configuration",
    "UNK": "is in an unknown state",
    "FUTURE": "is not set up yet",
    "REBOOTING": "reboots",  # as DOWN+REBOOT_ISSUED is called here
}
#: Of these, what nobody has decided.
LOST = ("NOT_RESPONDING", "NO_RESPOND", "DOWN")
#: How states of a node begin that comes back for a job by itself, as one that saves power or reboots. Until
#: then it does not respond, which is no fault. Older releases print these states as a character behind the
#: first one.
RETURNING, RETURNING_MARKS = ("POWER", "REBOOT_ISSUED"), "~#!%^"

#: States of a node that other jobs have.
BUSY = {"ALLOCATED", "MIXED", "COMPLETING", "RESERVED", "BLOCKED"}
#: States of a node that a reservation puts it in: its own jobs run there all the same, also if it is for
#: maintenance.
OF_RESERVATION = {"MAINT", "MAINTENANCE", "RESERVED"}

#: The reason of a node's state, which is followed by its author and time, and by other fields.
_REASON = re.compile(
    r" Reason=(.*?)(?: \[\S+@\S+\].*| (?:Comment|Extra|InstanceId|InstanceType|ReservationName)=.*)?$"
)

#: The meaning of a final state of a job, where the program's output does not explain it.
CAUSES = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": model.CANCELLED,
    "DEADLINE": "it reached its deadline",
    "NODE_FAIL": model.NODE_FAILED,
    "OUT_OF_MEMORY": model.OUT_OF_MEMORY,
    "PREEMPTED": "it was preempted",
    "TIMEOUT": model.OVER_LIMIT,
}


#: The states of a job that has not begun, and those that are final.
WAITING = (
    "PENDING",
    "CONFIGURING",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESV_DEL_HOLD",
    "SPECIAL_EXIT",
)
ENDED = ("COMPLETED", "FAILED", *CAUSES)


@dataclass(frozen=True)
class Job(model.Job):
    """A job as the controller knows it.

    :param partitions: the partitions that it was submitted to.
    :param reservation: the one that it runs in, empty without one.
    :param failed_node: the node whose failure ended it, as Slurm shows it from 24.11 on; else empty.
    """

    partitions: frozenset[str]
    reservation: str
    failed_node: str


def _fields(text: str, *needed: str) -> dict[str, str]:
    """Return the values of one line of scontrol, by key; what has none is empty.

    :raises OutputError: if it lacks a field that is needed.
    """
    found = dict(
        reversed(re.findall(r"(?:^|\s)(\w+)=(\S*)", text))
    )  # a reason may have others
    for key in needed:
        if key not in found:
            raise OutputError(f"scontrol prints no {key}: {quoted(text)}")
    return {
        key: "" if value in ("(null)", "None") else value
        for key, value in found.items()
    }


def parse_jobs(text: str) -> dict[str, Job]:
    """Return the jobs of lines, by their ids.

    :raises OutputError: if a line is not a job's.
    """
    return {
        _fields(line, "JobId")["JobId"]: parse_job(line)
        for line in text.splitlines()
        if line.strip()
    }


def parse_job(text: str) -> Job:
    """Return the job of a line.

    :raises OutputError: if it is not a job's.
    """
    of = _fields(
        text, "JobState", "Reason", "ExitCode", "Partition", "NodeList", "NumNodes"
    )
    numbers = re.fullmatch(r"(\d+):(\d+) (\d+).*", f"{of['ExitCode']} {of['NumNodes']}")
    if numbers is None:
        raise OutputError(
            f"scontrol prints an ExitCode or NumNodes that is no number: {quoted(text)}"
        )
    status, signal, least_nodes = map(int, numbers.groups())
    # NodeList shrinks while a job that has ended is tidied up: it has the nodes that are still at it. The
    # details, one for each kind of allocation, have them all.
    nodes = unfolded(",".join(re.findall(r"\sNodes=(\S+)", text)) or of["NodeList"])
    state, began = of["JobState"], of.get("StartTime", "Unknown")
    return Job(
        state=state,
        waits=state in WAITING,
        has_ended=state in ENDED,
        exit_status=status or (128 + signal if signal else 0),
        nodes=tuple(nodes),
        least_nodes=least_nodes,
        began=_local(began) if nodes and began != "Unknown" else None,
        reason=of["Reason"].replace("_", " "),
        partitions=frozenset(of["Partition"].split(",")),
        reservation=of.get("Reservation", ""),
        failed_node=of.get("FailedNode", ""),
    )


def _local(text: str) -> str:
    """Return a time of this host with its time zone."""
    return datetime.fromisoformat(text).astimezone().isoformat()


def parse_reservation(text: str) -> tuple[str, str, bool]:
    """Return the nodes of a reservation in Slurm's notation, when it begins, and whether it has begun and not
    ended.

    :param text: the line of ``scontrol -o show reservation NAME``.
    :raises OutputError: if it is not a reservation's.
    """
    of = _fields(text, "ReservationName", "Nodes", "StartTime", "State")
    return of["Nodes"], of["StartTime"], of["State"] == "ACTIVE"


def is_flexible(text: str) -> bool:
    """Tell whether jobs of a reservation may have nodes outside of it, too.

    :param text: the line of ``scontrol -o show reservation NAME``.
    """
    return "FLEX" in _fields(text).get("Flags", "").split(",")


def parse_nodes(text: str, *, reserved: bool = False) -> list[Node]:
    """Return the node of each line.

    :param reserved: whether these are the nodes of a reservation, for its own jobs.
    :raises OutputError: if a line is not a node's.
    """
    return [_node(line, reserved) for line in text.splitlines() if line.strip()]


def _node(line: str, reserved: bool) -> Node:
    of = _fields(line, "NodeName", "State")
    name, states = of["NodeName"], _states(of["State"])
    states -= OF_RESERVATION if reserved else set()
    reason = match[1] if (match := _REASON.search(line)) else ""
    meaning = _why_unavailable(states)
    # Slurm's own reason of a silent node adds nothing.
    why = "" if reason in ("", "Not responding") else f" ({reason})"
    is_lost = bool(meaning) and any(state.startswith(LOST) for state in states)
    partitions = frozenset(of.get("Partitions", "").split(","))
    return Node(
        name,
        f"{name} {meaning}{why}" if meaning else None,
        bool(states & BUSY),
        partitions,
        is_lost,
        # A controller that was restarted does not know its nodes until they report.
        comes_back=meaning in (UNAVAILABLE["REBOOTING"], UNAVAILABLE["UNK"]),
    )


def _states(text: str) -> set[str]:
    """Return the states of a node from ``IDLE+CLOUD+POWERED_DOWN``, ``DOWN*+CLOUD``, or sinfo's ``idle~``."""
    states = set(re.sub(r"[^A-Z_+]", "", text.upper()).split("+"))
    states |= {"NOT_RESPONDING"} if "*" in text else set()
    if "DOWN" in states and ("REBOOT_ISSUED" in states or "^" in text):
        states = states - {"DOWN"} | {
            "REBOOTING",
            "REBOOT_ISSUED",
        }  # it is DOWN until it is back
    if any(state.startswith(RETURNING) for state in states) or any(
        mark in text for mark in RETURNING_MARKS
    ):
        states -= {"NOT_RESPONDING", "NO_RESPOND"}
    return states


def _why_unavailable(states: set[str]) -> str | None:
    found = (
        meaning
        for name, meaning in UNAVAILABLE.items()
        if any(state.startswith(name) for state in states)
    )
    return next(found, None)


def exit_reason(jobid: str, job: Job, nodes: Iterable[Node]) -> ExitReason | None:
    """Return why a job that has ended failed, or None if its output explains it better.

    :param nodes: the nodes as they are now; the one that Slurm names may be back in service.
    """
    known = [
        replace(node, fault=f"{node.name} failed")
        if node.name == job.failed_node and not node.fault
        else node
        for node in nodes
    ]
    cause = CAUSES.get(job.state)
    if job.state == "FAILED" and model.faults(known, job.nodes):
        cause = "it failed"
    if cause is None:
        return None
    return model.terminated(jobid, job.nodes, cause, job.state, known)


#: The format that `sinfo --noheader --format` is asked for; a line is a group of like nodes of a partition.
SINFO = "%P|%a|%D|%X|%Y|%T|%G"
#: Such a line. Where nodes of a group differ, their numbers have a plus: 16+ is 16 or more.
_GROUP = re.compile(
    r"(?P<name>[^|]*?)(?P<default>\*?)\s*\|\s*(?P<state>[^|]*?)\s*\|(?P<nodes>\d+)\|(?P<sockets>\d+)(?P<more>\+?)"
    r"\|(?P<cores>\d+)(?P<more_>\+?)\|(?P<of_nodes>[^|]*)\|\s*(?:\(null\)|N/A|(?P<gres>[^|]*?))\s*"
)


def queues(text: str, limits: str = "") -> list[Queue]:
    """Return the partitions that ``sinfo --noheader --format=SINFO`` lists, with their nodes that take jobs.

    One in maintenance is among these, and one that reboots: that ends by itself.

    :param limits: the lines of ``scontrol --oneliner show partition``, which have the most nodes of a job.
    :raises OutputError: for a line in another format.
    """
    groups: dict[str, list[re.Match[str]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if group := _GROUP.fullmatch(line.strip()):
            groups.setdefault(group["name"], []).append(group)
        elif line.strip():
            cause = f"not a group of nodes as requested with {SINFO}: {quoted(line)}"
            raise OutputError(cause, number)
    of = {each.get("PartitionName"): each for each in map(_fields, limits.splitlines())}
    return [_queue(name, found, of.get(name, {})) for name, found in groups.items()]


def _queue(
    name: str, listed: Sequence[re.Match[str]], limits: Mapping[str, str]
) -> Queue:
    working = [*filterfalse(_is_out_of_service, listed)]
    groups, nodes = working or listed, _count(working)
    most, gpus = limits.get("MaxNodes", ""), {group["gres"] or "" for group in groups}
    return Queue.of_cores(
        name,
        nodes,
        [int(group["sockets"]) * int(group["cores"]) for group in groups],
        out_of_service=_count(listed) - nodes,
        differ="+" in "".join(group["more"] + group["more_"] for group in groups),
        is_default=bool(groups[0]["default"]),
        takes_jobs="up" in [group["state"] for group in groups],
        most_nodes=int(most) if most.isdecimal() else None,
        # A job asks for the same on each of its nodes.
        gpus=gpus.pop() if len(gpus) == 1 else "",
    )


def _count(groups: Iterable[re.Match[str]]) -> int:
    return sum(int(group["nodes"]) for group in groups)


def _is_out_of_service(group: re.Match[str]) -> bool:
    states = _states(group["of_nodes"]) - OF_RESERVATION - {"REBOOTING"}
    return _why_unavailable(states) is not None


_ERROR = re.compile(r"(?i)\berror\b")
#: The plugin in an error: ``mpi/pmix_v5: init: ..``, ``dlopen(/usr/lib64/slurm/mpi_pmix_v3.so)``, ``MPI type
#: 'pmix'``.
_PLUGIN = re.compile(r"(?<!\w)mpi/(\w+)|/mpi_(\w+)\.so|MPI type '(\w+)'")


def mpi_types(text: str) -> list[str]:
    """Return the types that ``srun --mpi=list`` lists, in its order, without those whose plugin cannot be
    loaded.

    ``pmix`` stands for one of its versions, and no list says for which: if one fails, the others are returned
    instead.

    :raises OutputError: if the text is no such list.
    """
    lines = [
        line.removeprefix("srun:").strip()
        for line in text.splitlines()
        if not _ERROR.search(line)
    ]
    known = "\n".join(lines)
    if not (begin := re.search(r"^MPI (plugin )?types are", known, re.MULTILINE)):
        raise OutputError(f"not a list of MPI types: {quoted(text)}")
    broken = set(broken_mpi_types(text))
    listed = re.findall(r"^[a-z0-9_]+$", known[begin.end() :], re.MULTILINE)
    if any(name.startswith("pmix") for name in broken):
        versions = re.findall(r"\bpmix_v\d+\b", known)
        # An error may call the only version `pmix`.
        broken |= {
            "pmix",
            *(versions if "pmix" in broken and len(set(versions)) == 1 else []),
        }
        listed += versions
    return [name for name in dict.fromkeys(listed) if name not in {"none", *broken}]


def broken_mpi_types(text: str) -> list[str]:
    """Return the types whose plugin could not be loaded, by the errors that ``srun --mpi=list`` prints."""
    errors = "\n".join(line for line in text.splitlines() if _ERROR.search(line))
    return list(dict.fromkeys("".join(found) for found in _PLUGIN.findall(errors)))


def settings(text: str) -> dict[str, str]:
    """Return the values of ``scontrol show config``, by name."""
    return dict(re.findall(r"^([A-Za-z_]+)\s*= (.*?)\s*$", text, flags=re.MULTILINE))
