# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a cross-section run; :mod:`fabric_checks.diagnosis.cross_section.bandwidths` defines them."""

from __future__ import annotations

from fabric_checks.core.metrics import Metric

#: The declared values of a run, in the order in which they are shown.
METRICS = (
    Metric("median_bandwidth", "MB/s", "larger", about="Bandwidth of the median pair while all pairs of a round send"),
    Metric("p5_bandwidth", "MB/s", "larger", about="Bandwidth that 95 % of the pairs reach"),
    Metric("slowest_pair_bandwidth", "MB/s", "larger", about="Bandwidth of the slowest pair"),
    Metric("slowest_to_median", "%", "larger", about="Bandwidth of the slowest pair over that of the median pair"),
    Metric(
        "aggregate_bandwidth",
        "MB/s",
        "larger",
        about="Pairs times mean bandwidth: what all pairs of a round reach together",
    ),
    Metric(
        "perceived_aggregate_bandwidth",
        "MB/s",
        "larger",
        about="Pairs times slowest bandwidth: an exchange over all pairs takes as long as its slowest",
    ),
    Metric("full_rate_share", "%", "larger", about="Pairs that have a link to themselves, judging by their bandwidth"),
    Metric("faults", "1", "smaller", can_be_zero=True, about="Nodes and paths that are slow for certain"),
    Metric("elapsed_over_transfers", "1", "smaller", about="Time of the run over the time of its transfers"),
    Metric("measured_pairs", "%", "larger", about="Share of all pairs, counted in each direction, that were measured"),
    Metric("one_way_nodes", "1", "smaller", can_be_zero=True, about="Processes that never sent or never received"),
    Metric(
        "smallest_node_fault",
        "%",
        "smaller",
        about="Smallest loss of rate of a node that this run would have named; 100: none",
    ),
    Metric(
        "smallest_pair_fault",
        "%",
        "smaller",
        about="Smallest loss of rate of a pair that this run would have named; 100: none",
    ),
    Metric(
        "smallest_cable_fault",
        "%",
        "smaller",
        about="Smallest loss of rate of a cable that this run would have named; 100: none, as without routes",
    ),
)
#: Those of a run with known switches: pairs at one switch, and at two.
OF_SWITCHES = (
    Metric("median_within_switches", "MB/s", "larger", about="Bandwidth of the median pair at one switch"),
    Metric("median_between_switches", "MB/s", "larger", about="Bandwidth of the median pair at two switches"),
)
#: Those of GPUs that are paired rail by rail.
OF_RAILS = (
    Metric(
        "slowest_rail_to_median",
        "%",
        "larger",
        about="Slowest rail over the median one; of each the median of its pairs",
    ),
    Metric(
        "slowest_node_to_median",
        "%",
        "larger",
        about="Slowest node over the median one; of each the median of its pairs",
    ),
)
