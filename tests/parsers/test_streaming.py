# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program streaming."""

import pytest

from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import streaming
from tests import breakages
from tests.breakages import refused
from tests.own_outputs import changed, summed

SIZES = half_octaves(0, 4 * 1024**2)
GOLDEN = "streaming/mpich-5.0.2.txt"
COLUMNS = {
    "ping_pong": 1,
    "streaming": 6,
    "bidirectional_ping_pong": 11,
    "bidirectional_streaming": 16,
}


def parse(text, queue_depth=0):
    return streaming.parse(text, SIZES, directions="both", queue_depth=queue_depth)


def one_way(text):
    """Return the output without --directions both: the columns up to those of streaming."""
    lines = text.replace("directions both", "directions one").splitlines(keepends=True)
    titles = "# columns: "
    text = "".join(
        titles + " ".join(line.removeprefix(titles).split()[:11]) + "\n"
        if line.startswith(titles)
        else " ".join(line.split()[:11]) + "\n"
        if breakages.is_row(line)
        else line
        for line in lines
    )
    return summed(text)


def test_one_direction_is_the_default(golden):
    output = streaming.parse(one_way(golden(GOLDEN)), SIZES)
    assert [name for name in output.columns if name.endswith("_stop")] == [
        "ping_pong_stop",
        "streaming_stop",
    ]
    assert output.times_us("streaming") == parse(golden(GOLDEN)).times_us("streaming")


@pytest.mark.parametrize("queue_depth", [8, 16, 32])
def test_a_queue_depth_is_what_was_asked_for(golden, queue_depth):
    text = golden(f"streaming/mpich-5.0.2.queue-{queue_depth}.txt")
    assert list(parse(text, queue_depth).columns)[1::5] == [
        f"{mode}_us" for mode in COLUMNS
    ]
    with refused(f"--queue-depth 0 was asked for, but .* it ran with '{queue_depth}'"):
        parse(text)
    with refused("--queue-depth 8 was asked for, but .* it ran with .no such option"):
        parse(changed(text, "queue-depth", "depth"), 8)


def test_the_other_direction_has_to_be_there_when_asked_for(golden):
    text = golden(GOLDEN)
    with refused(
        "the table has 'no column' where 'bidirectional_ping_pong_us' was expected"
    ):
        parse(one_way(text))
    with refused(
        "--directions both was asked for, but the program says that it ran with 'one'"
    ):
        parse(changed(text, "directions both", "directions one"))
    with refused(
        "the table has 'bidirectional_ping_pong_us' where 'no column' was expected"
    ):
        streaming.parse(text, SIZES)
