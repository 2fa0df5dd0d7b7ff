# SPDX-License-Identifier: BSD-3-Clause
"""Cores and links of a host."""

import pytest

from fabric_checks.onboarding import hardware
from fabric_checks.onboarding.hardware import Link
from tests.breakages import refused


def test_cores():
    assert (
        hardware.cores(
            "CPU(s):  64\nThread(s) per core:  2\nCore(s) per socket:  16\nSocket(s):  2\n"
        )
        == 32
    )
    with refused(r"lscpu states no 'Core\(s\) per socket'"):
        hardware.cores("Core(s) per cluster: 4\n")


@pytest.mark.parametrize(
    "rate, MBps",
    [
        ("10 Gb/sec (4X SDR)", 1000),
        ("40 Gb/sec (4X QDR)", 4000),
        ("56 Gb/sec (4X FDR)", 6787.9),
        ("100 Gb/sec (4X EDR)", 12500),
        ("200 Gb/sec (2X NDR)", 25000),
        ("400 Gb/sec (4X NDR)", 50000),
    ],
)
def test_infiniband_rates_are_those_after_coding(rate, MBps):
    """QDR carries 4 GB/s and FDR 6.8 GB/s in a direction, as their vendors' data sheets have it."""
    assert hardware.infiniband("m", f"{rate}\n", "4: ACTIVE\n", "InfiniBand\n") == Link(
        "m", "InfiniBand", MBps
    )


def test_ports_that_are_down_or_of_ethernet():
    assert (
        hardware.infiniband("m", "10 Gb/sec (4X SDR)", "1: DOWN", "InfiniBand") is None
    )
    # An adapter tells an Ethernet of 40 Gbit/s by the name of a rate of InfiniBand.
    assert hardware.infiniband(
        "m", "40 Gb/sec (4X QDR)", "4: ACTIVE", "Ethernet"
    ) == Link("m", "RoCE", 5000)
    with refused("m: not a link rate: 'fast'"):
        hardware.infiniband("m", "fast", "4: ACTIVE", "InfiniBand")


@pytest.mark.parametrize(
    "device, layer, kind",
    [
        ("rdmap0s6", "Unknown", "EFA"), ("efa_0", "Unspecified", "EFA"), ("rdmap16s27", "InfiniBand", "EFA"),
        ("hfi1_0", "InfiniBand", "Omni-Path"), ("opap65s0", "InfiniBand", "Omni-Path"),
        ("x_0", "Unknown", "RDMA of link layer 'Unknown'"), ("mlx5_0", "InfiniBand", "InfiniBand"),
    ],
)  # fmt: skip
def test_a_link_layer_that_is_not_known_is_no_infiniband(device, layer, kind):
    """As linux-rdma/rdma-core pull request 884 and uccl issue 163 have the layer of EFA."""
    link = hardware.infiniband(device, "100 Gb/sec (4X EDR)", "4: ACTIVE", f"{layer}\n")
    assert link == Link(device, kind, 12500) and hardware.fastest(
        [link, Link("e", "Ethernet", 25000)]
    ) == [link]


def test_ethernet():
    assert hardware.ethernet("eth0", "25000\n") == Link("eth0", "Ethernet", 3125)
    assert hardware.ethernet("hsn1", "200000") == Link("hsn1", "Slingshot", 25000)
    assert [
        hardware.ethernet("e", speed) for speed in ("-1", "", "0", "4294967295", "x")
    ] == [None] * 5


def test_the_fastest_are_of_one_kind():
    slow = Link("e", "Ethernet", 12500)
    one = Link("a", "InfiniBand", 12500)
    two = Link("b", "InfiniBand", 12500)
    assert hardware.fastest([slow, one, two]) == [one, two]
    assert hardware.fastest([]) == []
    assert hardware.fastest([slow, Link("c", "InfiniBand", 6250)])[0].device == "c"
