# SPDX-License-Identifier: BSD-3-Clause
"""The one form of our own programs' outputs, by streaming and hot_spot: what is read, and what is refused."""

import pytest

from fabric_checks.parsers import (
    buffer_reuse,
    fabric,
    hot_spot,
    latency_map,
    notification,
    rotate,
    streaming,
)
from tests import breakages
from tests.breakages import refused
from tests.own_outputs import changed
from tests.parsers import corpus

GOLDEN = "hot_spot/mpich-5.0.2.5ranks.txt"
#: By program: the number of its key columns, and its points in order.
POINTS = {
    "hot_spot": (2, hot_spot.OPERATIONS),
    "buffer_reuse": (2, buffer_reuse.MODES),
    "notification": (1, notification.WAYS),
    "streaming": (1, streaming.MODES["both"]),
}


@pytest.fixture
def text(golden):
    """Return a real output."""
    return golden(GOLDEN)


def parse(text):
    return hot_spot.parse(text, fabric.multiples(8, 65536, 8), [1, 2, 3, 4])


@pytest.mark.parametrize("program", POINTS)
def test_every_cell_of_a_real_output_is_read(program):
    keys, points = POINTS[program]
    for output in corpus.OUTPUTS[program]():
        found = output.parse(output.text)
        rows = [
            line.split() for line in output.text.splitlines() if breakages.is_row(line)
        ]
        for number, cells in enumerate(zip(*rows, strict=True)):
            column = list(found.columns)[number]
            kind = (
                str
                if column.endswith("_stop")
                else int
                if column.endswith("_samples") or number < keys
                else float
            )
            assert found.columns[column] == list(map(kind, cells))
        assert list(found.columns)[keys::5] == [f"{point}_us" for point in points]


def test_values_are_by_the_key_that_is_not_fixed(text):
    output = parse(text)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    assert output.header["ranks"] == "5"
    assert output.times_us("send", size_B=64) == {
        int(row[1]): float(row[2]) for row in rows if row[0] == "64"
    }


def test_a_line_of_somebody_else_is_refused(text):
    with refused("^line 1: the check sum in the last line is of another text"):
        parse(text.replace("\n64 2", "\nmlx5: got completion with error\n64 2", 1))


def test_what_a_launcher_puts_around_the_lines_is_passed_over(text):
    spread = "Loading mpi\n" + text.replace("\n", "\n\n") + "real 0m12 s\n"
    assert parse(spread) == parse(text)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "# complete",
            "# incomplete",
            "the last line '# complete: ...' is missing: the program did not finish",
        ),
        (
            "hot_spot 1",
            "overlap 1",
            "line 1: expected the output of hot_spot, found that of 'overlap'",
        ),
        ("hot_spot 1", "hot_spot 9", "format 9 of hot_spot is unknown here"),
        (
            "# fabric-checks ",
            "# other ",
            "no line '# fabric-checks hot_spot ...': the program did not start",
        ),
        ("# complete: 20", "# complete: 21", "the last line counts 21 rows, found 20"),
    ],
)
def test_an_output_that_is_not_whole_is_refused(text, old, new, message):
    assert old in text
    with refused(message):
        parse(text.replace(old, new, 1))


def test_outputs_of_several_runs_are_refused(text):
    with refused("2 separate MPI worlds instead of one"):
        parse(text + text)
    with refused("the outputs of several runs are mixed"):
        parse(text + text.splitlines()[-1] + "\n")


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "\n64 2 ",
            "\n64 3 ",
            "the row of size_B 64, slaves 2 was expected, found that of size_B 64, slaves 3",
        ),
        ("\n64 2 ", "\n64 -2 ", "slaves is '-2', not a whole number from 0"),
        ("\n64 2 ", "\n64 2 7 ", "a row of 12 columns was expected, found '64 2 7 "),
        (" cap ", " cup ", "send_stop is 'cup', not one of ci, cap"),
        (
            "send_us send_ci_low_us",
            "send_ci_low_us send_us",
            "the table has 'send_ci_low_us' where 'send_us' was expected",
        ),
    ],
)
def test_a_whole_output_of_what_cannot_be_is_refused(text, old, new, message):
    with refused(message):
        parse(changed(text, old, new))


@pytest.mark.parametrize("cell", ["nan", "inf", "-1", "0", "1e999", "x", ""])
def test_a_time_is_a_number_above_zero(text, cell):
    row = next(line for line in text.splitlines() if line.startswith("64 2 "))
    cells = row.split(" ")
    for at in (2, 3, 4):
        broken = " ".join([*cells[:at], cell, *cells[at + 1 :]])
        with refused(r"line \d+: "):
            parse(changed(text, row, broken))


@pytest.mark.parametrize(
    "program, column, cell, message",
    [
        (rotate, 3, "nan", "MBps is 'nan', not a number above 0"),
        (rotate, 4, "0", "slowest_MBps is '0', not a number above 0"),
        (
            rotate,
            5,
            "alon",
            "phase is 'alon', not one of scan, leaf, together, control, alone",
        ),
        (rotate, 1, "x", "sender is 'x', not a whole number from 0"),
        (rotate, 2, "7 7", "a row of 6 columns was expected, found"),
        (latency_map, 5, "1e999", "least_us is '1e999', not a number above 0"),
        (latency_map, 0, "-1", r"^line \d+: pass is '-1', not a whole number from 0"),
    ],
)
def test_a_long_table_is_held_to_its_columns(golden, program, column, cell, message):
    text = golden(f"{program.TABLE.program}/mpich-5.0.2.txt")
    row = next(line for line in text.splitlines() if breakages.is_row(line))
    with refused(message):
        program.parse(changed(text, row, breakages.with_cell(row, column, cell)))


def test_the_check_sum_is_that_of_zlib():
    assert fabric.last_line("123456789", 3) == "# complete: 3 rows, crc32 cbf43926\n"
