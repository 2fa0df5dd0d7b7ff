# SPDX-License-Identifier: BSD-3-Clause
"""The text of nccl-tests between two ends at a time, and what it is refused for."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import nccl_tests
from tests.matrices import samples
from tests.matrices.reading import cells, refusal

RANKS = (
    "#  Rank  {0} Group  0 Pid 1 on hosta device  {0} [0x0{0}] V100\n",
    "#  Rank  {0} Group  0 Pid 1 on hostb device  {1} [0x0{0}] V100\n",
)
#: A run of an older release, four ranks on two hosts, from 8 to 32 B.
SMALL = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid  14926 on v100-gpu-1 device  0 [0x00] Tesla V100-PCIE-16GB
#   Rank  1 Pid  14927 on v100-gpu-1 device  1 [0x00] Tesla V100-PCIE-16GB
#   Rank  2 Pid   9210 on v100-gpu-5 device  0 [0x00] Tesla V100-PCIE-16GB
#   Rank  3 Pid   9211 on v100-gpu-5 device  1 [0x00] Tesla V100-PCIE-16GB
v100-gpu-1:14926:14926 [0] NCCL INFO Bootstrap : Using eno1:192.168.160.111<0>
#
#                                                     out-of-place                       in-place
#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float       0    45.82    0.00    0.00    N/A    38.17    0.00    0.00    N/A
          16             4   float       0    46.00    0.00    0.00    N/A    38.20    0.00    0.00    N/A
          32             8   float       0    46.50    0.00    0.01    N/A    38.30    0.00    0.00    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.0003
#
"""


def test_each_run_gives_the_bandwidth_of_its_pair():
    (table,) = nccl_tests.parse(samples.NCCL)
    assert cells(table) == {
        ("cnode3-002 gpu 0", "cnode3-003 gpu 0", 0): 43780.0,
        ("cnode3-002 gpu 0", "cnode3-004 gpu 0", 0): 39570.0,
    }
    assert (table.metric, table.title, table.alone, table.both_ways) == (
        "bandwidth",
        "sendrecv_perf 16 GiB",
        None,
        True,
    )


def test_small_messages_give_latencies_of_hosts():
    bandwidth, latency = nccl_tests.parse(SMALL)
    assert cells(bandwidth) == {("v100-gpu-1", "v100-gpu-5", 0): 10.0}
    assert cells(latency) == {("v100-gpu-1", "v100-gpu-5", 0): 45.82}
    assert latency.title == "8 B"


def test_the_same_pair_again_is_a_repeat():
    (table,) = nccl_tests.parse(samples.NCCL * 2)
    assert sorted(zip(table.repeat, table.value, strict=True))[2:] == [(1, 39570.0), (1, 43780.0)]


def test_programs_in_one_file_have_tables_of_their_own():
    other = samples.NCCL.replace("sendrecv_perf", "alltoall_perf")
    assert [table.title.split()[0] for table in nccl_tests.parse(samples.NCCL + other)] == [
        "sendrecv_perf",
        "alltoall_perf",
    ]


def test_a_run_that_did_not_end_is_named_beside_the_others():
    cut = samples.NCCL[: samples.NCCL.rindex("# Out of bounds")]
    (table,) = nccl_tests.parse(cut)
    assert len(table) == 1
    assert (
        "'cnode3-002 gpu 0 and cnode3-004 gpu 0': the run has no '# Avg bus bandwidth', so it did not end"
        in table.cannot_tell[-1]
    )
    assert not any("did not end" in sentence for sentence in nccl_tests.parse(samples.NCCL)[0].cannot_tell)


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("#  Rank  1", "#  Rank  2", "the list of ranks has gaps"),
        ("#  Rank  1 Group  0", "#  Rank  1 Group  1", "several groups"),
        ("on cnode3-004 device", "on cnode3-004 Device", "a line '#  Rank ... on HOST device' is damaged"),
        ("# Using devices", "", "one list '# Using devices' was expected"),
        ("busbw  #wrong     time", "busbw  wrong     time", "ranks, one table and '# Avg bus bandwidth'"),
        ("   39.57       0", "   39.57", "a row of 13 columns was expected, found ' 17179869184"),
        ("434164   39.57", "434164   35.57", "17179869184 B in 434164 us are not 35.57 GB/s"),
        ("39.2605", "39.3605", "the average '39.3605' is not that of the 6 values"),
        (" 8589934592    1073741824", "# 8589934592    1073741824", "3 sizes were asked for, but 2 rows are there"),
        ("  4294967296     536870912", " 34359738368     536870912", "the sizes of a run do not grow"),
        (
            samples.NCCL.splitlines()[11],
            samples.NCCL.splitlines()[13],
            "the sizes of a run do not grow from row to row",
        ),
        ("values : 0 OK", "values : 7 FAILED", "wrong data arrived, so that no time counts: '# Out of bounds values"),
    ],
)
def test_what_contradicts_itself_is_refused(old, new, cause):
    assert old in samples.NCCL
    assert cause in refusal(nccl_tests, samples.NCCL.replace(old, new))


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_run_of_more_or_fewer_hosts_is_refused(hosts):
    ranks = "".join(RANKS[0].format(rank).replace("hosta", f"host{rank % hosts}") for rank in range(6))
    start = samples.NCCL.index("#  Rank")
    text = samples.NCCL[:start] + ranks + samples.NCCL[samples.NCCL.index(samples.NCCL_TITLES) :]
    assert f"line 1: 6 ranks on {hosts} hosts took part in one run" in refusal(nccl_tests, text)


def test_no_run_to_its_end_is_refused_with_the_pair():
    with pytest.raises(OutputError, match=r"'cnode3-002 gpu 0 and cnode3-003 gpu 0': the run has no"):
        nccl_tests.parse(samples.NCCL[: samples.NCCL.index("# Out of bounds")])
