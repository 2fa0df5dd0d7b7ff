# SPDX-License-Identifier: BSD-3-Clause
"""Proof of the network that carried the bytes, and rails."""

import pytest

from fabric_checks.ports.snapshots import Port
from fabric_checks.ports.transport import (
    disproof,
    is_of,
    low_rails,
    rails,
    sent_by_port,
    unproven,
)
from tests.ports.samples import MB, node, port, texts


def job(*, eth0=1.0, mlx5=500.0, count=2, **about):
    ports = (port(sent_MB=eth0), port("mlx5_0:1", sent_MB=mlx5, kind="verbs", **about))
    return [node(f"n{i + 1}", *ports) for i in range(count)]


def test_patterns_go_by_any_name_of_a_port():
    roce = Port("mlx5_0:1", "verbs", aliases=["eth2"])
    assert all(
        is_of(roce, [pattern])
        for pattern in ("mlx5_*", "mlx5_0", "mlx5_0:1", "eth2", "eth*")
    )
    assert not is_of(roce, ["hsn*", "eth0", "mlx5"])


@pytest.mark.parametrize(
    "nodes, fabric, moved_B",
    [
        (job(), ["mlx5_*"], 990 * MB),
        (job(), ["mlx5_*"], None),
        (job(), [], 990 * MB),
        ([], ["mlx5_*"], 990 * MB),
        (job(mlx5=0), ["mlx5_*"], 0),
        (job(mlx5=0.001), ["mlx5_*"], 2000),
        (job(eth0=4, mlx5=0), ["mlx5_*"], None),  # a batch system moves as much
    ],
)
def test_nothing_is_disproven(nodes, fabric, moved_B):
    assert disproof(nodes, fabric, moved_B) is None


@pytest.mark.parametrize(
    "nodes, moved_B, text",
    [
        (
            job(eth0=550, mlx5=0),
            1050 * MB,
            "1.1 GB went over eth0, none over mlx5_*; the program moved 1.05 GB between nodes: MPI uses TCP",
        ),
        (job(eth0=500, mlx5=500), 2000 * MB, "1 GB went over eth0, 1 GB over mlx5_*; "),
        (job(mlx5=0), 2000, "2 MB went over eth0, none over mlx5_*; the program moved 2 kB"),
        (job(eth0=500, mlx5=100), None, "1 GB went over eth0, 200 MB over mlx5_*: MPI uses TCP"),
        ([*job(), node("n3")], 1000, "node n3 has no port mlx5_*, only eth0, mlx5_0:1; is the driver loaded"),
        (job(mlx5=0), 1000 * MB,
         "2 MB went over eth0, none over mlx5_*; the program moved 1 GB between nodes: no port "
         "of these nodes counted them"),
    ],
)  # fmt: skip
def test_another_network_than_the_named_one_is_a_disproof(nodes, moved_B, text):
    assert disproof(nodes, ["mlx5_*"], moved_B).startswith(text)


def test_uncounted_bytes_prove_nothing_and_are_reported():
    blind = job(mlx5=None)
    assert disproof(blind, ["mlx5_*"], 1000 * MB) is None
    assert texts(unproven(blind, {}, ["mlx5_*"])) == [
        "nodes n1, n2: it is not proven what carried the bytes: mlx5_0:1 does not count what it sent, or"
        " was reset"
    ]


def test_bytes_that_another_port_counts_are_not_counted_twice():
    ports = (
        port("cxi0", kind="cxi", sent_MB=10),
        port("hsn0", sent_MB=9, stacked=True),
    )
    assert sent_by_port([node("n1", *ports), node("n2", *ports)]) == {"cxi0": 20 * MB}


@pytest.mark.parametrize("missing", [False, True])
def test_a_rail_that_idles(missing):
    both = (port("eth0"), port("eth1"))
    one = (
        (port("eth0"),)
        if missing
        else (port("eth0"), port("eth1", sent_MB=0, received_MB=0))
    )
    shares = rails([node("n1", *both), node("n2", *both), node("n3", *one)], ["eth*"])
    assert shares["n1"] == {"eth0": 0.5, "eth1": 0.5} and shares["n3"] == {
        "eth0": 1.0,
        "eth1": 0.0,
    }
    (found,) = low_rails(shares)
    assert (
        found.text
        == "node n3: eth1 is idle: it carried 0 % of what the 2 rails of a node moved, eth0 100 %"
    )
    assert found.hosts == ("n3",)
    assert found.kind == "rail"
    assert found.data["port"] == "eth1"
    idle = [
        node(f"n{i}", port(), port("eth1", sent_MB=0, received_MB=0)) for i in "123"
    ]
    (found,) = low_rails(rails(idle, ["eth*"]))
    assert found.text.startswith("all nodes: eth1 is idle")


def test_rails_that_share_are_quiet_and_one_is_no_rail():
    uneven = (port("eth0", sent_MB=300), port("eth1", sent_MB=40))
    assert low_rails(rails([node("n1", *uneven)], ["eth*"])) == []
    assert (
        rails([node("n1")], ["eth*"])
        == {}
        == rails([node("n1", port("eth0"), port("eth1"))], [])
    )
    little = (
        port("eth0", sent_MB=1, received_MB=1),
        port("eth1", sent_MB=0, received_MB=0),
    )
    assert rails([node("n1", *little)], ["eth*"]) == {}
