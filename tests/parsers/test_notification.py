# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program notification."""

import re

import pytest

from fabric_checks.errors import OutputError
from fabric_checks.parsers import notification
from tests import breakages

SIZES = [0, *(2**power for power in range(17))]
GOLDEN = "notification/mpich-5.0.2.txt"


def with_line(text, key, value):
    """Return the output with another value in a line of its header, or without that line."""
    line = "" if value is None else f"# {key}: {value}\n"
    return re.sub(rf"(?m)^# {key}: .*\n", line, text)


def test_a_real_output(golden):
    text = golden(GOLDEN)
    output = notification.parse(text, SIZES)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    assert output.times_us("test") == {int(row[0]): float(row[1]) for row in rows}
    assert output.times_us("wait") == {int(row[0]): float(row[6]) for row in rows}
    assert set(output.cpu_percent) == {"test", "wait"}
    assert output.blocking_wait == "absent"
    assert re.fullmatch(r"MPI_Wait used \d+ % of the CPU", output.reason)
    assert output.header["wait settings"] == "none"


def test_broken_outputs_are_refused(golden):
    for name, broken in breakages.of_table(golden(GOLDEN), [1, 3, 6, 8]).items():
        with pytest.raises(OutputError):
            notification.parse(broken, SIZES)
            pytest.fail(f"{name} passed")


def test_a_wait_that_blocks(golden):
    text = with_line(golden(GOLDEN), "cpu while waiting", "test 100 % wait 3 %")
    reason = "MPI_Wait used 3 % of the CPU and gave it away 1 times a wait"
    output = notification.parse(with_line(text, "blocking wait", f"offered: {reason}"), SIZES)
    assert output.cpu_percent == {"test": 100.0, "wait": 3.0}
    assert (output.blocking_wait, output.reason) == ("offered", reason)


def test_a_simulation_knows_no_cpu_times(golden):
    text = with_line(golden(GOLDEN), "cpu while waiting", "unknown")
    with pytest.raises(OutputError, match="the header calls a blocking wait absent but has no CPU times"):
        notification.parse(text, SIZES)
    output = notification.parse(with_line(text, "blocking wait", "unknown: simulated"), SIZES)
    assert output.cpu_percent is None
    assert (output.blocking_wait, output.reason) == ("unknown", "simulated")


@pytest.mark.parametrize("key", ["cpu while waiting", "blocking wait"])
@pytest.mark.parametrize("value", [None, "nothing", "test 1_0 % wait 3 %", "test nan % wait 3 %", "offered"])
def test_damaged_headers_are_refused(golden, key, value):
    with pytest.raises(OutputError, match=f"the header's line '{key}' has no"):
        notification.parse(with_line(golden(GOLDEN), key, value), SIZES)
