# SPDX-License-Identifier: BSD-3-Clause
"""Two rules of others on the same values: ClusterKit's, and that of the straggler analysis of nccl-tests.

*ClusterKit.* A pair is bad below 93 % of the best bandwidth, or above 2.1 times the least latency (NVIDIA
HPC-X manual, *Running ClusterKit*, evaluation logic for pairwise tests). Where a pair was measured more than
once, its best value counts, as in the tool's own rounds of re-testing. How its report counts nodes is not
public: here a host is named if at least half of its pairs are bad, then, without the pairs of those, each bad
pair that is left.

*Straggler analysis.* ``tools/analyze_perf_json.py --straggler`` of nccl-tests 2.19.6 averages the times of
each process, prints the slowest, and by how much the fastest is faster; it has no threshold. Here the process
is a host or its device, its times those of all its pairs. :func:`straggler` names the slowest, with ``least``
only if that spread is as large. ``--spikes`` marks an iteration above 1.5 times the average of its size,
which a part at .8 never is.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .formats import Table

#: A host, a device of one (host, rail), or a pair (host, host, rail).
Part = tuple[int, ...]
_BANDWIDTH, _LATENCY = 0.93, 2.1


def clusterkit(table: Table, devices: bool) -> tuple[set[Part], set[Part]]:
    """Return the hosts or devices, and the other pairs, that are bad."""
    best: dict[tuple[int, int, int], float] = defaultdict(float)
    for one, other, rail, value in table.rows:
        key = (
            (min(one, other), max(one, other), rail)
            if table.both_ways
            else (one, other, rail)
        )
        best[key] = max(best[key], value)
    least = _BANDWIDTH * max(best.values())
    bad = {key for key, value in best.items() if value < least}
    most = _LATENCY * min((value for _, _, value in table.latency), default=np.inf)
    bad |= {(one, other, 0) for one, other, value in table.latency if value > most}

    def end(key: tuple[int, int, int], side: int) -> Part:
        return (key[side], key[2]) if devices else (key[side],)

    counts, all_pairs = defaultdict[Part, int](int), defaultdict[Part, int](int)
    for key in best:
        for side in (0, 1):
            all_pairs[end(key, side)] += 1
            counts[end(key, side)] += key in bad
    named = {part for part, count in counts.items() if count >= 0.5 * all_pairs[part]}
    return named, {key for key in bad if not {end(key, 0), end(key, 1)} & named}


def straggler(table: Table, devices: bool, least: float = 0.0) -> set[Part]:
    """Return the host or device whose pairs take longest on average, if the fastest is faster by
    ``least``."""
    times = defaultdict[Part, list[float]](list)
    for one, other, rail, value in table.rows:
        for host in (one, other):
            times[(host, rail) if devices else (host,)].append(1 / value)
    means = {part: float(np.mean(each)) for part, each in times.items()}
    slowest = max(means, key=means.__getitem__)
    return {slowest} if means[slowest] / min(means.values()) - 1 >= least else set()
