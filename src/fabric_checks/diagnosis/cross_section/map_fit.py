# SPDX-License-Identifier: BSD-3-Clause
"""Compare the routes of a map with what pairs reached while they shared cables: a map may be out of date.

Two facts need no model of faults. Pairs on one cable at the same time do not carry more than the cable, however slow
others are; and a pair that is fast in another round and shares nothing, by the map, is not slow in this one. Where
either is broken more often than by chance, or than by the traffic of others, nothing is named by the map. Where it has
switches only, several explanations of slow pairs at once are doubted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.findings import Finding
from fabric_checks.diagnosis.cross_section.matrix import name_of
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence

#: A rate differs from its expectation from this share on, or from so many deviations of a measurement on.
LEAST_OFF, ERRORS_OFF = 0.18, 6.0
#: The fewest cases, and their least share of all that the map has of the kind, in which it does not fit. Traffic of
#: others makes pairs slow, and none carry more than a cable.
FEWEST_ABOVE, ABOVE = 3, 0.02
FEWEST_BELOW, BELOW = 6, 0.10
#: Where so many cables carry more, all are faster than the links of hosts, which the tools do not tell.
MOST_ABOVE = 0.6
#: So many explanations of slow pairs are seldom right at once.
FEWEST_SCATTERED = 2
_MOST_NAMES = 3


def misfit(mapped: MappedEvidence, hosts: tuple[str, ...]) -> Finding | None:
    """Return a finding if the routes of the map do not fit the scan; None if they do, or are not known.

    :param hosts: the host name of each rank.
    """
    evidence, known = mapped.evidence, mapped.known
    scanned = np.flatnonzero(~np.isnan(mapped.expected) & ~np.isnan(evidence.scan))
    if not known.has_routes or not len(scanned):
        return None
    noise = evidence.noise
    off = max(LEAST_OFF, ERRORS_OFF * float(np.hypot(noise.repeat, noise.between)))
    above, of_shared = _above(mapped, scanned, off)
    below, of_single = _below(mapped, scanned, off)
    is_faster = known.rates is None and above[:1].size > 0 and of_shared[0] > MOST_ABOVE * of_shared[1]
    is_above = not is_faster and of_shared[0] >= max(FEWEST_ABOVE, ABOVE * of_shared[1])
    is_below = len(below) >= max(FEWEST_BELOW, BELOW * of_single)
    if not is_above and not is_below:
        return None
    pairs = np.union1d(above if is_above else above[:0], below if is_below else below[:0])
    some = [
        f"{name_of(hosts, int(evidence.sender[pair]))} to {name_of(hosts, int(evidence.receiver[pair]))}"
        for pair in pairs[:_MOST_NAMES]
    ]
    what = "share cables and are fast together" if is_above else "share nothing and are slow together with others"
    listed = f"{len(pairs)} pairs ({names_text(some, _MOST_NAMES)}, ...)"
    return _doubt(f"{listed} {what}, and it has the contrary", len(pairs))


def scattered(found: Iterable[Finding]) -> Finding | None:
    """Return a finding if the switches of a map leave what is slow without one explanation.

    The pairs of a cable have it in common; by a wrong map they are behind several switches, or some of them remain.
    """
    parts = [each.part for each in found if each.is_fault and each.kind in ("uplink", "group", "pair")]
    if len(parts) < FEWEST_SCATTERED or not any(each.is_fault and each.kind == "uplink" for each in found):
        return None
    return _doubt(f"what is slow would be {names_text(parts, _MOST_NAMES)} at once", len(parts))


def _doubt(what: str, count: int) -> Finding:
    look = "write the topology, and the forwarding tables, anew"
    text = (
        f"the map does not fit what was measured: {what}; is it from before the last change of cables or tables? "
        f"Nothing is named by it: {look}"
    )
    return Finding("map", (), (), float(count), False, text, look=look)


def _above(mapped: MappedEvidence, scanned: Numbers, off: float) -> tuple[Numbers, tuple[int, int]]:
    """Return the pairs on cables that carried more than they can, and the number of such cables and of all shared ones.

    A cable counts once in each round in which pairs share it.
    """
    evidence, arcs = mapped.evidence, mapped.arcs[scanned].astype(np.int64)
    size = len(mapped.known.starts)
    there = arcs >= 0
    place = np.where(there, evidence.round[scanned][:, None] * size + arcs, -1)
    numbers, which = np.unique(place[there], return_inverse=True)
    of_kind = evidence.of_pair[scanned]  # rates are shares of that of the pair's kind
    rate = np.broadcast_to(np.exp(evidence.scan[scanned] + of_kind)[:, None], arcs.shape)[there]
    capacity: Array = np.ones(size) if mapped.known.rates is None else mapped.known.rates
    shared = np.bincount(which) > 1
    over = shared & (np.bincount(which, weights=rate) > capacity[numbers % size] * np.exp(off))
    on_over = np.zeros(arcs.shape, dtype=bool)
    on_over[there] = over[which]
    return scanned[on_over.any(axis=1)], (int(over.sum()), int(shared.sum()))


def _below(mapped: MappedEvidence, scanned: Numbers, off: float) -> tuple[Numbers, int]:
    """Return the pairs that share nothing by the map and were slow in the scan, but not elsewhere; and all that do not.

    Pairs that were never measured again are not counted: they may be slow by themselves.
    """
    evidence = mapped.evidence
    elsewhere = np.fmax(evidence.bound, evidence.alone)[scanned]
    single = mapped.expected[scanned] > -off / 4
    slow = single & (evidence.scan[scanned] < np.minimum(elsewhere, 0.0) - off) & (elsewhere > -off / 2)
    return scanned[slow], int(single.sum())
