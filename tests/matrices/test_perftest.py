# SPDX-License-Identifier: BSD-3-Clause
"""Runs of perftest, each after a line that names its pair."""

import pytest

from fabric_checks.matrices import perftest
from tests.matrices import samples
from tests.matrices.reading import cells, refusal

RUN = samples.PERFTEST[: samples.PERFTEST.index("# node2")]


def test_the_line_before_a_run_names_its_pair():
    (table,) = perftest.parse(samples.PERFTEST)
    assert cells(table) == {
        ("node1 mlx5_0", "node2 mlx5_0", 0): 12253.75,
        ("node2 mlx5_0", "node1 mlx5_0", 0): 12252.5,
    }
    assert table.title == "RDMA_Write BW Test 64 KiB"
    assert len(table.cannot_tell) == 1


def test_latencies_are_typical_ones_and_named_devices_count():
    (table,) = perftest.parse(samples.PERFTEST_LATENCY)
    assert cells(table) == {("node1 mlx5_1", "node2 mlx5_1", 0): 5.49}


def test_megabytes_of_perftest_are_powers_of_two():
    row = " 8388608    20000            24056.74            24056.72            0.003007"
    text = RUN.replace("Gb/sec", "MB/sec").replace(RUN.splitlines()[10], row)
    assert cells(perftest.parse(text)[0])["node1 mlx5_0", "node2 mlx5_0", 0] == pytest.approx(24056.72 * 1.048576)


def test_the_output_of_the_other_side_counts_once():
    other = RUN.partition("\n")[2].replace("local", "x").replace("remote", "local").replace("x a", "remote a")
    assert len(perftest.parse(RUN + other)[0]) == 1


def test_bidirectional_values_are_those_of_both_directions():
    both = RUN.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
    assert [table.both_ways for table in perftest.parse(RUN + both)] == [False, True]


def test_a_named_pair_without_a_run_is_told():
    (table,) = perftest.parse("pair 1: node7 -> node8\nCouldn't connect\n" + RUN + "# node8 -> node9\n")
    assert "node7 -> node8" in table.cannot_tell[-1]
    assert "node8 -> node9" in table.cannot_tell[-1]


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("# node1 -> node2\n", "", "no line names the ends of the first run: print one before each, as node1 -> node2"),
        ("node1 -> node2\n", "node1 (10.0.0.1) -> node2\n", "; '# node1 (10.0.0.1) -> node2' is no such line"),
        ("node1 -> node2", "node1:mlx5_1 -> node2:mlx5_1", "neither end is named with the device 'mlx5_0'"),
        ("98.03", "97.03", "peak, average and message rate contradict each other"),
        ("0.00     ", "97.00    ", "peak, average and message rate contradict each other"),
        ("0.186977", "", "a row of 5 numbers was expected, found ' 65536"),
        ("0.186977", "0.186977\n 65536 1 0.00 98.03 0.186977", "the same message size is there twice in one run"),
        (" 65536      560960", "#", "the results of this run are missing, cut off"),
        (RUN[-88:], "", "the results of this run are missing, cut off"),
        (" 65536      560960", "\n---\n 65536      560960", "the results of this run are missing, cut off"),
        ("node2\n", "node1\n", "'node1 mlx5_0' is paired with itself"),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(old, new, cause):
    assert old in RUN
    assert cause in refusal(perftest, RUN.replace(old, new))


def test_results_after_the_last_run_are_refused():
    assert "mixed with those of another" in refusal(perftest, RUN + " 65536 560960 0.00 98.03 0.186977\n")


def test_latencies_out_of_their_range_are_refused():
    assert "least, typical and greatest time" in refusal(perftest, samples.PERFTEST_LATENCY.replace("5.35 ", "5.95 "))


def test_pairs_without_a_common_size_are_refused():
    other = RUN.replace("node2", "node3").replace("65536 ", "32768 ").replace("0.186977", "0.373955")
    assert "no message size was measured between all 2 pairs" in refusal(perftest, RUN + other)
