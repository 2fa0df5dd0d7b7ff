# SPDX-License-Identifier: BSD-3-Clause
"""Search the set of slow parts that predicts best what was measured.

Every set of parts, each at a share of its rate, predicts the rate of each pair alone: the least share of the
parts on its path. A set is the better the closer that is to the measurements alone, the fewer pairs exceed
it, and the fewer parts it has. The search is greedy, and then exchanges and drops parts as long as that is
better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.noise import Array
from fabric_checks.diagnosis.cross_section.parts import OF_NODES, MappedEvidence, Part
from fabric_checks.diagnosis.cross_section.settings import SETTINGS


@dataclass(frozen=True)
class Choice:
    """A part with its share as a logarithm, its gain, the time since when, and the parts that gain as
    much."""

    part: Part
    level: float
    gain: float = 0.0
    others: tuple[Part, ...] = ()
    since: float = 0.0


#: The predicted rates of pairs, as logarithms of shares: alone, in the scan, and the highest while others ran
#: of the measurements that the prediction holds for, a row each.
Predicted = Array
_QUARTILES = np.array((0.25, 0.5, 0.75))


class Search:
    """The search for the best set of parts."""

    def __init__(self, mapped: MappedEvidence, parts: Sequence[Part]) -> None:
        evidence = mapped.evidence
        noise = evidence.noise
        self.mapped, self.parts, self.evidence = mapped, parts, evidence
        self.alone, self.bound = evidence.alone, evidence.bound
        self.scan = mapped.rest + mapped.expected
        self.healthy = np.array(
            [np.zeros(len(evidence.alone)), mapped.expected, evidence.bound]
        )
        of_healthy = noise.reference**2 + noise.between**2 + SETTINGS.least_spread**2
        every = np.arange(len(evidence.alone))
        self.of_alone = np.sqrt(evidence.error(every) ** 2 + of_healthy)
        self.of_bound = float(np.hypot(noise.scan, SETTINGS.least_spread))
        self.of_scan = float(np.hypot(mapped.of_rest, SETTINGS.least_spread))
        self.floor = -float(np.log1p(-SETTINGS.least_fault)) / 2

    def cost(self, pairs: Numbers, level: Predicted) -> Array:
        """Return the distance of pairs from their prediction, in squared standard errors."""
        of_alone, in_scan, bound = level
        # What was not measured is at no distance.
        alone = np.fmax(((self.alone[pairs] - of_alone) / self.of_alone[pairs]) ** 2, 0)
        # A pair exceeds its level by chance, too; where many pass through a part, this is no evidence against
        # it.
        above = (
            np.fmax(bound - of_alone, 0) / self.of_bound
        ) ** 2 - SETTINGS.exceeding_errors**2
        beyond = np.where(of_alone < 0, np.clip(above, 0, SETTINGS.most_weight), 0)
        off = np.fmax(((self.scan[pairs] - in_scan) / self.of_scan) ** 2, 0)
        scan = np.minimum(off, SETTINGS.most_scan_weight)
        return np.asarray(
            np.minimum(alone, SETTINGS.most_weight) + np.maximum(beyond, scan)
        )

    def predicted(self, chosen: Sequence[Choice]) -> Predicted:
        """Return the prediction of a set of parts."""
        found = self.healthy.copy()
        for each in chosen:
            pairs = each.part.pairs
            found[:, pairs] = self.through(
                found[:, pairs], each.part, each.level, each.since
            )
        return found

    def slack(self, part: Part) -> Array:
        """Return what a part may lose before each of its pairs is slow, which are as slow as their kinds of
        nodes."""
        if part.kind == "pair" or len(self.evidence.kinds) == 1:
            return np.zeros(len(part.pairs))
        is_of_host = part.kind in (*OF_NODES, "host", "adapter")
        own = self.evidence.of_kind[part.key[0]] if is_of_host else 0.0
        return np.asarray(own - self.evidence.of_pair[part.pairs])

    def levels(self, part: Part, level: float) -> Array:
        """Return the level of each pair of a part that is at a level."""
        loss = np.minimum(level + self.slack(part), 0.0)
        return loss if part.ways is None else -np.log1p(part.ways * np.expm1(-loss))

    def own(self, part: Part) -> Array:
        """Return the level of a part that the rate of each of its pairs alone shows: the inverse of
        :meth:`levels`."""
        rate = self.alone[part.pairs]
        if part.ways is not None:
            rate = -np.log1p(np.maximum(np.expm1(-rate) / part.ways, -0.9))
        return np.asarray(rate - self.slack(part))

    def through(
        self, before: Predicted, part: Part, own: float, since: float = 0.0
    ) -> Predicted:
        """Return the prediction for the pairs of a part that is slow since some time.

        The loss of the part is divided among its pairs, or taken from one that had more than the others.
        """
        level, (alone, in_scan, bound) = self.levels(part, own), before
        left = np.log(np.maximum(np.exp(in_scan) - (1 - np.exp(level)), 1e-6))
        late = np.minimum(in_scan, np.maximum(level - part.sharing, left))
        if since:
            late = np.where(self.evidence.when[part.pairs] >= since, late, in_scan)
            bound = np.where(
                level < alone,
                self.evidence.series.bound_since(part.pairs, since),
                bound,
            )
        return np.array([np.minimum(alone, level), late, bound])

    def began(self, part: Part, loss: float, slow: NDArray[np.bool_]) -> float:
        """Return since when a part is slow; 0 if always, or if that explains too little.

        It is the time that explains most of what was measured while others ran: before it no pair is slow,
        and after it none is fast (a change point by likelihood: Hinkley, Biometrika 57, 1970). That a pair
        was low before it counts only at the level of the part, and of those that are slow alone: others may
        have shared a cable. It is within a measurement if the slowest test of that is at the level: then the
        best one is from before.

        :param slow: which of its pairs are slow alone.
        """
        series = self.evidence.series
        at, own = series.of(part.pairs)
        order = np.argsort(series.when[own], kind="stable")
        order = order[~series.alone[own[order]] & ~np.isnan(series.rate[own[order]])]
        at, own = at[order], own[order]
        rate, when, was_slow = series.rate[own], series.when[own], slow[at]
        level = self.levels(part, loss)[at]
        above = np.maximum(
            np.where(level < 0, rate - level, 0) / self.of_bound
            - SETTINGS.exceeding_errors,
            0,
        )
        after = np.minimum(above**2, SETTINGS.most_weight)
        low = was_slow & (
            np.abs(rate - level) < SETTINGS.contradiction_errors * self.of_bound
        )
        before = np.where(
            low, np.minimum((rate / self.of_bound) ** 2, SETTINGS.most_scan_weight), 0.0
        )
        # Of a change before each measurement, or after the last.
        cost = np.append(0.0, np.cumsum(before)) + np.append(
            np.cumsum(after[::-1])[::-1], 0.0
        )
        times, first = np.unique(when, return_index=True)
        begins = np.append(first, len(rate))
        best = int(np.argmin(cost[begins]))
        # Where pairs were slow before, too, it is only some of them that are slow, not the part.
        if not best or low[: begins[best]].sum() > max(
            1, SETTINGS.most_slow_before * slow.sum()
        ):
            return 0.0
        if best < len(times) and times[best] < self.evidence.rounds[0]:
            return float(times[best])
        # What begins after the scan may be traffic of others, unless the last measurement before shows it.
        last = begins[best] - 1
        lowest = rate[last] + series.dip[own[last]]
        is_within = (
            was_slow[last]
            and abs(lowest - level[last])
            < SETTINGS.contradiction_errors * self.of_bound
        )
        return float(when[last]) + 0.5 if is_within else 0.0

    def fitted(self, part: Part, level: Predicted, cost: float) -> Choice | None:
        """Return a part with its best share and its gain, given the prediction of the parts already
        chosen, and the cost of its pairs by that."""
        pairs = part.pairs
        before = level[:, pairs]
        low = self.alone[pairs] < before[0] - self.floor
        fewest = 1 if part.kind == "pair" else SETTINGS.fewest_pairs
        is_slow = low | (self.scan[pairs] < before[1] - self.floor)
        if not low.any() or np.count_nonzero(is_slow) < fewest:
            return None
        shown = self.own(part)
        shares = shown[low]
        choices = [self._choice(before, cost, part, share) for share in _tried(shares)]
        best = max(choices, key=lambda each: each.gain)
        if not self.contradicted(best):
            return best
        if part.kind == "pair" or np.count_nonzero(low) < SETTINGS.fewest_late:
            return None
        own = float(np.median(shares))
        since = self.began(part, own, shown < own / 2)
        late = self._choice(before, cost, part, own, since)
        return late if since and not self.contradicted(late) else None

    def _choice(
        self,
        before: Predicted,
        cost: float,
        part: Part,
        own: float,
        since: float = 0.0,
    ) -> Choice:
        """Return a part at a share, perhaps since some time, with its gain."""
        after = self.through(before, part, own, since)
        gain = cost - self.cost(part.pairs, after).sum()
        # Of a time, one more parameter, of as many values as there are rounds.
        of_time = 2 * float(np.log(self.evidence.rounds[1])) if since else 0.0
        return Choice(part, own, float(gain - part.price - of_time), since=since)

    def contradicted(self, choice: Choice) -> bool:
        """Return whether a part cannot be slow: more of its pairs than by chance reached more than it could
        give."""
        pairs = choice.part.pairs
        bound = (
            self.evidence.series.bound_since(pairs, choice.since)
            if choice.since
            else self.bound[pairs]
        )
        level = self.levels(choice.part, choice.level)
        fast = bound > level + SETTINGS.contradiction_errors * self.of_bound
        # Pairs are measured alone at the end, when what became slow during the run is slow to all of them.
        fast |= self.alone[pairs] > (
            level / 2
            if choice.since
            else level + SETTINGS.contradiction_errors * self.of_alone[pairs]
        )
        return bool(
            (fast & (level < 0)).sum() > int(SETTINGS.most_contradictions * len(pairs))
        )

    def next(self, chosen: Sequence[Choice]) -> Choice | None:
        """Return the part that gains most on top of the chosen ones, with those that gain as much."""
        level, fits, least = self.predicted(chosen), list[Choice](), 0.0
        cost = self.cost(np.arange(len(self.alone)), level)
        # No part gains more than what its pairs cost. The many pairs are the first parts.
        for part in reversed(self.parts):
            of_part = float(cost[part.pairs].sum())
            if of_part - part.price <= least:
                continue
            fit = self.fitted(part, level, of_part)
            if fit and fit.gain > 0:
                fits.append(fit)
                least = max(least, fit.gain - SETTINGS.as_good)
        if not fits:
            return None
        best, *rest = sorted(reversed(fits), key=lambda fit: -fit.gain)
        near = [fit.part for fit in rest if fit.gain > best.gain - SETTINGS.as_good]
        own = best.part
        others = [
            part
            for part in near
            if (part.kind, part.key) != (own.kind, own.key)
            and np.isin(part.pairs, own.pairs).any()
        ]
        return replace(best, others=tuple(others))

    def best(self) -> list[Choice]:
        """Return the best set: greedy first, then every part exchanged for a better one or dropped."""
        chosen: list[Choice] = []
        while (
            len(chosen) < SETTINGS.most_parts
            and (choice := self.next(chosen)) is not None
        ):
            chosen.append(choice)
        for _ in range(3 if len(chosen) > 1 else 0):
            before = [id(each.part) for each in chosen]
            for number in reversed(range(len(chosen))):
                again = self.next(chosen[:number] + chosen[number + 1 :])
                chosen[number : number + 1] = [again] if again else []
            if [id(each.part) for each in chosen] == before:
                break
        return chosen


def _tried(shares: Array) -> list[float]:
    """Return the quartiles of the shares of pairs, and of each the median of those near it."""
    ordered, last = np.sort(shares), len(shares) - 1
    quartiles = np.unique(ordered[np.rint(_QUARTILES * last).astype(int)])
    near = [np.median(shares[np.abs(shares - share) < 0.1]) for share in quartiles]
    return list(dict.fromkeys(np.column_stack((quartiles, near)).ravel().tolist()))
