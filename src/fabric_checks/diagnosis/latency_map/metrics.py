# SPDX-License-Identifier: BSD-3-Clause
"""Metrics of a latency map; :mod:`fabric_checks.diagnosis.latency_map.evaluation` defines them."""

from __future__ import annotations

from fabric_checks.core.metrics import Metric

#: The declared values of a run, in the order in which they are shown.
METRICS = (
    Metric(
        "median_latency",
        "us",
        "smaller",
        about="Half the round trip of the median pair",
    ),
    Metric(
        "largest_pair_latency",
        "us",
        "smaller",
        about="Half the round trip of the slowest pair",
    ),
    Metric(
        "latency_spread",
        "%",
        "smaller",
        can_be_zero=True,
        about="95th percentile of the pairs minus the 5th, over the median",
    ),
    Metric(
        "faults",
        "1",
        "smaller",
        can_be_zero=True,
        about="Nodes and paths that are slow for certain",
    ),
)
