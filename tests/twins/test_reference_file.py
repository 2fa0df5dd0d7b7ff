# SPDX-License-Identifier: BSD-3-Clause
"""Reference files follow from the descriptions, and mark fitted and predicted values and statements."""

import pytest
import yaml

from fabric_checks.references import reference_file as held
from fabric_twins import published_table, reference_file
from tests.twins.simulation import shipped


@pytest.mark.parametrize("twin", published_table.shipped(), ids=lambda twin: twin.name)
def test_the_file_is_that_of_the_description(twin):
    path = reference_file.path(twin)
    assert path.read_text() == reference_file.text(twin), (
        "stale; write it anew with fabric-checks twin references"
    )
    held.load(path)


def test_values_statements_and_expected_failures_are_written(tmp_path):
    content = yaml.safe_load(reference_file.text(shipped("osu-quadrics")))
    streaming = content["Streaming"]["2x1"]
    assert streaming["zero_byte_latency_ping_pong"] == [2.0, -0.01, 0.01, "us"]
    assert streaming["bidirectional_latency"] == [2.1, -0.01, 0.01, "us"]
    assert content["StreamingQueue"]["32"]["2x1"]["peak_bandwidth_streaming"] == [
        311.0,
        -0.01,
        0.01,
        "MB/s",
    ]
    assert content["HotSpot"]["8x1"]["send_growth"] == [1.2, None, 0, "1"]
    kinds = {(each.get("metric"), each["evidence"]) for each in content["evidence"]}
    assert ("send_growth", "fitted") in kinds
    content = yaml.safe_load(reference_file.text(shipped("red-squall")))
    mark, why, reference = content["Streaming"]["2x1"]["peak_bandwidth_exchange"]
    assert mark == "$xfail"
    assert "SimGrid" in why
    assert reference == [860.0, -0.01, 0.01, "MB/s"]


def test_evidence_of_a_case():
    file = held.load(reference_file.path(shipped("red-squall")))

    def evidence(metric, layout="2x1", held=True, check="Streaming"):
        case = {
            "check": check,
            "partition": "red-squall:twin",
            "environ": "smpi",
            "layout": layout,
        }
        return file.evidence_of(metric=metric, held=held, **case)

    assert evidence("zero_byte_latency_ping_pong").evidence == "fitted"
    assert evidence("zero_byte_latency_ping_pong").source == "SAND Table 2"
    assert evidence("zero_byte_latency_ping_pong", "1x2").source == "SAND Table 7"
    assert evidence("peak_bandwidth_exchange").evidence == "predicted"
    assert evidence("ping_pong_time_8B", held=False).evidence == "simulated"
    assert evidence("isend_availability_131072B", check="Overlap").evidence == "said"
    # Another case of the check, which has no reference, is not fitted because its metric has that name.
    assert evidence("zero_byte_latency_ping_pong", held=False).evidence == "simulated"
