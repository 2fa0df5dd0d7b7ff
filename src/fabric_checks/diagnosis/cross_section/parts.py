# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a fabric that may be at fault, each with the measured pairs that pass through it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section.evidence import LEAST_SPREAD, Array, Evidence, Numbers
from fabric_checks.diagnosis.fabric_map import names
from fabric_checks.diagnosis.fabric_map.model import NONE, UNKNOWN, FabricMap, arcs_of
from fabric_checks.diagnosis.fabric_map.sharing import loads, max_min

Mask = NDArray[np.bool_]

#: The cost of blaming a part, in units of a squared standard error: a fault is rare, and two are rarer. Parts that are
#: composed of slow pairs cost more, by OF_CHOICE for each route that was chosen for them.
PRICE = {
    "sender": 10.0,
    "receiver": 10.0,
    "node": 11.0,
    "arc": 10.0,
    "cable": 11.0,
    "switch": 11.5,
    "leaf out": 11.0,
    "leaf in": 11.0,
    "leaf": 11.5,
    "leaf pair": 12.0,
    "uplink": 11.5,
    "downlink": 11.5,
    "link": 12.5,
    "above": 13.0,
    "pair": 13.0,
}
OF_CHOICE = 0.7
#: The fewest slow pairs for which a part other than a pair is blamed.
FEWEST_PAIRS = 2
#: The expectation for the scan, by what pairs share, is used if at least so many pairs fit it, ...
FEWEST_CORRECTED = 24
#: ... except for this share, which may be slow or disturbed, ...
MOST_OFF = 0.3
#: ... within this standard deviation of logarithms.
MOST_REST = 0.12


@dataclass(frozen=True)
class Part:
    """One part, or several that are only slow together.

    :param kind: a key of :data:`PRICE`; :param key: its identifier within its kind.
    :param price: the cost of blaming it.
    :param pairs: positions of the pairs that pass through it, among those of the evidence.
    :param sharing: the number of pairs on it in the round of each of them in the scan, as logarithms.
    """

    kind: str
    key: tuple[int, ...]
    price: float
    pairs: Numbers
    sharing: Array


@dataclass(frozen=True)
class Ground:
    """The evidence on the map of the fabric.

    :param known: the map, or None.
    :param place: the host of each rank on the map; :param missing: the names of hosts that are not on it.
    :param leaf: the switch of each rank; :param from_leaf: of each pair's sender; :param to_leaf: of its receiver.
    :param arcs: of each pair's route, see :func:`fabric_checks.diagnosis.fabric_map.model.arcs_of`.
    :param sharing: the number of pairs on each of these arcs at once in the scan, as logarithms.
    :param expected: the expected rate of each pair in the scan, by what it shared, as the logarithm of a share of its
        rate alone; NaN where it is unknown.
    :param rest: the measured rate beyond that, as a logarithm; NaN where it is unknown, or the expectation is wrong.
    :param of_rest: the standard deviation of ``rest`` for healthy pairs; NaN without any.
    """

    evidence: Evidence
    known: FabricMap | None
    place: Numbers
    missing: tuple[str, ...]
    leaf: Numbers
    from_leaf: Numbers
    to_leaf: Numbers
    arcs: NDArray[np.int32]
    sharing: Array
    expected: Array
    rest: Array
    of_rest: float

    @property
    def corrected(self) -> bool:
        """Whether the scan can be corrected for sharing."""
        return not np.isnan(self.of_rest)

    @property
    def across(self) -> Mask:
        """The pairs known to be of hosts at two switches, as a mask."""
        found: Mask = (self.from_leaf != self.to_leaf) & (self.from_leaf >= 0) & (self.to_leaf >= 0)
        return found

    @property
    def within(self) -> Mask:
        """The pairs known to be of two hosts at one switch, as a mask."""
        found: Mask = (self.from_leaf == self.to_leaf) & (self.from_leaf >= 0)
        return found


def lay(evidence: Evidence, hosts: Sequence[str], known: FabricMap | None) -> Ground:
    """Put the evidence of a run on a map of its fabric.

    :param hosts: the host name of each rank.
    """
    count = len(evidence.sender)
    unknown = np.full(count, np.nan)
    if known is None:
        nowhere, none = np.full(len(hosts), NONE, dtype=np.int64), np.full(count, NONE, dtype=np.int64)
        arcs = np.full((count, 1), -2, dtype=np.int32)
        return Ground(
            evidence, None, nowhere, (), nowhere, none, none, arcs, np.zeros(arcs.shape), unknown, unknown, np.nan
        )
    place, missing = names.places(hosts, known.hosts)
    leaf = np.where(place >= 0, known.at[np.maximum(place, 0)], NONE) if len(known.hosts) else place
    arcs = arcs_of(known, place[evidence.sender], place[evidence.receiver])
    if len(set(hosts)) == len(hosts):
        sharing, expected = _shared(evidence, known, arcs)
    else:  # ranks that share a host share its link, too
        sharing, expected = np.zeros(arcs.shape), unknown
    rest, of_rest = _rest(evidence.scan - expected)
    return Ground(
        evidence,
        known,
        place,
        missing,
        leaf,
        leaf[evidence.sender],
        leaf[evidence.receiver],
        arcs,
        sharing,
        expected,
        rest,
        of_rest,
    )


def _shared(evidence: Evidence, known: FabricMap, arcs: NDArray[np.int32]) -> tuple[Array, Array]:
    """Return the number of pairs on each arc of each pair in the scan, and the expected rates, as logarithms.

    A round with an unknown route has no expectation.
    """
    sharing, expected = np.zeros(arcs.shape), np.full(len(arcs), np.nan)
    scanned = np.flatnonzero(evidence.round >= 0)
    if not known.has_routes or not len(scanned):
        return sharing, expected
    numbers, place = np.unique(evidence.round[scanned], return_inverse=True)
    ranks, own = evidence.ranks, arcs[scanned].astype(np.int64)
    each = 2 * ranks + len(known.starts) + 1
    # Sending sides, receiving sides, arcs, and one of infinite capacity.
    ways = np.column_stack(
        (evidence.sender[scanned], ranks + evidence.receiver[scanned], np.where(own >= 0, own + 2 * ranks, each - 1))
    )
    ways += place[:, None] * each
    capacity = np.ones(each)
    capacity[2 * ranks : -1] = known.rates if known.rates is not None else 1.0
    capacity[-1] = np.inf
    rates = max_min(ways, np.tile(capacity, len(numbers)))
    whole = np.ones(len(numbers), dtype=bool)
    whole[place[own[:, 0] == UNKNOWN]] = False
    # A round has to be complete: a pair that was measured twice counts once only.
    counted = np.bincount(place, minlength=len(numbers))
    whole &= counted == counted.max()
    usable = whole[place]
    expected[scanned[usable]] = np.log(rates[usable])
    sharing[scanned] = np.where(own >= 0, np.log(loads(ways, each * len(numbers))[:, 2:]), 0.0)
    return sharing, expected


def _rest(beyond: Array) -> tuple[Array, float]:
    """Return the rates beyond the expectation, and their spread; NaN where the expectation does not fit."""
    there = beyond[~np.isnan(beyond)]
    if len(there) < FEWEST_CORRECTED:
        return np.full(len(beyond), np.nan), np.nan
    middle = float(np.median(there))
    spread = 1.4826 * float(np.median(np.abs(there - middle)))
    off = np.abs(there - middle) > max(4 * spread, 0.06)
    if spread > MOST_REST or off.mean() > MOST_OFF:
        return np.full(len(beyond), np.nan), np.nan
    return beyond - middle, max(spread, LEAST_SPREAD)


def candidates(ground: Ground, slow: Numbers) -> list[Part]:
    """Return the parts that the slow pairs pass through, each once.

    :param slow: positions of the slow pairs.
    """
    found: dict[tuple[str, tuple[int, ...]], Part] = {}
    for part in (*_nodes(ground, slow), *_switches(ground, slow), *_ways(ground, slow), *_bundles(ground, slow)):
        found.setdefault((part.kind, part.key), part)
    return list(found.values())


def _part(kind: str, key: tuple[int, ...], mask: Mask, choices: int = 0, sharing: Array | None = None) -> Part:
    """Return a part.

    :param mask: of its pairs; :param choices: the number of routes that were chosen for it.
    :param sharing: of all pairs; without it no two share the part.
    """
    pairs = np.flatnonzero(mask)
    of_pairs = np.zeros(len(pairs)) if sharing is None else sharing[pairs]
    return Part(kind, key, PRICE[kind] + OF_CHOICE * choices, pairs, of_pairs)


def _through(kind: str, key: tuple[int, ...], ground: Ground, which: Mask) -> Part:
    """Return a part that is made of arcs; ``which``: pairs x arcs of their routes."""
    sharing = np.where(which, ground.sharing, 0.0).max(axis=1)
    return _part(kind, key, np.asarray(which.any(axis=1)), sharing=sharing)


def _nodes(ground: Ground, slow: Numbers) -> Iterator[Part]:
    evidence = ground.evidence
    for pair in slow:
        key = (int(evidence.sender[pair]), int(evidence.receiver[pair]))
        yield Part("pair", key, PRICE["pair"], np.array([pair]), np.zeros(1))
    senders, receivers = np.unique(evidence.sender[slow]), np.unique(evidence.receiver[slow])
    for rank in senders:
        yield _part("sender", (int(rank),), evidence.sender == rank)
    for rank in receivers:
        yield _part("receiver", (int(rank),), evidence.receiver == rank)
    for rank in np.union1d(senders, receivers):
        yield _part("node", (int(rank),), (evidence.sender == rank) | (evidence.receiver == rank))


def _switches(ground: Ground, slow: Numbers) -> Iterator[Part]:
    """Yield the switches of hosts, and all cables out of them or into them.

    With known routes this includes traffic between other switches that passes through, as in a dragonfly.
    """
    if ground.known is None:
        return
    leaves = np.unique(ground.leaf[ground.leaf >= 0])
    left, reached = _ends(ground)
    lost = (ground.arcs[:, 0] == UNKNOWN) & ground.across
    there = np.concatenate((ground.from_leaf[slow], ground.to_leaf[slow], left[slow].ravel(), reached[slow].ravel()))
    for leaf in np.intersect1d(there, leaves):
        key = (int(leaf),)
        own = (ground.from_leaf == leaf) | (ground.to_leaf == leaf)
        if ground.known.has_routes:
            out, into = left == leaf, reached == leaf
            out[:, 0] |= lost & (ground.from_leaf == leaf)
            into[:, 0] |= lost & (ground.to_leaf == leaf)
            yield _through("leaf out", key, ground, out)
            yield _through("leaf in", key, ground, into)
            yield _through("leaf", key, ground, out | into)
            yield _part("switch", key, own | (out | into).any(axis=1))
        else:
            across = ground.across
            yield _part("leaf out", key, across & (ground.from_leaf == leaf))
            yield _part("leaf in", key, across & (ground.to_leaf == leaf))
            yield _part("leaf", key, across & own)
            yield _part("switch", key, own)


def _ends(ground: Ground) -> tuple[Numbers, Numbers]:
    """Return the switches at the start and the end of each arc of each pair; :data:`NONE` where there is no arc."""
    if ground.known is None or not len(ground.known.starts):
        nowhere = np.full(ground.arcs.shape, NONE, dtype=np.int64)
        return nowhere, nowhere
    present, arcs = ground.arcs >= 0, np.maximum(ground.arcs, 0)
    return (
        np.where(present, ground.known.starts[arcs], NONE),
        np.where(present, ground.known.ends[arcs], NONE),
    )


def _ways(ground: Ground, slow: Numbers) -> Iterator[Part]:
    """Yield the cables and the switches between those of the hosts that slow pairs pass through."""
    if ground.known is None or not ground.known.has_routes:
        return
    for arc in np.unique(ground.arcs[slow]):
        if arc >= 0:
            yield _through("arc", (int(arc),), ground, ground.arcs == arc)
    for cable in np.unique(ground.arcs[slow] // 2):
        if cable >= 0:
            yield _through("cable", (int(cable),), ground, ground.arcs // 2 == cable)
    left, reached = _ends(ground)
    leaves = np.unique(ground.leaf)
    for switch in np.unique(reached[slow]):
        if switch >= 0 and switch not in leaves:
            yield _through("switch", (int(switch),), ground, (reached == switch) | (left == switch))


def _bundles(ground: Ground, slow: Numbers) -> Iterator[Part]:
    """Yield the parts that slow pairs have in common where switches are known and routes are not.

    Switches forward by destination: traffic from the hosts of one leaf to one host takes one route, a *bundle*. A cable
    out of a leaf has bundles that begin there, one into a leaf has bundles that end there, and a switch above has
    bundles of many leaves. The slow pairs show which bundles these are.
    """
    if ground.known is None or ground.known.has_routes:
        return
    evidence, across, size = ground.evidence, ground.across, ground.evidence.ranks
    bundle = np.where(across, ground.from_leaf * size + evidence.receiver, NONE)
    chosen = np.unique(bundle[slow])
    chosen = chosen[chosen >= 0]
    chosen = chosen[[not _exonerated(evidence, bundle == each) for each in chosen]]
    if not len(chosen):
        return
    starts, targets = chosen // size, chosen % size
    ends = ground.leaf[targets]
    for leaf in np.union1d(starts, ends):
        out, into = chosen[starts == leaf], chosen[ends == leaf]
        whole = np.unique(into % size)
        leaving, single = np.isin(bundle, out), np.isin(bundle, into)
        entering = across & np.isin(evidence.receiver, whole)
        key = (int(leaf),)
        if len(out):
            yield _part("uplink", (*key, *map(int, out % size)), leaving, len(out))
        if len(into):
            yield _part("downlink", (*key, *map(int, whole)), entering, len(whole))
            yield _part("downlink", (*key, NONE, *map(int, into)), single, len(into))
        if len(whole) > 1:
            for target in whole:
                yield _part("downlink", (*key, int(target)), across & (evidence.receiver == target), 1)
        if len(out) and len(into):
            yield _part("link", (*key, *map(int, whole)), leaving | entering, len(out) + len(whole))
            yield _part("link", (*key, NONE, *map(int, into)), leaving | single, len(out) + len(into))
    for start, end in np.unique(np.column_stack((starts, ends)), axis=0):
        mask = across & (ground.from_leaf == start) & (ground.to_leaf == end)
        yield _part("leaf pair", (int(start), int(end)), mask)
    several = np.unique(targets)
    if len(np.unique(ends)) > 1 and len(np.unique(starts)) > 1:
        yield _part("above", tuple(map(int, several)), across & np.isin(evidence.receiver, several), len(several))
        yield _part("above", (NONE, *map(int, chosen)), np.isin(bundle, chosen), len(chosen))


def _exonerated(evidence: Evidence, mask: Mask) -> bool:
    """Return whether most pairs of a bundle are known to be fast."""
    best = np.fmax(evidence.bound[mask], evidence.alone[mask])
    return bool(np.median(best) > -2 * max(evidence.noise.scan, 0.02))
