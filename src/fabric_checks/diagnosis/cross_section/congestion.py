# SPDX-License-Identifier: BSD-3-Clause
"""Find switches whose flows collapse when many enter, or leave, at once: together these carry less than a few
do.

Cables that are shared, or lost, carry as much with more flows as with fewer, so that they are no explanation.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding, advised

_LOOK = (
    "look at its flow and congestion control (PFC, ECN, credits), its buffers and its counters; no cable"
    " need be lost"
)


def find(mapped: MappedEvidence) -> list[RankFinding]:
    """Return the switches at which flows collapse, those in most rounds first; none without a map.

    What passes one of them is no evidence against the switch at its other end.
    """
    flows, found = _flows(mapped), list[RankFinding]()
    while True:
        each_way = [
            (finding, side, leaf)
            for side in ("into", "out of")
            for (leaf,), own in flows.group_by(side, maintain_order=True)
            if (finding := _of_leaf(mapped.known.switches[int(str(leaf))], side, own))
        ]
        if not each_way:
            return found
        worst, side, leaf = max(each_way, key=lambda each: each[0].data["slow"])
        found.append(worst)
        flows = flows.filter(pl.col(side) != leaf)


def _flows(mapped: MappedEvidence) -> pl.DataFrame:
    """Return a row for each measurement of a pair of two switches, its rate as a share of a healthy pair's
    alone."""
    evidence, series = mapped.evidence, mapped.evidence.series
    in_scan = series.when == evidence.when[series.pair]
    expected = np.where(in_scan, mapped.expected[series.pair], np.nan)
    if not np.isnan(mapped.expected).all():
        again, _, expected[again] = mapped.again
    columns = {
        "when": series.when,
        "in scan": in_scan,
        "rate": np.exp(series.rate),
        "expected": np.exp(np.nan_to_num(expected, nan=np.inf)),
        "into": mapped.to_leaf[series.pair],
        "out of": mapped.from_leaf[series.pair],
    }
    is_usable = mapped.across[series.pair] & ~np.isnan(series.rate)
    if mapped.known.has_routes:  # a round with an unknown route may share any cable
        is_usable &= series.alone | ~np.isnan(expected)
    return pl.DataFrame(columns).filter(is_usable)


def _of_leaf(switch: str, side: str, flows_of: pl.DataFrame) -> RankFinding | None:
    """Return the finding of a switch, if from some number of flows on all rounds carried too little."""
    rounds = flows_of.group_by("when").agg(
        pl.len().alias("flows"),
        pl.col("rate", "expected").sum(),
        pl.col("in scan").any(),
    )
    flows, carried = rounds["flows"].to_numpy(), rounds["rate"].to_numpy()
    expected = rounds["expected"].to_numpy()
    for fewest in np.unique(flows[flows >= SETTINGS.fewest_flows_at_once]).tolist():
        few, many = flows < fewest, flows >= fewest
        most = min(float(carried[few].max(initial=0.0)), float(expected[many].min()))
        collapses = carried[many].max() < SETTINGS.least_carried_by_many * most
        # What is measured again together is chosen for sharing a cable each time.
        scanned = np.count_nonzero(many & rounds["in scan"].to_numpy())
        if not collapses or scanned < SETTINGS.fewest_crowded_rounds:
            continue
        share, alone = (
            float(np.median(carried[which] / flows[which])) for which in (many, few)
        )
        text = (
            f"pairs {side} {switch} reach {100 * share:.0f} % of the typical rate when {fewest} or more run"
            f" at once ({np.count_nonzero(many)} rounds), and {100 * alone:.0f} % when fewer do"
        )
        return advised(
            _LOOK,
            kind="congestion",
            text=text,
            part=f"pairs {side} {switch}",
            size=1 - share,
            data={"side": f"{side} it", "slow": int(np.count_nonzero(many))},
        )
    return None
