# SPDX-License-Identifier: BSD-3-Clause
"""Text of nccl-tests between two ends at a time, and what they are refused for."""

import pytest

from fabric_checks.matrices import formats, shared_readers
from tests.matrices import samples
from tests.matrices.reading import cells, refusal

#: A run of an older release, four ranks on two hosts, from 8 to 32 B.
SMALL = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid  14926 on v100-gpu-1 device  0 [0x00] Tesla V100-PCIE-16GB
#   Rank  1 Pid  14927 on v100-gpu-1 device  1 [0x00] Tesla V100-PCIE-16GB
#   Rank  2 Pid   9210 on v100-gpu-5 device  0 [0x00] Tesla V100-PCIE-16GB
#   Rank  3 Pid   9211 on v100-gpu-5 device  1 [0x00]
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
PAIRS = [("cnode3-002 gpu 0", f"cnode3-00{at} gpu 0") for at in (3, 4)]
LINES = samples.NCCL.splitlines(keepends=True)


def test_each_run_gives_the_bandwidth_of_its_pair_and_again_a_repeat():
    (table,) = formats.parse(samples.NCCL * 2)
    assert cells(table) == {
        (*pair, at): v
        for pair, v in zip(PAIRS, (43780.0, 39570.0), strict=True)
        for at in (0, 1)
    }
    assert (table.metric, table.alone, table.both_ways) == ("bandwidth", None, True)
    assert table.title == "sendrecv_perf, 16384M bytes"


def test_cycles_of_one_launch_are_no_repeats():
    start, end = samples.NCCL.index("  4294967296"), samples.NCCL.index("# Out of")
    cycle = samples.NCCL[start:end]
    other = cycle.replace("392397   43.78   43.78", "387917   44.29   44.29")
    text = samples.NCCL[:start] + cycle + other + cycle + samples.NCCL[end:]
    assert (
        cells(formats.parse(text.replace("43.7587", "43.815"))[0])[(*PAIRS[0], 0)]
        == 43780.0
    )


def test_small_messages_give_latencies_of_hosts():
    bandwidth, latency = formats.parse(SMALL)
    assert cells(bandwidth) == {("v100-gpu-1", "v100-gpu-5", 0): 10.0}
    assert cells(latency) == {("v100-gpu-1", "v100-gpu-5", 0): 45.82}
    assert latency.title == "8 bytes"


def test_the_largest_size_of_all_pairs_counts():
    text = samples.NCCL.replace(LINES[13], "").replace(
        "maxBytes 17179869184", "maxBytes 8589934592", 1
    )
    (table,) = formats.parse(text)
    assert cells(table).keys() == {(*pair, 0) for pair in PAIRS}
    assert table.size_B == 2**33


def test_programs_in_one_file_have_tables_of_their_own():
    other = samples.NCCL.replace("sendrecv_perf", "broadcast_perf")
    assert [table.kind for table in formats.parse(samples.NCCL + other)] == [
        "sendrecv_perf",
        "broadcast_perf",
    ]


def test_a_run_that_did_not_end_is_named_and_the_others_are_read():
    (table,) = formats.parse(samples.NCCL[: samples.NCCL.rindex("# Out of bounds")])
    cause = "'cnode3-002 gpu 0 and cnode3-004 gpu 0': the run has no '# Avg bus bandwidth', so it did not end"
    assert len(table.rows) == 1 and table.cannot_tell == (cause,)
    assert formats.parse(samples.NCCL)[0].cannot_tell == ()
    neither = samples.NCCL[: samples.NCCL.index("# Out of bounds")]
    assert "'cnode3-002 gpu 0 and cnode3-003 gpu 0': the run has no" in refusal(neither)


@pytest.mark.parametrize(
    "old, new, cause",
    [
        (
            "on cnode3-004 device",
            "on cnode3-004 Device",
            "a line '#  Rank ... on HOST device' is damaged",
        ),
        (
            "# Using devices",
            "",
            "one list '# Using devices' of hosts was expected, found 0",
        ),
        (LINES[5] + LINES[6], "", "0 ranks on 0 hosts took part in one run"),
        (
            "434164   39.57",
            "434164   35.57",
            "line 32: 17179869184 B in 434164 us are not 35.57 GB/s",
        ),
        (LINES[11], LINES[13], "line 1: some message sizes have more rows than others"),
        (LINES[8], LINES[11] + LINES[8], "are not in this order"),
        ("cnode3-002", "cnode3-003", "two ends and a value above 0 were expected"),
    ],
)
def test_what_contradicts_itself_is_refused(old, new, cause):
    assert old in samples.NCCL
    assert cause in refusal(samples.NCCL.replace(old, new))


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_run_of_more_or_fewer_hosts_is_refused(hosts):
    ranks = "".join(
        f"#  Rank  {rank} Group  0 Pid 1 on n{rank % hosts} device  0 [0x00] V100\n"
        for rank in range(6)
    )
    text = "".join(LINES[:5]) + ranks + "".join(LINES[7:])
    assert f"line 1: 6 ranks on {hosts} hosts took part in one run" in refusal(text)


def test_lines_of_launches_are_counted_once():
    counted = []

    class Text(str):
        def count(self, of, start=0, end=None):
            counted.append(end - start)
            return super().count(of, start, end)

    text = Text(samples.NCCL)
    found = list(shared_readers.parts(text, range(0, len(text), 100)))
    assert "".join(part for part, _ in found) == text and sum(counted) == len(text)
    assert found[9][1] == 1 + text[:900].count("\n")
