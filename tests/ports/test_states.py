# SPDX-License-Identifier: BSD-3-Clause
"""Ports and hosts that differ from the others."""

import pytest

from fabric_checks.ports.snapshots import Host
from fabric_checks.ports.states import high_loads, missing_devices, outliers, slow_links
from tests.ports import pcie
from tests.ports.samples import node, nodes, port, texts

HDR = {
    "kind": "verbs",
    "rate_MBps": 25000.0,
    "firmware": "20.31",
    "driver": "ice 24",
    "mtu": 4096,
}


def verbs(**about):
    return port("mlx5_0:1", **HDR | about)


@pytest.mark.parametrize(
    "about, text",
    [
        ({"rate_MBps": 12500.0}, "rate: 100 Gbit/s, 200 Gbit/s"),
        ({"pcie": "8.0 GT/s x16"}, "PCIe: 8.0 GT/s x16, 16.0 GT/s x16"),
        ({"firmware": "20.30"}, "firmware: 20.30, 20.31"),
        ({"driver": "ice 23"}, "driver: ice 23, ice 24"),
        ({"mtu": 2048}, "MTU: 2048, 4096"),
        ({"up": False}, "link state: down, up"),
        ({"numa": 1}, "NUMA node: 1, 0"),
    ],
)
def test_a_port_that_differs_from_most_is_named(about, text):
    what, values = text.split(": ")
    own, most = values.split(", ")
    usual = {"pcie": "16.0 GT/s x16", "numa": 0}
    job = [node(f"n{i}", verbs(**usual)) for i in (1, 2, 4)] + [
        node("n3", verbs(**usual | about))
    ]
    (found,) = outliers(job, {})
    assert (
        found.text == f"node n3: {what} of mlx5_0:1 is {own}, on the other nodes {most}"
    )
    assert found.hosts == ("n3",) and found.is_fault


def test_values_without_a_majority_blame_nobody():
    three = [
        node("n1", verbs()),
        node("n2", verbs(mtu=1500)),
        node("n3", verbs(mtu=9000)),
    ]
    for job, values in (
        (three, "n2: 1500; n1: 4096; n3: 9000"),
        (three[:2], "n2: 1500; n1: 4096"),
    ):
        (found,) = outliers(job, {})
        assert found.text == f"MTU of mlx5_0:1 differs between the nodes: {values}"
        assert not found.is_fault


def test_ports_that_carry_nothing_of_their_own_are_left_out():
    job = [node(f"n{i}", port("docker0", stacked=True, mtu=1500 + i)) for i in range(4)]
    assert outliers(job, {}) == [] == outliers(nodes(), {})


def test_a_link_below_the_rate_of_the_systems_file():
    job = [node("n1", verbs()), node("n2", verbs(rate_MBps=12500.0))]
    (found,) = slow_links(job, 25000.0, ["mlx5*"])
    assert (
        found.text
        == "node n2: mlx5_0:1 runs at 100 Gbit/s; the system's file says 25000 MB/s"
    )
    assert slow_links(job, None, ["*"]) == [] == slow_links(job, 25000.0, [])


def test_hosts_that_are_set_otherwise():
    def host(**settings):
        return Host(
            settings={"governor": "performance", "huge pages": "always"} | settings
        )

    job = [node(f"n{i}", host=host()) for i in (1, 2, 4)] + [
        node("n3", host=host(governor="powersave"))
    ]
    bindings = {"n1": "1 CPU", "n2": "1 CPU", "n3": "1 CPU", "n4": "none"}
    found = outliers(job, bindings)
    assert texts(found) == [
        "node n3: governor is powersave, on the other nodes performance",
        "node n4: binding is none, on the other nodes 1 CPU",
    ]
    assert all(each.kind == "host" and each.is_fault for each in found)


def test_a_high_load_blames_nobody():
    (found,) = high_loads([*nodes(3), node("n4", load=9.0)])
    assert found.text == "node n4: the load before the case is 9; the median is 0.1"
    assert not found.is_fault
    assert list(high_loads([node("n1"), node("n2", load=9.0)])) == []


@pytest.mark.parametrize(
    "how, text",
    [
        ({"adapters": [0, 1, 2, 3, 4, 5, 7]}, "has no mlx5_6:1, as most nodes have"),
        (
            {"gpus": [1, 2, 3, 4, 5, 6, 7]},
            "has no GPU 0000:1b:00.0, as most nodes have",
        ),
        (
            {"before": {}, "gpus": [0, 1, 2, 3, 4, 6, 7]},
            "lost GPU 0000:6b:00.0, during the case",
        ),
    ],
)
def test_a_host_without_a_device_is_named(how, text):
    (found,) = missing_devices(pcie.job(n3=how))
    assert found.text.startswith(f"node n3 {text}")
    assert found.hosts == ("n3",) and found.is_fault


def test_a_host_that_lost_a_device_hides_no_other():
    lost = {"before": {}, "gpus": [0, 1, 2, 3, 4, 6, 7]}
    absent = {"gpus": [1, 2, 3, 4, 5, 6, 7]}
    named = missing_devices(pcie.job(n3=lost, n5=absent))
    assert {host for each in named for host in each.hosts} == {"n3", "n5"}


def test_of_two_hosts_neither_has_what_most_have():
    assert list(missing_devices(pcie.job(2, n1={"gpus": [0]}))) == []


def test_a_snapshot_that_was_cut_says_nothing_of_what_is_missing():
    cut = pcie.text("n3", pcie.host(), pcie.host(gpus=[0])).replace(
        "# rows", "# cut: more than 1 MiB\n# rows"
    )
    assert list(missing_devices([*pcie.job(4), pcie.of_node(pcie.parse(cut))])) == []


def test_a_link_of_pcie_with_fewer_lanes_is_named():
    lanes = {"0000:68:00.0": 4, pcie.adapter_path(5, 5)[-1]: 8}
    assert texts(outliers(pcie.job(n3={"lanes": lanes}), {})) == [
        "node n3: PCIe of mlx5_5:1 is 32.0 GT/s x8, on the other nodes 32.0 GT/s x16",
        "node n3: number of PCIe lanes at 0000:68:00.0 is 4, on the other nodes 16",
    ]
