# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a cross-section run; :mod:`fabric_checks.analysis.bandwidths` defines them."""

from __future__ import annotations

from fabric_checks.core.metrics import Better, Metric

LOSS = "Smallest loss of rate of a {} that this run would have named; 100: none{}"


def _declare(
    name: str, unit: str, better: Better, about: str, can_be_zero: bool = False
) -> Metric:
    return Metric(name, unit, better, can_be_zero=can_be_zero, about=about)


#: The declared values of a run, in the order in which they are shown.
METRICS = (
    _declare(
        "median_bandwidth",
        "MB/s",
        "larger",
        "Bandwidth of the median pair while all pairs of a round send",
    ),
    _declare(
        "p5_bandwidth", "MB/s", "larger", "Bandwidth that 95 % of the pairs reach"
    ),
    _declare(
        "slowest_pair_bandwidth", "MB/s", "larger", "Bandwidth of the slowest pair"
    ),
    _declare(
        "slowest_to_median",
        "%",
        "larger",
        "Bandwidth of the slowest pair over that of the median pair",
    ),
    _declare(
        "aggregate_bandwidth",
        "MB/s",
        "larger",
        "Pairs times mean: what all pairs of a round reach together",
    ),
    _declare(
        *("perceived_aggregate_bandwidth", "MB/s", "larger"),
        "Pairs times slowest: an exchange over all pairs takes as long as its slowest",
    ),
    _declare(
        "full_rate_share",
        "%",
        "larger",
        "Pairs that have a link to themselves, judging by their bandwidth",
    ),
    _declare(
        "faults",
        "1",
        "smaller",
        "Nodes and paths that are slow for certain",
        can_be_zero=True,
    ),
    _declare(
        "elapsed_over_transfers",
        "1",
        "smaller",
        "Time of the run over the time of its transfers",
    ),
    _declare(
        "measured_pairs",
        "%",
        "larger",
        "Share of all pairs, counted in each direction, that were measured",
    ),
    _declare(
        "one_way_nodes",
        "1",
        "smaller",
        "Processes that never sent or never received",
        can_be_zero=True,
    ),
    _declare("smallest_node_fault", "%", "smaller", LOSS.format("node", "")),
    _declare("smallest_pair_fault", "%", "smaller", LOSS.format("pair", "")),
    _declare(
        "smallest_cable_fault",
        "%",
        "smaller",
        LOSS.format("cable", ", as without routes"),
    ),
)
#: Those of a run with known switches.
OF_SWITCHES = (
    _declare(
        "median_within_switches",
        "MB/s",
        "larger",
        "Bandwidth of the median pair at one switch",
    ),
    _declare(
        "median_between_switches",
        "MB/s",
        "larger",
        "Bandwidth of the median pair at two switches",
    ),
)
#: Those of GPUs that are paired rail by rail.
OF_RAILS = (
    _declare(
        "slowest_rail_to_median",
        "%",
        "larger",
        "Slowest rail over the median one; of each its median pair",
    ),
    _declare(
        "slowest_node_to_median",
        "%",
        "larger",
        "Slowest node over the median one; of each its median pair",
    ),
)
