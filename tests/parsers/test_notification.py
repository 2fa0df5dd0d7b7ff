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


def usage(slept, verdict, *, count=None, waits=20, each=None, reason=None):
    """Return the three lines about the CPU and sleep."""
    count = 2 * slept if count is None else count
    each = f"{count / 20:.3g}" if each is None else each
    reason = (
        reason or f"MPI_Wait slept in {slept} of {waits} waits of 12.1 ms, {each} times a wait, and used 17 % of a CPU"
    )
    return {
        "cpu while waiting": "test 100 % wait 17 %",
        "sleeps while waiting": f"test 0 in 0 of 20 waits, wait {count} in {slept} of 20 waits",
        "blocking wait": f"{verdict}: {reason}",
    }


def parsed(text, lines):
    for key, value in lines.items():
        text = with_line(text, key, value)
    return notification.parse(text, SIZES)


@pytest.mark.parametrize(
    ("slept", "verdict"), [(0, "absent"), (1, "unknown"), (9, "unknown"), (10, "offered"), (20, "offered")]
)
def test_the_verdict_is_what_the_counts_say(golden, slept, verdict):
    for other in {"absent", "unknown", "offered"} - {verdict}:
        with pytest.raises(OutputError, match="counts of sleeps contradict each other"):
            parsed(golden(GOLDEN), usage(slept, other))
    output = parsed(golden(GOLDEN), usage(slept, verdict))
    assert output.blocking_wait == verdict and output.reason.startswith(f"MPI_Wait slept in {slept} of 20 waits of ")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (usage(4, "unknown", count=3), "counts of sleeps contradict each other"),
        (usage(21, "offered", count=30), "counts of sleeps contradict each other"),
        (usage(0, "absent", count=3), "counts of sleeps contradict each other"),
        (usage(1, "unknown", count=0), "counts of sleeps contradict each other"),
        (usage(20, "offered", each="4.2"), "counts of sleeps contradict each other"),
        (usage(20, "offered", waits=2), "do not fit each other"),
        (usage(20, "offered", reason="so"), "do not fit each other"),
        (usage(20, "offered") | {"cpu while waiting": "test 100 % wait 1 %"}, "do not fit each other"),
        (usage(20, "offered") | {"cpu while waiting": "unknown"}, "do not fit each other"),
        (usage(20, "offered") | {"cpu while waiting": "test 1_0 % wait 17 %"}, "do not fit each other"),
        (usage(20, "offered") | {"sleeps while waiting": None}, "do not fit each other"),
    ],
)
def test_lines_that_contradict_each_other_are_refused(golden, lines, message):
    with pytest.raises(OutputError, match=message):
        parsed(golden(GOLDEN), lines)


def test_the_waits_are_those_of_the_options(golden):
    with pytest.raises(OutputError, match="counts of sleeps contradict each other"):
        notification.parse(golden(GOLDEN).replace(" waits 20 ", " waits 21 "), SIZES)


def test_a_simulation_knows_neither_cpu_times_nor_sleeps(golden):
    lines = {"cpu while waiting": "unknown", "sleeps while waiting": "unknown", "blocking wait": "unknown: simulated"}
    output = parsed(golden(GOLDEN), lines)
    assert output.cpu_percent is None and output.sleeps is None
    assert (output.blocking_wait, output.reason) == ("unknown", "simulated")
