# SPDX-License-Identifier: BSD-3-Clause
"""What the ways of GPUs to other nodes say of hosts and adapters."""

import pytest

from fabric_checks.parsers import nccl_debug
from fabric_checks.ports import gpu_paths
from tests.parsers import nccl
from tests.parsers.test_nccl_debug import ways

IB = ["mlx5_*"]
SELECTED = "NET/OFI Selected Provider is {} (found 4 nics)\n"


def texts(**how):
    return [each.text for each in gpu_paths.findings(ways(**how))]


def at(host, gpu, value, usual):
    """Return a function of host and GPU that has a value for one of them."""
    return lambda of_host, of_gpu: (
        value if (of_host, of_gpu) == (host, gpu) else usual(of_gpu)
    )


def test_a_healthy_machine_has_no_findings():
    assert texts() == []
    assert gpu_paths.disproof(ways(), IB) is None


def test_one_adapter_for_all_gpus_of_all_nodes_is_no_finding():
    assert texts(adapter=lambda _host, _gpu: 0) == []


def test_gpus_in_reverse_are_one_finding_of_their_host():
    (text,) = texts(bus=lambda host, gpu: 7 - gpu if host == "n3" else gpu)
    assert (
        text
        == "node n3: GPU 0 is at bus 8b000, on most nodes it is at bus 1b000 (8 GPUs of 8 differ)"
    )


def test_sockets_fail_the_case_where_another_network_is_named():
    why = gpu_paths.disproof(ways(network=at("n3", 2, "Socket", lambda _: "IB")), IB)
    assert why.startswith("NCCL went over TCP (Socket) on node n3, not over mlx5_*: ")
    assert gpu_paths.disproof(ways(network="Socket"), []) is None
    assert gpu_paths.disproof(ways(network="Socket"), ["eth0"]) is None


@pytest.mark.parametrize(
    "provider, is_tcp",
    [("tcp", True), ("sockets", True), ("tcp;ofi_rxm", True), ("udp;ofi_rxd", True)]
    + [(name, False) for name in ("verbs;ofi_rxm", "efa", "cxi", "psm3", "tcpx")],
)
def test_a_provider_on_tcp_fails_the_case_also_below_another(provider, is_tcp):
    begin = "".join(
        f"n{1 + at // 8}:{4000 + at}:1 [{at % 8}] NCCL INFO "
        + SELECTED.format(provider)
        for at in range(64)
    )
    ranks = nccl_debug.parse(
        begin + nccl.log([f"n{at}" for at in range(1, 9)], 8, network="AWS Libfabric")
    )
    why = gpu_paths.disproof(ranks, ["hsn*"])
    assert bool(why) == is_tcp
    assert not is_tcp or why.startswith(
        f"NCCL went over TCP (AWS Libfabric by {provider}) on nodes n1, n2, n3, n4 and 4 more, not over"
        " hsn*: "
    )


def test_no_gpudirect_anywhere_is_an_observation():
    (found,) = gpu_paths.findings(ways(direct=False))
    assert not found.is_fault and "no GPU goes by GPUDirect RDMA" in found.text
