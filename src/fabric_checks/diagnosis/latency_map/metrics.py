# SPDX-License-Identifier: BSD-3-Clause
"""What a latency map measures; :mod:`fabric_checks.diagnosis.latency_map.evaluation` says what each is."""

from __future__ import annotations

from fabric_checks.core.metrics import Metric

#: The declared values of a run, in the order in which they are shown.
METRICS = (
    Metric("median_latency", "us", "smaller"),
    Metric("largest_pair_latency", "us", "smaller"),
    Metric("latency_spread", "%", "smaller", can_be_zero=True),
    Metric("faults", "1", "smaller", can_be_zero=True),
)
