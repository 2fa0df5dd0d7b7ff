# SPDX-License-Identifier: BSD-3-Clause
"""Every value of a description has a check that measures it."""

import pytest

from fabric_checks.core.layouts import Layout
from fabric_twins import published_table
from fabric_twins.errors import TwinError
from fabric_twins.model.places import Place, place_of
from tests.twins.simulation import shipped


@pytest.mark.parametrize("twin", published_table.shipped(), ids=lambda twin: twin.name)
def test_a_check_measures_every_value(twin):
    for benchmark, values in twin.values.items():
        for name in values:
            place = place_of(twin, benchmark, name)
            assert place.layout.nodes <= twin.nodes and place.layout.ppn <= twin.cpus_per_node


def test_where_some_values_are_measured():
    twin = shipped("feynman")
    pairs = Place("Rotate", Layout(128, 1), {"pattern": "rotate"}, "two_pairs_on_a_link", "MB/s")
    assert place_of(twin, "rotate", "two_pairs_on_a_link_MBps") == pairs
    assert place_of(twin, "rotate", "single_pair_MBps").layout == Layout(2, 1)
    exchange = Place("Streaming", Layout(1, 2), {}, "peak_bandwidth_exchange", "MB/s")
    assert place_of(shipped("cbc"), "two_ppn_sendrecv", "peak_bandwidth_MBps") == exchange
    queue = place_of(twin, "streaming_queue_8", "peak_bandwidth_streaming_MBps")
    assert (queue.check, queue.parameters) == ("StreamingQueue", {"queue_depth": "8"})


def test_a_value_that_no_check_measures():
    twin = shipped("cbc")
    with pytest.raises(
        TwinError, match=r"cbc\.yaml: values\.bcast: no check measures that; the known ones are " r"streaming"
    ):
        place_of(twin, "bcast", "latency_us")
    with pytest.raises(TwinError, match=r"cbc\.yaml: values\.rotate\.pairs: has no unit; end the name in one of us"):
        place_of(twin, "rotate", "pairs")
