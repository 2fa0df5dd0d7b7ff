# SPDX-License-Identifier: BSD-3-Clause
"""Read LSF's tables ``bhosts -w``, ``lshosts -w`` and ``bqueues -w``."""

from __future__ import annotations

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.schedulers.model import Queue

#: States of a host of `bhosts` that its administrator has closed, as a login node, and of one that does not
#: answer. One that saves power (``closed_Power``) is woken for a job.
_CLOSED, _SILENT = ("closed_Adm", "closed_Lock"), ("unavail", "unreach", "unlicensed", "closed_LIM")


def table(text: str, first: str) -> list[dict[str, str]]:
    """Return the rows of a table of blanks between words, by the names in its heading.

    :param first: the name of its first column.
    :raises OutputError: if it does not begin so.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or lines[0][0] != first:
        raise OutputError(f"not a table that begins with {first}: {quoted(text)}")
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]


def queues(bhosts: str, lshosts: str, bqueues: str) -> list[Queue]:
    """Return the queues. No table of LSF lists the hosts of a queue, so each gets all that take jobs.

    A host has as many cores as ``lshosts`` lists (``ncpus``), which may be hardware threads (LSF's
    EGO_DEFINE_NCPUS).

    :raises OutputError: if one of the texts is not its table.
    """
    cpus = {row["HOST_NAME"]: row.get("ncpus", "") for row in table(lshosts, "HOST_NAME")}
    listed = [
        row for row in table(bhosts, "HOST_NAME") if row.get("STATUS") not in _CLOSED and _has_slots(row)
    ]
    hosts = [row for row in listed if row.get("STATUS") not in _SILENT]
    down = len(listed) - len(hosts)
    cores = [int(cpus[host["HOST_NAME"]]) for host in hosts if cpus.get(host["HOST_NAME"], "").isdigit()]
    return [
        Queue.of_cores(
            row["QUEUE_NAME"],
            len(hosts),
            cores,
            takes_jobs=row.get("STATUS", "").startswith("Open"),
            out_of_service=down,
        )
        for row in table(bqueues, "QUEUE_NAME")
    ]


def _has_slots(host: dict[str, str]) -> bool:
    """Return whether a host takes more than one process; it has no limit if its number is a dash."""
    most = host.get("MAX", "")
    return most == "-" or (most.isdigit() and int(most) > 1)
