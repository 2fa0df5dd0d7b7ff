# SPDX-License-Identifier: BSD-3-Clause
"""How counters grew, and what they cannot tell: recorded trees, and counters that stop, begin anew or are not there."""

from dataclasses import replace

import pytest

from fabric_checks.ports.changes import of_node
from fabric_checks.ports.snapshots import Port, Snapshot, parse
from tests.conftest import TESTS


def golden(name):
    return parse((TESTS / "golden" / "ports" / f"{name}.txt").read_text())


def test_a_tree_before_and_after():
    node = of_node(golden("infiniband"))
    assert (node.node, node.seconds) == ("n1", 20)
    first, second = node.ports["mlx5_0:1"], node.ports["mlx5_1:1"]
    assert (first.sent_B, first.received_B, first.grown["symbol_error"]) == (1_000_000, 1_000_000, 0)
    assert (second.sent_B, second.grown["symbol_error"]) == (0, 4000)
    assert (node.tcp["OutSegs"], node.tcp["RetransSegs"], node.tcp["TCPOFOQueue"]) == (200, 2, 4)


def test_counters_that_have_stopped_or_began_anew():
    port = of_node(golden("old")).ports["mthca0:1"]
    assert port.sent_B is None and port.received_B is None and port.grown == {}
    assert set(port.doubts) == {
        "symbol_error has stopped at its largest value, 65535",
        "link_downed was reset",
        "sent bytes have stopped at the largest value of 32 bits",
        "received bytes were reset",
    }


def test_counters_without_numbers():
    port = of_node(golden("iwarp")).ports["i40iw0:1"]
    assert (port.sent_B, port.received_B) == (None, None)
    assert port.doubts == ("sent bytes are not counted", "received bytes are not counted")


def test_a_port_that_came_and_a_counter_that_may_not_be_read():
    file = golden("infiniband")
    early = dict(file.before.ports)
    late = file.after.ports | {"new:1": Port("new:1", "verbs")}
    late["eno1"] = replace(late["eno1"], unreadable={"rx_crc_errors": "EACCES"}, counters={"fresh": 1})
    node = of_node(replace(file, before=replace(file.before, ports=early), after=replace(file.after, ports=late)))
    assert node.ports["new:1"].doubts == ("it did not exist before the program ran",)
    assert node.ports["eno1"].doubts == ("fresh did not exist before", "rx_crc_errors cannot be read (EACCES)")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda file: replace(file, after=None), "the program did not finish there"),
        (
            lambda file: replace(file, after=Snapshot(None, None, {}, file.after.host, "took more than 2000 ms")),
            "the snapshot after the program was cut: took more than 2000 ms",
        ),
        (lambda file: replace(file, after=file.before), "the node rebooted in between"),
    ],
)
def test_what_is_not_known_of_a_node_is_said(change, why):
    assert of_node(change(golden("infiniband"))) == why
