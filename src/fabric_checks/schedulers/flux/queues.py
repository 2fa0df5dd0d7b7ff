# SPDX-License-Identifier: BSD-3-Clause
"""What Flux says of its resources: ``flux resource R``, which is JSON of Flux RFC 20."""

from __future__ import annotations

import json
import re

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.schedulers.queues import Queue


def queues(text: str) -> list[Queue]:
    """Return the queues, which are properties of nodes here; or one without a name, of all nodes.

    :raises OutputError: if it is no set of resources of version 1.
    """
    try:
        resources = json.loads(text)["execution"]
        groups = [
            (_ids(group["rank"]), len(_ids(group["children"].get("core"))), len(_ids(group["children"].get("gpu"))))
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
    """Make a queue of some ranks, from groups of them with the cores and the GPUs of each."""
    cores = [cores for members, cores, _ in groups if members & ranks]
    gpus = max((gpus for members, _, gpus in groups if members & ranks), default=0)
    return Queue(
        name,
        len(ranks),
        min(cores, default=0) or None,
        differ=len(set(cores)) > 1,
        is_default=not name,
        gpus=f"gpu:{gpus}" if gpus else "",
    )


#: More nodes, or cores of a node, than any machine has.
_MOST_IDS = 1_000_000


def _ids(text: object) -> set[int]:
    """Return the numbers of an idset, such as ``0-3,7``; none of what is not there.

    :raises ValueError: if it is no idset.
    """
    found: set[int] = set()
    for part in ("" if text is None else str(text)).strip("[]").split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())
        if match is None:
            if part.strip():
                raise ValueError(part)
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        if last - first > _MOST_IDS:
            raise ValueError(part)
        found.update(range(first, last + 1))
    return found
