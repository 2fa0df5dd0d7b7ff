# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a fabric that may be at fault, each with the measured pairs that pass through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.analysis.max_min import of_rounds
from fabric_checks.analysis.pair_matrix import name_of
from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import Array, deviation
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.fabric_map import names
from fabric_checks.fabric_map.model import (
    NONE,
    UNKNOWN,
    UNMAPPED,
    FabricMap,
    arcs_of,
    of_cables,
)
from fabric_checks.parsers.rotate import RotateOutput

Mask = NDArray[np.bool_]

#: The cost of blaming a part, in units of a squared standard error: a fault is rare, and two are rarer. Parts
#: that are composed of slow pairs cost more, by OF_CHOICE for each route that was chosen for them.
_PRICES = {
    10.0: ("sender", "receiver", "arc"),
    11.0: ("node", "cable", "leaf out", "leaf in"),
    11.2: ("adapter",),
    11.5: ("switch", "leaf", "uplink", "downlink", "host", "rail"),
    12.0: ("leaf pair",),
    12.5: ("link",),
    13.0: ("above", "group", "pair"),
}
PRICE = {kind: price for price, kinds in _PRICES.items() for kind in kinds}
#: The parts that are slow in one direction only.
ONE_WAY = ("sender", "receiver", "arc", "leaf out", "leaf in", "uplink", "downlink")
#: The parts that are nodes.
OF_NODES = ("sender", "receiver", "node")
#: The parts that several GPUs or adapters have in common.
OF_DEVICES = ("host", "adapter", "rail")


@dataclass(frozen=True)
class Part:
    """One part, or several that are only slow together.

    :param kind: a key of :data:`PRICE`; :param key: its identifier within its kind.
    :param price: the cost of blaming it.
    :param pairs: positions of the pairs that pass through it, among those of the evidence.
    :param sharing: the number of pairs on it in the round of each of them in the scan, as logarithms.
    :param ways: of each of them the share of its directions that pass through it: where a rate is of both,
        half of them may. In a ping-pong only that half of the time is slow.
    """

    kind: str
    key: tuple[int, ...]
    price: float
    pairs: Numbers
    sharing: Array
    ways: Array | None = None


@dataclass(frozen=True)
class MappedEvidence:
    """The evidence on the map of the fabric.

    :param known: the map, :data:`fabric_checks.fabric_map.model.UNMAPPED` without one.
    :param missing: the names of hosts that are not on it. :param nodes: the host of each rank.
    :param hosts: the same with its adapter or GPU, if ranks are these.
    :param position: of each rank's host on the map, :data:`NONE` if it is not there.
    :param leaf: the switch of each rank; :param port: of that, 0 if it is not known.
    :param from_leaf: the switch of each pair's sender; :param to_leaf: of its receiver.
    :param arcs: of each pair's route, see :func:`fabric_checks.fabric_map.model.arcs_of`; where a
        rate is of both directions, of one and then of the other.
    :param of_cable: the rate that the slowest of them carries, as the logarithm of a share of its pair's own.
    :param sharing: the number of pairs on each of these arcs at once in the scan, as logarithms.
    :param expected: the expected rate of each pair in the scan, by the links it shared, as the logarithm of a
        share of its rate alone; NaN where it is unknown.
    :param rest: the measured rate beyond that, as a logarithm; NaN where it is unknown, or the expectation is
        wrong.
    :param of_rest: the standard deviation of ``rest`` for healthy pairs; NaN without any.
    """

    evidence: Evidence
    known: FabricMap
    missing: tuple[str, ...]
    position: Numbers
    leaf: Numbers
    port: Numbers
    from_leaf: Numbers
    to_leaf: Numbers
    arcs: NDArray[np.int32]
    of_cable: Array
    sharing: Array
    expected: Array
    rest: Array
    of_rest: float
    nodes: tuple[str, ...]
    hosts: tuple[str, ...]

    def name(self, rank: int) -> str:
        """Return a name for a rank, see :func:`fabric_checks.analysis.pair_matrix.name_of`."""
        return name_of(self.hosts, rank)

    @property
    def corrected(self) -> bool:
        """Whether the scan can be corrected for sharing."""
        return not np.isnan(self.of_rest)

    @property
    def across(self) -> Mask:
        """The pairs known to be of hosts at two switches, as a mask."""
        return np.asarray(
            (self.from_leaf != self.to_leaf)
            & (self.from_leaf >= 0)
            & (self.to_leaf >= 0)
        )

    @property
    def within(self) -> Mask:
        """The pairs known to be of two hosts at one switch, as a mask."""
        return np.asarray((self.from_leaf == self.to_leaf) & (self.from_leaf >= 0))

    @property
    def scanned_on_cables(self) -> Numbers:
        """The number of scanned pairs that cross each cable."""
        crossed = self.arcs[~np.isnan(self.evidence.scan)] // 2
        return np.bincount(crossed[crossed >= 0], minlength=len(self.known.cables))

    @property
    def own(self) -> Array:
        """The rate that pairs have alone, by their nodes and their cables, as logarithms of the fastest
        kind's."""
        return np.asarray(self.evidence.of_pair + self.of_cable)

    def shared(self, pair: Numbers, number: Numbers) -> tuple[Array, Array]:
        """Return the number of pairs on each arc of each flow, and the expected rates, as logarithms.

        A round with an unknown route has no expectation.

        :param pair: of each flow; :param number: of its round.
        """
        evidence, known, arcs = self.evidence, self.known, self.arcs[pair]
        numbers, round_ = np.unique(number, return_inverse=True)
        sides = 2 * evidence.ranks
        # Sending sides, receiving sides, arcs, and one of infinite capacity.
        capacity = np.ones(sides + len(known.starts) + 1)
        routes = np.column_stack(
            (
                evidence.sender[pair],
                evidence.ranks + evidence.receiver[pair],
                np.where(arcs >= 0, arcs + sides, len(capacity) - 1),
            )
        )
        of_host = np.ones(evidence.ranks)
        if known.host_rates is not None:
            of_hosts = np.append(np.minimum(known.host_rates, 1.0), 1.0)
            of_host = of_hosts[self.position]
        capacity[:sides] = np.tile(np.exp(evidence.of_kind) * of_host, 2)
        capacity[sides:-1] = known.rates if known.rates is not None else 1.0
        capacity[-1] = np.inf
        rates, loads = of_rounds(routes, capacity, round_)
        is_unknown = np.zeros(len(numbers), dtype=bool)
        is_unknown[round_[arcs[:, 0] == UNKNOWN]] = True
        expected = np.log(rates) - evidence.of_pair[pair] - self.of_cable[pair]
        return np.log(loads[:, 2:]), np.where(is_unknown[round_], np.nan, expected)

    def headroom(self) -> Array:
        """Return how much less than each arc carries the pairs of its route have alone: pairs x places.

        A pair of slower nodes, or with a slower cable elsewhere, does not fill it. Unused places have 0.
        """
        if self.known.rates is None:
            return np.zeros(self.arcs.shape)
        rates = np.append(np.log(self.known.rates), (0.0, 0.0))[self.arcs]
        return np.where(self.arcs >= 0, rates - self.own[:, None], 0.0)

    def least_headroom(self, headroom: Array) -> Array:
        """Return by arc the headroom of the pair that has the least; infinite without any pair."""
        least = np.full(len(self.known.starts), np.inf)
        there = self.arcs >= 0
        np.minimum.at(least, self.arcs[there], headroom[there])
        return least

    @property
    def crossings(self) -> pl.DataFrame:
        """A row for each arc of each pair of the scan with an expectation, if others shared it: both rates,
        as shares of what it has alone, and that, as a share of what the fastest kind has."""
        evidence = self.evidence
        pair = np.arange(len(evidence.scan))
        shared = self.sharing, self.expected
        return self._crossings(pair, evidence.round, evidence.scan, shared)

    @property
    def crossings_again(self) -> pl.DataFrame:
        """The same of suspects that were measured again while others ran, by the time of their round."""
        series, (again, sharing, expected) = self.evidence.series, self.again
        when, rate = series.when[again], series.rate[again]
        return self._crossings(series.pair[again], when, rate, (sharing, expected))

    @cached_property
    def again(self) -> tuple[Numbers, Array, Array]:
        """The positions of these measurements in the series, with what :meth:`shared` has of them."""
        series = self.evidence.series
        is_again = ~series.alone & (series.when >= self.evidence.rounds[0])
        again = np.flatnonzero(is_again)
        return again, *self.shared(series.pair[again], series.when[again])

    def _crossings(
        self, pair: Numbers, round_: Numbers, rate: Array, shared: tuple[Array, Array]
    ) -> pl.DataFrame:
        sharing, expected = shared
        there = ~np.isnan(expected) & ~np.isnan(rate)
        flow, place = np.nonzero((sharing > 0) & there[:, None])
        pairs = pair[flow]
        columns = {
            "arc": self.arcs[pairs, place],
            "pair": pairs,
            "round": round_[flow],
            "rate": np.exp(rate[flow]),
            "expected": np.exp(expected[flow]),
            "of_kind": np.exp(self.own[pairs]),
        }
        return pl.DataFrame(columns)


def beyond_cables(output: RotateOutput, known: FabricMap | None) -> RotateOutput:
    """Return a run with the rates that its pairs would have if all links were as fast as most hosts' ones.

    Hosts, a leaf or a spine of an older generation are no fault; a cable at half of its own rate is one.
    """
    if known is None or known.rates is None or not known.has_routes:
        return output
    position, _ = names.positions(output.hosts, known.hosts)
    phases = {}
    for phase, part in output.phases.items():
        ends = position[part.sender], position[part.receiver]
        shares = of_cables(known, _arcs(known, ends, both_ways=output.both_ways), *ends)
        slowest = None if part.slowest_MBps is None else part.slowest_MBps / shares
        phases[phase] = replace(part, MBps=part.MBps / shares, slowest_MBps=slowest)
    return replace(output, phases=phases)


def on_map(
    evidence: Evidence,
    hosts: Sequence[str],
    known: FabricMap | None,
    labels: Sequence[str] = (),
) -> MappedEvidence:
    """Put the evidence of a run on a map of its fabric.

    :param evidence: of the run :func:`beyond_cables` of the map.
    :param hosts: the host name of each rank. :param labels: the same with its adapter, as in ``n02 mlx5_1``,
        if ranks are adapters.
    """
    known, labels = known or UNMAPPED, labels or hosts
    position, missing = names.positions(labels, known.hosts)
    if (position < 0).all():  # as where the adapters that were used are not known
        known = replace(known, next=None)
    # The last one, at -1, is that of unknown hosts.
    leaf = np.append(known.at, NONE)[position]
    ports = np.zeros(len(known.hosts)) if known.ports is None else known.ports
    port = np.append(ports, 0).astype(np.int64)[position]
    ends = position[evidence.sender], position[evidence.receiver]
    arcs = _arcs(known, ends, both_ways=evidence.both_ways)
    of_cable = np.log(of_cables(known, arcs, *ends))
    nothing = np.full(len(arcs), np.nan)
    mapped = MappedEvidence(
        evidence,
        known,
        missing,
        position,
        leaf,
        port,
        leaf[evidence.sender],
        leaf[evidence.receiver],
        arcs,
        of_cable,
        np.zeros(arcs.shape),
        nothing,
        nothing,
        np.nan,
        tuple(hosts),
        tuple(labels),
    )
    # Ranks that share a host share its link, too, unless each is an adapter.
    links = {
        host if at == NONE else at
        for host, at in zip(hosts, position.tolist(), strict=True)
    }
    if known.has_routes and len(links) == len(hosts):
        return _with_expected(mapped)
    return mapped


def _with_expected(mapped: MappedEvidence) -> MappedEvidence:
    """Return the evidence with what pairs shared in the scan, and with what they should reach."""
    round_ = mapped.evidence.round
    if not len(scanned := np.flatnonzero(round_ >= 0)):
        return mapped
    sharing, expected = mapped.sharing.copy(), mapped.expected.copy()
    round_ = round_[scanned]
    sharing[scanned], of_scan = mapped.shared(scanned, round_)
    # A round has to be complete: a pair that was measured twice counts once only.
    count = np.bincount(round_)
    expected[scanned] = np.where(count[round_] == count.max(), of_scan, np.nan)
    rest, of_rest = _rest(mapped.evidence.scan - expected)
    return replace(
        mapped, sharing=sharing, expected=expected, rest=rest, of_rest=of_rest
    )


def _arcs(
    known: FabricMap, ends: tuple[Numbers, Numbers], *, both_ways: bool
) -> NDArray[np.int32]:
    """Return the arcs of routes between hosts by position, of both directions where rates are of both."""
    arcs = arcs_of(known, *ends)
    return np.hstack((arcs, arcs_of(known, *ends[::-1]))) if both_ways else arcs


def _rest(beyond: Array) -> tuple[Array, float]:
    """Return the rates beyond the expectation, and their spread; NaN where the expectation does not fit."""
    there = beyond[~np.isnan(beyond)]
    if len(there) >= SETTINGS.fewest_corrected:
        middle, spread = float(np.median(there)), float(deviation(there))
        off = np.abs(there - middle) > max(4 * spread, 0.06)
        if spread <= SETTINGS.most_rest and off.mean() <= SETTINGS.most_off:
            return beyond - middle, max(spread, SETTINGS.least_spread)
    return np.full(len(beyond), np.nan), np.nan


def candidates(mapped: MappedEvidence, slow: Numbers) -> list[Part]:
    """Return the parts that slow pairs, given by their positions, pass through, each once."""
    found: dict[tuple[str, tuple[int, ...]], Part] = {}
    has_bundles = mapped.known.is_static and not mapped.known.has_routes
    for part in (
        *_of_ranks(mapped, slow),
        *_switches(mapped, slow),
        *(_bundles(mapped, slow) if has_bundles else ()),
    ):
        found.setdefault((part.kind, part.key), part)
    usable = [
        part
        for part in found.values()
        if not (mapped.evidence.both_ways and part.kind in ONE_WAY)
    ]
    # Of both directions at once the slower one is the rate of a pair, whatever the other does.
    at_once = [
        replace(part, ways=None)
        for part in usable
        if part.ways is not None and (part.ways < 1).any()
    ]
    return usable + at_once


def of_ranks(kind: str, key: tuple[int, ...], sides: Sequence[Numbers]) -> Part:
    """Return the part of all pairs that have some ranks at one of their ends; :param sides: these ends."""
    return _of_mask(kind, key, np.any([np.isin(side, key) for side in sides], axis=0))


def _of_mask(kind: str, key: tuple[int, ...], mask: Mask, choices: int = 0) -> Part:
    """Return a part that no two pairs of a round share.

    :param mask: of its pairs; :param choices: the number of routes that were chosen for it.
    """
    pairs, price = np.flatnonzero(mask), SETTINGS.price_of_choice * choices
    return Part(kind, key, PRICE[kind] + price, pairs, np.zeros(len(pairs)))


def _grouped(
    kind: str,
    number: NDArray[np.integer],
    wanted: NDArray[np.integer],
    mapped: MappedEvidence | None = None,
) -> Iterator[Part]:
    """Yield a part for each wanted number, with the pairs that have it. All are sorted at once: for each part
    a mask of all pairs takes as long as they are many.

    :param number: pairs x places; :param wanted: ascending.
    :param mapped: if the places are the arcs of routes, once or several times: for what pairs share there.
    """
    if not len(wanted):
        return
    pair, place = np.nonzero(np.isin(number, wanted))
    own = number[pair, place]
    order = np.argsort(own, kind="stable")
    of_each = np.split(order, np.searchsorted(own[order], wanted[1:]))
    for key, entries in zip(wanted.tolist(), of_each, strict=True):
        pairs, first = np.unique(pair[entries], return_index=True)
        sharing, ways = np.zeros(len(pairs)), None
        if mapped is not None and len(pairs):
            arcs = place[entries] % mapped.arcs.shape[1]
            sharing = np.maximum.reduceat(mapped.sharing[pair[entries], arcs], first)
            ways = _ways(mapped, arcs, first) if mapped.evidence.both_ways else None
        yield Part(kind, (key,), PRICE[kind], pairs, sharing, ways)


def _ways(mapped: MappedEvidence, arcs: Numbers, first: Numbers) -> Array:
    """Return the share of the directions of each pair that some of its arcs are of.

    :param first: positions of the first arc of each pair.
    """
    is_back = arcs >= mapped.arcs.shape[1] // 2
    of_each = [np.logical_or.reduceat(side, first) for side in (is_back, ~is_back)]
    return np.asarray(np.mean(of_each, axis=0))


def _of_ranks(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the slow pairs, the nodes at their ends, and what several GPUs or adapters have in common: a
    host,
    an adapter, a rail."""
    evidence, ranks = mapped.evidence, np.arange(mapped.evidence.ranks)
    ends = np.column_stack((evidence.sender, evidence.receiver))
    both = np.sort(ends, axis=1) if evidence.both_ways else ends
    pair = both[:, :1] * len(ranks) + both[:, 1:]
    for part in _grouped("pair", pair, np.unique(pair[slow])):
        yield replace(part, key=divmod(part.key[0], len(ranks)))
    for kind, sides in {
        "sender": ends[:, :1],
        "receiver": ends[:, 1:],
        "node": ends,
    }.items():
        yield from _grouped(kind, sides, np.unique(sides[slow]))
    for kind, group in {
        "host": evidence.host,
        "adapter": ranks // evidence.share,
        "rail": ranks % evidence.rails,
    }.items():
        count = np.bincount(group)
        several = np.flatnonzero((count > 1) & (count < len(ranks)))
        wanted = np.intersect1d(group[ends[slow]], several)
        for part in _grouped(kind, group[ends], wanted) if len(wanted) else ():
            yield replace(part, key=tuple(ranks[group == part.key[0]].tolist()))


def _switches(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the switches, all cables out of those of hosts or into them, and the cables that slow pairs pass
    through.

    With known routes this includes traffic between other switches that passes through, as in a dragonfly.
    """
    known, arcs = mapped.known, mapped.arcs
    at_ends = np.column_stack((mapped.from_leaf, mapped.to_leaf))
    # The switches at the start and the end of each arc; the two last, at -1 and -2, stand for no arc.
    lost = (arcs[:, :1] == UNKNOWN) & mapped.across[:, None]
    left, reached = (
        np.where(lost, at_ends[:, [end]], np.append(side, (NONE, NONE))[arcs])
        for end, side in enumerate((known.starts, known.ends))
    )
    passed = np.hstack((left, reached))
    leaves = mapped.leaf[mapped.leaf >= 0]
    of_slow = np.intersect1d(np.hstack((at_ends, passed))[slow], leaves)
    parts = [
        *_grouped("leaf out", left, of_slow, mapped),
        *_grouped("leaf in", reached, of_slow, mapped),
        *_grouped("leaf", passed, of_slow, mapped),
        *_grouped("switch", np.hstack((at_ends, passed)), of_slow),
    ]
    yield from sorted(parts, key=lambda part: part.key)
    if known.has_routes:
        above = np.setdiff1d(reached[slow], [*leaves, NONE])
        arcs = _filled(mapped)
        on = np.unique(arcs[slow])
        on = on[on >= 0]
        yield from _grouped("arc", arcs, on, mapped)
        yield from _grouped("cable", arcs // 2, np.unique(on // 2), mapped)
        yield from _grouped("switch", passed, above, mapped)


def _filled(mapped: MappedEvidence) -> NDArray[np.int32]:
    """Return the arcs of routes without those that a pair fills less than others do: a cable that carries
    less does not slow it."""
    if mapped.known.rates is None:
        return mapped.arcs
    headroom = mapped.headroom()
    least = np.append(mapped.least_headroom(headroom), (0.0, 0.0))[mapped.arcs]
    is_filled = headroom <= least + SETTINGS.more_headroom
    return np.where(is_filled, mapped.arcs, NONE)


def _bundles(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the parts that slow pairs have in common where switches are known and routes are not.

    Switches forward by destination: traffic from the hosts of one leaf to one host takes one route, a
    *bundle*. A cable out of a leaf has bundles that begin there, one into a leaf has bundles that end there,
    and a switch above has bundles of many leaves. The slow pairs show which bundles these are. With other
    than static routing there are none.
    """
    across, size = mapped.across, mapped.evidence.ranks
    from_leaf, to_leaf, receiver = (
        mapped.from_leaf,
        mapped.to_leaf,
        mapped.evidence.receiver,
    )
    bundle = np.where(across, from_leaf * size + receiver, NONE)
    chosen = _slow_bundles(mapped, bundle, slow)
    starts, targets = np.divmod(chosen, size)
    ends = mapped.leaf[targets]
    leaving = np.isin(bundle, chosen)
    towards = across & np.isin(receiver, targets)
    for leaf in np.union1d(starts, ends).tolist():
        out = leaf, *targets[starts == leaf].tolist()
        into = leaf, *np.unique(targets[ends == leaf]).tolist()
        of_out, of_into = leaving & (from_leaf == leaf), towards & (to_leaf == leaf)
        if len(out) > 1:
            yield _of_mask("uplink", out, of_out, len(out) - 1)
        if len(into) > 1:
            yield _of_mask("downlink", into, of_into, len(into) - 1)
        if min(len(out), len(into)) > 1:
            choices = len(out) + len(into) - 2
            yield _of_mask("link", into, of_out | of_into, choices)
    for start, end in np.unique(np.column_stack((starts, ends)), axis=0).tolist():
        mask = across & (from_leaf == start) & (to_leaf == end)
        yield _of_mask("leaf pair", (start, end), mask)
    if len(np.unique(ends)) > 1 and len(np.unique(starts)) > 1:
        several = np.unique(targets)
        yield _of_mask("above", tuple(several.tolist()), towards, len(several))
        yield _of_mask("group", tuple(chosen.tolist()), leaving, len(chosen))


def _slow_bundles(mapped: MappedEvidence, bundle: Numbers, slow: Numbers) -> Numbers:
    """Return the bundles of slow pairs, without the healthy ones, of which most pairs are known to be
    fast."""
    evidence = mapped.evidence
    best = np.fmax(evidence.bound, evidence.alone)
    is_of_slow = (bundle >= 0) & np.isin(bundle, bundle[slow])
    least = -2 * max(evidence.noise.scan, 0.02)
    table = pl.DataFrame({"bundle": bundle[is_of_slow], "best": best[is_of_slow]})
    rates = table.group_by("bundle").median()
    is_slow = rates.filter(pl.col("best") <= least)
    return is_slow["bundle"].sort().to_numpy()
