# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of one latency map: values and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.cross_section.matrix import MOST_PAIRS, name_of
from fabric_checks.diagnosis.cross_section.words import listed
from fabric_checks.diagnosis.fabric_map import names
from fabric_checks.diagnosis.fabric_map.model import FabricMap
from fabric_checks.diagnosis.latency_map import groups
from fabric_checks.parsers import latency_map

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Smaller excesses are not reported, however certain.
FAULT_SHARE = 0.10
#: The largest share of the latency that a hop may cost: without known levels less than this is no fault.
HOP_SHARE = 0.5
#: A fault exceeds the others by so many standard deviations of healthy nodes or pairs.
ERRORS = 6.0
#: Nothing is blamed if one measurement of a pair differs by more than this share from the next.
MOST_NOISE = 0.10
#: The standard deviation of a normal distribution over its median absolute deviation.
MAD = 1.4826


@dataclass(frozen=True)
class Finding:
    """One deviation.

    :param kind: ``misplaced``: a node, or two that took each other's place; ``slow node``; ``detour``: a pair;
        ``not repeated``: any of these that one half of the measurements does not show; ``noise``: nothing is certain.
    :param ranks: of the nodes; :param hosts: their names.
    :param excess_us: its excess over others; 0 for ``misplaced`` and ``noise``.
    :param confirmed: whether each of both halves of the measurements shows it.
    :param text: the same in words.
    """

    kind: str
    ranks: tuple[int, ...]
    hosts: tuple[str, ...]
    excess_us: float
    confirmed: bool
    text: str

    @property
    def is_fault(self) -> bool:
        """Whether the deviation is certain."""
        return self.confirmed

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for a record."""
        return asdict(self) | {"fault": self.is_fault}


@dataclass(frozen=True)
class Report:
    """One run of ``latency_map``, analysed.

    :param output: the output of the program.
    :param latency_us: nodes x nodes, symmetric: the median of all measurements of a pair; NaN where there is none.
    :param noise: of one measurement of a pair to the next, as a share.
    :param border_us: pairs below are near; None if there are no levels. :param group: of each node.
    :param findings: the deviations.
    """

    output: latency_map.LatencyOutput
    latency_us: Array
    noise: float
    border_us: float | None
    group: Numbers
    findings: tuple[Finding, ...]

    @property
    def measured_us(self) -> Array:
        """The latencies of all pairs that were measured, each once."""
        values: Array = self.latency_us[np.triu_indices(len(self.latency_us), 1)]
        return values[~np.isnan(values)]

    def metrics(self) -> dict[str, float]:
        """Return ``median_latency`` and ``largest_pair_latency`` of all pairs in us, and two more.

        ``latency_spread``: the 95th percentile less the 5th, in percent of the median; ``faults``: the number of
        findings that are certain.
        """
        values = self.measured_us
        low, middle, high = np.percentile(values, (5, 50, 95))
        return {
            "median_latency": float(middle),
            "largest_pair_latency": float(values.max()),
            "latency_spread": 100 * float(high - low) / float(middle),
            "faults": float(sum(found.is_fault for found in self.findings)),
        }

    def notes(self) -> list[dict[str, Any]]:
        """Return the findings, the groups and the slowest pair as plain data, each with a ``text``."""
        hosts = self.output.hosts
        pair = np.unravel_index(int(np.nanargmax(self.latency_us)), self.latency_us.shape)
        one, other = sorted(int(rank) for rank in pair)
        largest = float(self.latency_us[one, other])
        members = [np.flatnonzero(self.group == number).tolist() for number in range(int(self.group.max()) + 1)]
        return [
            *(finding.as_dict() for finding in self.findings),
            {
                "kind": "slowest pair",
                "ranks": [one, other],
                "hosts": [hosts[one], hosts[other]],
                "latency_us": largest,
                "text": f"the pair with the largest latency is {name_of(hosts, one)} and {name_of(hosts, other)}, "
                f"{largest:.2f} us",
            },
            {
                "kind": "groups",
                "border_us": self.border_us,
                "members": members if self.border_us is not None else [],
                "text": "all pairs have one level of latency: no groups"
                if self.border_us is None
                else f"{len(members)} groups of nodes nearer to each other than "
                f"{self.border_us:.2f} us, each of {min(map(len, members))} to {max(map(len, members))} nodes",
            },
        ]


def of_text(text: str, known: FabricMap | None = None) -> Report:
    """Analyse the output of ``latency_map``.

    :param known: the map of the fabric, as far as it is known.
    :raises OutputError: if the output is not whole.
    """
    return of_run(read(text), known)


def read(text: str) -> latency_map.LatencyOutput:
    """Read the output of ``latency_map``; errors as in :func:`of_text`."""
    output = latency_map.parse(text)
    if len(output.hosts) ** 2 > MOST_PAIRS:
        raise OutputError(f"{len(output.hosts)} nodes have too many pairs to be analysed; run it on fewer")
    return output


def of_run(output: latency_map.LatencyOutput, known: FabricMap | None = None) -> Report:
    """Analyse a run; the parameters are those of :func:`of_text`."""
    switches = _switches(output.hosts, known)
    measurements = _measurements(output)
    latency_us = _median(measurements)
    noise = _noise(measurements, latency_us)
    apart = np.isnan(latency_us[np.triu_indices(len(latency_us), 1)]).any()
    typical = float(np.nanmedian(latency_us))
    error_us = noise * typical / np.sqrt(len(measurements))
    border = None if apart or noise > MOST_NOISE else groups.nearest(latency_us, error_us)
    group = groups.find(latency_us, border)
    if noise > MOST_NOISE:
        found = [_noisy(noise)]
    else:
        halves = [groups.find(_median(measurements[part::2]), border) for part in (0, 1)]
        found = _misplaced(group, halves, output.hosts, switches)
        found += _slow(output.hosts, measurements, latency_us, group, levels=border is not None)
    return Report(output, latency_us, noise, border, group, tuple(found))


def _switches(hosts: tuple[str, ...], known: FabricMap | None) -> dict[str, str] | None:
    """Return the switch of each host, as the program names it; None if none is known."""
    if known is None:
        return None
    places, _ = names.positions(hosts, known.hosts)
    at = [(host, int(known.at[place])) for host, place in zip(hosts, places, strict=True) if place >= 0]
    return {host: known.switches[switch] for host, switch in at if switch >= 0} or None


def _measurements(output: latency_map.LatencyOutput) -> Array:
    """Return the latencies by measurement, node and node: each pass once from the lower rank, once from the other."""
    nodes = len(output.hosts)
    rows = len(output.starter) // output.passes
    number = 2 * (np.arange(len(output.starter)) // rows) + (output.starter > output.other)
    values = np.full((2 * output.passes, nodes, nodes), np.nan)
    values[number, output.starter, output.other] = output.latency_us
    values[number, output.other, output.starter] = output.latency_us
    return values


def _median(measurements: Array) -> Array:
    found = np.full(measurements.shape[1:], np.nan)
    some = ~np.isnan(measurements).all(axis=0)
    found[some] = np.nanmedian(measurements[:, some], axis=0)
    return found


def _noise(measurements: Array, latency_us: Array) -> float:
    """Return the standard deviation from one measurement of a pair to the next, as a share; robust."""
    rest = np.abs(np.log(measurements / latency_us))
    rest = rest[~np.isnan(rest)]
    # The deviations from a median of m values are smaller than those from the mean of all; of four by about an eighth.
    return MAD * float(np.median(rest)) * 1.15


def _noisy(noise: float) -> Finding:
    text = (
        f"the latency of a pair differs by {100 * noise:.0f} % from one measurement to the next, so nothing is "
        "certain; measure on idle nodes, one process on each"
    )
    return Finding("noise", (), (), 0.0, confirmed=False, text=text)


def _slow(
    hosts: tuple[str, ...], measurements: Array, latency_us: Array, group: Numbers, *, levels: bool
) -> list[Finding]:
    """Return the nodes that are far from all others, and the pairs that are farther apart than others.

    :param levels: whether groups are known. Without them a node that is alone behind a switch is no different from a
        slow one, as long as that costs no more than a hop can.
    """
    if len(hosts) < 4:
        return []  # nothing to compare with
    halves = [_median(measurements[part::2]) for part in (0, 1)]
    whole = [_effects(each, group) for each in (latency_us, *halves)]
    typical = float(np.nanmedian(latency_us))
    effect, rest = whole[0]
    found = []
    least = (FAULT_SHARE if levels else HOP_SHARE) * typical
    for rank in np.flatnonzero(effect > max(least, ERRORS * _deviation(effect))).tolist():
        excess = float(effect[rank])
        sure = all(half[0][rank] > excess / 2 for half in whole[1:])
        text = f"node {name_of(hosts, rank)} is {excess:.2f} us farther from every other node than is usual"
        found.append(_found("slow node", (rank,), hosts, excess, text, sure=sure))
    blamed = {finding.ranks[0] for finding in found}
    upper = np.triu(np.nan_to_num(rest, nan=0.0), 1)
    pairs = np.argwhere(upper > max(least, ERRORS * _deviation(rest[np.triu_indices(len(rest), 1)]))).tolist()
    left = [(one, other) for one, other in pairs if not blamed & {one, other}]
    return found + _detours(left, whole, hosts)


def _misplaced(
    group: Numbers, halves: Sequence[Numbers], hosts: tuple[str, ...], known: Mapping[str, str] | None
) -> list[Finding]:
    """Return the nodes that are near the wrong nodes; two that are swapped are one finding.

    :param halves: the groups as each half of the measurements shows them.
    """
    found, left = [], dict(groups.misplaced(group, hosts, known))
    twice = set.intersection(*(set(groups.misplaced(half, hosts, known)) for half in halves))
    by = "going by the known switches" if known else "going by the order of names"
    while left:
        rank, own = left.popitem()
        name = name_of(hosts, rank)
        # Its expected group: that of its neighbours, or of its switch.
        home = _home(rank, group, hosts, known)
        swapped = next((r for r, g in left.items() if g == home and _home(r, group, hosts, known) == own), None)
        near = [name_of(hosts, r) for r in np.flatnonzero(group == own).tolist() if r != rank and r not in left]
        if swapped is not None:
            del left[swapped]
            ranks = tuple(sorted((rank, swapped)))
            names = [name_of(hosts, r) for r in ranks]
            text = f"nodes {names[0]} and {names[1]} are in each other's place: each is near the other's neighbours, "
            text += f"not its own, {by}; look at their cables"
            sure = set(ranks) <= twice
            found.append(_found("misplaced", ranks, hosts, 0.0, text, sure=sure))
            continue
        text = f"node {name} is near {listed(near)}, not where it should be {by}; look at its cable"
        sure = rank in twice
        found.append(_found("misplaced", (rank,), hosts, 0.0, text, sure=sure))
    return sorted(found, key=lambda finding: finding.ranks)


def _home(rank: int, group: Numbers, hosts: tuple[str, ...], known: Mapping[str, str] | None) -> int | None:
    if known:
        mates = [r for r, host in enumerate(hosts) if known.get(host) == known.get(hosts[rank]) and r != rank]
    else:
        mates = [
            r
            for r in range(rank - groups.NEIGHBOURS, rank + groups.NEIGHBOURS + 1)
            if 0 <= r < len(group) and r != rank
        ]
    numbers, counts = np.unique(group[mates], return_counts=True)
    return int(numbers[np.argmax(counts)]) if len(numbers) else None


def _effects(latency_us: Array, group: Numbers) -> tuple[Array, Array]:
    """Return the excess of each node over its expected distance to all others, and that of each pair beyond it.

    The expectation for a pair is the median of the pairs of its two groups, or of all pairs of different groups where
    these have few. Then an additive median polish (Tukey, Exploratory Data Analysis, 1977, ch. 11) of what is left,
    with one effect for a node, as a ping-pong has the two ends of a pair alike.
    """
    expected = _expected(latency_us, group)
    rest = latency_us - expected
    effect = np.zeros(len(rest))
    for _ in range(12):
        step = 0.5 * np.nanmedian(rest - effect[:, None] - effect[None, :], axis=1)
        effect += step
        effect -= np.median(effect)
        if float(np.abs(step).max()) < 1e-4 * float(np.nanmedian(latency_us)):
            break
    return effect, rest - effect[:, None] - effect[None, :]


def _expected(latency_us: Array, group: Numbers) -> Array:
    np.fill_diagonal(latency_us, np.nan)
    same = group[:, None] == group[None, :]
    expected = np.full(latency_us.shape, np.nan)
    for which in (same, ~same):
        if (which & ~np.isnan(latency_us)).any():
            expected[which] = np.nanmedian(latency_us[which])
    count = int(group.max()) + 1
    members = [np.flatnonzero(group == number) for number in range(count)]
    for one in range(count):
        for other in range(one, count):
            block = np.ix_(members[one], members[other])
            # Groups of one or two nodes would be their own expectation.
            if min(len(members[one]), len(members[other])) >= 3 and (~np.isnan(latency_us[block])).any():
                expected[block] = np.nanmedian(latency_us[block])
                expected[np.ix_(members[other], members[one])] = expected[block].T
    return expected


def _deviation(values: Array) -> float:
    """Return a robust standard deviation, that of the healthy values."""
    values = values[~np.isnan(values)]
    return MAD * float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _detours(pairs: list[tuple[int, int]], whole: list[tuple[Array, Array]], hosts: tuple[str, ...]) -> list[Finding]:
    """Return a finding for the worst pair, which counts the others."""
    sure = [pair for pair in pairs if all(half[1][pair] > whole[0][1][pair] / 2 for half in whole[1:])]
    found = []
    for confirmed, some in ((True, sure), (False, [pair for pair in pairs if pair not in sure])):
        if not some:
            continue
        worst = max(some, key=lambda pair: float(whole[0][1][pair]))
        excess = float(whole[0][1][worst])
        one, other = (name_of(hosts, rank) for rank in worst)
        more = f", and so are {len(some) - 1} more pairs" if len(some) > 1 else ""
        text = f"{one} and {other} are {excess:.2f} us farther apart than pairs like them{more}"
        where = "the cores they ran on" if hosts[worst[0]] == hosts[worst[1]] else "the path between them"
        found.append(_found("detour", worst, hosts, excess, f"{text}; look at {where}", sure=confirmed))
    return found


def _found(
    kind: str, ranks: tuple[int, ...], hosts: tuple[str, ...], excess_us: float, text: str, *, sure: bool
) -> Finding:
    names = tuple(hosts[rank] for rank in ranks)
    text += "; confirmed by a second measurement" if sure else "; not confirmed by a second measurement"
    return Finding(kind if sure else "not repeated", ranks, names, excess_us, sure, text)
