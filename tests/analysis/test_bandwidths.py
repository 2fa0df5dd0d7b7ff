# SPDX-License-Identifier: BSD-3-Clause
"""Values of matrices that can be worked out by hand."""

import numpy as np
import pytest

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix, of_output
from tests.diagnosis.cross_section.model import Fabric, run


def matrix(values):
    values = np.array(values, dtype=float)
    rows, columns = values.shape
    hosts = tuple(f"n{rank}" for rank in range(rows + columns))
    return PairMatrix(np.arange(rows), rows + np.arange(columns), values, hosts)


def test_values_by_hand():
    assert bandwidths.values(matrix([[100, 200], [300, 400]]), pairs=2) == {
        "median_bandwidth": 250,
        "p5_bandwidth": pytest.approx(np.percentile([100, 200, 300, 400], 5)),
        "slowest_pair_bandwidth": 100,
        "slowest_to_median": 40,
        "aggregate_bandwidth": 500,
        "perceived_aggregate_bandwidth": 200,
    }


def test_the_aggregates_of_the_source():
    """Rogue's Myrinet: 64 pairs at 125 MB/s on average give 8000 MB/s, at the slowest pair's 44 they give
    2816."""
    values = np.full((64, 64), 125.0)
    values[5, 9], values[5, 10] = 44.0, 206.0
    found = bandwidths.values(matrix(values), pairs=64)
    assert found["aggregate_bandwidth"] == pytest.approx(8000)
    assert found["perceived_aggregate_bandwidth"] == 2816
    assert bandwidths.slowest_pair(matrix(values)) == (5, 73)


def test_plateaus_of_a_shared_fabric():
    pairs = of_output(run(Fabric(128, 0.03, 1, sharing=(0.5, 0.3, 0.15, 0.05))))
    shares = bandwidths.plateaus(pairs, bandwidths.link_rate_MBps(pairs))
    assert shares == pytest.approx({1: 0.5, 2: 0.3, 3: 0.15, 4: 0.05}, abs=0.02)


def test_plateaus_where_one_pair_cannot_fill_a_link():
    """Feynman: a pair alone has 670 MB/s, two share a link of 968 (484 each), three have 323."""
    shares = bandwidths.plateaus(matrix([[670, 670, 484, 323]]), link_MBps=968)
    assert shares == {1: 0.5, 2: 0.25, 3: 0.25}


def test_the_link_rate_is_that_of_the_fastest_pairs():
    output = run(Fabric(64, 0.02, 1, sharing=(0.3, 0.7)))
    assert bandwidths.link_rate_MBps(of_output(output)) == pytest.approx(1000, rel=0.02)
    # Few pairs, and those within the nodes faster than the others: no rate is near the percentile.
    few = matrix([[78, 123, 262, 404, 113, 101, 81, 126, 210, 95, 140]])
    assert not (np.abs(few.measured / np.percentile(few.measured, 95) - 1) < 0.12).any()
    assert bandwidths.link_rate_MBps(few) == 404


def test_the_histogram_counts_every_pair_once():
    counts, edges = bandwidths.histogram(
        of_output(run(Fabric(64, 0.05, 1, sharing=(0.5, 0.5))))
    )
    assert counts.sum() == 32 * 32
    assert edges[0] == 0


@pytest.mark.parametrize(
    "of_rail, of_node, expected", [(0.5, 1.0, (50, 100)), (1.0, 0.8, (100, 80))]
)
def test_the_slowest_rail_and_node_are_held_to_the_median_ones(
    of_rail, of_node, expected
):
    """Four nodes of three GPUs, of which one rail or one node is slow."""
    rates = np.full((12, 12), np.nan)
    for one, other in [
        (one, other) for one in range(4) for other in range(4) if one != other
    ]:
        for rail in range(3):
            slow = (of_rail if rail == 1 else 1.0) * (
                of_node if 3 in (one, other) else 1.0
            )
            rates[3 * one + rail, 3 * other + rail] = 100 * slow
    pairs = PairMatrix(
        np.arange(12), np.arange(12), rates, tuple(f"gpu{rank}" for rank in range(12))
    )
    found = bandwidths.of_rails(pairs, 3)
    assert (
        found["slowest_rail_to_median"],
        found["slowest_node_to_median"],
    ) == pytest.approx(expected)
