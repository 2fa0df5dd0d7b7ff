# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of twins: those that ship, and those that are wrong."""

import pytest

from fabric_twins.errors import TwinError
from fabric_twins.model.description import FITTED, PREDICTED, HostBus, PublishedValue, load
from fabric_twins.model.reading import Source
from tests.twins.simulation import TWINS

SHIPPED = sorted(TWINS.glob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_number_of_a_shipped_description_has_a_source(file):
    twin = load(file)
    assert twin.name == file.stem
    assert {"nodes", "cpus_per_node", "inter_node.rate_MBps", "inter_node.latency_us"} <= set(twin.sources)
    for case in twin.cases:
        assert case.layout.nodes <= twin.nodes and case.layout.ppn <= twin.cpus_per_node
        for published in case.values:
            assert published.source.kind == "published", published
            assert published.twin in (FITTED, PREDICTED)


def test_every_platform_of_the_documents_has_a_twin():
    assert {file.stem for file in SHIPPED} == {
        *("cbc", "red-squall", "escher", "spirit", "feynman", "rogue-myrinet", "rogue-gige"),
        *("itanium2-ib", "itanium2-gige", "osu-ib", "osu-myrinet", "osu-quadrics", "ibm-12x"),
    }


def test_the_parts_of_a_description():
    twin = load(TWINS / "cbc.yaml")
    assert (twin.nodes, twin.cpus_per_node, twin.eager_below_B) == (16, 2, 65536)
    assert twin.host_bus.each_MBps is None and twin.host_bus.together_MBps > twin.inter_node.rate_MBps
    assert twin.sources["nodes"].kind == "published" and twin.sources["nodes"].text == "SAND Table 1"
    assert twin.sources["inter_node.send_us"].kind == "fitted"
    pair, _ = twin.cases
    assert (pair.check, pair.program, str(pair.layout), pair.parameters) == ("Streaming", "streaming", "2x1", {})
    (rate,) = [each for each in pair.values if each.metric == "message_rate_8B"]
    assert rate == PublishedValue(
        "message_rate_8B", "Mmsg/s", 2.7, Source("published", "SAND Table 3"), PREDICTED, "", 1
    )


def test_optional_keys_have_defaults(small):
    twin = small()
    assert twin.intra_node == twin.inter_node and twin.host_bus == HostBus(None, None)
    assert twin.faults == () and twin.cases == () and twin.collectives == "default"


def test_an_adapter_is_between_nodes_only(small):
    assert small(("receive_us: 1", "receive_us: 1\n  adapter_us: 2")).inter_node.adapter_us == 2
    with pytest.raises(TwinError, match=r"intra_node\.adapter_us: unknown key"):
        small(added="intra_node: {send_us: 1, receive_us: 1, latency_us: 1, rate_MBps: 200, adapter_us: 2}\n")


def test_needs_calls_names_a_part_of_a_message(small):
    assert small().inter_node.needs_calls == ""
    with pytest.raises(TwinError, match=r"inter_node\.needs_calls: 'all' is unknown; write one of begin, whole"):
        small(("receive_us: 1", "receive_us: 1\n  needs_calls: all"))


def test_buses(small):
    assert small(added="host_bus: {duplex: half, rate_MBps: 90}\n").host_bus == HostBus(None, 90)
    both = small(added="host_bus: {duplex: full, rate_MBps: 90, aggregate_MBps: 150}\n").host_bus
    assert both == HostBus(90, 150)
    with pytest.raises(TwinError, match="host_bus: has no limit; write rate_MBps or aggregate_MBps"):
        small(added="host_bus: {duplex: full}\n")
    with pytest.raises(TwinError, match=r"host_bus\.aggregate_MBps: unknown key"):
        small(added="host_bus: {duplex: half, rate_MBps: 90, aggregate_MBps: 150}\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate_MBps: 100", "rate_MBps: 1\n  speed: 1", r"inter_node\.speed: unknown key"),
        ("latency_us: 3", "latency_us: 0", r"inter_node\.latency_us: is zero; write a number above 0"),
        ("nodes: 8", "nodes: 2.5", r"nodes: 2\.5 is not a whole number; write one"),
        ("nodes: 8", "nodes: 99", r"topology\.levels: 3 levels of 4 ports have room for 16 of the 99 nodes; write"),
        ("nodes: 8", "nodes: 1000000000", r"nodes: 1000000000 nodes are more than the 100000 that can be simulated"),
        ("nodes: 8", "nodes: 1" + 400 * "0", r"nodes: '10+ \.\.\. 0+' is not a number; write one"),
        ("levels: 3", "levels: 50", r"topology\.levels: 50 levels are more than the 8 that a fat tree can have"),
        ("ports: 4", "ports: 4000", r"topology: asks for more than 2000000 switches and cables; write fewer"),
        ("name: small", "name: Small Twin", r"name: 'Small Twin' is not a name; use small letters"),
        ("ports: 4", "ports: 5", r"topology\.ports: 5 is odd; write the even number of ports"),
        ("kind: fat_tree", "kind: fattree", r"topology\.kind: 'fattree' is unknown; write one of star, fat_tree"),
        ("kind: d-mod-k", "kind: static", r"topology\.routing\.kind: 'static' is unknown; write one of d-mod-k"),
        ("link_MBps: 100", "link_MBps: 1\n  oversubscription: 2", r"oversubscription: 2 does not divide 4 ports"),
    ],
)
def test_a_malformed_description_is_one_line_with_file_key_and_remedy(small, old, new, message):
    with pytest.raises(TwinError, match=message) as caught:
        small((old, new))
    assert "small.yaml: " in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", twin: fitted", "", r"values\[0\]\.metrics\.x_MBps\.twin: is missing; write one of fitted, predicted"),
        (", twin: fitted", ", twin: fitted, tolerance_percent: 2", r"tolerance_because: is missing"),
        ("x_MBps", "x", r"metrics\.x: has no unit; end the name in one of us, MBps, B, percent, Mps"),
        (
            "program: rotate",
            "program: bcast",
            r"values\[0\]\.program: 'bcast' is unknown; write one of streaming, rotate",
        ),
        ("layout: 2x1", "layout: pair", r"values\[0\]\.layout: 'pair' is not a layout; write nodes x processes a node"),
    ],
)
def test_a_malformed_value(small, old, new, message):
    case = "{check: Rotate, program: rotate, layout: 2x1, metrics: {x_MBps: {value: 1, published: here, twin: fitted}}}"
    assert small(added=f"values: [{case}]\n").cases[0].values[0].unit == "MB/s"
    with pytest.raises(TwinError, match=message):
        small(added=f"values: [{case.replace(old, new)}]\n")


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
    assert (statement.check, statement.layout, statement.metric) == ("HotSpot", "8x1", "send_growth")
    assert (statement.bound, statement.value, statement.unit, statement.why_not) == ("at_least", 2, "1", "")
    assert statement.source.text == "the report" and statement.parameters == {}
    (statement,) = small(added=STATEMENT + "    not_reproduced: not so\n    parameters: {poll: none}\n").statements
    assert (statement.parameters, statement.why_not) == ({"poll": "none"}, "not so")
    assert small().statements == ()


def test_a_twin_may_be_fitted_to_a_statement(small):
    assert not small(added=STATEMENT).statements[0].is_fitted
    assert small(added=STATEMENT + "    twin: fitted\n").statements[0].is_fitted


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "at_least: 2",
            "at_most: 1\n    at_least: 2",
            r"statements\[0\]: needs one bound; write one of at_least and at_most",
        ),
        ("    at_least: 2\n", "", r"statements\[0\]: needs one bound"),
        ("    text: it grows\n", "", r"statements\[0\].text: is missing"),
        ("check: HotSpot", "chekc: HotSpot", r"statements\[0\].check: is missing"),
        (
            "at_least: 2",
            "at_least: 2\n    twin: predicted",
            r"statements\[0\].twin: 'predicted' is unknown; write one of fitted",
        ),
        ("at_least: 2", "at_least: 2\n    colour: red", r"statements\[0\].colour: unknown key"),
    ],
)
def test_a_malformed_statement(small, old, new, message):
    with pytest.raises(TwinError, match=message):
        small(added=STATEMENT.replace(old, new))
