# SPDX-License-Identifier: BSD-3-Clause
"""Match the hosts of a run with those of a map: their names seldom are the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from fabric_checks.diagnosis.fabric_map.model import NONE, Numbers

#: The adapter, which node descriptions have after the name of the host.
_ADAPTER = re.compile(
    r"[\s:]+(?:HCA|mlx\d|hfi\d|qib\d|ib\d|ibs?p\w*|bnxt|irdma|efa)[\w.-]*.*$", re.IGNORECASE
)


def plain(name: str) -> str:
    """Return a host's name for comparison: without adapter, domain and quotes, in lower case.

    >>> [plain(name) for name in ("n001 HCA-1", "N001.cluster.site", "n001 mlx5_0", "'n001 hfi1_0'")]
    ['n001', 'n001', 'n001', 'n001']
    """
    text = _ADAPTER.sub("", name.strip().strip("'\"").strip())
    return text.split(".", 1)[0].split(" ", 1)[0].lower()


def positions(ranks: Sequence[str], hosts: Sequence[str]) -> tuple[Numbers, tuple[str, ...]]:
    """Return for the host name of each rank its position in ``hosts``, and the names that have none.

    A name that matches several hosts of the map is ambiguous and matches none.
    """
    exact: dict[str, list[int]] = defaultdict(list)
    short: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(hosts):
        exact[name].append(number)
        short[plain(name)].append(number)
    found = []
    for rank in ranks:
        candidates = exact.get(rank) or short.get(plain(rank)) or []
        found.append(candidates[0] if len(candidates) == 1 else NONE)
    missing = tuple(
        dict.fromkeys(rank for rank, position in zip(ranks, found, strict=True) if position == NONE)
    )
    return np.array(found, dtype=np.int64), missing
