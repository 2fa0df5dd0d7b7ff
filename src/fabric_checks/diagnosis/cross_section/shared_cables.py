# SPDX-License-Identifier: BSD-3-Clause
"""Cables faster than a node's link, which no pair fills alone: whether they carry what pairs ask of them at
once.

Between adapters of 100 Gbit/s a cable of 200 Gbit/s at half its rate slows no pair that is measured alone. In
the scan, and when suspects are measured again, its pairs run beside others: with the routes and the rates of
cables it is known what they should reach together (:mod:`fabric_checks.analysis.max_min`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from fabric_checks.core.finding import Severity
from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.parts import OF_NODES, MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding, advised


def find(
    mapped: MappedEvidence,
    named: Sequence[RankFinding],
    *,
    confirmed: bool,
) -> list[RankFinding]:
    """Return the cables that carry too little when pairs share them, those in most rounds first.

    Of one cable's pairs others, which they cross as well, are slow with it: each round counts for one cable.

    :param named: the faults that are known already, which explain what their pairs lose.
    :param confirmed: whether the run measured suspects alone; without that nothing is a fault.
    """
    severity = Severity.FAULT if confirmed else Severity.SUSPECT
    rows = _without(_rows(mapped), _pairs_of(mapped, named))
    return [_finding(mapped, each, severity) for each in _slow_cables(rows)]


def _pairs_of(mapped: MappedEvidence, named: Sequence[RankFinding]) -> list[int]:
    """Return the positions of the pairs of nodes and cables that are known to be slow."""
    parts = {each.part for each in named}
    cables = [
        number
        for number, name in enumerate(mapped.known.cables)
        if f"cable {name}" in parts
    ]
    ranks = [rank for each in named if each.kind in OF_NODES for rank in each.ranks]
    ends = np.column_stack((mapped.evidence.sender, mapped.evidence.receiver))
    passed = np.isin(mapped.arcs // 2, cables).any(axis=1)
    return np.flatnonzero(passed | np.isin(ends, ranks).any(axis=1)).tolist()


def _without(rows: pl.DataFrame, pairs: Sequence[int]) -> pl.DataFrame:
    """Return the rows in which none of some pairs is."""
    if not len(rows) or not pairs:
        return rows
    return rows.filter(~pl.col("pairs").list.eval(pl.element().is_in(pairs)).list.any())


def _slow_cables(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the cables that are slow in most rounds, of the scan, too, those with the most first; of others
    the rounds are left out in which pairs of these cross them.

    Each has its directions (``arc``), their rounds and how many were low, the median share of what was asked
    that they carried, and the cables that the same pairs crossed in each of these rounds (``others``).
    Suspects that are measured again are those that cross a slow cable: another one that they share is slow in
    most of their rounds, but not of the scan. The rounds of both directions of a cable count together, if
    both are slow.
    """
    rounds, cable = pl.col("rounds"), pl.col("arc") // 2
    is_low = pl.col("carried") < SETTINGS.least_carried
    while len(rows):
        by_arc = rows.group_by(cable.alias("cable"), "arc").agg(
            pl.len().alias("rounds"),
            is_low.sum().alias("low"),
            pl.col("carried").median(),
            is_low.filter(~pl.col("again")).mean().alias("in scan"),
        )
        slow = by_arc.filter(
            pl.col("low") >= SETTINGS.least_low_rounds * rounds,
            pl.col("in scan") >= SETTINGS.least_low_rounds,
        )
        by_cable = slow.group_by("cable").agg(
            "arc", rounds.sum(), pl.col("low").sum(), pl.col("carried").min()
        )
        by_cable = by_cable.filter(rounds >= SETTINGS.fewest_rounds_shared)
        if not len(by_cable):
            return
        order = by_cable.sort(
            "low", "carried", "cable", descending=[True, False, False]
        )
        first, *rest = order.rows(named=True)
        own = rows.filter(pl.col("arc").is_in(first["arc"]))
        rows = _without(rows, own["pairs"].explode(empty_as_null=True).to_list())
        left = set((rows["arc"] // 2).to_list())
        alike = [each["cable"] for each in rest if each["low"] == first["low"]]
        yield first | {"others": [each for each in alike if each not in left]}


def _rows(mapped: MappedEvidence) -> pl.DataFrame:
    """Return a row for each round and direction of a cable that pairs were to fill beyond one pair's rate.

    ``carried`` is the share of what they should have reached together, ``pairs`` who they were. Of a cable
    it is the rounds in which the most was asked of it: in others one that lost a quarter carries all.
    """
    rates = mapped.known.rates
    if rates is None or not mapped.corrected:
        return pl.DataFrame()
    faster = np.flatnonzero(rates > SETTINGS.more_than_a_pair).tolist()
    table = pl.concat(
        [
            mapped.crossings.with_columns(again=False),
            mapped.crossings_again.with_columns(again=True),
        ]
    ).filter(pl.col("arc").is_in(faster))
    rate, asked = (
        (pl.col(name) * pl.col("of_kind")).sum() for name in ("rate", "expected")
    )
    rows = table.group_by("arc", "again", "round").agg(
        (rate / asked).alias("carried"),
        asked.alias("asked"),
        pl.col("pair").alias("pairs"),
    )
    asked = pl.col("asked")
    rows = rows.filter(asked > SETTINGS.more_than_a_pair)
    some = asked.top_k(SETTINGS.fewest_rounds_shared).min().over("arc")
    return rows.filter(asked >= SETTINGS.most_asked * some)


def _finding(
    mapped: MappedEvidence, slow: Mapping[str, Any], severity: Severity
) -> RankFinding:
    """Return the finding about a cable, of which one direction or both are slow."""
    known, (arc, *more) = mapped.known, sorted(slow["arc"])
    of_part = words.of_cable(known, arc // 2) if more else words.of_arc(known, arc)
    others = [words.of_cable(known, each).name for each in slow["others"]]
    carried, low = slow["carried"], slow["low"]
    text = (
        f"{words.any_of(of_part.name, others)} carries {100 * carried:.0f} % of what pairs ask of it"
        f" together ({of_part.side}; {low} of {slow['rounds']} rounds); alone no pair fills it"
    )
    return advised(
        of_part.look,
        words.would_explain(others),
        severity=severity,
        kind="cable",
        text=text,
        part=of_part.name,
        size=1 - carried,
        data={"side": of_part.side, "slow": low, "others": others},
    )
