# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of one latency map: values and findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis import group_medians as medians
from fabric_checks.analysis import latency_groups as groups
from fabric_checks.analysis.pair_matrix import MOST_PAIRS, name_of, natural
from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Severity
from fabric_checks.core.text import count_text, names_text
from fabric_checks.diagnosis import limits as of_report
from fabric_checks.diagnosis.cross_section.noise import OF_MAD, deviation
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import faults, note
from fabric_checks.diagnosis.latency_map.settings import SETTINGS
from fabric_checks.fabric_map import names
from fabric_checks.fabric_map.model import NONE, FabricMap
from fabric_checks.parsers import latency_map

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Result = TypeVar("Result")


#: The kind of note on nodes that no other is near.
LONE = "lone nodes"
_NO_LIMITS: dict[str, float | None] = {"node_us": None, "pair_us": None}


@dataclass(frozen=True)
class Report(of_report.Analysed):
    """One run of ``latency_map``, analysed.

    :param output: the output of the program.
    :param latency_us: nodes x nodes, symmetric: the median of all measurements of a pair; NaN where there is
        none.
    :param noise: of one measurement of a pair to the next, as a share.
    :param border_us: pairs below are near; None if there are no levels. :param group: of each node.
    :param findings: the deviations; :param limits: the smallest that would have been named.
    """

    output: latency_map.LatencyOutput
    latency_us: Array
    noise: float
    border_us: float | None
    group: Numbers
    findings: tuple[Finding, ...]
    limits: of_report.Limits

    @property
    def measured_us(self) -> Array:
        """The latencies of all pairs that were measured, each once."""
        values = groups.pairs(self.latency_us)
        return values[~np.isnan(values)]

    def metrics(self) -> dict[str, float]:
        """Return ``median_latency`` and ``largest_pair_latency`` of all pairs in us, and two more.

        ``latency_spread``: the 95th percentile less the 5th, in percent of the median; ``faults``: the number
        of findings that are certain.
        """
        values = self.measured_us
        low, middle, high = np.percentile(values, (5, 50, 95))
        return {
            "median_latency": float(middle),
            "largest_pair_latency": float(values.max()),
            "latency_spread": 100 * float(high - low) / float(middle),
            "faults": float(len(faults(self.findings))),
        }

    def all_findings(self) -> list[Finding]:
        """Return the findings, and notes of the slowest pair and the groups."""
        hosts = self.output.hosts
        pair = np.unravel_index(
            int(np.nanargmax(self.latency_us)), self.latency_us.shape
        )
        one, other = sorted(int(rank) for rank in pair)
        largest = float(self.latency_us[one, other])
        text = "all pairs have one level of latency: no groups"
        pairs = len(hosts) * (len(hosts) - 1) // 2
        if len(self.measured_us) < pairs:
            text = (
                f"only {len(self.measured_us)} of {count_text(pairs, 'pair')} were measured: groups and"
                " misplaced nodes were not looked for, which takes all pairs or known switches that show"
            )
        if self.border_us is not None:
            members = np.bincount(self.group)
            sizes = np.unique(members).tolist()
            listed = " to ".join(str(size) for size in (sizes[0], *sizes[1:][-1:]))
            text = (
                f"{len(members)} groups of nodes nearer to each other than {self.border_us:.2f} us, each of "
                f"{listed} nodes"
            )
        slowest = f"the pair with the largest latency is {name_of(hosts, one)} and {name_of(hosts, other)}, "
        ends = [hosts[one], hosts[other]]
        return [
            *self.findings,
            note(
                "slowest pair",
                f"{slowest}{largest:.2f} us",
                hosts=ends,
            ),
            note("groups", text),
        ]


def read(text: str) -> latency_map.LatencyOutput:
    """Read the output of ``latency_map``; raise :class:`OutputError` if it is not whole."""
    output = latency_map.parse(text)
    if len(output.hosts) ** 2 > MOST_PAIRS:
        raise OutputError(
            f"{len(output.hosts)} nodes have too many pairs to be analysed; run it on fewer"
        )
    return output


def of_run(output: latency_map.LatencyOutput, known: FabricMap | None = None) -> Report:
    """Analyse a run, its ranks in the order of the names of their hosts.

    :param known: the map of the fabric, as far as it is known.
    """
    order = sorted(
        range(len(output.hosts)), key=lambda rank: natural(output.hosts[rank])
    )
    place = np.argsort(order).astype(np.int32)
    output = replace(
        output,
        hosts=tuple(output.hosts[rank] for rank in order),
        starter=place[output.starter],
        other=place[output.other],
    )
    measurements = _measurements(output)
    typical = np.array(
        [medians.of_rows(each.T) for each in measurements.swapaxes(0, 1)]
    )
    rest = np.abs(np.log(output.latency_us / typical[output.starter, output.other]))
    # The deviations from the median of four values are smaller than those from their true level: by 1.4,
    # simulated.
    noise = 1.4 * OF_MAD * float(np.median(rest))
    if noise > SETTINGS.most_noise:
        text = (
            f"all pairs inconclusive: repeats of one pair vary by {100 * noise:.0f} %; repeat on idle nodes,"
            " one process on each"
        )
        finding = Finding(kind="noise", severity=Severity.SUSPECT, text=text)
        return Report(
            output,
            typical,
            noise,
            None,
            groups.find(typical, None),
            (finding,),
            _NO_LIMITS,
        )
    # What disturbs a measurement makes it slower: the least of several is the path's own.
    whole = _least(measurements)
    switch = _switches(output.hosts, known)
    error_us = noise * float(np.nanmedian(whole)) / np.sqrt(len(measurements))
    near = _nearness(whole, error_us)
    if np.isnan(groups.pairs(whole)).any():
        near = _by_switches(whole, switch, near)
    of_halves = [near.groups(_least(measurements[first::2])) for first in (0, 1)]
    del measurements  # of 10,000 nodes each is 0.8 GB
    sure = output.number is None or output.passes > 1
    misplaced = _misplaced(near.group, of_halves, output.hosts, switch, sure=sure)
    slow, limits = _slow(output.hosts, whole, near, sure=sure)
    return Report(
        output, typical, noise, near.border_us, near.group, (*misplaced, *slow), limits
    )


@dataclass(frozen=True)
class _Nearness:
    """Which nodes are near each other.

    :param border_us: pairs below are near; None if there are no levels. :param group: of each node.
    :param own_us: of each node, by how much its pairs were taken to be farther before they were compared.
    :param error_us: the standard error of the mean of a pair's measurements.
    :param home: the group of each node by the known switches, where these are the groups; else None.
    """

    border_us: float | None
    group: Numbers
    own_us: Array
    error_us: float
    home: Numbers | None = None

    def groups(self, latency_us: Array) -> Numbers:
        """Return the group of each node by other measurements."""
        if self.home is not None and self.border_us is not None:
            return groups.placed(latency_us, self.home, self.border_us)
        return groups.find(_less(latency_us, self.own_us), self.border_us)


def _nearness(latency_us: Array, error_us: float) -> _Nearness:
    """Return the groups of nodes that explain the latencies best, together with a distance of each node's
    own.

    Nodes of two kinds make levels that look like groups, and groups of different sizes look like two kinds:
    levels are looked for in the latencies as they are, and less what is each node's own.

    :param error_us: the standard error of the mean of a pair's measurements.
    """
    own = np.zeros(len(latency_us))
    nowhere = _Nearness(None, groups.find(latency_us, None), own, error_us)
    if np.isnan(groups.pairs(latency_us)).any():
        return nowhere

    def levelled(own: Array) -> _Nearness:
        less = _less(latency_us, own)
        border = groups.nearest(less, error_us)
        return _Nearness(border, groups.find(less, border), own, error_us)

    # The models soon repeat each other.
    of_own = _once(levelled)
    of_group = _once(lambda group: _explained(latency_us, group, error_us))
    found = [nowhere]
    to_try = [own]
    if len(own) >= SETTINGS.fewest_for_classes:
        to_try.append(of_group(nowhere.group)[0])
    while to_try:
        near = of_own(to_try.pop())
        if near.border_us is None or any(near is known for known in found):
            continue
        found.append(near)
        if (
            len(own) >= SETTINGS.fewest_for_classes
            and len(found) <= SETTINGS.most_models
        ):
            # The groups of the nearest kind of nodes show what is each node's own, which hides other groups.
            # A node alone may be in no group, or far from all others of the nearest one.
            for group in (near.group, groups.joined(latency_us, near.group)):
                to_try.append(of_group(group)[0])
    return min(found, key=lambda near: of_group(near.group)[1])


def _by_switches(latency_us: Array, switch: Numbers, near: _Nearness) -> _Nearness:
    """Return the known switches as groups, which some of the pairs show too; what is given if they are
    unknown, or a hop does not show."""
    alone = switch.max() + 1 + np.arange(len(switch))
    home = np.unique(np.where(switch >= 0, switch, alone), return_inverse=True)[1]
    within_us, apart_us = medians.usual(latency_us, home)
    gap_us = max(
        SETTINGS.certain_errors * near.error_us, SETTINGS.least_fault * within_us
    )
    if not apart_us - within_us > gap_us:
        return near
    border_us = (within_us + apart_us) / 2
    if not groups.agrees(latency_us, home, border_us):
        return near
    group = groups.placed(latency_us, home, border_us)
    return replace(near, border_us=border_us, group=group, home=home)


def _once(function: Callable[[NDArray[Any]], Result]) -> Callable[..., Result]:
    """Return a function of an array that is computed once for equal ones."""
    known: dict[bytes, Result] = {}

    def of(values: NDArray[Any]) -> Result:
        key = values.tobytes()
        if key not in known:
            known[key] = function(values)
        return known[key]

    return of


def _explained(
    latency_us: Array, group: Numbers, error_us: float
) -> tuple[Array, float]:
    """Return the effects of nodes, and how badly groups explain the latencies: by chi square, and the numbers
    of their levels and of the nodes that have an effect.

    This is Schwarz's criterion (Estimating the dimension of a model, Annals of Statistics 6, 1978). A single
    slow pair, which no group explains, counts as little as many errors do.
    """
    effect, rest = _effects(latency_us, group)
    of_pair = groups.pairs(rest)
    usual_us = float(np.nanmedian(latency_us))
    error = max(error_us, SETTINGS.least_error * usual_us)
    # Latencies of few digits, and medians of them, are known to a step of the last; no gap between levels is
    # one.
    steps = np.diff(np.unique(groups.pairs(latency_us)))
    step = float(steps.min(initial=groups.LEAST_GAP * usual_us))
    of_pair = np.maximum(np.abs(of_pair) - step, 0)
    levels = len(medians.large(group))
    chi_square = float(
        np.sum(np.minimum((of_pair / error) ** 2, SETTINGS.most_errors**2))
    )
    # Farther nodes that are nearer to each other would explain a second leaf as well.
    of_nodes = np.count_nonzero(np.abs(effect) > error + step)
    parameters = levels * (levels + 1) / 2 + of_nodes
    return effect, chi_square + float(parameters * np.log(len(of_pair)))


def _measurements(output: latency_map.LatencyOutput) -> Array:
    """Return the latencies by measurement, node and node: each pass once from the lower rank, once from the
    other, or, where a pass has each pair from one end only, each pass.

    So half of the measurements have each pair.
    """
    nodes = len(output.hosts)
    of_pass, from_both_ends = output.number, True
    if of_pass is None:
        rows = len(output.starter) // output.passes
        of_pass = np.repeat(np.arange(output.passes, dtype=np.int32), rows)
        from_both_ends = output.passes < 2 or 2 * rows > nodes * (nodes - 1)
    of_end = 2 * of_pass + (from_both_ends & (output.starter > output.other))
    measured = np.flatnonzero(np.bincount(of_end))
    number = np.searchsorted(measured, of_end)
    values = np.full((len(measured), nodes, nodes), np.nan)
    values[number, output.starter, output.other] = output.latency_us
    values[number, output.other, output.starter] = output.latency_us
    return values


def _least(measurements: Array) -> Array:
    """Return the least latency of each pair."""
    return np.asarray(np.fmin.reduce(measurements, axis=0, initial=np.nan))


def _less(latency_us: Array, effect: Array) -> Array:
    """Return the latencies less what each of the two nodes has of its own."""
    of_both: Array = effect[:, None] + effect[None, :]
    return np.subtract(latency_us, of_both, out=of_both)


def _slow(
    hosts: tuple[str, ...], latency_us: Array, near: _Nearness, *, sure: bool
) -> tuple[list[Finding], dict[str, float | None]]:
    """Return the nodes and pairs that are farther than those like them, and the smallest that would have been
    named.

    :param near: without levels a node that is alone behind a switch is no different from a slow one, as long
        as that costs no more than a hop can.
    :param sure: whether pairs were measured more than once.
    """
    if len(hosts) < 4:
        return [], _NO_LIMITS  # nothing to compare with
    effect, rest = _effects(latency_us, near.group)
    whole = effect + _of_groups(latency_us, effect, near.group)
    # Kinds of nodes that are closer than half of the least fault could not be blamed for it.
    closest = SETTINGS.least_fault * float(np.nanmedian(latency_us)) / 2
    kinds, usual = groups.kinds(whole, closest)
    # Nodes that are alone each show no hop that others have.
    has_levels = np.count_nonzero(np.bincount(near.group) > 1) > 1
    share = SETTINGS.least_fault if has_levels else SETTINGS.most_of_hop
    least = share * float(np.nanmedian(latency_us[np.ix_(kinds[0], kinds[0])]))
    # A node is slow if it is farther than those of its kind, and than those of its group, which may be far as
    # a whole.
    of_group = np.array(
        [np.median(effect[ranks]) for ranks in medians.members_of(near.group)]
    )
    is_large = np.bincount(near.group)[near.group] >= medians.FEWEST_OF_KIND
    excess = np.minimum(
        whole - usual, np.where(is_large, effect - of_group[near.group], np.inf)
    )
    least_us = max(least, SETTINGS.certain_errors * _deviation(whole - usual))
    found = [] if len(kinds) < 2 else [_kinds(hosts, kinds, effect)]
    slow = np.flatnonzero(excess > least_us).tolist()
    for rank in slow:
        more = float(excess[rank])
        text = f"node {name_of(hosts, rank)} is {more:.2f} us farther from every other node than is usual"
        found.append(_finding("slow node", (rank,), hosts, more, text, sure=sure))
    if not has_levels and len(kinds) < 2:
        found += _lone(hosts, latency_us, slow)
    error_us = SETTINGS.found_errors * SETTINGS.error_of_least * near.error_us
    # The effect of a node is the median of what its pairs have in common.
    of_node = least_us + 2 * error_us / math.sqrt(len(hosts) - 1)
    limits: dict[str, float | None] = {"node_us": SETTINGS.seen_effect * of_node}
    if len(kinds) > 1 and len(hosts) < SETTINGS.fewest_for_classes:
        return found, {**limits, "pair_us": None}
    detours, least_of_pair_us = _slow_pairs(rest, slow, least, near.error_us)
    if detours:
        found.append(_detour(detours, hosts, sure=sure))
    of_pair = SETTINGS.seen_effect * least_of_pair_us + error_us
    return found, {**limits, "pair_us": of_pair}


def _lone(
    hosts: tuple[str, ...], latency_us: Array, slow: Sequence[int]
) -> list[Finding]:
    """Return a note of the nodes that are farther from all others by no more than a hop, if there are."""
    effect, _ = _effects(latency_us, np.zeros(len(hosts), dtype=np.int64))
    least_us = max(
        SETTINGS.least_fault * float(np.nanmedian(latency_us)),
        SETTINGS.certain_errors * _deviation(effect),
    )
    far = np.flatnonzero(effect > least_us).tolist()
    lone = [rank for rank in far if rank not in slow]
    if not lone:
        return []
    names = [name_of(hosts, rank) for rank in lone]
    text = (
        f"{names_text(names)}: {effect[lone].max():.2f} us farther from every other node than is usual; slow,"
        " or alone behind a switch"
    )
    return [note(LONE, text, hosts=names, ranks=lone)]


def _slow_pairs(
    rest: Array, slow: Sequence[int], least_us: float, error_us: float
) -> tuple[dict[tuple[int, int], float], float]:
    """Return by how much pairs exceed what is usual, and the least excess that counts.

    :param rest: the excess of each pair beyond its nodes'; :param slow: nodes that explain their pairs.
    """
    # With few nodes their effects and groups take up much of what pairs differ by chance.
    by_chance = _deviation(groups.pairs(rest))
    deviation = max(by_chance, SETTINGS.error_of_least * error_us)
    least_us = max(least_us, SETTINGS.certain_errors * deviation)
    above = np.argwhere(np.triu(np.nan_to_num(rest, nan=0.0), 1) > least_us)
    others = above[~np.isin(above, slow).any(axis=1)]
    return {
        (one, other): float(rest[one, other]) for one, other in others.tolist()
    }, least_us


def _kinds(hosts: tuple[str, ...], kinds: Sequence[Numbers], effect: Array) -> Finding:
    """Return the finding that nodes are of several kinds, which blames nobody."""
    nearest = float(np.median(effect[kinds[0]]))
    others = "; ".join(
        f"{len(kind)} ({names_text([name_of(hosts, rank) for rank in kind.tolist()])}) are "
        f"{float(np.median(effect[kind])) - nearest:.2f} us farther from every node"
        for kind in kinds[1:]
    )
    text = (
        f"{len(kinds)} node classes: {len(kinds[0])} of {count_text(len(hosts), 'node')} are nearest,"
        f" {others}; no fault unless all should be equal"
    )
    return note("node classes", text)


def _detour(
    excess_us: Mapping[tuple[int, int], float], hosts: tuple[str, ...], *, sure: bool
) -> Finding:
    """Return a finding for the worst pair, which counts the others."""
    worst = max(excess_us, key=lambda pair: excess_us[pair])
    one, other = (name_of(hosts, rank) for rank in worst)
    more = (
        f", and so are {count_text(len(excess_us) - 1, 'more pair')}"
        if len(excess_us) > 1
        else ""
    )
    where = (
        "the cores they ran on"
        if hosts[worst[0]] == hosts[worst[1]]
        else "the path between them"
    )
    text = (
        f"{one} and {other} are {excess_us[worst]:.2f} us farther apart than pairs like them{more}; look at"
        f" {where}"
    )
    return _finding("detour", worst, hosts, excess_us[worst], text, sure=sure)


def _switches(hosts: Sequence[str], known: FabricMap | None) -> Numbers:
    """Return the switch of each host, as far as it is known."""
    if known is None:
        return np.full(len(hosts), NONE)
    position, _ = names.positions(hosts, known.hosts)
    return np.where(position >= 0, known.at[position], NONE)


def _misplaced(
    group: Numbers,
    halves: Sequence[Numbers],
    hosts: tuple[str, ...],
    switch: Numbers,
    *,
    sure: bool,
) -> list[Finding]:
    """Return the nodes that are near the wrong nodes; two that are swapped are one finding.

    :param halves: the groups as each half of the measurements shows them; :param switch: of each node, as far
        as it is known; :param sure: whether pairs were
        measured more than once.
    """
    home = groups.misplaced(group, switch)
    twice = set.intersection(*(set(groups.misplaced(half, switch)) for half in halves))
    source = "known switches" if (switch >= 0).any() else "order of names"
    by = f"going by the {source}"
    found = []
    while home:
        rank, expected = home.popitem()
        place = (expected, int(group[rank]))
        swapped = [
            other for other, its in home.items() if (int(group[other]), its) == place
        ][:1]
        ranks = tuple(sorted((rank, *swapped)))
        shown = [name_of(hosts, each) for each in ranks]
        if swapped:
            del home[swapped[0]]
            text = (
                f"nodes {' and '.join(shown)} are in each other's place: each is near the other's neighbours,"
                f" not its own, {by}; look at their cables"
            )
        else:
            near = set(np.flatnonzero(group == group[rank]).tolist()) - {rank, *home}
            shown += [name_of(hosts, each) for each in sorted(near)]
            text = (
                f"node {shown[0]} is near {names_text(shown[1:], 5)}, not where it should be {by}; look at"
                " its cable"
            )
        found.append(
            _finding(
                "misplaced", ranks, hosts, 0.0, text, sure=sure and twice >= set(ranks)
            )
        )
    return sorted(found, key=attrgetter("ranks"))


def _effects(latency_us: Array, group: Numbers) -> tuple[Array, Array]:
    """Return the excess of each node over its expected distance to all others, and that of each pair beyond
    it.

    The expectation for a pair is the median of the pairs of its two groups, or of all pairs of different
    groups where these have few. Then an additive median polish (Tukey, Exploratory Data Analysis, 1977, ch.
    11) of what is left, with one effect for a node, as a ping-pong has the two ends of a pair alike. Both are
    repeated without these effects, which the medians of small groups would else have in part.
    """
    effect = np.zeros(len(latency_us))
    least = 1e-4 * float(np.nanmedian(latency_us))
    for _ in range(SETTINGS.rounds):
        effect += _polished(_unexpected(_less(latency_us, effect), group), least)
    return effect, _unexpected(_less(latency_us, effect), group)


def _polished(rest: Array, least: float) -> Array:
    """Return the effect of each node on what is left of its pairs, around 0; it is exact to so much."""
    effect = np.zeros(len(rest))
    for _ in range(12):
        step = 0.5 * medians.of_rows(_less(rest, effect))
        effect += step
        effect -= np.median(effect)
        if float(np.abs(step).max()) < least:
            break
    return effect


def _unexpected(latency_us: Array, group: Numbers) -> Array:
    """Return what the latency of each pair is beyond the usual one, by the groups of its nodes."""
    np.fill_diagonal(latency_us, np.nan)
    usual = medians.between(latency_us, group)
    if np.isnan(usual).any():
        usual = np.where(np.isnan(usual), _by_sameness(latency_us, group), usual)
    return latency_us - usual[group[:, None], group[None, :]]


def _by_sameness(latency_us: Array, group: Numbers) -> Array:
    """Return for groups x groups the usual latency within any group, or between any two."""
    within, apart = medians.usual(latency_us, group)
    # A node without a group is one switch away, and no more: what exceeds a hop is its own.
    found = np.full(
        2 * (int(group.max()) + 1,),
        np.fmin(apart, (1 + SETTINGS.most_of_hop) * within),
    )
    np.fill_diagonal(found, within)
    return found


def _of_groups(latency_us: Array, effect: Array, group: Numbers) -> Array:
    """Return for each node by how much all nodes of its group are farther from every group; 0 for small
    groups.

    The expectations of pairs have it in them, so it is no part of the effects of single nodes.
    """
    large = medians.large(group)
    own = np.zeros(int(group.max()) + 1)
    if len(large):
        between = medians.between(_less(latency_us, effect), group)[
            np.ix_(large, large)
        ]
        own[large] = _polished(
            between - np.nanmedian(between), 1e-4 * float(np.nanmedian(latency_us))
        )
    return np.asarray(own[group])


def _deviation(values: Array) -> float:
    """Return a robust standard deviation, that of the healthy values; 0 without any."""
    values = values[~np.isnan(values)]
    return float(deviation(values)) if len(values) else 0.0


def _finding(
    kind: str,
    ranks: tuple[int, ...],
    hosts: tuple[str, ...],
    excess_us: float,
    text: str,
    *,
    sure: bool,
) -> Finding:
    text += f"; {'' if sure else 'not '}confirmed by a second measurement"
    return Finding(
        kind=kind,
        severity=Severity.FAULT if sure else Severity.SUSPECT,
        text=text,
        part=" and ".join(f"node {name_of(hosts, rank)}" for rank in ranks),
        hosts=tuple(hosts[rank] for rank in ranks),
        size=excess_us or None,
        size_unit="us",
        data={"ranks": list(ranks)},
    )
