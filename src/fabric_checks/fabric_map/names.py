# SPDX-License-Identifier: BSD-3-Clause
"""Match the hosts of a run with those of a map: their names seldom are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from fabric_checks.core.text import count_text, names_text
from fabric_checks.fabric_map.model import NONE, FabricMap, Numbers
from fabric_checks.parsers.table import require

#: The adapter, which node descriptions have after the name of the host.
_ADAPTER = re.compile(
    r"(?i)[\s:]+(?:HCA|mlx\d|hfi\d|qib\d|ib\d|ibs?p\w*|bnxt|irdma|efa)[\w.-]*.*$",
)


def plain(name: str) -> str:
    """Return a host's name for comparison: without adapter, domain and quotes, in lower case.

    >>> [plain(name) for name in ("n001 HCA-1", "N001.cluster.site", "n001 mlx5_0", "'n001 hfi1_0'")]
    ['n001', 'n001', 'n001', 'n001']
    """
    text = _ADAPTER.sub("", name.strip().strip("'\"").strip())
    return text.split(".", 1)[0].split(" ", 1)[0].lower()


def adapter(name: str) -> str:
    """Return the adapter of a node description or of a host on a map, empty if it names none.

    >>> [adapter(name) for name in ("n001 mlx5_0", "n001 mlx5_0:2", "n001")]
    ['mlx5_0', 'mlx5_0:2', '']
    """
    return name.strip().partition(" ")[2].strip()


def on_adapters(known: FabricMap, patterns: Sequence[str]) -> FabricMap:
    """Return a map with those adapters alone.

    Of a host with several the switch and the routes are unknown where the run does not name the adapter,
    which is better than wrong ones: the map warns of it, and of hosts with other adapters alone.

    :param patterns: of names of adapters, as in ``mlx5_0`` or ``mlx5_0:1``; empty if it is not known which
        are used.
    :raises OutputError: if all hosts have others.
    """
    used = _used(known.hosts, patterns)
    kept = [number for numbers in used.values() for number in numbers]
    others = _others(used, known.hosts, patterns)
    require(kept or not others, "".join(others))
    warnings = (*known.warnings, *_unclear(used, known.hosts), *others)
    hosts = tuple(known.hosts[each] for each in kept)
    following = None if known.next is None else known.next[:, kept]
    of_hosts: dict[str, Any] = {
        name: None if (values := getattr(known, name)) is None else values[kept]
        for name in ("at", "ports", "host_rates")
    }
    return replace(known, hosts=hosts, next=following, warnings=warnings, **of_hosts)


def _unclear(used: Mapping[str, Sequence[int]], names: Sequence[str]) -> list[str]:
    """Return a warning of hosts with several ports; :param names: of all of them."""
    hosts = [host for host, numbers in used.items() if len(numbers) > 1]
    if not hosts:
        return []
    of, first = count_text(len(hosts), "host"), min(hosts)
    ports = names_text([adapter(names[each]) for each in used[first]], 4)
    return [
        f"{of} with several ports, such as {first} ({ports}): switch and routes are unknown where the run"
        " does not name them; say which MPI used: blame --adapter, or extras['fabric']"
    ]


def _others(
    used: Mapping[str, Sequence[int]], names: Sequence[str], patterns: Sequence[str]
) -> list[str]:
    """Return a warning of hosts that have other adapters alone."""
    hosts = [host for host, numbers in used.items() if not numbers]
    if not hosts:
        return []
    such = next(name for name in names if name.partition(" ")[0] == hosts[0])
    return [
        f"{count_text(len(hosts), 'host')} with other adapters than {', '.join(patterns)}, such as {such}:"
        " left out; give the topology of the subnet that MPI used"
    ]


def _used(hosts: Sequence[str], patterns: Sequence[str]) -> dict[str, list[int]]:
    """Return by host the numbers of its ports that fit, or else of those that may, by another kind of
    name."""
    by_host = defaultdict[str, list[list[int]]](lambda: [[], [], []])
    for number, name in enumerate(hosts):
        by_host[name.partition(" ")[0]][_likeness(adapter(name), patterns)].append(
            number
        )
    return {host: fitting or like for host, (_, like, fitting) in by_host.items()}


def _likeness(name: str, patterns: Sequence[str]) -> int:
    """Return whether a port is one of an adapter (2), may be by another kind of name (1), or is another (0).

    A pattern without a port is of any.

    >>> [_likeness("mlx5_0", [other]) for other in ("mlx5_0", "mlx5_1", "mlx5_0:1", "HCA-1", "")]
    [2, 0, 1, 1, 1]
    """
    device = name.partition(":")[0]
    if any(
        fnmatchcase(name, pattern) or fnmatchcase(device, pattern)
        for pattern in patterns
    ):
        return 2
    devices = {pattern.partition(":")[0] for pattern in patterns}
    return int(device in devices or _kind(device) not in set(map(_kind, devices)))


def _kind(device: str) -> str:
    return device.rstrip("0123456789*?[]-")


def positions(
    ranks: Sequence[str], hosts: Sequence[str]
) -> tuple[Numbers, tuple[str, ...]]:
    """Return for the host name of each rank its position in ``hosts``, and the names that are not there.

    A name that matches several hosts of the map is ambiguous and has no position; one of an adapter does not
    match another.
    """
    exact = defaultdict[str, list[int]](list)
    short = defaultdict[str, list[int]](list)
    for number, name in enumerate(hosts):
        exact[name].append(number)
        short[plain(name)].append(number)
    candidates = []
    for rank in ranks:
        wanted = [adapter(rank)]
        named = short[plain(rank)]
        like = [each for each in named if _likeness(adapter(hosts[each]), wanted)]
        candidates.append(exact.get(rank) or like)
    missing = [rank for rank, found in zip(ranks, candidates, strict=True) if not found]
    found = [found[0] if len(found) == 1 else NONE for found in candidates]
    return np.array(found, dtype=np.int64), tuple(dict.fromkeys(missing))
