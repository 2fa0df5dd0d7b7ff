# SPDX-License-Identifier: BSD-3-Clause
"""A report has the declared metrics."""

import pytest

from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_SWITCHES
from fabric_checks.fabric_map.model import of_switches
from tests.diagnosis.cross_section.model import Fabric, run, text_of


def test_a_report_measures_what_is_declared():
    found = evaluation.of_run(evaluation.read(text_of(run(Fabric(16, 0.01, 1)))))
    assert set(found.metrics()) == {metric.name for metric in METRICS}
    # Each of one half with each of the other, in one direction, of all ordered pairs.
    assert found.metrics()["measured_pairs"] == pytest.approx(100 * 8 * 8 / (16 * 15))


def test_medians_within_and_between_switches_are_measured_where_these_are_known():
    """Of 16 nodes every pair that `rotate` measures is between the halves: those are the switches, or are
    not."""
    fabric = Fabric(16, 0.01, 1)
    hosts = [f"n{rank}" for rank in range(16)]
    halves = of_switches("a test", {"a": hosts[:8], "b": hosts[8:]})
    found = evaluation.of_run(run(fabric), known=halves)
    assert found.of_switches.keys() == {"median_between_switches"}
    mixed = of_switches(
        "a test", {"a": hosts[:4] + hosts[8:12], "b": hosts[4:8] + hosts[12:]}
    )
    values = evaluation.of_run(run(fabric), known=mixed).metrics()
    assert {metric.name for metric in (*METRICS, *OF_SWITCHES)} == values.keys()
    assert values["median_within_switches"] == pytest.approx(1000, rel=0.02)


def test_the_smallest_faults_are_metrics_and_a_note():
    exact = evaluation.of_run(run(Fabric(16, 0.01, 1)))
    assert (
        6
        <= exact.metrics()["smallest_node_fault"]
        <= 10
        < exact.metrics()["smallest_cable_fault"]
        == 100
    )
    rough = evaluation.of_run(run(Fabric(16, 0.10, 1)))
    assert (
        rough.metrics()["smallest_node_fault"] > 10
        and rough.metrics()["smallest_pair_fault"] > 20
    )
    assert (
        f"any node slower by {100 * rough.limits['node']:.0f} % or more"
        in rough.limits_text
    )
    once = evaluation.of_run(run(Fabric(16, 0.01, 1), confirm=False))
    assert once.metrics()["smallest_node_fault"] == 100 and once.limits_text.startswith(
        "no slow node"
    )
    assert any(
        "without `rotate --confirm` no node or path is blamed" in note.text
        for note in once.all_findings()
    )
