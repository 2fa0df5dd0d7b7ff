# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a fabric that may be at fault, each with the measured pairs that pass through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis.max_min import max_min
from fabric_checks.diagnosis.cross_section.evidence import Evidence, Numbers
from fabric_checks.diagnosis.cross_section.noise import Array, deviation
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.fabric_map import names
from fabric_checks.diagnosis.fabric_map.model import (
    NONE,
    UNKNOWN,
    UNMAPPED,
    FabricMap,
    arcs_of,
)

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
    13.0: ("above", "pair"),
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

    :param known: the map, :data:`fabric_checks.diagnosis.fabric_map.model.UNMAPPED` without one.
    :param missing: the names of hosts that are not on it. :param nodes: the host of each rank.
    :param leaf: the switch of each rank; :param from_leaf: of each pair's sender; :param to_leaf: of its
        receiver.
    :param arcs: of each pair's route, see :func:`fabric_checks.diagnosis.fabric_map.model.arcs_of`; where a
        rate is of both directions, of one and then of the other.
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
    from_leaf: Numbers
    to_leaf: Numbers
    arcs: NDArray[np.int32]
    sharing: Array
    expected: Array
    rest: Array
    of_rest: float
    nodes: tuple[str, ...]

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


def on_map(
    evidence: Evidence,
    hosts: Sequence[str],
    known: FabricMap | None,
    labels: Sequence[str] = (),
) -> MappedEvidence:
    """Put the evidence of a run on a map of its fabric.

    :param hosts: the host name of each rank. :param labels: the same with its adapter, as in ``n02 mlx5_1``,
        if ranks are adapters.
    """
    known = known or UNMAPPED
    position, missing = names.positions(labels or hosts, known.hosts)
    if (position < 0).all():  # as where the adapters that were used are not known
        known = replace(known, next=None)
    leaf = (
        np.where(position >= 0, known.at[np.maximum(position, 0)], NONE)
        if len(known.hosts)
        else position
    )
    ends = np.vstack((position[evidence.sender], position[evidence.receiver]))
    ends = np.hstack((ends, ends[::-1])) if evidence.both_ways else ends
    arcs = np.hstack(np.split(arcs_of(known, *ends), 1 + evidence.both_ways))
    sharing, expected = np.zeros(arcs.shape), np.full(len(arcs), np.nan)
    # Ranks that share a host share its link, too, unless each is an adapter.
    links = {
        host if at == NONE else at
        for host, at in zip(hosts, position.tolist(), strict=True)
    }
    if known.has_routes and len(links) == len(hosts) and (evidence.round >= 0).any():
        sharing, expected = _shared(evidence, known, arcs)
    rest, of_rest = _rest(evidence.scan - expected)
    from_leaf, to_leaf = leaf[evidence.sender], leaf[evidence.receiver]
    return MappedEvidence(
        evidence,
        known,
        missing,
        leaf,
        from_leaf,
        to_leaf,
        arcs,
        sharing,
        expected,
        rest,
        of_rest,
        tuple(hosts),
    )


def _shared(
    evidence: Evidence, known: FabricMap, arcs: NDArray[np.int32]
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
    routes += round_[:, None] * size
    capacity = np.ones(size)
    capacity[: 2 * ranks] = np.exp(np.tile(evidence.of_kind, 2))
    capacity[2 * ranks : -1] = known.rates if known.rates is not None else 1.0
    capacity[-1] = np.inf
    rates = max_min(routes, np.tile(capacity, len(numbers)))
    usable = np.ones(len(numbers), dtype=bool)
    usable[round_[own[:, 0] == UNKNOWN]] = False
    # A round has to be complete: a pair that was measured twice counts once only.
    pairs_of_round = np.bincount(round_, minlength=len(numbers))
    usable &= pairs_of_round == pairs_of_round.max()
    expected[scanned[usable[round_]]] = np.log(rates[usable[round_]])
    expected -= evidence.of_pair
    loads = np.bincount(routes.ravel(), minlength=size * len(numbers))[routes[:, 2:]]
    sharing[scanned] = np.where(own >= 0, np.log(loads), 0.0)
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
    for parts in (_nodes, _devices, _switches, _bundles):
        for part in parts(mapped, slow):
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


def part_of(kind: str, key: tuple[int, ...], mask: Mask, choices: int = 0) -> Part:
    """Return a part that no two pairs of a round share.

    :param mask: of its pairs; :param choices: the number of routes that were chosen for it.
    """
    pairs = np.flatnonzero(mask)
    return Part(
        kind,
        key,
        PRICE[kind] + SETTINGS.price_of_choice * choices,
        pairs,
        np.zeros(len(pairs)),
    )


def of_ranks(kind: str, key: tuple[int, ...], sides: Sequence[Numbers]) -> Part:
    """Return the part of all pairs that have some ranks at one of their ends; :param sides: these ends."""
    return part_of(kind, key, np.any([np.isin(side, key) for side in sides], axis=0))


def _through(
    kind: str, key: tuple[int, ...], mapped: MappedEvidence, which: Mask
) -> Part:
    """Return a part that is made of arcs; ``which``: pairs x arcs of their routes."""
    ways = (
        which.reshape(len(which), 1 + mapped.evidence.both_ways, -1)
        .any(axis=2)
        .mean(axis=1)
    )
    pairs = np.flatnonzero(ways)
    sharing = np.where(which, mapped.sharing, 0.0).max(axis=1)[pairs]
    return Part(
        kind,
        key,
        PRICE[kind],
        pairs,
        sharing,
        ways[pairs] if mapped.evidence.both_ways else None,
    )


def _nodes(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the slow pairs, and the nodes at their ends."""
    evidence = mapped.evidence
    sender, receiver = evidence.sender, evidence.receiver
    for pair in slow:
        ends, both = (int(sender[pair]), int(receiver[pair])), np.array([pair])
        if evidence.both_ways:
            ends = min(ends), max(ends)
            both = np.flatnonzero(np.isin(sender, ends) & np.isin(receiver, ends))
        yield Part("pair", ends, PRICE["pair"], both, np.zeros(len(both)))
    for kind, sides in {
        "sender": (sender,),
        "receiver": (receiver,),
        "node": (sender, receiver),
    }.items():
        for rank in np.unique([side[slow] for side in sides]).tolist():
            yield of_ranks(kind, (rank,), sides)


def _devices(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield what several GPUs or adapters have in common: a host, an adapter, a rail."""
    evidence, ranks = mapped.evidence, np.arange(mapped.evidence.ranks)
    ends = evidence.sender, evidence.receiver
    groups = {
        "host": evidence.host,
        "adapter": ranks // evidence.share,
        "rail": ranks % evidence.rails,
    }
    is_there = evidence.nodes < evidence.ranks, evidence.share > 1, evidence.rails > 1
    for (kind, group), there in zip(groups.items(), is_there, strict=True):
        for number in np.unique([group[side[slow]] for side in ends]) if there else ():
            own = tuple(ranks[group == number].tolist())
            if len(own) > 1:
                yield of_ranks(kind, own, ends)


def _switches(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the switches, all cables out of those of hosts or into them, and the cables that slow pairs pass
    through.

    With known routes this includes traffic between other switches that passes through, as in a dragonfly.
    """
    known, arcs, from_leaf, to_leaf = (
        mapped.known,
        mapped.arcs,
        mapped.from_leaf,
        mapped.to_leaf,
    )
    # The switches at the start and the end of each arc; the two last, at -1 and -2, stand for no arc.
    left, reached = (
        np.append(side, (NONE, NONE))[arcs] for side in (known.starts, known.ends)
    )
    lost = (arcs[:, :1] == UNKNOWN) & mapped.across[:, None]
    leaves = mapped.leaf[mapped.leaf >= 0]
    passed = np.column_stack((from_leaf, to_leaf, left, reached))[slow]
    for leaf in np.intersect1d(passed, leaves).tolist():
        starts, ends = from_leaf == leaf, to_leaf == leaf
        out, into = (
            (left == leaf) | (lost & starts[:, None]),
            (reached == leaf) | (lost & ends[:, None]),
        )
        yield _through("leaf out", (leaf,), mapped, out)
        yield _through("leaf in", (leaf,), mapped, into)
        yield _through("leaf", (leaf,), mapped, out | into)
        yield part_of("switch", (leaf,), starts | ends | (out | into).any(axis=1))
    if not known.has_routes:
        return
    on = np.unique(arcs[slow][arcs[slow] >= 0])
    for arc in on.tolist():
        yield _through("arc", (arc,), mapped, arcs == arc)
    for cable in np.unique(on // 2).tolist():
        yield _through("cable", (cable,), mapped, arcs // 2 == cable)
    for switch in np.setdiff1d(reached[slow], [*leaves, NONE]).tolist():
        yield _through(
            "switch", (switch,), mapped, (reached == switch) | (left == switch)
        )


def _bundles(mapped: MappedEvidence, slow: Numbers) -> Iterator[Part]:
    """Yield the parts that slow pairs have in common where switches are known and routes are not.

    Switches forward by destination: traffic from the hosts of one leaf to one host takes one route, a
    *bundle*. A cable out of a leaf has bundles that begin there, one into a leaf has bundles that end there,
    and a switch above has bundles of many leaves. The slow pairs show which bundles these are. With other
    than static routing there are none.
    """
    if mapped.known.has_routes or not mapped.known.is_static:
        return
    evidence, across, size = mapped.evidence, mapped.across, mapped.evidence.ranks
    bundle = np.where(across, mapped.from_leaf * size + evidence.receiver, NONE)
    # Of a healthy bundle most pairs are known to be fast.
    best, least = (
        np.fmax(evidence.bound, evidence.alone),
        -2 * max(evidence.noise.scan, 0.02),
    )
    chosen = np.unique(bundle[slow])
    chosen = chosen[
        [each >= 0 and np.median(best[bundle == each]) <= least for each in chosen]
    ]
    if not len(chosen):
        return
    starts, targets = chosen // size, chosen % size
    ends = mapped.leaf[targets]
    for leaf in np.union1d(starts, ends).tolist():
        out, into = chosen[starts == leaf], np.unique(targets[ends == leaf])
        leaving, entering = (
            np.isin(bundle, out),
            across & np.isin(evidence.receiver, into),
        )
        if len(out):
            yield part_of("uplink", (leaf, *(out % size).tolist()), leaving, len(out))
        if len(into):
            yield part_of("downlink", (leaf, *into.tolist()), entering, len(into))
        if len(out) and len(into):
            yield part_of(
                "link", (leaf, *into.tolist()), leaving | entering, len(out) + len(into)
            )
    for start, end in np.unique(np.column_stack((starts, ends)), axis=0).tolist():
        mask = across & (mapped.from_leaf == start) & (mapped.to_leaf == end)
        yield part_of("leaf pair", (start, end), mask)
    several = np.unique(targets)
    if len(np.unique(ends)) > 1 and len(np.unique(starts)) > 1:
        towards = across & np.isin(evidence.receiver, several)
        yield part_of("above", tuple(several.tolist()), towards, len(several))
        yield part_of(
            "above", (NONE, *chosen.tolist()), np.isin(bundle, chosen), len(chosen)
        )
