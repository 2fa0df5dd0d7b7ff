# SPDX-License-Identifier: BSD-3-Clause
"""Implausible rates."""

import pytest

from fabric_offers.plausibility import implausible
from fabric_offers.runs import Run
from tests.builders import record

RECORD = record(
    system="oak", partition="compute", environ="mpich", check="OsuBandwidth",
    test="OsuBandwidth %benchmark=bw %layout=2x1", layout="2x1", nodes=2, nodelist=["n1", "n2"],
    metric="bandwidth_1B", one_way=True, unit="MB/s", better="larger", value=24000.0,
)  # fmt: skip
SYSTEM = {
    "partitions": [
        {"name": "compute", "features": [], "extras": {"link_MBps": 25000.0, "nics": 1}}
    ]
}


def texts(tmp_path, *changes, link_MBps=None):
    runs = [
        Run(f"output/s/oak/compute/mpich/run_{i}", [{**RECORD, **change}])
        for i, change in enumerate(changes)
    ]
    return [each.text for each in implausible(tmp_path, runs, SYSTEM, link_MBps)]


BOTH = {"one_way": False, "value": 48000.0}


@pytest.mark.parametrize(
    "change, link_MBps, what",
    [
        ({}, None, None),
        ({"value": 25400.0}, None, None),  # a rate of a data sheet is rounded
        ({"value": 26000.0}, None, "the links carry 25000 MB/s"),
        ({}, 12500.0, "the links carry 12500 MB/s"),  # as the buyer knows it
        (BOTH, None, None),
        ({**BOTH, "value": 52000.0}, None, "the links carry 50000 MB/s"),
        ({"nodes": 1, "value": 1e6}, None, None),  # within a node
        ({"nodes": 8, "one_way": True, "value": 180000.0}, None, None),
        ({"nodes": 8, "one_way": True, "value": 210000.0}, None, "8 nodes"),
    ],
)
def test_implausible_values_of_a_run_are_found(tmp_path, change, link_MBps, what):
    found = texts(tmp_path, change, link_MBps=link_MBps)
    assert len(found) == (what is not None) and (what is None or what in found[0])


def test_a_run_that_cannot_be_judged_hides_no_other(tmp_path):
    (found,) = texts(
        tmp_path, {"nodes": 1, "value": 1e6, "nodelist": ["n8"]}, {"value": 26000.0}
    )
    assert "the links carry 25000 MB/s" in found


def test_a_value_that_is_no_rate_hides_no_other(tmp_path):
    runs = [
        Run(
            "output/s/oak/compute/mpich/run_0",
            [{**RECORD, "unit": "us"}, {**RECORD, "value": 26000.0}],
        )
    ]
    assert len(list(implausible(tmp_path, runs, SYSTEM, None))) == 1
