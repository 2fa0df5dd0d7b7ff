# SPDX-License-Identifier: BSD-3-Clause
"""The smallest fault of each kind that a run would have named, by its noise and its measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fabric_checks.diagnosis.cross_section.evidence import Evidence
from fabric_checks.diagnosis.cross_section.inference import least_loss
from fabric_checks.diagnosis.cross_section.noise import OF_BEST, OF_MEDIAN, levels_of_nodes
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.cross_section.slowest import by_chance, low_each_time
from fabric_checks.parsers.rotate import Transfers


def limits(
    mapped: MappedEvidence,
    suspect_share: float,
    together: Transfers | None = None,
    *,
    slow_nodes: Sequence[int] = (),
) -> dict[str, float | None]:
    """Return the smallest faults that a run would have named: of a node, of a scanned pair one way, and of a
    cable.

    They are shares of the bandwidth; None where none would be named, as a cable where routes are unknown.

    A fault is named if it is suspected, by the scan, and certain, by measurements alone.

    :param suspect_share: the loss from which a pair or a node is measured again; :param together: the pairs
        measured again while others ran; None if nothing is measured again.
    :param slow_nodes: ranks that are blamed: their slow pairs do not keep others from being found.
    """
    if together is None:
        return dict.fromkeys(("node", "pair", "cable"))
    sight = _Sight(mapped, suspect_share, slow_nodes)
    return {"node": sight.node(), "pair": sight.pair(together), "cable": sight.cable()}


class _Sight:
    """What a run can see. Losses and levels are logarithms.

    :param threshold: the loss from which a pair or a node is measured again; :param error: of a pair alone.
    :param usual: the level of each rank as sender, and as receiver; :param of_nodes: those of the usual node.
    :param slowest: the loss of the slowest healthy node by chance.
    """

    def __init__(self, mapped: MappedEvidence, suspect_share: float, slow_nodes: Sequence[int]) -> None:
        evidence, noise = mapped.evidence, mapped.evidence.noise
        self.evidence, self.noise, self.slow_nodes = evidence, noise, slow_nodes
        self.threshold = -float(np.log1p(-suspect_share))
        self.error = OF_BEST * (noise.repeat or noise.scan) / np.sqrt(SETTINGS.usual_repeats)
        self.ends = evidence.sender, evidence.receiver
        self.usual = [levels_of_nodes(evidence.scan, side, evidence.ranks)[0] for side in self.ends]
        self.of_nodes = [float(np.nanmedian(side)) for side in self.usual if not np.isnan(side).all()]
        self.scanned = ~np.isnan(evidence.scan)
        self.of_slow = np.any([np.isin(side, slow_nodes) for side in self.ends], axis=0)
        if noise.nodes > noise.most:  # not bounded by controls: it differs from run to run
            of_next = replace(noise, nodes=SETTINGS.next_spread * noise.nodes)
            mapped = replace(mapped, evidence=replace(evidence, noise=of_next))
        self.mapped = mapped
        self.slowest = by_chance(mapped, np.flatnonzero(self.of_slow))

    def named(self, kind: str, pairs: int, seen: float, shared: float = 0.0) -> float | None:
        """Return the smallest loss of a part, as a share, that is suspected and certain.

        :param pairs: of it that are measured alone; :param seen: the error of its rate in the scan; :param
            shared: what it may lose by sharing before it is suspected.
        """
        if self.evidence.nodes < (SETTINGS.fewest_nodes_of_pair if kind == "pair" else SETTINGS.fewest_nodes):
            return None
        of_alone = self.error / np.sqrt(pairs) * (OF_MEDIAN if pairs > 1 else 1.0)
        certain = SETTINGS.found_errors_of_pair if kind == "pair" else SETTINGS.found_errors
        sure = least_loss(self.mapped, of_alone, kind, slowest=self.slowest) + certain * of_alone
        suspected = self.threshold + shared + certain * seen
        smallest = float(1 - np.exp(-max(sure, suspected, -np.log1p(-SETTINGS.least_fault))))
        return smallest if smallest < SETTINGS.dead_from else None

    def node(self) -> float | None:
        """Return the limit of nodes, which are compared with the best of other nodes.

        Where these share in most rounds, one that is slower by less than what is shared looks like them.
        """
        evidence = self.evidence
        senders = np.bincount(evidence.sender[self.scanned], minlength=evidence.ranks)
        seen = OF_MEDIAN * self.noise.scan / np.sqrt(max(float(np.median(senders)), 1.0))
        found = self.named("sender", SETTINGS.pairs_of_node, seen, -min([*self.of_nodes, 0.0]))
        if found is None:
            return None
        # A node of a fast kind that is as slow as a slower one is counted to that.
        found = 1 - evidence.kinds[-1].share * (1 - found)
        # Where many nodes look slow by sharing, some are hardly measured alone: one as slow as these is not
        # named.
        alone = ~np.isnan(evidence.alone)
        count = np.bincount(np.concatenate([side[alone] for side in self.ends]), minlength=evidence.ranks)
        level = np.fmax(*self.usual)
        level[[*self.slow_nodes, *np.flatnonzero(count >= SETTINGS.fewest_pairs)]] = 0.0
        lowest = float(np.nanmin([*level, 0.0]))
        return (
            max(found, 1 - float(np.exp(lowest - SETTINGS.found_errors * seen)))
            if lowest < -self.threshold
            else found
        )

    def pair(self, together: Transfers) -> float | None:
        """Return the limit of pairs, which are compared with the usual rate.

        Or with a little less than what nodes have at their best if that is more. A node that looks slow by
        sharing explains that its pairs are; of nodes that are blamed no pair counts.
        """
        evidence = self.evidence
        best = min(0.0, max(self.of_nodes, default=0.0))
        # The usual rate is, as the program defines it, the median over rounds of their medians.
        seen = self.scanned & (evidence.round >= 0)
        medians = [
            np.median(evidence.scan[seen & (evidence.round == each)])
            for each in np.unique(evidence.round[seen])
        ]
        shared = min(max(0.0, -float(np.median(medians)) if medians else 0.0), self.threshold - best)
        of_ends = zip(self.usual, self.ends, strict=True)
        below = np.fmax(*(np.nanmedian(side) - side[rank] for side, rank in of_ends))
        below = np.where(below > self.threshold, below, 0.0)[self.scanned & ~self.of_slow]
        explained = float(np.quantile(below, SETTINGS.found_share)) if len(below) else 0.0
        found = self.named("pair", 1, self.noise.scan, shared + explained)
        if (
            found is None
            or _found(evidence, together, -(self.threshold + shared), found, self.slow_nodes)
            < SETTINGS.found_share
        ):
            return None
        of_all = bool(
            (evidence.repeats > 0).all()
        )  # the few suspects of a run of ours are measured more often
        is_chance = (
            of_all and low_each_time(evidence, float(np.log1p(-found))) > SETTINGS.chance_of_slow_at_once
        )
        return None if is_chance else found

    def cable(self) -> float | None:
        """Return the limit of cables, whose pairs are measured alone only if they stayed slow beside
        others."""
        known = self.mapped.known
        found = self.named("cable", SETTINGS.pairs_of_cable, self.noise.scan) if known.has_routes else None
        if found is None or known.rates is None:
            return found
        # A cable faster than a pair alone has to lose more before the pair is slower.
        return 1 - (1 - found) / max(1.0, float(known.rates.max(initial=1.0)))


def _found(
    evidence: Evidence, together: Transfers, level: float, loss: float, slow_nodes: Sequence[int]
) -> float:
    """Return the probability that a slow pair is among those that are measured alone.

    Where most pairs share a cable in every round, more stay slow than there is time for. A slow pair that
    once shared nothing is near its own level, with the few that are there by chance; one that always shared
    is any of those that stayed slow. It is assumed to share as often as the others.

    :param level: below which a pair is slow, as a logarithm; :param loss: of the slow pair, as a share.
    """
    best = np.full(len(evidence.sender), -np.inf)
    keys = evidence.sender * evidence.ranks + evidence.receiver
    position = np.searchsorted(keys, together.sender.astype(np.int64) * evidence.ranks + together.receiver)
    np.maximum.at(best, position, np.log(together.MBps / evidence.reference_MBps))
    own = (
        ~np.isnan(evidence.scan)
        & ~np.isin(evidence.sender, slow_nodes)
        & ~np.isin(evidence.receiver, slow_nodes)
    )
    slow = own & (evidence.scan < level) & (best < level)
    near = slow & (best > np.log1p(-loss) - 2 * evidence.noise.scan)
    of_slow, of_near = (
        float((~np.isnan(evidence.alone[which])).mean()) if which.any() else 1.0 for which in (slow, near)
    )
    far = float((slow & ~near).sum() / max(own.sum(), 1))
    return (1 - far) * of_near + far * of_slow
