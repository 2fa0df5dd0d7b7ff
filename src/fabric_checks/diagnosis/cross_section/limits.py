# SPDX-License-Identifier: BSD-3-Clause
"""The smallest fault of each kind that a run would have named, by its noise and its measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from fabric_checks.diagnosis.cross_section.inference import least_loss
from fabric_checks.diagnosis.cross_section.noise import (
    OF_BEST,
    OF_MEDIAN,
    levels_of_nodes,
)
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

    def __init__(
        self, mapped: MappedEvidence, suspect_share: float, slow_nodes: Sequence[int]
    ) -> None:
        evidence, noise = mapped.evidence, mapped.evidence.noise
        self.evidence, self.noise, self.slow_nodes = evidence, noise, slow_nodes
        self.threshold = -float(np.log1p(-suspect_share))
        self.error = (
            OF_BEST * (noise.repeat or noise.scan) / np.sqrt(SETTINGS.usual_repeats)
        )
        self.ends = evidence.sender, evidence.receiver
        self.usual = [
            levels_of_nodes(evidence.scan, side, evidence.ranks)[0]
            for side in self.ends
        ]
        self.of_nodes = [
            float(np.nanmedian(side)) for side in self.usual if not np.isnan(side).all()
        ]
        self.of_slow = np.isin(self.ends, slow_nodes).any(axis=0)
        self.seen = ~np.isnan(evidence.scan) & ~self.of_slow
        if (
            noise.nodes > noise.most
        ):  # not bounded by controls: it differs from run to run
            of_next = replace(noise, nodes=SETTINGS.next_spread * noise.nodes)
            mapped = replace(mapped, evidence=replace(evidence, noise=of_next))
        self.mapped = mapped
        self.slowest = by_chance(mapped, np.flatnonzero(self.of_slow))

    def named(
        self, kind: str, pairs: int, seen: float, shared: float = 0.0
    ) -> float | None:
        """Return the smallest loss of a part, as a share, that is suspected and certain.

        :param pairs: of it that are measured alone; :param seen: the error of its rate in the scan; :param
            shared: what it may lose by sharing before it is suspected.
        """
        is_pair = kind == "pair"
        if self.evidence.nodes < (
            SETTINGS.fewest_nodes_of_pair if is_pair else SETTINGS.fewest_nodes
        ):
            return None
        error = self.error / np.sqrt(pairs) * (1.0 if is_pair else OF_MEDIAN)
        certain = SETTINGS.found_errors_of_pair if is_pair else SETTINGS.found_errors
        sure = (
            least_loss(self.mapped, error, kind, slowest=self.slowest) + certain * error
        )
        smallest = 1 - float(
            np.exp(-max(sure, self.threshold + shared + certain * seen))
        )
        return smallest if smallest < SETTINGS.dead_from else None

    def node(self) -> float | None:
        """Return the limit of nodes, which are compared with the best of other nodes.

        Where these share in most rounds, one that is slower by less than what is shared looks like them.
        """
        evidence = self.evidence
        senders = np.bincount(
            evidence.sender[~np.isnan(evidence.scan)], minlength=evidence.ranks
        )
        seen = (
            OF_MEDIAN * self.noise.scan / np.sqrt(max(float(np.median(senders)), 1.0))
        )
        found = self.named(
            "sender", SETTINGS.pairs_of_node, seen, -min([*self.of_nodes, 0.0])
        )
        if found is None:
            return None
        # A node of a fast kind that is as slow as a slower one is counted to that.
        found = 1 - evidence.kinds[-1].share * (1 - found)
        # Where many nodes look slow by sharing, some are hardly measured alone: one as slow as these is not
        # named.
        alone = np.array(self.ends)[:, ~np.isnan(evidence.alone)]
        level = np.fmax(*self.usual)
        level[
            np.bincount(alone.ravel(), minlength=evidence.ranks)
            >= SETTINGS.fewest_pairs
        ] = 0.0
        level[[*self.slow_nodes]] = 0.0
        lowest = float(np.nanmin([*level, 0.0]))
        if lowest >= -self.threshold:
            return found
        return max(found, 1 - float(np.exp(lowest - SETTINGS.found_errors * seen)))

    def pair(self, together: Transfers) -> float | None:
        """Return the limit of pairs, which are compared with the usual rate.

        Or with a little less than what nodes have at their best if that is more. A node that looks slow by
        sharing explains that its pairs are; of nodes that are blamed no pair counts.
        """
        evidence = self.evidence
        # The usual rate is, as the program defines it, the median over rounds of their medians.
        rounds = pl.DataFrame({"round": evidence.round, "rate": evidence.scan}).filter(
            (pl.col("round") >= 0) & pl.col("rate").is_not_nan()
        )
        usual = rounds.group_by("round").median()["rate"].to_numpy()
        shared = max(0.0, -float(np.median(usual))) if len(usual) else 0.0
        shared = min(shared, self.threshold - min(0.0, max(self.of_nodes, default=0.0)))
        of_ends = zip(self.usual, self.ends, strict=True)
        below = np.fmax(*(np.nanmedian(side) - side[rank] for side, rank in of_ends))[
            self.seen
        ]
        below = np.where(below > self.threshold, below, 0.0)
        explained = (
            float(np.quantile(below, SETTINGS.found_share)) if len(below) else 0.0
        )
        found = self.named("pair", 1, self.noise.scan, shared + explained)
        if (
            found is None
            or self.measured(together, shared, found) < SETTINGS.found_share
        ):
            return None
        # The few suspects of a run of ours are measured more often.
        chance = (
            low_each_time(evidence, float(np.log1p(-found)))
            if (evidence.repeats > 0).all()
            else 0.0
        )
        return None if chance > SETTINGS.chance_of_slow_at_once else found

    def cable(self) -> float | None:
        """Return the limit of cables, whose pairs are measured alone only if they stayed slow beside
        others."""
        known = self.mapped.known
        found = (
            self.named("cable", SETTINGS.pairs_of_cable, self.noise.scan)
            if known.has_routes
            else None
        )
        if found is None or known.rates is None:
            return found
        # The program chooses what it measures again without rates: of slower nodes or cables it may be few.
        if self.mapped.own.min() < -SETTINGS.more_headroom:
            return None
        # A cable faster than a pair alone has to lose more before the pair is slower.
        least = self.mapped.least_headroom(self.mapped.headroom())
        most = float(least[np.isfinite(least)].max(initial=0.0))
        return 1 - (1 - found) * float(np.exp(-most))

    def measured(self, together: Transfers, shared: float, loss: float) -> float:
        """Return the probability that a slow pair is among those that are measured alone.

        Where most pairs share a cable in every round, more stay slow than there is time for. A slow pair that
        once shared nothing is near its own level, with the few that are there by chance; one that always
        shared is any of those that stayed slow. It is assumed to share as often as the others.

        :param shared: what a pair may lose by sharing; :param loss: of the slow pair, as a share.
        """
        evidence, level = self.evidence, -(self.threshold + shared)
        best = np.full(len(evidence.sender), -np.inf)
        keys = evidence.sender * evidence.ranks + evidence.receiver
        again = together.sender.astype(np.int64) * evidence.ranks + together.receiver
        rates = np.log(together.MBps / evidence.reference_MBps)
        np.maximum.at(best, np.searchsorted(keys, again), rates)
        slow = self.seen & (evidence.scan < level) & (best < level)
        near = slow & (best > np.log1p(-loss) - 2 * self.noise.scan)
        is_alone = ~np.isnan(evidence.alone)
        of_slow, of_near = (
            is_alone[which].mean() if which.any() else 1.0 for which in (slow, near)
        )
        far = (slow & ~near).sum() / max(self.seen.sum(), 1)
        return float((1 - far) * of_near + far * of_slow)
