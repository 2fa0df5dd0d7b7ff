# SPDX-License-Identifier: BSD-3-Clause
"""Growth of counters: recorded trees, and counters that stop, are reset or are missing."""

from dataclasses import replace

import pytest

from fabric_checks.ports.counter_growth import of_node
from fabric_checks.ports.snapshots import Port, Snapshot, parse
from tests.conftest import TESTS


def golden(name):
    return parse((TESTS / f"golden/ports/{name}.txt").read_text())


def test_a_tree_before_and_after():
    node = of_node(golden("infiniband"))
    assert node.node == "n1"
    assert node.seconds == 20
    first, second = node.ports["mlx5_0:1"], node.ports["mlx5_1:1"]
    assert first.sent_B == 1_000_000
    assert first.received_B == 1_000_000
    assert first.grown["symbol_error"] == 0
    assert second.sent_B == 0
    assert second.grown["symbol_error"] == 4000
    assert node.tcp["OutSegs"] == 200
    assert node.tcp["RetransSegs"] == 2
    assert node.tcp["TCPOFOQueue"] == 4


def test_counters_that_have_stopped_or_were_reset():
    port = of_node(golden("old")).ports["mthca0:1"]
    assert port.sent_B is None
    assert port.received_B is None
    assert port.grown == {"symbol_error": 0}


def test_counters_without_numbers():
    port = of_node(golden("iwarp")).ports["i40iw0:1"]
    assert port.sent_B is None
    assert port.received_B is None


def test_a_new_port_and_a_new_counter_have_not_grown():
    file = golden("infiniband")
    late = file.after.ports | {"new:1": Port("new:1", "verbs", sent_B=1)}
    late["eno1"] = replace(late["eno1"], counters={"fresh": 1}, sent_B=0)
    node = of_node(replace(file, after=replace(file.after, ports=late)))
    assert node.ports["new:1"].sent_B is None
    assert node.ports["eno1"].grown == {}
    assert node.ports["eno1"].sent_B is None


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda file: replace(file, after=None), "the program did not finish there"),
        (
            lambda file: replace(
                file,
                after=Snapshot(
                    None, None, {}, file.after.host, "took more than 2000 ms"
                ),
            ),
            "the snapshot after the program was cut: took more than 2000 ms",
        ),
        (lambda file: replace(file, after=file.before), "the node rebooted in between"),
    ],
)
def test_an_unknown_activity_has_its_cause(change, why):
    assert of_node(change(golden("infiniband"))) == why
