# SPDX-License-Identifier: BSD-3-Clause
"""Evaluation of one latency map: values and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.matrix import MOST_PAIRS, name_of
from fabric_checks.diagnosis.fabric_map import names
from fabric_checks.diagnosis.fabric_map.model import NONE, FabricMap
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

    :param kind: ``misplaced``: a node, or two that are swapped; ``slow node``; ``detour``: a pair;
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

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for a record."""
        return asdict(self) | {"fault": self.confirmed}


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
        values = self.latency_us[np.triu_indices(len(self.latency_us), 1)]
        return np.asarray(values[~np.isnan(values)])

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
            "faults": float(sum(found.confirmed for found in self.findings)),
        }

    def notes(self) -> list[dict[str, Any]]:
        """Return the findings, the groups and the slowest pair as plain data, each with a ``text``."""
        hosts = self.output.hosts
        pair = np.unravel_index(int(np.nanargmax(self.latency_us)), self.latency_us.shape)
        one, other = sorted(int(rank) for rank in pair)
        largest = float(self.latency_us[one, other])
        members: list[list[int]] = []
        text = "all pairs have one level of latency: no groups"
        if self.border_us is not None:
            members = [np.flatnonzero(self.group == number).tolist() for number in range(int(self.group.max()) + 1)]
            text = (
                f"{len(members)} groups of nodes nearer to each other than {self.border_us:.2f} us, each of "
                f"{min(map(len, members))} to {max(map(len, members))} nodes"
            )
        slowest = f"{name_of(hosts, one)} and {name_of(hosts, other)}, {largest:.2f} us"
        return [
            *(finding.as_dict() for finding in self.findings),
            {
                "kind": "slowest pair",
                "ranks": [one, other],
                "hosts": [hosts[one], hosts[other]],
                "latency_us": largest,
                "text": f"the pair with the largest latency is {slowest}",
            },
            {"kind": "groups", "border_us": self.border_us, "members": members, "text": text},
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
    measurements = _measurements(output)
    whole, *halves = (_median(part) for part in (measurements, measurements[::2], measurements[1::2]))
    noise = _noise(measurements, whole)
    if noise > MOST_NOISE:
        text = (
            f"the latency of a pair differs by {100 * noise:.0f} % from one measurement to the next, so nothing is "
            "certain; measure on idle nodes, one process on each"
        )
        finding = Finding("noise", (), (), 0.0, confirmed=False, text=text)
        return Report(output, whole, noise, None, groups.find(whole, None), (finding,))
    border = None
    if not np.isnan(whole[np.triu_indices(len(whole), 1)]).any():
        border = groups.nearest(whole, noise * float(np.nanmedian(whole)) / np.sqrt(len(measurements)))
    group = groups.find(whole, border)
    misplaced = _misplaced(group, [groups.find(half, border) for half in halves], output.hosts, known)
    slow = _slow(output.hosts, [_effects(each, group) for each in (whole, *halves)], whole, levels=border is not None)
    return Report(output, whole, noise, border, group, (*misplaced, *slow))


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


def _slow(
    hosts: tuple[str, ...], effects: Sequence[tuple[Array, Array]], latency_us: Array, *, levels: bool
) -> list[Finding]:
    """Return the nodes that are far from all others, and the pairs that are farther apart than others.

    :param effects: see :func:`_effects`, of all measurements and of both halves.
    :param levels: whether groups are known. Without them a node that is alone behind a switch is no different from a
        slow one, as long as that costs no more than a hop can.
    """
    if len(hosts) < 4:
        return []  # nothing to compare with
    (effect, rest), *halves = effects
    found = []
    least = (FAULT_SHARE if levels else HOP_SHARE) * float(np.nanmedian(latency_us))
    slow = np.flatnonzero(effect > max(least, ERRORS * _deviation(effect))).tolist()
    for rank in slow:
        excess = float(effect[rank])
        sure = all(half[rank] > excess / 2 for half, _ in halves)
        text = f"node {name_of(hosts, rank)} is {excess:.2f} us farther from every other node than is usual"
        found.append(_finding("slow node", (rank,), hosts, excess, text, sure=sure))
    upper = np.triu(np.nan_to_num(rest, nan=0.0), 1)
    pairs = np.argwhere(upper > max(least, ERRORS * _deviation(rest[np.triu_indices(len(rest), 1)]))).tolist()
    detours = {(one, other): float(rest[one, other]) for one, other in pairs if not {one, other} & set(slow)}
    confirmed = {pair: all(half[pair] > excess / 2 for _, half in halves) for pair, excess in detours.items()}
    for sure in (True, False):
        some = [pair for pair in detours if confirmed[pair] is sure]
        if some:
            found.append(_detour(some, detours, hosts, sure=sure))
    return found


def _detour(
    pairs: Sequence[tuple[int, int]], excess_us: Mapping[tuple[int, int], float], hosts: tuple[str, ...], *, sure: bool
) -> Finding:
    """Return a finding for the worst pair, which counts the others."""
    worst = max(pairs, key=lambda pair: excess_us[pair])
    one, other = (name_of(hosts, rank) for rank in worst)
    more = f", and so are {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    where = "the cores they ran on" if hosts[worst[0]] == hosts[worst[1]] else "the path between them"
    text = f"{one} and {other} are {excess_us[worst]:.2f} us farther apart than pairs like them{more}; look at {where}"
    return _finding("detour", worst, hosts, excess_us[worst], text, sure=sure)


def _misplaced(
    group: Numbers, halves: Sequence[Numbers], hosts: tuple[str, ...], known: FabricMap | None
) -> list[Finding]:
    """Return the nodes that are near the wrong nodes; two that are swapped are one finding.

    :param halves: the groups as each half of the measurements shows them.
    """
    switch = np.full(len(hosts), NONE)
    if known is not None:
        position, _ = names.positions(hosts, known.hosts)
        switch = np.where(position >= 0, known.at[position], NONE)
    home = groups.misplaced(group, switch)
    twice = set.intersection(*(set(groups.misplaced(half, switch)) for half in halves))
    by = "going by the known switches" if (switch >= 0).any() else "going by the order of names"
    found = []
    while home:
        rank, expected = home.popitem()
        own = int(group[rank])
        swapped = [other for other, of_other in home.items() if group[other] == expected and of_other == own]
        ranks = tuple(sorted((rank, *swapped[:1])))
        if swapped:
            del home[swapped[0]]
            one, other = (name_of(hosts, each) for each in ranks)
            text = (
                f"nodes {one} and {other} are in each other's place: each is near the other's neighbours, not its own, "
                f"{by}; look at their cables"
            )
        else:
            near = [each for each in np.flatnonzero(group == own).tolist() if each != rank and each not in home]
            names_of_near = names_text([name_of(hosts, each) for each in near], 5)
            text = (
                f"node {name_of(hosts, rank)} is near {names_of_near}, not where it should be {by}; look at its cable"
            )
        found.append(_finding("misplaced", ranks, hosts, 0.0, text, sure=set(ranks) <= twice))
    return sorted(found, key=lambda finding: finding.ranks)


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


def _finding(
    kind: str, ranks: tuple[int, ...], hosts: tuple[str, ...], excess_us: float, text: str, *, sure: bool
) -> Finding:
    text += "; confirmed by a second measurement" if sure else "; not confirmed by a second measurement"
    of_ranks = tuple(hosts[rank] for rank in ranks)
    return Finding(kind if sure else "not repeated", ranks, of_ranks, excess_us, sure, text)
