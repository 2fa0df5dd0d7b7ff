# SPDX-License-Identifier: BSD-3-Clause
"""The reader of what NCCL logs."""

from fabric_checks.parsers import nccl_debug
from tests.parsers import nccl

HOSTS = [f"n{number}" for number in range(1, 9)]


def ways(**how):
    return nccl_debug.parse(nccl.log(HOSTS, 8, **how))


def test_the_network_of_each_rank_is_read():
    found = ways()
    assert list(found) == list(range(64))
    assert found[11] == nccl_debug.RankNetwork("n2", 3, "4b000", "IB", "", ("mlx5_3",), True, 16)


def test_lines_of_others_and_of_split_communicators_change_nothing():
    text = nccl.log(HOSTS, 8)
    begin = "n1:4000:4100 [0] NCCL INFO ncclCommSplit"
    split = f"{begin} comm 0x99 rank 5 nranks 8 cudaDev 0 nvmlDev 0 busId 1b000 - Init COMPLETE"
    assert nccl_debug.parse("slurmstepd: hello\n" + text + split + "\n[torn") == nccl_debug.parse(text)


def test_the_provider_of_libfabric_is_read():
    line = "n1:1:2 [0] NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)\n"
    assert nccl_debug.parse(line + nccl.log(HOSTS[:2], 1, network="AWS Libfabric"))[0].provider == "cxi"
