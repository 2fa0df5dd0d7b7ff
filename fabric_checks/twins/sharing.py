# SPDX-License-Identifier: BSD-3-Clause
"""How fast pairs of nodes are by the number of pairs that share a cable with them, where the routing is known."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from fabric_checks.errors import OutputError
from fabric_checks.layouts import Layout
from fabric_checks.metrics import Metric
from fabric_checks.twins import description
from fabric_checks.twins.routing import routes
from fabric_checks.twins.topology import with_faults

if TYPE_CHECKING:
    from fabric_checks.parsers.rotate import Transfers  # polars would slow every listing

#: The numbers of pairs on a cable that a description's figures may be about.
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def name_of(sharing: int) -> str:
    """Return the name of the figure: what each of so many pairs on a cable gets."""
    return f"{WORDS[sharing]}_pairs_on_a_link"


def metrics(file: str, pattern: str, layout: Layout) -> list[Metric]:
    """Return the metrics of the documents' figures by sharing; none but for the documents' own case.

    That is the pattern ``rotate`` with one process on each of all nodes.

    :param file: the description of a twin; empty where there is none.
    """
    if not file or pattern != "rotate" or layout.ppn != 1:
        return []
    nodes, published = _published(file)
    if layout.nodes != nodes:
        return []
    return [Metric(name_of(each), "MB/s", "larger") for each in WORDS if f"{name_of(each)}_MBps" in published]


@cache
def _published(file: str) -> tuple[int, frozenset[str]]:
    """Return a twin's number of nodes and the names of its figures of ``rotate``, for which every layout asks."""
    twin = description.load(Path(file))
    return twin.nodes, frozenset(twin.figures.get("rotate", {}))


def values(file: str, scan: Transfers, wanted: list[Metric]) -> dict[str, float]:
    """Return the metrics that :func:`metrics` declares: medians in MB/s.

    :raises OutputError: if no pair of the run shares a cable with so many.
    """
    if not wanted:
        return {}
    found = {name_of(each): median(rates) for each, rates in by_sharing(file, scan).items() if each in WORDS}
    for metric in wanted:
        if metric.name not in found:
            raise OutputError(f"{metric.name}: by the routing of {file} no cable has so many pairs")
    return {metric.name: found[metric.name] for metric in wanted}


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
