# SPDX-License-Identifier: BSD-3-Clause
"""What the cases of a run would have found, by their own limits; a run that would have named no slow node is
blind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from fabric_checks.core.grouping import by_key
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record

#: The limits of a case: by quantity the smallest loss that it would have named, None where it would have
#: named none. ``node``, ``pair``, ``cable`` and ``leaf``, the ways of a switch to all others, are shares of
#: the bandwidth; with ``_us`` they are microseconds of latency.
Limits = Mapping[str, "float | None"]

#: Of fewer nodes than these none can be named as slow: there is too little to compare it with.
FEWEST_NODES = 4
#: A case is blind if it would not have named a node that loses a quarter of its bandwidth, as by a link that
#: is trained at three of four lanes; one that would not have named a loss of a tenth is noted.
BLIND_FROM, NOTED_FROM = 0.25, 0.10
_REMEDY = "run it while nobody else does, as in a reservation"


def limits(by_case: Mapping[str, Sequence[Record]]) -> Mapping[str, Limits]:
    """Return the limits of each case that has them."""
    known = ((name, records[0].get("limits")) for name, records in by_case.items())
    return {name: limits for name, limits in known if limits}


def blind(by_case: Mapping[str, Sequence[Record]]) -> tuple[list[str], list[str]]:
    """Return why a run is blind, a line for each partition, and notes on single cases that are.

    A partition is blind if none of its cases of enough nodes would have named a node slower by a quarter.
    Cases are in the order of their names, so that a note is the same on the next night.
    """
    few, places = _losses(by_case)
    lines: list[str] = []
    dim: list[str] = []
    for (partition, what), losses in places.items():
        if min(losses.values()) > BLIND_FROM:
            lines.append(_too_much(partition, what, losses))
        else:
            dim += [name for name, loss in losses.items() if loss > NOTED_FROM]
    notes = {
        f"fewer than {FEWEST_NODES} nodes are too few to name a slow one: {{}}; take a level with more": few,
        f"values vary too much to name a node slower by a tenth: {{}}; {_REMEDY}": sorted(
            dim
        ),
    }
    return lines, [text.format(_cases(names)) for text, names in notes.items() if names]


def _losses(
    by_case: Mapping[str, Sequence[Record]],
) -> tuple[list[str], dict[tuple[str, str], dict[str, float]]]:
    """Return the cases of too few nodes, and by partition and kind of fault the smallest loss that each case
    would have named, infinite for none."""
    few: list[str] = []
    places: dict[tuple[str, str], dict[str, float]] = {}
    for name, known in sorted(limits(by_case).items()):
        record = by_case[name][0]
        in_us = "node_us" in known
        least = known.get("node_us" if in_us else "node")
        where = (record["partition"], "node far away" if in_us else "slow node")
        if record["nodes"] < FEWEST_NODES:
            few.append(name)
        else:
            loss = math.inf if least is None else 0.0 if in_us else least
            places.setdefault(where, {})[name] = loss
    return few, places


def _too_much(partition: str, what: str, losses: Mapping[str, float]) -> str:
    """Return that values vary too much on a partition.

    :param losses: the smallest that each case would have named.
    """
    least = min(losses.values())
    noticed = f"no {what} would have been noticed"
    if least < math.inf:
        lost = f"more than {100 * least:.0f} % of its rate"
        noticed = f"only a node that had lost {lost} would have been noticed"
    return f"values of {_cases(list(losses))} vary too much on {partition}: {noticed}; {_REMEDY}"


def topology_notes(by_case: Mapping[str, Sequence[Record]]) -> Iterable[str]:
    """Yield why topologies were not used, a line for each cause."""
    found = (
        (each.text, name)
        for name, records in sorted(by_case.items())
        for each in findings_of(records[0])
        if each.kind == "topology"
    )
    for text, cases in by_key(found, lambda each: each[0]).items():
        yield f"{text}: {_cases([name for _, name in cases])}"


def _cases(names: Sequence[str]) -> str:
    """Return a case, or how many there are and the first."""
    return names[0] if len(names) == 1 else f"{len(names)} cases, the first {names[0]}"
