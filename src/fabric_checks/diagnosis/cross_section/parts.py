# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a fabric that may be at fault, each with the measured pairs that pass through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.analysis.max_min import max_min
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
    def own(self) -> Array:
        """The rate that pairs have alone, by their nodes and their cables, as logarithms of the fastest
        kind's."""
        return np.asarray(self.evidence.of_pair + self.of_cable)

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
        there = ~np.isnan(self.expected) & ~np.isnan(evidence.scan)
        pair, place = np.nonzero((self.sharing > 0) & there[:, None])
        columns = {"arc": self.arcs[pair, place], "pair": pair}
        of_pairs = {
            "round": evidence.round,
            "rate": np.exp(evidence.scan),
            "expected": np.exp(self.expected),
            "of_kind": np.exp(self.own),
        }
        each = {name: values[pair] for name, values in of_pairs.items()}
        return pl.DataFrame({**columns, **each})


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
    sharing, expected = np.zeros(arcs.shape), np.full(len(arcs), np.nan)
    # Ranks that share a host share its link, too, unless each is an adapter.
    links = {
        host if at == NONE else at
        for host, at in zip(hosts, position.tolist(), strict=True)
    }
    if known.has_routes and len(links) == len(hosts) and (evidence.round >= 0).any():
        sharing, expected = _shared(evidence, known, arcs, position)
        expected -= of_cable
    rest, of_rest = _rest(evidence.scan - expected)
    from_leaf, to_leaf = leaf[evidence.sender], leaf[evidence.receiver]
    return MappedEvidence(
        evidence,
        known,
        missing,
        leaf,
        port,
        from_leaf,
        to_leaf,
        arcs,
        of_cable,
        sharing,
        expected,
        rest,
        of_rest,
        tuple(hosts),
        tuple(labels),
    )


def _arcs(
    known: FabricMap, ends: tuple[Numbers, Numbers], *, both_ways: bool
) -> NDArray[np.int32]:
    """Return the arcs of routes between hosts by position, of both directions where rates are of both."""
    arcs = arcs_of(known, *ends)
    return np.hstack((arcs, arcs_of(known, *ends[::-1]))) if both_ways else arcs


def _shared(
    evidence: Evidence,
    known: FabricMap,
    arcs: NDArray[np.int32],
    position: Numbers,
) -> tuple[Array, Array]:
    """Return the number of pairs on each arc of each pair in the scan, and the expected rates, as logarithms.

    A round with an unknown route has no expectation.
    """
    sharing, expected = np.zeros(arcs.shape), np.full(len(arcs), np.nan)
    scanned = np.flatnonzero(evidence.round >= 0)
    numbers, round_ = np.unique(evidence.round[scanned], return_inverse=True)
    ranks, own = evidence.ranks, arcs[scanned].astype(np.int64)
    size = 2 * ranks + len(known.starts) + 1
    # Sending sides, receiving sides, arcs, and one of infinite capacity; of each round.
    routes = np.column_stack(
        (
            evidence.sender[scanned],
            ranks + evidence.receiver[scanned],
            np.where(own >= 0, own + 2 * ranks, size - 1),
        )
    )
    capacity = np.ones(size)
    of_host = np.ones(ranks)
    if known.host_rates is not None:
        of_host = np.append(np.minimum(known.host_rates, 1.0), 1.0)[position]
    capacity[: 2 * ranks] = np.tile(np.exp(evidence.of_kind) * of_host, 2)
    capacity[2 * ranks : -1] = known.rates if known.rates is not None else 1.0
    capacity[-1] = np.inf
    rates = capacity[routes].min(axis=1)
    routes += round_[:, None] * size
    loads = np.bincount(routes.ravel(), minlength=size * len(numbers))
    loads[size - 1 :: size] = 1
    loads = loads[routes]
    some = (loads > 1).any(axis=1)
    rates[some] = max_min(routes[some], np.tile(capacity, len(numbers)))
    usable = np.ones(len(numbers), dtype=bool)
    usable[round_[own[:, 0] == UNKNOWN]] = False
    # A round has to be complete: a pair that was measured twice counts once only.
    pairs_of_round = np.bincount(round_, minlength=len(numbers))
    usable &= pairs_of_round == pairs_of_round.max()
    expected[scanned[usable[round_]]] = np.log(rates[usable[round_]])
    expected -= evidence.of_pair
    sharing[scanned] = np.log(loads[:, 2:])
    return sharing, expected


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
