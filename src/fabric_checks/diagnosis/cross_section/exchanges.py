# SPDX-License-Identifier: BSD-3-Clause
"""Find nodes that are slow only while they send and receive at once, by exchanges with their neighbours.

Of an exchange the slower direction counts, as a share of what its nodes reach one way. Healthy adapters may
reach less in both directions at once, too, so each node is held to the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fabric_checks.diagnosis.cross_section import words
from fabric_checks.diagnosis.cross_section.evidence import Evidence
from fabric_checks.diagnosis.cross_section.inference import Culprit
from fabric_checks.diagnosis.cross_section.noise import OF_BEST, Array, deviation
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding, advised, note
from fabric_checks.parsers.rotate import EXCHANGES, RotateOutput, Transfers

_LOOK = (
    "look at the width and generation of its adapter's slot (lspci -vv), at its memory and flow control: one"
    " direction alone needs less"
)
_MISSED = "both directions of a node at once (`rotate --both-ways`)"


@dataclass(frozen=True)
class Exchanges:
    """What nodes reach while they send and receive at once.

    :param level: of each rank its best exchange beside others, as the logarithm of a share of its rates one
        way; :param alone: of those that were measured alone; NaN without any.
    :param error: of the level of a healthy node. :param missed: that it was not measured; empty if it was.
    """

    mapped: MappedEvidence
    level: Array
    alone: Array
    error: float
    missed: tuple[str, ...]

    @property
    def _least(self) -> float:
        """The loss from which a node is slow, as a logarithm."""
        by_chance = SETTINGS.spread_errors * self.error
        return max(-float(np.log1p(-SETTINGS.least_fault)), by_chance)

    @property
    def limits(self) -> Mapping[str, float | None]:
        """The smallest loss, as a share, that would have been named; None where none would."""
        if np.isnan(self.level).all():
            return {}
        smallest = 1 - np.exp(-self._least - SETTINGS.found_errors * self.error)
        is_few = self.mapped.evidence.nodes < SETTINGS.fewest_nodes
        is_none = is_few or smallest > SETTINGS.dead_from
        return {"node both ways": None if is_none else float(smallest)}

    def find(self, found: Iterable[RankFinding]) -> list[RankFinding]:
        """Return the nodes that are slow beside others and alone; :param found: the findings so far."""
        if np.isnan(self.alone).all():
            return []
        # A node that is slow one way since late in the scan is slow here, too.
        named = {rank for each in found if each.kind != "pair" for rank in each.ranks}
        is_slow = np.nanmedian(self.level) - self.level > self._least
        count, others = int(is_slow.sum()), self.alone[~is_slow]
        if np.isnan(others).all():
            return []
        usual = float(np.nanmedian(others))
        sure = np.flatnonzero(is_slow & (usual - self.alone > self._least)).tolist()
        few = SETTINGS.least_share_of_class * len(is_slow)
        if sure and count >= max(SETTINGS.fewest_of_class, few):
            text = f"{count} nodes reach {_text(float(np.median(self.alone[sure])), usual)}"
            alike = "alike among themselves: no fault unless all should be equal"
            return [note("both directions", f"{text}, {alike}")]
        return [self._slow(rank, usual) for rank in sure if rank not in named]

    def clear(self, culprit: Culprit) -> bool:
        """Return whether a node that is slow at the end of a run, as it seems, was as fast as others in
        its exchanges, which come last: then its paths to some are slow."""
        if self.missed:
            return False
        own = self.level[culprit.part.key[0]] - np.nanmedian(self.level)
        return bool(own > np.log(culprit.share) / 2)

    def _slow(self, rank: int, usual: float) -> RankFinding:
        own, name = float(self.alone[rank]), words.of_rank(self.mapped, rank)
        return advised(
            _LOOK,
            kind="both directions",
            text=f"{name} reaches {_text(own, usual)} (measured alone)",
            part=name,
            hosts=(self.mapped.hosts[rank],),
            size=1 - float(np.exp(own - usual)),
            data={"ranks": [rank], "side": "both at once"},
        )


def _text(share: float, usual: float) -> str:
    own, others = (f"{100 * np.exp(each):.0f} %" for each in (share, usual))
    return (
        f"{own} of the one-way rate when sending and receiving at once, others {others}"
    )


def of_output(output: RotateOutput, mapped: MappedEvidence) -> Exchanges:
    """Return what the nodes of a run reach in both directions at once."""
    evidence, noise = mapped.evidence, mapped.evidence.noise
    beside, alone = (output.phases.get(phase) for phase in EXCHANGES)
    able = evidence.able
    level = _levels(evidence, beside, able)
    of_one = OF_BEST * (noise.repeat or noise.scan) / np.sqrt(SETTINGS.usual_repeats)
    known = level[~np.isnan(level)]
    error = max(float(deviation(known)), float(of_one)) if len(known) else np.nan
    missed = () if len(known) or output.is_table else (_MISSED,)
    level_alone = _levels(evidence, alone, _able_since(evidence, alone, able))
    return Exchanges(mapped, level, level_alone, error, missed)


def _able_since(evidence: Evidence, alone: Transfers | None, able: Array) -> Array:
    """Return what each rank reaches one way, of those measured again no more than they do then."""
    if not alone:
        return able
    single = np.flatnonzero(np.bincount(alone.round)[alone.round] == 1)
    there, back = single[::2], single[1::2]  # from the rank, and to it
    rates = np.log(alone.MBps / evidence.reference_MBps)
    since = np.full_like(able, -np.inf)
    np.fmax.at(since[0], alone.sender[there], rates[there])
    np.fmax.at(since[1], alone.receiver[back], rates[back])
    return np.where(np.isinf(since), able, np.fmin(able, since))


def _levels(evidence: Evidence, part: Transfers | None, able: Array) -> Array:
    """Return the best exchange of each rank, see :class:`Exchanges`; :param able: their rates one way."""
    level = np.full(evidence.ranks, np.nan)
    if not part:
        return level
    ends = part.sender, part.receiver
    one_way = np.minimum(able[0, part.sender], able[1, part.receiver])
    columns = {
        "round": part.round,
        "one": np.minimum(*ends),
        "other": np.maximum(*ends),
        "share": np.log(part.MBps / evidence.reference_MBps) - one_way,
    }
    pairs = pl.DataFrame(columns).group_by("round", "one", "other")
    rows = pl.len().alias("rows")
    slower = pairs.agg(pl.col("share").min(), rows).filter(pl.col("rows") == 2)
    for end in ("one", "other"):
        np.fmax.at(level, slower[end].to_numpy(), slower["share"].to_numpy())
    return level
