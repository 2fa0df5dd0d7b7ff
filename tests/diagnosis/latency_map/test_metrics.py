# SPDX-License-Identifier: BSD-3-Clause
"""The declared values are those that a report has, as they are shown."""

from fabric_checks.diagnosis.latency_map import evaluation
from fabric_checks.diagnosis.latency_map.metrics import METRICS
from tests.diagnosis.latency_map.model import latencies, text_of


def test_what_is_declared_is_measured():
    found = evaluation.of_text(text_of(latencies([0, 0, 1, 1]))).metrics()
    assert list(found) == [metric.name for metric in METRICS]
