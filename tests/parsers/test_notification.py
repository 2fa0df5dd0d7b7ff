# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program notification."""

import re

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import notification
from fabric_checks.parsers.notification import Sleeps

SIZES = [0, *(2**power for power in range(17))]
GOLDEN = "notification/mpich-5.0.2.txt"
#: Intel MPI with the settings that its header lists.
SLEEPS = "notification/impi-2021.18.txt"


def with_line(text, key, value):
    """Return the output with another value in a line of its header, or without that line."""
    line = "" if value is None else f"# {key}: {value}\n"
    return re.sub(rf"(?m)^# {key}: .*\n", line, text)


def test_a_real_output(golden):
    output = notification.parse(golden(GOLDEN), SIZES)
    assert set(output.cpu_percent) == {"test", "wait"}
    assert output.sleeps == {way: Sleeps(0, 0, 20) for way in ("test", "wait")}
    assert output.blocking_wait == "absent" and output.reason.startswith("MPI_Wait slept in 0 of 20 waits of ")
    assert output.header["wait settings"] == "none"


def test_a_wait_that_polls_and_then_sleeps(golden):
    """It sleeps, whatever share of a CPU it takes: how long it polls before is a matter of the machine."""
    text = with_line(golden(SLEEPS), "cpu while waiting", "test 100 % wait 91 %")
    text = text.replace("and used 17 % of a CPU", "and used 91 % of a CPU")
    output = notification.parse(text, SIZES)
    count = int(re.search(r"(?m)^# sleeps while waiting: test 0 in 0 of 20 waits, wait (\d+) in 20 of 20", text)[1])
    assert output.sleeps == {"test": Sleeps(0, 0, 20), "wait": Sleeps(count, 20, 20)} and count > 20
    assert output.cpu_percent == {"test": 100.0, "wait": 91.0}
    assert output.blocking_wait == "offered"
    assert output.header["wait settings"] == "I_MPI_THREAD_YIELD=3 I_MPI_THREAD_SLEEP=100"


@pytest.mark.parametrize(
    ("slept", "verdict"), [(0, "absent"), (1, "unknown"), (9, "unknown"), (10, "offered"), (20, "offered")]
)
def test_the_verdict_is_what_the_counts_say(golden, slept, verdict):
    counts = f"test 0 in 0 of 20 waits, wait {2 * slept} in {slept} of 20 waits"
    text = with_line(golden(GOLDEN), "sleeps while waiting", counts)
    for other in {"absent", "unknown", "offered"} - {verdict}:
        with pytest.raises(OutputError, match=f"calls a blocking wait {other}, but its own counts make it {verdict}"):
            notification.parse(with_line(text, "blocking wait", f"{other}: so"), SIZES)
    output = notification.parse(with_line(text, "blocking wait", f"{verdict}: so"), SIZES)
    assert (output.blocking_wait, output.reason) == (verdict, "so")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slept in 20 of", "slept in 2 of"),
        ("of 20 waits of 12", "of 2 waits of 12"),
        ("45.2", "4.2"),
        ("used 17", "used 1"),
    ],
)
def test_a_reason_with_other_counts_is_refused(golden, old, new):
    text = golden(SLEEPS)
    assert old in text
    with pytest.raises(OutputError, match="the header's reason does not fit its counts: 'MPI_Wait slept in"):
        notification.parse(text.replace(old, new), SIZES)


@pytest.mark.parametrize(
    "wait", ["3 in 4 of 20 waits", "30 in 21 of 20 waits", "3 in 0 of 20 waits", "0 in 1 of 20 waits"]
)
def test_counts_that_contradict_each_other(golden, wait):
    text = with_line(golden(GOLDEN), "sleeps while waiting", f"test 0 in 0 of 20 waits, wait {wait}")
    with pytest.raises(OutputError, match="counts of sleeps contradict each other: wait in"):
        notification.parse(text, SIZES)


def test_a_simulation_knows_neither_cpu_times_nor_sleeps(golden):
    text = with_line(golden(GOLDEN), "cpu while waiting", "unknown")
    with pytest.raises(OutputError, match="the header has only one of CPU times and sleeps"):
        notification.parse(text, SIZES)
    text = with_line(text, "sleeps while waiting", "unknown")
    with pytest.raises(OutputError, match="the header calls a blocking wait absent, but its own counts make it unkn"):
        notification.parse(text, SIZES)
    output = notification.parse(with_line(text, "blocking wait", "unknown: simulated"), SIZES)
    assert output.cpu_percent is None and output.sleeps is None
    assert (output.blocking_wait, output.reason) == ("unknown", "simulated")


@pytest.mark.parametrize("key", ["cpu while waiting", "sleeps while waiting", "blocking wait"])
@pytest.mark.parametrize("value", [None, "nothing", "test 1_0 % wait 3 %", "test nan % wait 3 %", "offered"])
def test_damaged_headers_are_refused(golden, key, value):
    with pytest.raises(OutputError, match=f"the header's line '{key}' has no"):
        notification.parse(with_line(golden(GOLDEN), key, value), SIZES)
