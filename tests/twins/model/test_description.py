# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of twins: those that ship, and those that are wrong."""

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.description import (
    FITTED,
    PREDICTED,
    HostBus,
    PublishedValue,
    load,
)
from fabric_twins.model.sourced_yaml import Source
from tests.twins.simulation import TWINS

SHIPPED = sorted(TWINS.glob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_number_of_a_shipped_description_has_a_source(file):
    twin = load(file)
    assert twin.name == file.stem
    assert {
        "nodes",
        "cpus_per_node",
        "inter_node.rate_MBps",
        "inter_node.latency_us",
    } <= set(twin.sources)
    for case in twin.cases:
        assert case.layout.nodes <= twin.nodes and case.layout.ppn <= twin.cpus_per_node
        for published in case.values:
            assert published.source.kind == "published", published
            assert published.twin in (FITTED, PREDICTED)


def test_the_parts_of_a_description():
    twin = load(TWINS / "cbc.yaml")
    assert twin.nodes == 16
    assert twin.cpus_per_node == 2
    assert twin.eager_below_B == 65536
    assert twin.host_bus.each_MBps is None
    assert twin.host_bus.together_MBps > twin.inter_node.rate_MBps
    assert twin.sources["nodes"].kind == "published"
    assert twin.sources["nodes"].text == "SAND Table 1"
    assert twin.sources["inter_node.send_us"].kind == "fitted"
    pair, _ = twin.cases
    assert pair.check == "Streaming"
    assert pair.program == "streaming"
    assert str(pair.layout) == "2x1"
    assert pair.parameters == {}
    (rate,) = [each for each in pair.values if each.metric == "message_rate_8B"]
    assert rate == PublishedValue(
        "message_rate_8B",
        "Mmsg/s",
        2.7,
        Source("published", "SAND Table 3"),
        PREDICTED,
        "",
        1,
    )


def test_buses(small):
    assert small(added="host_bus: {duplex: half, rate_MBps: 90}\n").host_bus == HostBus(
        None, 90
    )
    both = small(
        added="host_bus: {duplex: full, rate_MBps: 90, aggregate_MBps: 150}\n"
    ).host_bus
    assert both == HostBus(90, 150)


WITHIN = "intra_node: {source: {assumed: x}, send_us: 1, receive_us: 1, latency_us: 1, rate_MBps: 200, %s}\n"


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "rate_MBps: 100",
            "rate: 1",
            "inter_node: rate: unknown; did you mean rate_MBps?",
        ),
        (
            "latency_us: 3",
            "latency_us: 0",
            "inter_node: latency_us: is zero; write a number above 0",
        ),
        (
            "latency_us: 3",
            "latency_us: {8: 1, 0: 2}",
            "latency_us: the sizes do not increase; write them in order",
        ),
        (
            "latency_us: 3",
            "latency_us: {4K: 1}",
            "latency_us: a table has whole message sizes in bytes",
        ),
        (
            "nodes: 8",
            "nodes: 99",
            "topology: levels: 3 levels of 4 ports have room for 16 of the 99 nodes; write more",
        ),
        (
            "nodes: 8",
            "nodes: 1000000000",
            "nodes is 1000000000; give a whole number from 2 to 100000",
        ),
        (
            "ports: 4",
            "ports: 4000",
            "topology: asks for more than 2000000 switches and cables; write fewer",
        ),
        (
            "name: small",
            "name: Small Twin",
            "name is 'Small Twin'; give a text (small letters, digits and dashes)",
        ),
        (
            "ports: 4",
            "ports: 5",
            "topology: ports is 5; give a whole number of at least 2 (an even number",
        ),
        (
            "kind: d-mod-k",
            "kind: d-mod-k, seed: 1",
            "topology: routing: seed goes with destination-table",
        ),
        ("", WITHIN % "adapter_us: 2", "intra_node: adapter_us: unknown; "),
        (
            "",
            "host_bus: {duplex: full}\n",
            "host_bus: has no limit; write rate_MBps or aggregate_MBps",
        ),
    ],
)
def test_a_malformed_description_is_one_line_with_file_key_and_remedy(
    small, old, new, message
):
    with pytest.raises(TwinError) as caught:
        small(*([(old, new)] if old else []), added="" if old else new)
    found = str(caught.value)
    assert "small.yaml:" in found and message in found and "\n" not in found


def test_a_fault_has_the_line_of_its_key(small):
    with pytest.raises(
        TwinError, match=r"small\.yaml:10: inter_node: rate_MBps is 'fast'"
    ):
        small(("rate_MBps: 100", "rate_MBps: fast"))


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            ", twin: fitted",
            "",
            "metrics: x_MBps: write twin: fitted or predicted, or not_reproduced and why",
        ),
        (
            ", twin: fitted",
            ", twin: fitted, tolerance_percent: 2",
            "tolerance_percent and tolerance_because go toget",
        ),
        (
            "x_MBps",
            "x",
            "values: 0: metrics: x: has no unit; end the name in one of us, MBps, B, percent, Mps",
        ),
        (
            "layout: 2x1",
            "layout: pair",
            "values: 0: 'pair' is not a layout; write nodes x processes a node",
        ),
    ],
)
def test_a_malformed_value(small, old, new, message):
    case = (
        "{check: Rotate, program: rotate, layout: 2x1, metrics: {x_MBps: {value: 1, published: here, twin:"
        " fitted}}}"
    )
    assert small(added=f"values: [{case}]\n").cases[0].values[0].unit == "MB/s"
    with pytest.raises(TwinError) as caught:
        small(added=f"values: [{case.replace(old, new)}]\n")
    assert message in str(caught.value)


STATEMENT = """\
statements:
  - check: HotSpot
    layout: 8x1
    metric: send_growth
    unit: "1"
    at_least: 2
    text: it grows
    published: the report
"""


def test_a_statement_is_a_bound_on_a_metric(small):
    (statement,) = small(added=STATEMENT).statements
    assert statement.check == "HotSpot"
    assert statement.layout == "8x1"
    assert statement.metric == "send_growth"
    assert statement.bound == "at_least"
    assert statement.value == 2
    assert statement.unit == "1"
    assert statement.why_not == ""
    assert statement.source.text == "the report" and not statement.is_fitted
    more = (
        "    not_reproduced: not so\n    parameters: {poll: none}\n    twin: fitted\n"
    )
    (statement,) = small(added=STATEMENT + more).statements
    assert (statement.parameters, statement.why_not, statement.is_fitted) == (
        {"poll": "none"},
        "not so",
        True,
    )


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "at_least: 2",
            "at_most: 1\n    at_least: 2",
            "needs one bound; write one of at_least and at_most",
        ),
        ("    at_least: 2\n", "", "needs one bound"),
        (
            "at_least: 2",
            "at_least: 2\n    twin: predicted",
            "twin is 'predicted'; give one of fitted",
        ),
    ],
)
def test_a_malformed_statement(small, old, new, message):
    with pytest.raises(TwinError) as caught:
        small(added=STATEMENT.replace(old, new))
    assert "statements: 0: " in str(caught.value) and message in str(caught.value)
