# SPDX-License-Identifier: BSD-3-Clause
"""Tables of measured points: those of our programs, their columns, and the ways they break."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import powers_of_two
from fabric_checks.parsers import buffer_reuse, fabric, hot_spot, notification, streaming
from fabric_checks.parsers.points import Point, Rule, columns, point
from fabric_checks.parsers.table import require_keys, whole
from tests import breakages
from tests.parsers import corpus

#: By program: its key columns, and its points in order.
OUTPUTS = {
    "hot_spot": (("size_B", "slaves"), hot_spot.OPERATIONS),
    "buffer_reuse": (("size_B", "reuse_percent"), buffer_reuse.MODES),
    "notification": (("size_B",), notification.WAYS),
    "streaming": (("size_B",), streaming.MODES["both"]),
}


@pytest.mark.parametrize("program", OUTPUTS)
def test_every_cell_of_a_real_output_is_read(program):
    keys, points = OUTPUTS[program]
    for output in corpus.OUTPUTS[program]():
        rows = [line.split() for line in output.text.splitlines() if breakages.is_row(line)]
        for row, cells in zip(output.parse(output.text).rows, rows, strict=True):
            assert row.key == dict(zip(keys, map(int, cells[: len(keys)]), strict=True))
            for number, name in enumerate(points):
                *times, samples, stop = cells[len(keys) + 5 * number :][:5]
                assert row.points[name] == Point(*map(float, times), int(samples), stop)


def test_times_are_by_the_key_that_is_not_fixed(golden):
    text = golden("hot_spot/mpich-5.0.2.5ranks.txt")
    output = hot_spot.parse(text, hot_spot.message_sizes(), [1, 2, 3, 4])
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    assert output.header["ranks"] == "5"
    assert output.times_us("send", size_B=64) == {int(row[1]): float(row[2]) for row in rows if row[0] == "64"}
    by_size = {int(row[0]): (float(row[8]), float(row[9])) for row in rows if row[1] == "3"}
    assert output.intervals_us("send_receive", slaves=3) == by_size


def test_a_window_of_no_messages_is_refused(golden):
    text = golden("streaming/mpich-5.0.2.queue-16.txt").replace(" window 64 ", " window 0 ")
    with pytest.raises(OutputError, match="window"):
        streaming.parse(text, [0, *powers_of_two(1, 4194304)], directions="both", queue_depth=16)


GOOD = {"send_us": "2", "send_ci_low_us": "1.5", "send_ci_high_us": "2.4", "send_samples": "30", "send_stop": "ci"}


RULE = Rule(share=0.25, fewest=30, longest_us=100)


def test_a_point_and_its_columns():
    assert point(GOOD, "send", 7, RULE) == Point(2.0, 1.5, 2.4, 30, "ci")
    assert columns("send") == tuple(GOOD)
    assert columns("send", "wait")[5] == "wait_us"


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("send_us", "-2", "line 7: send_us is -2 in an interval from 1.5 to 2.4, which cannot be"),
        ("send_us", "nan", "not a finite number"),
        ("send_us", "1.4", "send_us is 1.4 in an interval"),
        ("send_us", "2.5", "send_us is 2.5 in an interval"),
        ("send_ci_low_us", "0", "send_us is 2 in an interval from 0 to"),
        ("send_ci_high_us", "inf", "not a finite number"),
        ("send_samples", "0", "send stopped with 'ci', which does not fit 0 samples"),
        ("send_samples", "30.5", "a number of samples of send was expected, found '30.5'"),
        ("send_samples", "-30", "a number of samples of send was expected"),
        (
            "send_samples",
            "29",
            "send stopped with 'ci', which does not fit 29 samples with an interval within 25 % of it",
        ),
        ("send_ci_low_us", "1.4999", "which does not fit 30 samples with an interval within 25.005 % of it"),
        ("send_ci_high_us", "2.5001", "with an interval within 25.005 % of it"),
        ("send_stop", "c", "send stopped with 'c', which does not fit"),
    ],
)
def test_damage(column, cell, message):
    with pytest.raises(OutputError) as error:
        point(GOOD | {column: cell}, "send", 7, RULE)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"samples": "7", "ci_high_us": "3"}, "send stopped with 'cap', which does not fit 7 samples"),
        (
            {"samples": "30", "ci_low_us": "1.6"},
            "send stopped with 'cap', which does not fit 30 samples with an interval within 20 % of it",
        ),
        ({"samples": "29"}, None),  # too few to trust the interval, and the time was up
        ({"samples": "30"}, None),  # on the border, as far as six digits show
    ],
)
def test_a_point_that_took_all_of_its_time(cells, message):
    found = GOOD | {"send_stop": "cap"} | {f"send_{name}": cell for name, cell in cells.items()}
    if message is None:
        assert point(found, "send", 7, RULE).samples == int(cells["samples"])
        return
    with pytest.raises(OutputError, match=message):
        point(found, "send", 7, RULE)


def test_whole_numbers():
    assert whole("0", 1, "a count") == 0
    for text in ("", "1_0", "+1", "1e3", "12x", "012", "9" * 30):
        with pytest.raises(OutputError, match="a count was expected"):
            whole(text, 1, "a count")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([(8, 1), (8, 2)], "the last 1 of 3 rows are missing, from size_B 64, slaves 1 on"),
        ([(8, 1), (64, 1)], "the row of size_B 8, slaves 2 was expected, found that of size_B 64, slaves 1"),
        ([(8, 1), (8, 2), (64, 1), (64, 2)], "an unexpected row of size_B 64, slaves 2"),
        ([], "the last 3 of 3 rows are missing"),
    ],
)
def test_rows_that_were_not_asked_for(found, message):
    with pytest.raises(OutputError) as error:
        require_keys(list(enumerate(found, 5)), [(8, 1), (8, 2), (64, 1)], ("size_B", "slaves"))
    assert message in str(error.value)


def half_octave(size_B):
    return size_B + 1 if size_B < 2 else size_B // 2 * 3 if size_B & (size_B - 1) == 0 else size_B // 3 * 4


@pytest.mark.parametrize(
    ("following", "begin"),
    [(lambda size: 2 * size or 1, 0), (half_octave, 0), (lambda size: 8 * size, None), (lambda size: 4 * size, None)],
)
def test_the_sizes_of_a_whole_sweep_fit_its_options_whatever_they_are(following, begin):
    """As the programs choose them (checks/fabric/src/common/sweep.c); without its first or last size it does not."""
    for first_B in range(1 if begin is None else 0, 40):
        for last_B in range(first_B, 300, 3):
            sweep = [first_B if begin is None else begin]
            while following(sweep[-1]) <= last_B:
                sweep.append(following(sweep[-1]))
            sizes_B = [size_B for size_B in sweep if size_B >= first_B]
            options = {"min-size": str(first_B), "max-size": str(last_B)}
            fabric.require_sizes(options, sizes_B)
            if len(sizes_B) > 4 and following is not half_octave:
                with pytest.raises(OutputError, match=f"but the rows have {sizes_B[0]} to {sizes_B[-2]} B"):
                    fabric.require_sizes(options, sizes_B[:-1])
