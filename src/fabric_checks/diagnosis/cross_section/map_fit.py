# SPDX-License-Identifier: BSD-3-Clause
"""Compare the routes of a map with what pairs reached while they shared cables: a map may be out of date.

Pairs on one cable at the same time do not carry more than the cable, however slow others are. Where that is
broken more often than by chance, nothing is named by the map; nor where slow pairs remain that no part of it
explains, or where it has switches only, and would need several explanations at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section import sentences
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import faults

_MOST_NAMES = 3


def misfit(mapped: MappedEvidence) -> Finding | None:
    """Return a finding if the routes of the map do not fit the scan; None if they do, or are not known."""
    evidence, known = mapped.evidence, mapped.known
    if not known.has_routes or np.isnan(mapped.expected).all():
        return None
    noise = evidence.noise
    off = max(
        SETTINGS.least_above,
        SETTINGS.errors_above * float(np.hypot(noise.repeat, noise.between)),
    )
    pairs, over, shared = _above(mapped, off)
    is_faster = known.rates is None and over > SETTINGS.most_above * shared
    if is_faster or over < max(
        SETTINGS.fewest_above, SETTINGS.least_share_above * shared
    ):
        return None
    some = [
        f"{mapped.name(int(evidence.sender[pair]))} to {mapped.name(int(evidence.receiver[pair]))}"
        for pair in pairs[:_MOST_NAMES]
    ]
    listed = f"{len(pairs)} pairs ({names_text(some)}, ...)"
    return sentences.map_doubt(
        f"{listed} share cables by it, and together carried more than a cable can"
    )


def scattered(found: Iterable[Finding], *, has_routes: bool) -> Finding | None:
    """Return a finding if the map leaves what is slow without one explanation.

    Slow pairs have a cable in common; by a wrong map they are behind several switches, or some of them
    remain. Those of one node need none, where nothing else is blamed.

    :param has_routes: whether the map has the routes of pairs, and not their switches only.
    """
    certain = faults(found)
    if has_routes and (group := _group_of_many(certain)):
        what = f"{group} are slow, and it has no cable that only these share"
        return sentences.map_doubt(what)
    several = [each for each in certain if each.kind in ("uplink", "group", "pair")]
    has_uplink = any(each.kind == "uplink" for each in several)
    if len(several) < SETTINGS.fewest_scattered or not has_uplink:
        return None
    parts = names_text([each.part for each in several])
    return sentences.map_doubt(f"what is slow would be {parts} at once")


def _group_of_many(certain: Sequence[Finding]) -> str:
    """Return the name of the slow pairs without a part; empty without any, or if all are of one node and
    nothing else is slow."""
    groups = [each for each in certain if each.kind == "group"]
    is_of_node = len(certain) == 1 and any(each.ranks for each in groups)
    return groups[0].part if groups and not is_of_node else ""


def _above(mapped: MappedEvidence, off: float) -> tuple[Numbers, int, int]:
    """Return the pairs on cables that carried more than they can, and the number of such cables and of all
    shared ones.

    A cable counts once in each round in which pairs share it.
    """
    table, rates = mapped.crossings, mapped.known.rates
    load = (pl.col("rate") * pl.col("of_kind")).sum().alias("load")
    shared = (
        table.group_by("arc", "round").agg(load, pl.len()).filter(pl.col("len") > 1)
    )
    arcs = shared["arc"].to_numpy()
    capacity: Array = np.ones(len(arcs)) if rates is None else rates[arcs]
    over = shared.filter(shared["load"].to_numpy() > capacity * np.exp(off))
    on_over = table.join(over, on=["arc", "round"], how="semi")
    return on_over["pair"].unique().sort().to_numpy(), len(over), len(shared)
