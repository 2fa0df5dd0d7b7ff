# SPDX-License-Identifier: BSD-3-Clause
"""The reader of what NCCL logs."""

import re
from dataclasses import replace

import pytest

from fabric_checks.parsers import nccl_debug
from tests.breakages import refused
from tests.parsers import nccl

HOSTS = [f"n{number}" for number in range(1, 9)]


def ways(**how):
    return nccl_debug.parse(nccl.log(HOSTS, 8, **how))


def test_the_network_of_each_rank_is_read():
    found = ways()
    assert list(found) == list(range(64))
    assert found[11] == nccl_debug.RankNetwork(
        "n2", 3, "4b000", "IB", "", ("mlx5_3",), True
    )


def test_lines_of_others_and_of_split_communicators_change_nothing():
    text = nccl.log(HOSTS, 8)
    begin = "n1:4000:4100 [0] NCCL INFO ncclCommSplit"
    split = f"{begin} comm 0x99 rank 5 nranks 8 cudaDev 0 nvmlDev 0 busId 1b000 - Init COMPLETE"
    assert nccl_debug.parse(
        "slurmstepd: hello\n" + text + split + "\n[torn"
    ) == nccl_debug.parse(text)


def test_the_provider_of_libfabric_is_read():
    line = "n1:4000:2 [0] NCCL INFO NET/OFI Selected Provider is cxi (found 4 nics)\n"
    assert (
        nccl_debug.parse(line + nccl.log(HOSTS[:2], 1, network="AWS Libfabric"))[
            0
        ].provider
        == "cxi"
    )


def test_ranks_that_see_one_gpu_each_are_numbered_by_address():
    """Each calls its own number 0, as with one GPU a task under Slurm."""
    text = re.sub(
        r"\[\d\](?= NCCL)", "[0]", nccl.log(HOSTS, 8, bus=lambda _host, gpu: 7 - gpu)
    )
    text = re.sub(r"cudaDev \d nvmlDev \d", "cudaDev 0 nvmlDev 0", text)
    found = nccl_debug.parse(text)
    assert len(found) == 64
    assert [(found[rank].device, found[rank].bus) for rank in (8, 15)] == [
        (7, "8b000"),
        (0, "1b000"),
    ]


@pytest.mark.parametrize(
    "bus, address",
    [
        ("1b000", "0000:1b:00.0"),
        ("170", "0000:00:17.0"),
        ("10001b001", "1000:1b:00.1"),
        ("901000", "0009:01:00.0"),
    ],
)
def test_the_address_of_a_gpu_is_that_of_linux(bus, address):
    assert replace(ways()[0], bus=bus).address == address


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("rank 5 nranks", "rank 4 nranks", "rank 4 on n1 and on n1"),
        ("rank 5 nranks", "rank 64 nranks", "rank 64 on n1 is of 64 ranks"),
        ("rank 5 nranks 64", "rank 5 nranks 6", "communicators of 6 and 64 ranks"),
        (
            "via NET/IB/",
            "via NET/Socket/",
            "channels of 'Socket', but uses the network 'IB'",
        ),
        (
            "via NET/IB/5",
            "via NET/IB/9",
            "has channels of adapters ['9'], and one is none of its 8",
        ),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(old, new, message):
    text = nccl.log(HOSTS, 8)
    assert old in text
    with refused(re.escape(message)):
        nccl_debug.parse(
            text.replace(old, new) if "NET" in old else text.replace(old, new, 1)
        )


@pytest.mark.parametrize("old", ["rank 1 ", "[1] NCCL", "16 coll", "busId 1b000"])
def test_a_number_of_thousands_of_digits_is_no_number(old):
    text = nccl.log(HOSTS[:1], 2)
    assert list(nccl_debug.parse(text.replace(old, old.replace("1", "1" * 5000)))) in (
        [0],
        [1],
        [0, 1],
    )
