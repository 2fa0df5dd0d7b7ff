# SPDX-License-Identifier: BSD-3-Clause
"""Choose the pairs to measure again: suspects with healthy partners, slow pairs, their cables, and healthy
pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section.evaluation import Report
from fabric_checks.diagnosis.cross_section.noise import levels_of_nodes
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.matrices import formats
from fabric_checks.matrices.merged import Run
from fabric_checks.matrices.model import End

Pair = tuple[End, End]
_Ranks = list[tuple[int, int]]

#: The partners of each suspect, the most slow pairs of nodes that are not suspect, and for how many of these
#: as many pairs of other nodes are added on each of their cables.
PARTNERS, MOST_SLOW, MOST_OF_CABLES = 3, 12, 4
#: The most healthy pairs for programs that measure all pairs of some nodes at once, and for others.
FEW_HEALTHY, MOST_HEALTHY = 3, 24
#: A pair that no suspect explains is measured again from this loss on, as a logarithm, and so many
#: deviations.
LEAST, ERRORS = float(-np.log(0.9)), 4.0


def pairs(run: Run, report: Report | latency.Report) -> tuple[list[Pair], int]:
    """Return the pairs to measure again, none if nothing is suspect; and how many are slow if no finding has
    any."""
    if run.table is None:
        return [], 0
    of_nodes, of_pairs = _suspects(run, report)
    nodes = list(dict.fromkeys(chain(*of_nodes)))
    slow, on_cables = _slow(report, nodes) if isinstance(report, Report) else ([], [])
    chosen = [(ranks[0], ranks[-1]) for ranks in of_pairs] + slow[:MOST_SLOW]
    if not nodes and not chosen:
        return [], 0
    with_healthy = _with_healthy(
        run.ends, nodes, chosen, of_nodes=formats.measures_nodes(run.table)
    )
    unexplained = 0 if of_nodes or of_pairs else len(slow) // (1 + run.table.both_ways)
    both = _both_ways(run.ends, [*with_healthy, *on_cables], is_one=run.table.both_ways)
    return both, unexplained


def _suspects(run: Run, report: Report | latency.Report) -> list[list[tuple[int, ...]]]:
    """Return the ranks of each finding of one host, and those of others."""
    found: list[list[tuple[int, ...]]] = [[], []]
    for each in report.findings:
        if each.ranks and each.kind != "past":
            hosts = {run.ends[rank].host for rank in each.ranks}
            found[len(hosts) > 1].append(each.ranks)
    return found


def _with_healthy(
    ends: Sequence[End], nodes: Sequence[int], chosen: _Ranks, *, of_nodes: bool
) -> _Ranks:
    """Return suspects with healthy partners, slow pairs, and healthy pairs.

    :param of_nodes: whether all pairs of some nodes are measured at once.
    """
    suspect = {ends[rank].host for rank in {*nodes, *chain(*chosen)}}
    healthy = [rank for rank, end in enumerate(ends) if end.host not in suspect]
    partners = [
        (rank, other) for rank in nodes for other in _nearest(ends, rank, healthy)
    ]
    most = FEW_HEALTHY if of_nodes else MOST_HEALTHY
    return [*partners, *chosen, *_controls(ends, healthy, most)]


def _both_ways(ends: Sequence[End], ranks: _Ranks, *, is_one: bool) -> list[Pair]:
    """Return the ends of pairs in both directions, each once; :param is_one: whether one measures both."""
    both = (
        [sorted(pair) for pair in ranks]
        if is_one
        else [way for pair in ranks for way in (pair, pair[::-1])]
    )
    return [(ends[one], ends[other]) for one, other in dict.fromkeys(map(tuple, both))]


def _nearest(ends: Sequence[End], rank: int, healthy: Sequence[int]) -> list[int]:
    """Return healthy ranks with a device of the same name, the nearest in the order of ranks first."""
    alike = [
        (abs(other - rank), other)
        for other in healthy
        if ends[other].device == ends[rank].device
    ]
    return [other for _, other in sorted(alike)[:PARTNERS]]


def _controls(ends: Sequence[End], healthy: Sequence[int], most: int) -> _Ranks:
    """Return pairs of neighbours among healthy ranks, with devices of one name, evenly spread and no rank
    twice."""
    by_device = sorted(healthy, key=lambda rank: ends[rank].device)
    neighbours = zip(by_device[::2], by_device[1::2], strict=False)
    found = [
        pair for pair in neighbours if ends[pair[0]].device == ends[pair[1]].device
    ]
    return found[:: -(-len(found) // most) or 1]


def _slow(report: Report, nodes: Sequence[int]) -> tuple[_Ranks, _Ranks]:
    """Return the pairs slower than the best of both of their nodes, the slowest first, and other pairs on
    their cables.

    A node of a slower kind, which may not have been separated, has no fast pairs.

    :param nodes: suspects, which explain the rates of their pairs.
    """
    evidence = report.mapped.evidence
    rate, ends = (
        np.fmax(evidence.alone, evidence.scan),
        np.array([evidence.sender, evidence.receiver]),
    )
    usual = levels_of_nodes(np.tile(rate, 2), ends.ravel(), evidence.ranks)[0]
    rate -= np.minimum(np.fmin(*usual[ends]), 0.0)
    is_slow = ~np.isin(ends, nodes).any(axis=0) & (
        rate < -max(LEAST, ERRORS * evidence.noise.scan)
    )
    slow = np.flatnonzero(is_slow)
    slow = slow[np.argsort(rate[slow], kind="stable")]
    return list(zip(*ends[:, slow].tolist(), strict=True)), _on_cables(
        report.mapped, ends, slow, nodes
    )


def _on_cables(
    mapped: MappedEvidence,
    ends: NDArray[np.int64],
    slow: NDArray[np.int64],
    suspects: Sequence[int],
) -> _Ranks:
    """Return pairs of other nodes on each cable of slow pairs, by static routes: if they are slow, too, it
    is.

    :param ends: the ranks of all pairs; :param slow: the numbers of the slow ones.
    """
    hosts = mapped.evidence.host[ends]
    _, first = np.unique(np.sort(ends[:, slow], axis=0), axis=1, return_index=True)
    slow = (
        slow[np.sort(first)][:MOST_OF_CABLES] if mapped.known.has_routes else slow[:0]
    )
    left = ~np.isin(
        hosts, [*hosts[:, slow].ravel(), *mapped.evidence.host[list(suspects)]]
    ).any(axis=0)
    found = []
    for arc in np.repeat(np.unique(mapped.arcs[slow]), PARTNERS):
        on = np.flatnonzero(left & (mapped.arcs == arc).any(axis=1))
        if arc >= 0 and len(on):  # each time of nodes that none of the others has
            found.append((int(ends[0, on[0]]), int(ends[1, on[0]])))
            left &= ~np.isin(hosts, hosts[:, on[0]]).any(axis=0)
    return found
