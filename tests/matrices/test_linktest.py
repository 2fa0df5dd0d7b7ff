# SPDX-License-Identifier: BSD-3-Clause
"""The table of LinkTest's analysis, with and without the names of hosts."""

import pytest

from fabric_checks.matrices import formats
from tests.matrices import samples
from tests.matrices.reading import cells, refusal

TEXT = samples.linktest()


def test_tasks_have_hosts_and_both_measurements_of_a_pair_are_repeats():
    (table,) = formats.parse(TEXT)
    found = cells(table)
    assert len(found) == 12
    assert found["node1 task 0", "node2 task 1", 0] == pytest.approx(131072 / 13, rel=1e-6)
    assert found["node2 task 1", "node1 task 0", 0] == pytest.approx(131072 / 19, rel=1e-6)
    assert (table.metric, table.title, table.both_ways, table.alone) == (
        "bandwidth",
        "128K bytes",
        True,
        None,
    )


def test_rounded_times_of_two_nights_have_one_size():
    assert formats.parse(samples.linktest(size_B=1048575))[0].title == "1M bytes"


def test_short_messages_are_latencies():
    (table,) = formats.parse(samples.linktest(size_B=8, tasks=2))
    assert (table.metric, list(cells(table).values())) == ("latency", pytest.approx([11.0, 13.0]))


def test_what_the_files_do_not_have_is_listed():
    (table,) = formats.parse(samples.linktest(hosts=False))
    assert ("task-0", "task-3", 0) in cells(table) and "give mapping.dat" in table.cannot_tell[0]
    row = TEXT.splitlines()[5]
    (table,) = formats.parse(TEXT.replace(row, f"{0:10d} {1:10d} {0:18.8f} {0:18.8f}"))
    assert table.cannot_tell == ("1 pair, which have no value in the table",)


ROW = "         0          1         0.00001100     11363.63636364\n"
LAST = "     3    1    0    0    0 node2\n"


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (ROW, "", "15 rows and 4 hosts are not one for each pair and task of 4 tasks"),
        (ROW, ROW * 2, "17 rows and 4 hosts are not one for each"),
        (
            ROW,
            ROW.replace("11363", "11463"),
            "0 to 1: 1.1e-05 s and 12020.5 MB/s are not of 131072 B as the others",
        ),
        (ROW, ROW.replace("1100", "11e0"), "line 6: a row of a pair was expected"),
        (LAST, "", "16 rows and 3 hosts are not one"),
        (
            LAST,
            "     2    1    0    0    0 node1\n",
            "16 rows and 4 hosts are not one for each pair and task",
        ),
    ],
)
def test_what_is_cut_or_contradicts_itself_is_refused(old, new, cause):
    assert old in TEXT
    assert cause in refusal(TEXT.replace(old, new))
