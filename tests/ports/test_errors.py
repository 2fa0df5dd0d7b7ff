# SPDX-License-Identifier: BSD-3-Clause
"""Errors of ports: above their limit, below it by chance, and far above those of the others."""

import pytest

from fabric_checks.ports.errors import LIMITS, errors_of, port_errors
from tests.ports.samples import node, port, texts


def erring(name="n3", seconds=10.0, **grown):
    return node(name, port("mlx5_0:1", kind="verbs", grown=grown), seconds=seconds)


def clean(count=3):
    return [
        erring(f"n{i}", symbol_error=0, port_xmit_wait=5) for i in range(10, 10 + count)
    ]


def test_a_finding_names_host_port_counter_limit_and_source():
    (found,) = port_errors([*clean(), erring(symbol_error=1200)])
    assert found.text == (
        "node n3: symbol_error of mlx5_0:1 grew by 1200 in 10.0 s, 120 a second: the limit is 120 an hour"
    )
    assert (found.hosts, found.data["port"], found.data["counter"], found.is_fault) == (
        ("n3",),
        "mlx5_0:1",
        "symbol_error",
        True,
    )


@pytest.mark.parametrize(
    "counter, quiet, found",
    [
        ("symbol_error", 3, 8),  # 0.3 in 10 s are allowed
        ("port_rcv_errors", 130, 170),
        ("port_xmit_discards", 1100, 1200),
        ("carrier_changes", 0, 1),
    ],
)
def test_limits_are_rates(counter, quiet, found):
    assert counter in LIMITS
    assert port_errors([*clean(), erring(**{counter: quiet})]) == []
    assert len(port_errors([*clean(), erring(**{counter: found})])) == 1
    # Ten times as long, as many are fewer a second.
    assert len(port_errors([*clean(), erring(**{counter: found}, seconds=1000)])) == (
        LIMITS[counter][0] == 0
    )


def test_a_counter_without_a_limit_is_held_to_the_others_and_blames_nobody():
    (found,) = port_errors([*clean(), erring(port_xmit_wait=5000)])
    assert not found.is_fault
    assert texts([found]) == [
        "node n3: port_xmit_wait of mlx5_0:1 grew by 5000; on the other nodes the median is 5, the maximum 5"
    ]
    assert (
        port_errors([*clean(2), erring(port_xmit_wait=5000)]) == []
    )  # two are no majority
    assert port_errors([erring(f"n{i}", port_xmit_wait=5000) for i in range(5)]) == []


def test_what_a_record_keeps():
    change = port(
        grown={"symbol_error": 2, "rx_packets": 9, "rx_drop": 0, "port_xmit_wait": 4}
    )
    assert errors_of(change) == {"port_xmit_wait": 4, "symbol_error": 2}
