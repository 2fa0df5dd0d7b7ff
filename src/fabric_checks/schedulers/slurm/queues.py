# SPDX-License-Identifier: BSD-3-Clause
"""What Slurm says of a cluster: ``sinfo``, ``scontrol show partition | config | topology``, ``srun --mpi=list``."""

from __future__ import annotations

import re
from dataclasses import replace

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.schedulers.queues import Queue, joined

#: What `sinfo --noheader --format` is asked for; a line is a group of like nodes of a partition.
SINFO = "%P|%a|%D|%X|%Y|%T|%G"


def partitions(text: str) -> list[Queue]:
    """Return the partitions that ``sinfo --noheader --format=SINFO`` lists.

    :raises OutputError: for a line of another form.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        words = line.split("|")
        # Where nodes of a group differ, their numbers have a plus: 16+ is 16 or more.
        numbers = [re.fullmatch(r"(\d+)(\+?)", word.strip()) for word in words[2:5]]
        if len(words) != 7 or None in numbers:
            raise OutputError(f"not a group of nodes as requested with {SINFO}: {quoted(line)}", number)
        nodes, sockets, cores = (int(match[1]) for match in numbers if match)
        name, gres = words[0].strip(), words[6].strip()
        found.append(
            Queue(
                name.removesuffix("*"),
                nodes,
                sockets * cores or None,
                differ=any(match[2] for match in numbers if match),
                is_default=name.endswith("*"),
                takes_jobs=words[1].strip() == "up",
                gpus="" if gres in ("(null)", "N/A") else gres,
            )
        )
    return joined(found)


def with_limits(queues: list[Queue], text: str) -> list[Queue]:
    """Add what ``scontrol --oneliner show partition`` says of limits: the most nodes of a job."""
    limits = {}
    for line in text.splitlines():
        fields = dict(re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", line))
        if fields.get("MaxNodes", "").isdigit() and "PartitionName" in fields:
            limits[fields["PartitionName"]] = int(fields["MaxNodes"])
    return [replace(queue, most_nodes=limits.get(queue.name)) for queue in queues]


def mpi_types(text: str) -> list[str]:
    """Return what ``srun --mpi=list`` lists, in its order.

    :raises OutputError: if it is no such list.
    """
    lines = [line.removeprefix("srun:").strip() for line in text.splitlines()]
    begin = next((number for number, line in enumerate(lines) if re.match(r"MPI (plugin )?types are", line)), None)
    if begin is None:
        raise OutputError(f"not a list of MPI types: {quoted(text)}")
    return [line for line in lines[begin + 1 :] if re.fullmatch(r"[a-z0-9_]+", line) and line != "none"]


def settings(text: str) -> dict[str, str]:
    """Return what ``scontrol show config`` says, by name."""
    return dict(re.findall(r"^([A-Za-z_]+)\s*= (.*?)\s*$", text, flags=re.MULTILINE))


def leaf_switches(text: str) -> int:
    """Return how many switches of ``scontrol --oneliner show topology`` have nodes on them; 0 if it has no tree."""
    return sum(bool(re.match(r"SwitchName=\S+ Level=0 ", line)) for line in text.splitlines())


def accounts(text: str) -> list[str]:
    """Return the accounts of ``sacctmgr --noheader --parsable2 show associations format=account``, each once."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
