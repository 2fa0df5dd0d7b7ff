# SPDX-License-Identifier: BSD-3-Clause
"""The parser of `latency_map`: whole outputs are read, others refused."""

import re

import numpy as np
import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import latency_map
from tests.diagnosis.latency_map.model import latencies, text_of


@pytest.fixture(scope="module")
def text():
    return text_of(latencies([0, 0, 0, 1, 1]))


def test_everything_is_read(text):
    output = latency_map.parse(text)
    assert output.hosts == tuple(f"n{rank:03}" for rank in range(5))
    assert (output.passes, output.elapsed_s, len(output.starter)) == (2, 100, 2 * 10 * 2)
    assert set(zip(output.starter.tolist(), output.other.tolist(), strict=True)) == {
        (one, other) for one in range(5) for other in range(5) if one != other
    }
    assert np.allclose(output.least_us, 0.99 * output.latency_us)


def test_half_of_the_samples_may_take_as_little_as_the_least(text):
    """The time that passed is held to what the medians and the least together prove, and to no more."""
    rows = re.compile(r"(?m)^(\d+ \d+ \d+ \d+) \S+ \S+$")
    slow = rows.sub(r"\1 100 20", text)
    number = int(re.search(r" repetitions (\d+) ", text)[1])
    proven_s = 1e-6 * 2 * number * (15 * 100 + 15 * 20) * len(rows.findall(text)) / 2
    for share, is_read in ((1.05, True), (0.9, False)):
        timed = slow.replace("# elapsed: 100 s", f"# elapsed: {share * proven_s:.6g} s")
        if is_read:
            assert latency_map.parse(timed).elapsed_s == pytest.approx(share * proven_s)
        else:
            with pytest.raises(OutputError, match="'elapsed' is"):
                latency_map.parse(timed)


def test_some_rounds_are_read():
    assert len(latency_map.parse(text_of(latencies([0] * 9), shifts=4)).starter) == 2 * 4 * 4


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("passes 2", "passes 1", "a different number"),
        ("passes 2", "passes many", "the header's whole number for 'passes' was expected, found 'many'"),
        ("passes 2", "passes 999999999", "a different number"),
        ("# shifts: 10 of 10", "# shifts: 10 of 14", "the header states 14 rounds; 5 ranks have a different number"),
        ("# shifts: 10 of 10", "# shifts: 999999999 of 10", "a different number"),
        ("# shifts: 10 of 10", "# shifts: 10 of 10 8", "how many shifts were measured: '10 of 10 8'"),
        ("# shifts: 10 of 10", "# shifts: all", "how many shifts were measured: 'all'"),
        ("# elapsed: 100 s\n", "", "seconds of 'elapsed'"),
        ("# elapsed: 100 s", "# elapsed: -100 s", "seconds of 'elapsed'"),
        (
            "# elapsed: 100 s",
            "# elapsed: 0.001 s",
            "'elapsed' is 0.001 s, but the slowest pairs of the rounds",
        ),
        ("samples 30", "samples x", "the header's whole number for 'samples' was expected, found 'x'"),
        ("# ranks: 5", "# ranks: 1", "does not name the hosts of 1 ranks in order"),
        ("\n0 0 1 ", "\n0 0 2 ", "torn or out of order"),
        ("\n1 0 ", "\n0 0 ", "torn or out of order"),
        ("\n0 1 ", "\n0 x ", "a row of the columns"),
    ],
)
def test_what_contradicts_itself_is_refused(text, old, new, message):
    assert old in text
    with pytest.raises(OutputError, match=re.escape(message)):
        latency_map.parse(text.replace(old, new, 1))


@pytest.mark.parametrize(("median", "least"), [("1.2", "1.3"), ("0", "0"), ("nan", "1"), ("1e999", "1"), ("1", "-1")])
def test_latencies_that_cannot_be_are_refused(text, median, least):
    broken = re.sub(r"(?m)^(0 0 \d \d) \S+ \S+$", rf"\1 {median} {least}", text, count=1)
    assert broken != text
    with pytest.raises(OutputError, match="line "):
        latency_map.parse(broken)


def test_the_row_that_is_damaged_is_named_and_no_other(text):
    lines = text.splitlines(keepends=True)
    place = max(number for number, line in enumerate(lines) if line[0].isdigit())
    lines[place] = lines[place].rsplit(" ", 1)[0] + "\n"
    with pytest.raises(OutputError, match=rf"line {place + 1}: a row of the columns"):
        latency_map.parse("".join(lines))
