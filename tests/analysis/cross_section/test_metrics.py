# SPDX-License-Identifier: BSD-3-Clause
"""What is declared is what a report measures."""

from fabric_checks.analysis.cross_section import evaluation
from fabric_checks.analysis.cross_section.metrics import METRICS
from tests.analysis.cross_section.model import Fabric, run, text_of


def test_a_report_measures_what_is_declared():
    found = evaluation.of_text(text_of(run(Fabric(16, 0.01, 1))))
    assert set(found.metrics()) == {metric.name for metric in METRICS}
