# SPDX-License-Identifier: BSD-3-Clause
"""What PBS says of a cluster: ``pbsnodes -a`` and ``qstat -Qf``, of PBS Professional and OpenPBS, and of Torque."""

from __future__ import annotations

import re

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.schedulers.queues import Queue


def blocks(text: str) -> dict[str, dict[str, str]]:
    """Return the attributes of each thing that is listed: a line with its name, and indented ``key = value`` below.

    :raises OutputError: for an attribute of nothing.
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

    A node that names its queue (``queue``, or ``resources_available.Qlist``) is of that one, others are of all. CPUs
    are cores (``pcpus``) or, where PBS was told so, hardware threads: ``cores`` is what it says.

    :param default: the server's default queue, if that is known.
    :raises OutputError: if there is no node in what ``pbsnodes`` says.
    """
    nodes = [node for node in blocks(nodes_text).values() if "state" in node or "resources_available.ncpus" in node]
    if not nodes:
        raise OutputError(f"no node: {quoted(nodes_text)}")
    found = []
    for name, queue in blocks(queues_text).items():
        if queue.get("queue_type", "").lower()[:1] == "r":
            continue  # it routes to others
        own = [node for node in nodes if name in _queues_of(node)] or [node for node in nodes if not _queues_of(node)]
        cores = [number for node in own if (number := _cores(node)) is not None]
        most = queue.get("resources_max.nodect", "")
        found.append(
            Queue(
                name,
                len(own),
                min(cores, default=None),
                differ=len(set(cores)) > 1,
                is_default=name == default,
                takes_jobs=queue.get("enabled") == queue.get("started") == "True",
                most_nodes=int(most) if most.isdigit() else None,
                gpus=next((f"ngpus={node['resources_available.ngpus']}" for node in own if _gpus(node)), ""),
            )
        )
    return found


def _queues_of(node: dict[str, str]) -> list[str]:
    text = node.get("queue") or node.get("resources_available.Qlist") or ""
    return [name.strip() for name in text.split(",") if name.strip()]


def _cores(node: dict[str, str]) -> int | None:
    for key in ("resources_available.ncpus", "pcpus", "np"):
        if node.get(key, "").isdigit():
            return int(node[key])
    return None


def _gpus(node: dict[str, str]) -> bool:
    return node.get("resources_available.ngpus", "0") not in ("0", "")
