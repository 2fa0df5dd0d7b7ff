# SPDX-License-Identifier: BSD-3-Clause
"""Runs of perftest, each after a line that names its pair."""

import pytest

from fabric_checks.matrices import formats
from tests.matrices import samples
from tests.matrices.reading import cells, refusal

RUN = samples.PERFTEST[: samples.PERFTEST.index("# node2")]
PAIR = ("node1 mlx5_0", "node2 mlx5_0", 0)


def test_the_line_before_a_run_names_its_pair():
    (table,) = formats.parse(samples.PERFTEST)
    assert cells(table) == {
        PAIR: 12253.75,
        ("node2 mlx5_0", "node1 mlx5_0", 0): 12252.5,
    }
    assert table.title == "ib_write_bw, 64K bytes"
    assert len(table.cannot_tell) == 1


def test_a_word_on_the_clock_of_a_processor_is_passed_over():
    word = (
        "Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU "
        "Frequency is not max.\n"
    )
    text = RUN.replace(RUN.splitlines()[10], word + RUN.splitlines()[10])
    assert word in text and cells(formats.parse(text)[0]) == cells(
        formats.parse(RUN)[0]
    )


def test_a_least_bandwidth_behind_the_others_is_passed_over():
    """As the option --report-min-bw of a pull request prints it."""
    titles, row = RUN.splitlines()[9:11]
    text = RUN.replace(titles, f"{titles}   BW min[Gb/sec]")
    text = text.replace(row, f"{row}        97.50")
    assert cells(formats.parse(text)[0]) == cells(formats.parse(RUN)[0])


def test_latencies_are_typical_ones_and_named_devices_count():
    (table,) = formats.parse(samples.PERFTEST_LATENCY)
    assert cells(table) == {("node1 mlx5_1", "node2 mlx5_1", 0): 5.49}
    assert table.metric == "latency"


def test_megabytes_of_perftest_are_powers_of_two():
    row = (
        " 8388608    20000            24056.74            24056.72            0.003007"
    )
    text = RUN.replace("Gb/sec", "MB/sec").replace(RUN.splitlines()[10], row)
    assert cells(formats.parse(text)[0])[PAIR] == pytest.approx(24056.72 * 1.048576)


def test_bidirectional_values_are_those_of_both_directions():
    both = RUN.replace("RDMA_Write BW", "RDMA_Write Bidirectional BW")
    found = [(table.kind, table.both_ways) for table in formats.parse(RUN + both)]
    assert found == [("ib_write_bw", False), ("ib_write_bw -b", True)]


def test_the_size_of_most_pairs_counts_and_pairs_without_it_are_listed():
    small = RUN.replace("65536 ", "32768 ").replace("0.186977", "0.373955")
    (table,) = formats.parse(RUN + small.replace("node2", "node3") + small)
    assert table.size_B == 32768 and table.cannot_tell[1:] == ()
    (table,) = formats.parse(RUN + small.replace("node2", "node3"))
    assert list(cells(table)) == [PAIR] and table.cannot_tell[1:] == (
        "1 pair, with messages of 64K bytes",
    )


def test_a_named_pair_without_a_run_is_listed():
    (table,) = formats.parse(
        "pair 1: node7 -> node8\nCouldn't connect\n" + RUN + "# node8 -> node9\n"
    )
    assert "node7 -> node8, # node8 -> node9" in table.cannot_tell[-1]


@pytest.mark.parametrize(
    "old, new, cause",
    [
        (
            "# node1 -> node2\n",
            "",
            "no line names the ends of the first run: print one before each, as `# node1 -> node2`",
        ),
        (
            "node1 -> node2\n",
            "node1 (10.0.0.1) -> node2\n",
            "'# node1 (10.0.0.1) -> node2' names no pair",
        ),
        (
            "node1 -> node2",
            "node1:mlx5_1 -> node2:mlx5_1",
            "neither end is named with the device 'mlx5_0'",
        ),
        ("98.03", "97.03", "the values of a row contradict each other"),
        ("98.03", "-98.03", "the values of a row contradict each other"),
        ("0.00     ", "97.00    ", "the values of a row contradict each other"),
        ("0.186977", "", "rows of different sizes with 5 numbers were expected"),
        (
            "98.03   ",
            "98.0    ",
            "rows of different sizes with 5 numbers were expected",
        ),
        (
            " Number of qps",
            " Device : mlx5_0\n Number of qps",
            "the results of this run are missing, cut off",
        ),
        ("BW peak", "BW pick", "the results of this run are missing, cut off"),
        (
            "0.186977",
            "0.186977\n 65536 1 0.00 98.03 0.186977",
            "rows of different sizes with 5 numbers",
        ),
        (" 65536      560960", "#", "the results of this run are missing, cut off"),
        (RUN[-88:], "", "the results of this run are missing, cut off"),
        (
            " 65536      560960",
            "\n---\n 65536      560960",
            "the results of this run are missing, cut off",
        ),
        ("node2\n", "node1\n", "two ends and a value above 0 were expected"),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(old, new, cause):
    assert old in RUN
    assert cause in refusal(RUN.replace(old, new))


@pytest.mark.parametrize(
    "text, cause",
    [
        (RUN + " 65536 560960 0.00 98.03 0.186977\n", "mixed with those of another"),
        (RUN + RUN.partition("\n")[2], "mixed with those of another"),
        (RUN + "lost -> the connection\n", "'lost -> the connection' names no pair"),
        (
            samples.PERFTEST_LATENCY.replace("5.35 ", "5.95 "),
            "the values of a row contradict each other",
        ),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(text, cause):
    assert cause in refusal(text)
