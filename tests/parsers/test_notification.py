# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program notification."""

import pytest

from fabric_checks.parsers import notification
from tests.breakages import refused
from tests.own_outputs import changed

SIZES = [0, *(2**power for power in range(17))]
GOLDEN = "notification/mpich-5.0.2.txt"


def test_a_real_output(golden):
    output = notification.parse(golden(GOLDEN), SIZES)
    assert output.cpu_percent == {"test": 39, "wait": 44}
    assert output.blocking_wait == "absent" and output.reason.startswith(
        "MPI_Wait slept in 0 of 20 waits of "
    )
    assert output.header["wait settings"] == "none"


def test_a_wait_that_polls_and_then_sleeps(golden):
    output = notification.parse(golden("notification/impi-2021.18.txt"), SIZES)
    assert output.blocking_wait == "offered"
    assert (
        output.header["wait settings"] == "I_MPI_THREAD_YIELD=3 I_MPI_THREAD_SLEEP=100"
    )


def test_a_simulation_knows_no_cpu_times(golden):
    text = changed(golden(GOLDEN), "waiting: test 39 wait 44", "waiting: unknown")
    output = notification.parse(
        changed(text, "absent: MPI_Wait", "unknown: simulated, MPI_Wait"), SIZES
    )
    assert output.cpu_percent is None
    assert output.blocking_wait == "unknown" and output.reason.startswith("simulated")


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "absent",
            "absurd",
            "'blocking wait' is 'absurd', expected one of offered, absent, unknown",
        ),
        ("waiting: test 39 wait 44", "waiting: test 39", "'' is not a number"),
    ],
)
def test_other_lines_about_waiting_are_refused(golden, old, new, message):
    with refused(message):
        notification.parse(changed(golden(GOLDEN), old, new), SIZES)
