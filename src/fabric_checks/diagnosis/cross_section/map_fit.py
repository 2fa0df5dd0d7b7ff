# SPDX-License-Identifier: BSD-3-Clause
"""Compare the routes of a map with what pairs reached while they shared cables: a map may be out of date.

Pairs on one cable at the same time do not carry more than the cable, however slow others are. Where that is
broken more often than by chance, nothing is named by the map; nor where slow pairs remain that no part of it
explains, or where it has switches only, and would need several explanations at once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fabric_checks.analysis.pair_matrix import name_of
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section import sentences
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding as Finding

_MOST_NAMES = 3


def misfit(mapped: MappedEvidence, hosts: tuple[str, ...]) -> Finding | None:
    """Return a finding if the routes of the map do not fit the scan; None if they do, or are not known."""
    evidence, known = mapped.evidence, mapped.known
    scanned = np.flatnonzero(~np.isnan(mapped.expected) & ~np.isnan(evidence.scan))
    if not known.has_routes or not len(scanned):
        return None
    noise = evidence.noise
    off = max(
        SETTINGS.least_above,
        SETTINGS.errors_above * float(np.hypot(noise.repeat, noise.between)),
    )
    pairs, (over, shared) = _above(mapped, scanned, off)
    is_faster = known.rates is None and over > SETTINGS.most_above * shared
    if is_faster or over < max(
        SETTINGS.fewest_above, SETTINGS.least_share_above * shared
    ):
        return None
    some = [
        f"{name_of(hosts, int(evidence.sender[pair]))} to {name_of(hosts, int(evidence.receiver[pair]))}"
        for pair in pairs[:_MOST_NAMES]
    ]
    listed = f"{len(pairs)} pairs ({names_text(some, _MOST_NAMES)}, ...)"
    return sentences.map_doubt(
        f"{listed} share cables by it, and together carried more than a cable can",
        len(pairs),
    )


def scattered(found: Iterable[Finding], *, has_routes: bool) -> Finding | None:
    """Return a finding if the map leaves what is slow without one explanation.

    Slow pairs have a cable in common; by a wrong map they are behind several switches, or some of them
    remain.

    :param has_routes: whether the map has the routes of pairs, and not their switches only.
    """
    certain = [each for each in found if each.is_fault]
    remain = [each.part for each in certain if each.kind == "group"]
    parts = [each.part for each in certain if each.kind in ("uplink", "group", "pair")]
    if has_routes and remain:
        what = f"{names_text(remain, _MOST_NAMES)} are slow, and it has no cable that only these share"
        return sentences.map_doubt(what, len(remain))
    if len(parts) < SETTINGS.fewest_scattered or not any(
        each.kind == "uplink" for each in certain
    ):
        return None
    return sentences.map_doubt(
        f"what is slow would be {names_text(parts, _MOST_NAMES)} at once", len(parts)
    )


def _above(
    mapped: MappedEvidence, scanned: Numbers, off: float
) -> tuple[Numbers, tuple[int, int]]:
    """Return the pairs on cables that carried more than they can, and the number of such cables and of all
    shared ones.

    A cable counts once in each round in which pairs share it.
    """
    evidence, arcs = mapped.evidence, mapped.arcs[scanned].astype(np.int64)
    size = len(mapped.known.starts)
    there = arcs >= 0
    place = np.where(there, evidence.round[scanned][:, None] * size + arcs, -1)
    numbers, which = np.unique(place[there], return_inverse=True)
    of_kind = evidence.of_pair[scanned]  # rates are shares of that of the pair's kind
    rate = np.broadcast_to(
        np.exp(evidence.scan[scanned] + of_kind)[:, None], arcs.shape
    )[there]
    capacity: Array = (
        np.ones(size) if mapped.known.rates is None else mapped.known.rates
    )
    shared = np.bincount(which) > 1
    over = shared & (
        np.bincount(which, weights=rate) > capacity[numbers % size] * np.exp(off)
    )
    on_over = np.zeros(arcs.shape, dtype=bool)
    on_over[there] = over[which]
    return scanned[on_over.any(axis=1)], (int(over.sum()), int(shared.sum()))
