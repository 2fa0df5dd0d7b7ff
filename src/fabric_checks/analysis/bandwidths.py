# SPDX-License-Identifier: BSD-3-Clause
"""Values of a pair matrix: bandwidths of pairs, their aggregate, and the shares of a link at which they
run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fabric_checks.analysis.pair_matrix import PairMatrix

#: The most pairs on one link that are distinguished.
MOST_SHARING = 16


def values(matrix: PairMatrix, pairs: int) -> dict[str, float]:
    """Return the values of a run.

    :param pairs: the number of pairs that ran at once.
    :returns: in MB/s ``median_bandwidth``, ``p5_bandwidth`` (the 5th percentile), ``slowest_pair_bandwidth``,
        ``aggregate_bandwidth`` (pairs x mean: the average of all pairs of a round together) and
        ``perceived_aggregate_bandwidth`` (pairs x slowest: an exchange over all pairs takes as long as its
        slowest, as the source argues); in percent ``slowest_to_median``.
    """
    rates = matrix.measured
    slowest, median = float(rates.min()), float(np.median(rates))
    return {
        "median_bandwidth": median,
        "p5_bandwidth": float(np.percentile(rates, 5)),
        "slowest_pair_bandwidth": slowest,
        "slowest_to_median": 100 * slowest / median,
        "aggregate_bandwidth": pairs * float(rates.mean()),
        "perceived_aggregate_bandwidth": pairs * slowest,
    }


def of_rails(matrix: PairMatrix, rails: int) -> dict[str, float]:
    """Return the rate of the slowest rail, and of the slowest node, over that of the median one, in percent.

    The rate of a rail is the median of its pairs, and that of a node the median of all pairs of its ranks.

    :param rails: the number of ranks of a node, each of which is paired with those of its number only.
    """
    row, column = np.nonzero(~np.isnan(matrix.MBps))
    rates, sender, receiver = (
        matrix.MBps[row, column],
        matrix.senders[row],
        matrix.receivers[column],
    )
    of_rail = [np.median(rates[sender % rails == rail]) for rail in range(rails)]
    ends = (sender // rails, receiver // rails)
    of_node = [
        np.median(rates[(ends[0] == node) | (ends[1] == node)])
        for node in np.union1d(*ends)
    ]
    names = ("slowest_rail_to_median", "slowest_node_to_median")
    return {
        name: 100 * float(np.min(of_each) / np.median(of_each))
        for name, of_each in zip(names, (of_rail, of_node), strict=True)
    }


def slowest_pair(matrix: PairMatrix) -> tuple[int, int]:
    """Return the ranks of the slowest pair, sender and receiver."""
    row, column = np.unravel_index(int(np.nanargmin(matrix.MBps)), matrix.MBps.shape)
    return int(matrix.senders[row]), int(matrix.receivers[column])


def histogram(matrix: PairMatrix) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of pairs in equal bins from zero to the fastest, and the edges of the bins in
    MB/s."""
    rates = matrix.measured
    counts, edges = np.histogram(rates, bins=40, range=(0.0, float(rates.max())))
    return counts.astype(np.int64), edges


def link_rate_MBps(matrix: PairMatrix) -> float:
    """Return the rate of an unshared link in MB/s, by the fastest pairs.

    It is the median of those that are near the 95th percentile, or above it where that lies in a gap between
    few rates.
    """
    rates = matrix.measured
    top = float(np.percentile(rates, 95))
    near = rates[np.abs(rates / top - 1) < 0.12]
    return float(np.median(near if len(near) else rates[rates >= top]))


def plateaus(matrix: PairMatrix, link_MBps: float) -> dict[int, float]:
    """Return the share of the pairs at link/1, link/2, link/3, ..., by the number of pairs on a link.

    A pair belongs to the level that is nearest in ratio; pairs slower than link/16 count as 16.

    :param link_MBps: the rate of a link in MB/s, such as :func:`link_rate_MBps`. Where the links between
        switches are faster than one pair alone can be, as on Feynman (968 against 670 MB/s), it has to be
        given; pairs that one link serves at full rate then look like those that have it alone.
    :returns: for each number of pairs on a link that occurs, the share of all pairs from 0 to 1.
    """
    rates = matrix.measured
    top = link_rate_MBps(matrix)
    # Pairs that have a link for themselves run at what one pair can do, which may be less than the link.
    levels = np.minimum(link_MBps / np.arange(1, MOST_SHARING + 1), top)
    levels, first = np.unique(levels, return_index=True)
    levels, sharing_of_level = levels[::-1], 1 + first[::-1]
    # A level ends half-way, in ratio, to the next one.
    ends = np.sqrt(levels[:-1] * levels[1:])
    sharing = sharing_of_level[np.searchsorted(-ends, -rates)]
    numbers, counts = np.unique(sharing, return_counts=True)
    return {
        int(number): float(count / len(rates))
        for number, count in zip(numbers, counts, strict=True)
    }
