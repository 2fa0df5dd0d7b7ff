# SPDX-License-Identifier: BSD-3-Clause
"""The parser of `latency_map`: whole outputs are read, others refused."""

import re

import pytest

from fabric_checks.parsers import latency_map
from tests.breakages import refused
from tests.diagnosis.latency_map.model import latencies, text_of
from tests.own_outputs import changed, summed


@pytest.fixture(scope="module")
def text():
    return text_of(latencies([0, 0, 0, 1, 1]))


def test_everything_is_read(text):
    output = latency_map.parse(text)
    assert output.hosts == tuple(f"n{rank:03}" for rank in range(5))
    assert output.passes == 2
    assert output.elapsed_s == 100
    assert len(output.starter) == 2 * 10 * 2
    assert set(zip(output.starter.tolist(), output.other.tolist(), strict=True)) == {
        (one, other) for one in range(5) for other in range(5) if one != other
    }


def test_some_rounds_are_read():
    assert (
        len(latency_map.parse(text_of(latencies([0] * 9), shifts=4)).starter)
        == 2 * 4 * 4
    )


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "passes 2",
            "passes 1",
            "20 pairs in 1 passes were asked for, but 40 were measured",
        ),
        (
            "passes 2",
            "passes many",
            "the header's whole number for 'passes' was expected, found 'many'",
        ),
        (
            "# shifts: 10 of 10",
            "# shifts: all",
            "a number of shifts was expected, found 'all'",
        ),
        (
            "# elapsed: 100 s",
            "# elapsed: -100 s",
            "'elapsed' in seconds is -100; it must be positive",
        ),
        (
            "\n0 0 1 4 1.5 1.485\n",
            "\n0 0 1 4 1.5 1.585\n",
            "the shortest sample of a pair is longer than the median of its samples",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(text, old, new, message):
    with refused(re.escape(message)):
        latency_map.parse(changed(text, old, new))


def test_rows_may_have_any_order(text):
    """The passes are those of the rows, not of their places."""
    lines = text.splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if not line.startswith("#")]
    rows = [lines[number] for number in at]
    lines[at[0] : at[-1] + 1] = rows[::-1]
    found, wanted = latency_map.parse(summed("".join(lines))), latency_map.parse(text)
    half = len(rows) // 2
    assert found.latency_us[:half][::-1].tolist() == wanted.latency_us[:half].tolist()


def test_passes_of_different_lengths_are_refused(text):
    old = next(line for line in text.splitlines() if line.startswith("1 "))
    with refused("some passes have more, others fewer"):
        latency_map.parse(changed(text, f"\n{old}", f"\n2{old[1:]}"))
