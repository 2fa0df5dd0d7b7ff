# SPDX-License-Identifier: BSD-3-Clause
"""Choose the pairs to measure again: suspects with healthy partners, slow pairs, their cables, and healthy
pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.cross_section.noise import levels_of_nodes
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.matrices import formats
from fabric_checks.matrices.merged import Run
from fabric_checks.matrices.model import End, PairTable

Pair = tuple[End, End]

#: The partners of each suspect, the most slow pairs of nodes that are not suspect, and for how many of these
#: as many pairs of other nodes are added on each of their cables.
PARTNERS, MOST_SLOW, MOST_OF_CABLES = 3, 12, 4
#: The fewest healthy pairs, also for programs that measure all pairs of some nodes at once; as many as reach
#: ENOUGH_CONTROLS of the nodes for others, but no fewer and no more than these.
FEW_HEALTHY, LEAST_HEALTHY, MOST_HEALTHY = 3, 8, 24
#: A pair that no suspect explains is measured again from this loss on, as a logarithm, and so many
#: deviations.
LEAST, ERRORS = float(-np.log(0.9)), 4.0


def pairs(run: Run, report: Report | latency.Report) -> tuple[list[Pair], int]:
    """Return the pairs to measure again, none if nothing is suspect; and how many are slow if no finding has
    any."""
    if run.table is None:
        return [], 0
    named = [found.ranks for found in report.findings if found.ranks and found.kind != "past"]
    nodes, between = _suspects(run, named)
    slow = _slow(report, nodes)
    between += slow[:MOST_SLOW]
    if not nodes and not between:
        return [], 0
    suspect = {run.ends[rank].host for rank in {*nodes, *chain(*between)}}
    healthy = [rank for rank, end in enumerate(run.ends) if end.host not in suspect]
    chosen = [(rank, other) for rank in nodes for other in _nearest(run, rank, healthy)] + between
    if isinstance(report, Report):
        once = list({frozenset(pair): pair for pair in reversed(slow)}.values())[::-1]
        chosen += _of_cables(report.mapped, once[:MOST_OF_CABLES], nodes)
    chosen += _disjoint(run, healthy, _healthy_pairs(run, run.table))
    both = run.table.both_ways
    ways = [(min(pair, pair[::-1]),) if both else (pair, pair[::-1]) for pair in chosen]
    unique = dict.fromkeys(chain(*ways))
    return [(run.ends[one], run.ends[other]) for one, other in unique], 0 if named else len(slow) // (
        1 + both
    )


def _suspects(run: Run, named: Sequence[tuple[int, ...]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the ranks of nodes that are suspect, and the pairs of nodes; :param named: the ranks of each
    finding."""
    of_nodes = [ranks for ranks in named if len({run.ends[rank].host for rank in ranks}) == 1]
    between = [(ranks[0], ranks[-1]) for ranks in named if ranks not in of_nodes]
    return list(dict.fromkeys(chain(*of_nodes))), between


def _healthy_pairs(run: Run, table: PairTable) -> int:
    """Return how many healthy pairs are measured again at most."""
    enough = int(np.ceil(len(run.ends) * SETTINGS.enough_controls / 2))
    return FEW_HEALTHY if formats.measures_nodes(table) else min(max(enough, LEAST_HEALTHY), MOST_HEALTHY)


def _slow(report: Report | latency.Report, nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs slower than the best of both of their nodes, the slowest first.

    A node of a slower kind, which may not have been separated, has no fast pairs.

    :param nodes: suspects, which explain the rates of their pairs.
    """
    if not isinstance(report, Report):
        return []
    evidence = report.mapped.evidence
    rate = np.fmax(evidence.alone, evidence.scan)
    ends = evidence.sender, evidence.receiver
    usual = levels_of_nodes(np.tile(rate, 2), np.concatenate(ends), evidence.ranks)[0]
    rate -= np.minimum(np.fmin(*(usual[side] for side in ends)), 0.0)
    left = ~np.isin(evidence.sender, nodes) & ~np.isin(evidence.receiver, nodes)
    slow = np.flatnonzero(left & (rate < -max(LEAST, ERRORS * evidence.noise.scan)))
    slow = slow[np.argsort(rate[slow], kind="stable")]
    return list(zip(evidence.sender[slow].tolist(), evidence.receiver[slow].tolist(), strict=True))


def _of_cables(
    mapped: MappedEvidence, slow: Sequence[tuple[int, int]], suspects: Sequence[int]
) -> list[tuple[int, int]]:
    """Return pairs of other nodes on each cable of slow pairs, by static routes: if they are slow, too, it
    is."""
    evidence, found = mapped.evidence, list[tuple[int, int]]()
    host, ends = evidence.host, (evidence.sender, evidence.receiver)
    for pair in slow if mapped.known.has_routes else ():
        own = (ends[0] == pair[0]) & (ends[1] == pair[1])
        left = ~np.any([np.isin(host[side], host[[*pair, *suspects]]) for side in ends], axis=0)
        for arc in np.unique(mapped.arcs[own]):
            for _ in range(PARTNERS if arc >= 0 else 0):
                on = np.flatnonzero(left & (mapped.arcs == arc).any(axis=1))
                if len(on):  # each time of nodes that none of the others has
                    found.append((int(ends[0][on[0]]), int(ends[1][on[0]])))
                    left &= ~np.any([np.isin(host[side], host[list(found[-1])]) for side in ends], axis=0)
    return found


def _disjoint(run: Run, healthy: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return pairs of neighbours among healthy ranks, with devices of one name, evenly spread and no rank
    twice."""
    by_device: dict[str, list[int]] = {}
    for rank in healthy:
        by_device.setdefault(run.ends[rank].device, []).append(rank)
    found = [pair for ranks in by_device.values() for pair in zip(ranks[::2], ranks[1::2], strict=False)]
    return [found[at] for at in np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).astype(int))]


def _nearest(run: Run, rank: int, healthy: Sequence[int]) -> list[int]:
    """Return healthy ranks on other hosts, with devices of the same name, the nearest in the order of ranks
    first."""
    own = run.ends[rank]
    there = [
        other
        for other in healthy
        if run.ends[other].host != own.host and run.ends[other].device == own.device
    ]
    return sorted(there, key=lambda other: abs(other - rank))[:PARTNERS]
