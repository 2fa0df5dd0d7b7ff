# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a cross-section run; :mod:`fabric_checks.diagnosis.cross_section.bandwidths` defines them."""

from __future__ import annotations

from fabric_checks.core.metrics import Metric

#: The declared values of a run, in the order in which they are shown.
METRICS = (
    Metric("median_bandwidth", "MB/s", "larger"),
    Metric("p5_bandwidth", "MB/s", "larger"),
    Metric("slowest_pair_bandwidth", "MB/s", "larger"),
    Metric("slowest_to_median", "%", "larger"),
    Metric("aggregate_bandwidth", "MB/s", "larger"),
    Metric("perceived_aggregate_bandwidth", "MB/s", "larger"),
    Metric("full_rate_share", "%", "larger"),
    Metric("faults", "1", "smaller", can_be_zero=True),
    Metric("elapsed_over_transfers", "1", "smaller"),
    Metric("measured_pairs", "%", "larger"),
    Metric("one_way_nodes", "1", "smaller", can_be_zero=True),
    Metric("smallest_node_fault", "%", "smaller"),
    Metric("smallest_pair_fault", "%", "smaller"),
    Metric("smallest_cable_fault", "%", "smaller"),
)
#: Those of a run with known switches: pairs at one switch, and at two.
OF_SWITCHES = (Metric("median_within_switches", "MB/s", "larger"), Metric("median_between_switches", "MB/s", "larger"))
#: Those of GPUs that are paired rail by rail.
OF_RAILS = (Metric("slowest_rail_to_median", "%", "larger"), Metric("slowest_node_to_median", "%", "larger"))
