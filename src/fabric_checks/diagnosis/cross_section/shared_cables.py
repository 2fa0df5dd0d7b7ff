# SPDX-License-Identifier: BSD-3-Clause
"""Cables faster than a node's link, which no pair fills alone: whether they carry what pairs ask of them at
once.

Between adapters of 100 Gbit/s a cable of 200 Gbit/s at half its rate slows no pair that is measured alone. In
the scan its pairs run beside others: with the routes and the rates of cables it is known what they should
reach together (:mod:`fabric_checks.analysis.max_min`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from fabric_checks.core.finding import Severity
from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding


def find(
    mapped: MappedEvidence,
    named: Sequence[RankFinding],
    *,
    confirmed: bool,
) -> list[RankFinding]:
    """Return the cables that carry too little when pairs share them, the slowest first.

    Of one cable's pairs others, which they cross as well, are slow with it: each round counts for one cable.

    :param named: the faults that are known already; a cable that is one of them is passed over.
    :param confirmed: whether the run measured suspects alone; without that nothing is a fault.
    """
    slow = _slow_arcs(_rows(mapped))
    parts = {each.part for each in named}
    found = [
        _finding(mapped, [arc for arc in slow if arc // 2 == cable], slow)
        for cable in dict.fromkeys(arc // 2 for arc in slow)
    ]
    severity = Severity.FAULT if confirmed else Severity.SUSPECT
    return [
        replace(each, severity=severity) for each in found if each.part not in parts
    ]


def _slow_arcs(rows: pl.DataFrame) -> dict[int, _Slow]:
    """Return the arcs that are slow in most rounds, the slowest first; of others the rounds are left out in
    which pairs of these cross them.

    The rounds of both directions of a cable count together, if both are slow."""
    slow: dict[int, _Slow] = {}
    rounds, of_cable = pl.col("rounds"), pl.col("arc") // 2
    while len(rows):
        by_arc = rows.group_by("arc").agg(
            pl.len().alias("rounds"),
            (pl.col("carried") < SETTINGS.least_carried).sum().alias("low"),
            pl.col("carried").median(),
        )
        low = by_arc.filter(pl.col("low") >= SETTINGS.least_low_rounds * rounds)
        often = rounds.sum().over(of_cable) >= SETTINGS.fewest_rounds_shared
        found = low.filter(often).sort("carried", "arc")
        if not len(found):
            break
        found = found.filter(of_cable == found["arc"][0] // 2)
        slow |= {arc: _Slow(*numbers) for arc, *numbers in found.rows()}
        own = rows.filter(pl.col("arc").is_in(found["arc"].to_list()))
        pairs = own["pairs"].explode(empty_as_null=True).to_list()
        rows = rows.filter(
            ~pl.col("pairs").list.eval(pl.element().is_in(pairs)).list.any()
        )
    return slow


class _Slow(NamedTuple):
    """A direction of a cable: the rounds in which pairs shared it, those in which it was low, and the median
    share of what was asked that it carried."""

    rounds: int
    low: int
    carried: float


def _rows(mapped: MappedEvidence) -> pl.DataFrame:
    """Return a row for each round and direction of a cable that pairs were to fill beyond one pair's rate.

    ``carried`` is the share of what they should have reached together, ``pairs`` who they were. Of a cable
    it is the rounds in which the most was asked of it: in others one that lost a quarter carries all.
    """
    rates = mapped.known.rates
    if rates is None or not mapped.corrected:
        return pl.DataFrame()
    faster = np.flatnonzero(rates > SETTINGS.more_than_a_pair).tolist()
    table = mapped.crossings.filter(pl.col("arc").is_in(faster))
    rate, asked = (
        (pl.col(name) * pl.col("of_kind")).sum() for name in ("rate", "expected")
    )
    rows = table.group_by("arc", "round").agg(
        (rate / asked).alias("carried"),
        asked.alias("asked"),
        pl.col("pair").alias("pairs"),
    )
    asked = pl.col("asked")
    rows = rows.filter(asked > SETTINGS.more_than_a_pair)
    some = asked.top_k(SETTINGS.fewest_rounds_shared).min().over("arc")
    return rows.filter(asked >= SETTINGS.most_asked * some)


def _finding(
    mapped: MappedEvidence, arcs: Sequence[int], slow: Mapping[int, _Slow]
) -> RankFinding:
    """Return the finding about a cable, of which one direction or both are slow."""
    of_part = words.of_cable(mapped.known, arcs[0] // 2)
    if len(arcs) == 1:
        of_part = words.of_arc(mapped.known, arcs[0])
    low, rounds = (
        sum(getattr(slow[arc], name) for arc in arcs) for name in ("low", "rounds")
    )
    carried = min(slow[arc].carried for arc in arcs)
    text = (
        f"{of_part.name} carries {100 * carried:.0f} % of what pairs ask of it together"
        f" ({of_part.side}; {low} of {rounds} rounds of the scan); alone no pair fills it"
    )
    return RankFinding(
        kind="cable",
        severity=Severity.SUSPECT,
        text=text,
        part=of_part.name,
        size=1 - carried,
        key=f"cable {of_part.name}",
        advice=of_part.look,
        data={"side": of_part.side, "slow": low},
    )
