# SPDX-License-Identifier: BSD-3-Clause
"""The values of a profile, counted by hand."""

import pytest

from fabric_profile import evaluation as analysis
from fabric_profile.profile import Calls, Profile, Rank


def calls(call, power, count, moved, time_s):
    return Calls(call, 2, False, power, count, moved, time_s, time_s)


#: Two ranks of ten seconds: the first works eight of them, the second four.
PROFILE = Profile(
    "an MPI",
    (
        Rank(
            "a",
            10.0,
            10.0,
            2.0,
            0,
            (
                calls("Send", 4, 30, 300, 0.5),
                calls("Send_init", 10, 1, 0, 0.1),
                calls("Allreduce", 4, 10, 80, 1.4),
            ),
            {1: (30, 300)},
        ),
        Rank(
            "b",
            10.0,
            10.0,
            6.0,
            7,
            (
                calls("Isend", 11, 2, 3000, 1.0),
                calls("Waitall", 0, 5, 0, 2.0),
                calls("Allreduce", 4, 10, 80, 3.0),
            ),
            {},
        ),
    ),
)


def test_the_figures():
    assert analysis.values(PROFILE) == pytest.approx(
        {
            "profile_mpi_share": 40.0,  # 8 s of 20
            "profile_collective_share": 55.0,  # 4.4 s of 8
            "profile_wait_share": 25.0,
            "profile_imbalance": 100 / 3,  # 8 s against a mean of 6
            "profile_call_rate": 58 / 20,
            "profile_message_rate": 32 / 20,
            "profile_message_median": 8,
            "profile_bytes_median": 1024,
            "profile_sent_rate": 3460 / 20 / 1e6,
            "profile_partners": 0.5,
        }
    )
    assert set(analysis.values(PROFILE)) == {metric.name for metric in analysis.METRICS}


def test_a_program_that_does_nothing():
    idle = Profile("an MPI", (Rank("a", 1.0, 1.0, 0.0, 0, (), {}),))
    assert set(analysis.values(idle).values()) == {0.0}


def test_calls_are_sorted_by_decreasing_time():
    found = analysis.by_call(PROFILE)
    assert [each.call for each in found] == [
        "Allreduce",
        "Waitall",
        "Isend",
        "Send",
        "Send_init",
    ]
    assert found[0].count == 20
    assert found[0].bytes == 160
    assert found[0].longest_s == 3.0
    assert found[0].share_percent == pytest.approx(22.0)


def test_time_by_kind():
    assert analysis.time_by_kind(PROFILE)[1] == {
        "send": 1.0,
        "wait": 2.0,
        "collective": 3.0,
        "outside": 4.0,
    }


@pytest.mark.parametrize(
    "weights, median",
    [
        ({}, 0),
        ({4: 0}, 0),
        ({4: 1}, 4),
        ({1: 2, 2: 1}, 1),
        ({1: 1, 2: 2}, 2),
        ({1: 1, 2: 1}, 1),
    ],
)
def test_the_median_by_weight(weights, median):
    assert analysis.weighted_median(weights) == median
