# SPDX-License-Identifier: BSD-3-Clause
"""The parser of nccl-tests and rccl-tests."""

import re

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import nccl_tests
from tests import breakages
from tests.breakages import refused
from tests.parsers import nccl

SIZES_B = [1024 * 4**power for power in range(8)]
HOSTS = ["n1", "n2"]


def text_of(benchmark="all_reduce", **how):
    return nccl.output(benchmark, HOSTS, 4, SIZES_B, **how)


@pytest.mark.parametrize("benchmark", nccl_tests.BUS_FACTOR)
def test_every_value_of_both_groups_is_read(benchmark):
    text = text_of(benchmark)
    output = nccl_tests.parse(text, benchmark, SIZES_B, 8)
    rows = [
        line.split() for line in text.splitlines() if re.match(r" +\d+ +\d+ ", line)
    ]
    for size_B, row in zip(SIZES_B, rows, strict=True):
        for timing, cells in (
            (output.out_of_place[size_B], row[5:8]),
            (output.in_place[size_B], row[9:12]),
        ):
            values = timing.time_us, timing.algorithm_MBps / 1e3, timing.bus_MBps / 1e3
            for value, cell in zip(values, map(float, cells), strict=True):
                # Of a bandwidth of few digits, as 0.05, size and time have more.
                assert value == pytest.approx(cell, rel=1e-12) or (
                    cell < 0.5 and value == pytest.approx(cell, abs=0.0051)
                )
    assert output.version == "2.19.6"
    assert [(each.host, each.number) for each in nccl_tests.devices(text)] == [
        (host, at) for host in HOSTS for at in range(4)
    ]


OLD = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 32 step: 4(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid  23638 on ip-10-0-26-117 device  0 [0x00] Tesla V100-SXM2-32GB
#   Rank  1 Pid  23638 on ip-10-0-26-117 device  1 [0x00] Tesla V100-SXM2-32GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float     sum    59.98    0.00    0.00  2e-07    56.81    0.00    0.00  1e-07
          32             8   float     sum    57.10    0.00    0.00  2e-07    58.02    0.00    0.00  1e-07
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.000561
"""


def test_the_format_of_release_2_0_is_read():
    output = nccl_tests.parse(OLD, "all_reduce", [8, 32], 2)
    assert [each.time_us for each in output.in_place.values()] == [56.81, 58.02]
    assert output.version == ""


def test_a_blank_operation_before_release_2_10_is_no_missing_column():
    text = OLD.replace("   float     sum ", "   float         ")
    assert (
        nccl_tests.parse(text, "alltoall", [8, 32], 2).out_of_place[32].time_us == 57.10
    )


def test_sizes_are_rounded_down_to_whole_parts_of_each_rank():
    text = text_of("all_gather").replace(
        f"{SIZES_B[0]:12}  ", f"{SIZES_B[0] - 64:12}  "
    )
    assert (
        list(nccl_tests.parse(text, "all_gather", SIZES_B, 8).out_of_place) == SIZES_B
    )


def test_columns_of_iterations_change_no_other_cell():
    text = text_of(per_iteration=True)
    assert "i_cv%" in text
    assert nccl_tests.parse(text, "all_reduce", SIZES_B, 8) == nccl_tests.parse(
        text_of(), "all_reduce", SIZES_B, 8
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda text: re.sub("^", "0: ", text, flags=re.MULTILINE),
        lambda text: re.sub("^", "[1,0]<stdout>:", text, flags=re.MULTILINE),
        lambda text: text.replace(
            "\n#  (B)", "\nn1:7:8 [0] NCCL INFO Connected all rings\n#  (B)"
        ),
        lambda text: re.sub(
            r"\n(?= +\d)", "\nn2:70:81 [3] NCCL WARN NET/IB : no GDR\n", text
        ),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub(r" {6}0$", "    N/A", text, flags=re.MULTILINE),
    ],
    ids=["srun -l", "tags", "info", "warnings between rows", "crlf", "not counted"],
)
def test_what_launchers_and_nccl_add_changes_nothing(change):
    text = change(text_of())
    assert text != text_of()
    assert nccl_tests.parse(text, "all_reduce", SIZES_B, 8) == nccl_tests.parse(
        text_of(), "all_reduce", SIZES_B, 8
    )


@pytest.mark.parametrize(
    "old, new, message",
    [
        (r"# Using devices\n", "", "the program did not start"),
        (r"# size.*\n", "", "no whole line of titles"),
        (
            r"(?<=values : )0 OK",
            "3 FAILED",
            "wrong data arrived: '3' values are out of bounds",
        ),
        (r"(\n +16384 .{60}).*", r"\1", "a row of 13 columns was expected"),
        (r"(\n +1024 .*?-1 +)2", r"\g<1>9", "1024 B in 90 us are not 0.05 GB/s"),
        (
            r"(\n +16777216 .*?-1 +\S+ +\S+ +)(\d+)\.",
            r"\g<1>\g<2>1.",
            "a bus bandwidth of .* GB/s is not 1.75 times",
        ),
        (
            r"(?<=bandwidth    : )\d",
            "9",
            "the average bus bandwidth, .* is not that of the 16 values",
        ),
        (
            r"(\n +1024 .*?-1 +\S+ +\S+)",
            r"\g<1>" + "9" * 5000,
            "1024 B in 20 us are not 0.06 GB/s",
        ),
        (r"     0(?=\n +4096 )", "     7", "7 wrong values at 1024 B"),
        (r"#  Rank  5 .*\n", "", "the list of 7 ranks has gaps"),
        (
            r"(?<=Rank  5 Group  )0",
            "1",
            "has gaps, or several groups, which have one value",
        ),
        (
            r"algbw busbw #wrong\n",
            "algbw busbw\n",
            "no whole line of titles .*, or it is damaged",
        ),
    ],
)
def test_broken_outputs_are_refused(old, new, message):
    broken = re.sub(old, new, text_of(), count=1)
    assert broken != text_of()
    with refused(message):
        nccl_tests.parse(broken, "all_reduce", SIZES_B, 8)


def test_processes_of_a_build_without_mpi_are_refused_with_the_remedy():
    alone = nccl.output("all_reduce", ["n1"], 1, SIZES_B, rank=0)
    with refused(
        "2 processes ran by themselves, each as rank 0: .* build it with MPI=1"
    ):
        nccl_tests.parse(alone + alone, "all_reduce", SIZES_B, 2)


@pytest.mark.parametrize(
    "benchmark, sizes_B, message",
    [
        ("all_reduce", [*SIZES_B, 2**30], "9 sizes were asked for, but 8 rows found"),
        (
            "all_reduce",
            [2048, *SIZES_B[1:]],
            "the row of 2048 B was expected, found that of 1024 B",
        ),
        ("broadcast", SIZES_B, "is not 1 times"),
    ],
)
def test_another_run_than_was_asked_for_is_refused(benchmark, sizes_B, message):
    with refused(message):
        nccl_tests.parse(text_of(), benchmark, sizes_B, 8)


@pytest.mark.parametrize("per_iteration", [False, True])
def test_each_way_in_which_an_output_breaks_is_refused(per_iteration):
    benchmark, second = "all_reduce", 13 if per_iteration else 9
    columns = [*range(5, 8), *range(second, second + 3)]
    for name, text in breakages.of_table(
        text_of(benchmark, per_iteration=per_iteration), columns
    ).items():
        with pytest.raises(OutputError) as caught:
            nccl_tests.parse(text, benchmark, SIZES_B, 8)
            pytest.fail(f"{name} passed")
        assert "\n" not in str(caught.value), name
