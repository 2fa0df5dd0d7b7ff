# SPDX-License-Identifier: BSD-3-Clause
"""The latency map in the report: values from the records, the map from the output beside them."""

import pytest

from fabric_checks.diagnosis.latency_map import evaluation
from fabric_checks.report.html.collecting import collect
from fabric_checks.report.html.latency_map import section
from fabric_checks.report.html.matrices import roots
from tests.diagnosis.latency_map.model import latencies, text_of
from tests.report import records
from tests.report.records import record
from tests.report.test_matrices import place


@pytest.fixture
def run():
    text = text_of(latencies([0] * 4 + [1] * 4, pair={(0, 5): 2.0}))
    return text, evaluation.of_text(text)


def of(found):
    hosts = list(found.output.hosts)
    at = {"check": "LatencyMap", "layout": "8x1", "unit": "us", "better": "smaller", "nodelist": hosts, "tasks": 8}
    at["output"] = "output/20261101T120000Z-0001/oak/compute/mpich/LatencyMap_1"
    rows = [record(name, value, **(at | {"findings": found.notes()})) for name, value in found.metrics().items()]
    return collect(records.frame(rows))


def test_values_and_map_are_shown(tmp_path, run):
    text, found = run
    place(tmp_path, text, case="LatencyMap_1")
    shown = section(of(found), roots([tmp_path]))
    table, picture = shown.blocks
    assert [column.title for column in table.columns] == ["median pair", "largest pair", "spread", "faults"]
    (svg,) = picture.svgs
    assert "n005" in svg
    assert picture.description.endswith(" us.")
    assert any("n000 and n005 are " in note for note in picture.notes)


def test_a_map_that_is_gone_is_said(tmp_path, run):
    _, picture = section(of(run[1]), roots([tmp_path])).blocks
    assert picture.svgs == () and "not kept" in picture.absent


def test_the_map_of_another_run_is_not_taken(tmp_path, run):
    place(tmp_path, text_of(latencies([0] * 8)), case="LatencyMap_1")
    assert section(of(run[1]), roots([tmp_path])).blocks[1].svgs == ()


def test_a_broken_map_is_not_taken(tmp_path, run):
    place(tmp_path, run[0][:-30], case="LatencyMap_1")
    assert section(of(run[1]), roots([tmp_path])).blocks[1].svgs == ()


def test_nothing_measured_is_no_section():
    assert section(collect(records.frame([record("latency", 1.0)])), []) is None
