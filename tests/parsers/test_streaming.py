# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program streaming, and with it the form that all our programs share."""

import pytest

from fabric_checks.errors import OutputError
from fabric_checks.metrics import half_octaves
from fabric_checks.parsers import fabric, streaming
from tests import breakages

SIZES = half_octaves(0, 4 * 1024**2)
GOLDEN = "streaming/mpich-5.0.2.txt"


def test_a_real_output(golden):
    text = golden(GOLDEN)
    output = streaming.parse(text, SIZES)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    assert output.times_us("ping_pong") == {int(row[0]): float(row[1]) for row in rows}
    assert output.times_us("streaming") == {int(row[0]): float(row[6]) for row in rows}
    assert output.header["ranks"] == "2"


def test_broken_outputs_are_refused(golden):
    for name, broken in breakages.of_table(golden(GOLDEN), [1, 6]).items():
        with pytest.raises(OutputError):
            streaming.parse(broken, SIZES)
            pytest.fail(f"{name} passed")


def test_the_last_line_is_required_and_counts(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="the last line '# complete: ...' is missing"):
        streaming.parse(text[: text.index("# complete")], SIZES)
    with pytest.raises(OutputError, match="the last line counts 23 rows, found 45"):
        streaming.parse(text.replace("# complete: 45", "# complete: 23"), SIZES)


def test_another_program_or_format(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="did not start, or this is another one"):
        streaming.parse(golden("imb/2021.11/PingPong.txt"), SIZES)
    with pytest.raises(OutputError, match="expected the output of placement, found that of 'streaming'"):
        fabric.parse(text, "placement", [])
    with pytest.raises(OutputError, match="format 2 of streaming is not known"):
        streaming.parse(text.replace("streaming 1\n", "streaming 2\n", 1), SIZES)


def test_a_median_outside_its_interval_is_damage(golden):
    lines = golden(GOLDEN).splitlines(keepends=True)
    index = next(i for i, line in enumerate(lines) if line.startswith("1024 "))
    with pytest.raises(OutputError, match="ping_pong_us lies outside its confidence interval at 1024 B"):
        streaming.parse(breakages.replaced(lines, index, 1, "1e9"), SIZES)
