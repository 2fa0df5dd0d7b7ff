# SPDX-License-Identifier: BSD-3-Clause
"""Find nodes that are slow only while they send and receive at once, by exchanges with their neighbours.

Of an exchange the slower direction counts, as a share of what its nodes reach one way. Healthy adapters may
reach less in both directions at once, too, so each node is held to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fabric_checks.core.finding import Severity
from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.evidence import Evidence
from fabric_checks.diagnosis.cross_section.noise import OF_BEST, Array, deviation
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding, note
from fabric_checks.parsers.rotate import EXCHANGES, RotateOutput, Transfers

_LOOK = (
    "look at the width and generation of its adapter's slot (lspci -vv), at its memory and flow control: one"
    " direction alone needs less"
)


@dataclass(frozen=True)
class Exchanges:
    """What nodes reach while they send and receive at once.

    :param level: of each rank its best exchange beside others, as the logarithm of a share of its rates one
        way; :param alone: of those that were measured alone; NaN without any.
    :param noise: the error of either by chance, with the differences of healthy nodes.
    """

    mapped: MappedEvidence
    level: Array
    alone: Array
    noise: float

    @property
    def _least(self) -> float:
        """The loss from which a node is slow, as a logarithm."""
        return max(-float(np.log1p(-SETTINGS.least_fault)), self.noise)

    @property
    def limit(self) -> float | None:
        """The smallest loss, as a share, that would have been named; None where none would."""
        share = SETTINGS.found_errors / SETTINGS.spread_errors
        smallest = 1 - float(np.exp(-self._least - share * self.noise))
        is_told = self.mapped.evidence.nodes >= SETTINGS.fewest_nodes
        return smallest if is_told and smallest < SETTINGS.dead_from else None

    def find(self, blamed: Sequence[int]) -> list[RankFinding]:
        """Return the nodes that are slow beside others and alone.

        :param blamed: the ranks that are blamed already.
        """
        is_slow = np.nanmedian(self.level) - self.level > self._least
        others = self.alone[~is_slow]
        usual = float(np.nanmedian(others)) if np.isfinite(others).any() else np.nan
        sure = np.flatnonzero(is_slow & (usual - self.alone > self._least)).tolist()
        few = max(
            SETTINGS.fewest_of_class, SETTINGS.least_share_of_class * len(is_slow)
        )
        if sure and is_slow.sum() >= few:
            share = float(np.median(self.alone[sure]))
            text = f"{is_slow.sum()} nodes reach {_text(share, usual)}, alike among themselves"
            return [
                note("both directions", f"{text}: no fault unless all should be equal")
            ]
        return [self._slow(rank, usual) for rank in sure if rank not in blamed]

    def _slow(self, rank: int, usual: float) -> RankFinding:
        own, name = float(self.alone[rank]), words.of_rank(self.mapped, rank)
        return RankFinding(
            kind="both directions",
            severity=Severity.FAULT,
            text=f"{name} reaches {_text(own, usual)} (measured alone)",
            part=name,
            hosts=(self.mapped.hosts[rank],),
            size=1 - float(np.exp(own - usual)),
            advice=_LOOK,
            details=(_LOOK,),
            data={"ranks": [rank], "side": "both at once"},
        )


def _text(share: float, usual: float) -> str:
    own, others = (f"{100 * np.exp(each):.0f} %" for each in (share, usual))
    return (
        f"{own} of the one-way rate when sending and receiving at once, others {others}"
    )


def of_output(output: RotateOutput, mapped: MappedEvidence) -> Exchanges | None:
    """Return what the nodes of a run reach in both directions at once; None if that was not measured."""
    beside, alone = (output.phases.get(phase) for phase in EXCHANGES)
    if not beside:
        return None
    evidence = mapped.evidence
    level = _levels(evidence, beside)
    noise = evidence.noise
    error = OF_BEST * (noise.repeat or noise.scan) / np.sqrt(SETTINGS.usual_repeats)
    spread = max(float(deviation(level[~np.isnan(level)])), float(error))
    none = np.full_like(level, np.nan)
    return Exchanges(
        mapped,
        level,
        _levels(evidence, alone) if alone else none,
        SETTINGS.spread_errors * spread,
    )


def _levels(evidence: Evidence, part: Transfers) -> Array:
    """Return the best exchange of each rank, as the logarithm of a share of its rates one way; NaN without
    any."""
    able, ends = evidence.able, (part.sender, part.receiver)
    one_way = np.minimum(able[0, part.sender], able[1, part.receiver])
    within = (evidence.host[part.sender] == evidence.host[part.receiver]) & (
        evidence.host.max() > 0
    )
    columns = {
        "round": part.round,
        "one": np.minimum(*ends),
        "other": np.maximum(*ends),
        "share": np.log(part.MBps / evidence.reference_MBps) - one_way,
    }
    exchanges = pl.DataFrame(columns).filter(~within).group_by("round", "one", "other")
    slower = exchanges.min()
    level = np.full(evidence.ranks, np.nan)
    for end in ("one", "other"):
        np.fmax.at(level, slower[end].to_numpy(), slower["share"].to_numpy())
    return level
