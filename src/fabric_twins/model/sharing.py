# SPDX-License-Identifier: BSD-3-Clause
"""How fast pairs of nodes are by the number of pairs that share a cable with them, where the routing is known."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from fabric_twins.model import description
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import with_faults

if TYPE_CHECKING:
    from fabric_checks.parsers.rotate import Transfers  # polars would slow every listing

#: The numbers of pairs on a cable that a description's values may be about.
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def name_of(sharing: int) -> str:
    """Return the name of the value: what each of so many pairs on a cable gets."""
    return f"{WORDS[sharing]}_pairs_on_a_link"


#: The names of all such values.
NAMES = frozenset(map(name_of, WORDS))


def by_sharing(file: str, scan: Transfers) -> dict[int, list[float]]:
    """Return the rates of the pairs, in MB/s, by the greatest number of pairs on one cable of their way.

    :param scan: of a run with one process on each of all nodes of the twin, so that a rank is a host.
    """
    twin = description.load(Path(file))
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    ways = routes(wiring, twin.routing)
    rounds = defaultdict(list)
    for number, sender, receiver, rate in zip(scan.round, scan.sender, scan.receiver, scan.MBps, strict=True):
        rounds[int(number)].append((ways.way(wiring, int(sender), int(receiver)), float(rate)))
    found = defaultdict(list)
    for pairs in rounds.values():
        load = Counter(arc for way, _ in pairs for arc in way)
        for way, rate in pairs:
            found[max((load[arc] for arc in way), default=1)].append(rate)
    return dict(found)
